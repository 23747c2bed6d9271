"""The first two steps: the bot's token, and its owner."""

import asyncio
import os
import re
import sys
from pathlib import Path

import click
from pydantic import SecretStr

from bot import people
from bot.api import make_api
from bot.app import open_bot
from bot.doctor.telegram import Answer, Telegram, Unreachable
from bot.lock import is_running, only_one
from bot.logs import configure
from bot.pairing import pair
from bot.people import Person
from bot.settings import BotSettings
from bot.setup.answers import Answers, secret
from bot.setup.words import confirm, heading, show, tell
from core.app import Core, open_core
from core.cli.speech import language
from core.settings import ours, split

_TOKEN = re.compile(r"\d{1,20}:[A-Za-z0-9_-]+")
_SERVERS = ("TELEGRAM_BASE_URL", "TELEGRAM_BASE_FILE_URL")
_GREETING_S = 5.0


def ask_token(answers: Answers) -> tuple[str, str]:
    """Ask for the token until Telegram knows it; give it with the bot's name."""
    heading("token.heading")
    known = _known_token(answers)
    if not known:
        show("token.how")
    while True:
        token = _prompt_token(known)
        name = _bot_name(token, base_url(answers)) if _TOKEN.fullmatch(token) else None
        if name is not None:
            break
        if not _TOKEN.fullmatch(token):
            show("token.shape")
    servers = {each: answers.get(each) for each in _SERVERS if answers.get(each)}
    if token != known or not answers.get("TELEGRAM_TOKEN_FILE"):
        servers["TELEGRAM_TOKEN"] = token
    answers.keep(servers)
    show("token.good", bot=f"@{name}")
    return token, name


def _known_token(answers: Answers) -> str:
    file = answers.get("TELEGRAM_TOKEN_FILE")
    if answers.get("TELEGRAM_TOKEN") or not file:
        return answers.get("TELEGRAM_TOKEN")
    try:
        return Path(file).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        show("token.file", file=file, reason=error)
        return ""


def _prompt_token(known: str) -> str:
    hint = tell("token.keep", token=secret(known)) if known else ""
    text = tell("token.ask", hint=hint)
    is_hidden = sys.stdin.isatty()
    given: str = click.prompt(text, default=known or None, show_default=False, hide_input=is_hidden)
    return given.strip()


def base_url(answers: Answers) -> str:
    """Give the Bot API server that is set."""
    return answers.get("TELEGRAM_BASE_URL") or str(BotSettings.model_fields["telegram_base_url"].default)


def _bot_name(token: str, base: str) -> str | None:
    """Ask Telegram who that is; None, once said why, where it does not know."""
    try:
        answer = asyncio.run(_get_me(token, base))
    except Unreachable as error:
        show("token.unreachable", reason=error)
        return None
    if not answer.is_ok or not isinstance(answer.result, dict):
        is_unknown = answer.status in (401, 404)
        show("token.unknown" if is_unknown else "token.refused", reason=answer.complaint)
        return None
    return str(answer.result.get("username", ""))


async def _get_me(token: str, base: str) -> Answer:
    async with Telegram(token, base) as telegram:
        return await telegram.call("getMe")


def ask_owner(answers: Answers, token: str, name: str) -> None:
    """Pair the owner by a link, unless there is one who stays."""
    heading("owner.heading")
    settings = _settings(answers, token)
    users = [int(each) for each in split(answers.get("ALLOWED_USERS")) if each.isascii() and each.isdigit()]
    known, called = asyncio.run(_known_owner(settings, users))
    if known is not None and confirm(tell("owner.keep", name=called, id=known), default=True):
        return
    configure("error", (token,))
    person = asyncio.run(_pair(settings, token, name))
    answers.keep({"ALLOWED_USERS": ",".join(map(str, [person.id, *(u for u in users if u != person.id)]))})


def _settings(answers: Answers, token: str) -> BotSettings:
    """Give just enough to open the store and talk to Telegram."""
    server = {name.lower(): answers.get(name) for name in _SERVERS if answers.get(name)}
    chosen = {"home": answers.home, "telegram_token": SecretStr(token), "agent": "pi", "analyst": "rules"}
    return BotSettings(**{**ours(BotSettings, os.environ), **server, **chosen})  # type: ignore[arg-type]


async def _known_owner(settings: BotSettings, users: list[int]) -> tuple[int | None, str]:
    async with open_core(settings) as core:
        stored = await core.store.read(lambda tx: people.owner(tx, settings))
        owner = users[0] if users else stored
        called = await core.store.read(lambda tx: tx.settings.get(f"person:{owner}"))
    return owner, called or "?"


async def _pair(settings: BotSettings, token: str, name: str) -> Person:
    """Let a running bot take the code, else be the bot so long; what else comes in waits for its turn."""
    async with open_core(settings) as core:
        if is_running(settings.home, token):
            return await pair(core, name, language(), click.echo)
        with only_one(settings.home, token):
            return await _pair_as_bot(core, settings, token, name)


async def _pair_as_bot(core: Core, settings: BotSettings, token: str, name: str) -> Person:
    api = make_api(token, settings.telegram_base_url, settings.telegram_base_file_url)
    async with open_bot(core, settings, name, api) as bot, asyncio.TaskGroup() as group:
        parts = [group.create_task(part.run()) for part in (bot.sender, bot.lanes, bot.poller)]
        try:
            person = await pair(core, name, language(), click.echo)
            await _until_greeted(core)
        finally:
            for part in parts:
                part.cancel()
    return person


async def _until_greeted(core: Core) -> None:
    """Wait until the first words are sent; if that takes long, the bot sends them when it runs."""
    for _ in range(int(_GREETING_S / 0.1)):
        if not await core.store.read(lambda tx: tx.outbox.lanes()):
            return
        await asyncio.sleep(0.1)
