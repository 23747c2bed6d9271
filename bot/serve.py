"""`auto-improve run`: settings, lock, core, bot, and a clean end."""

import asyncio
import contextlib
import gc
import signal
import sys
from pathlib import Path
from typing import Any

import click
import structlog
from telegram.error import InvalidToken

from bot import people
from bot.api import Api, TelegramError, make_api
from bot.app import menu, open_bot
from bot.doctor.case import note_environment
from bot.lock import only_one
from bot.logs import configure
from bot.pairing import pair
from bot.settings import BotSettings
from core.app import Core, open_core
from core.cli.speech import language, tell
from core.errors import SettingsError
from core.ports import Probe, ignore
from core.settings import load

log = structlog.get_logger()

__all__ = ["only_one", "protect", "run", "serve", "stop_signal", "work"]

STOP_S = 4.0  # SIGTERM to exit stays under five seconds (reliability.md D16)
_FIRST_PAUSE_S, _MAX_PAUSE_S = 0.5, 30.0


@click.command("run", help=tell("help.run"))
def run() -> None:
    """Run the bot until it is told to stop."""
    settings = load(BotSettings)
    serve(settings)


def serve(settings: BotSettings, probe: Probe = ignore) -> None:
    """Run the bot until SIGTERM or SIGINT. Raises SettingsError and what opening the store raises."""
    token = settings.token()
    configure(settings.log_level, (token,))
    protect()
    with only_one(settings.home, token):
        asyncio.run(_serve(settings, token, probe))


async def _serve(settings: BotSettings, token: str, probe: Probe) -> None:
    stop = stop_signal()
    api = make_api(token, settings.telegram_base_url, settings.telegram_base_file_url)
    async with open_core(settings) as core:
        if not await has_owner(core, settings) and not is_terminal():
            raise SettingsError("settings.missing", name="AUTO_IMPROVE_ALLOWED_USERS")
        await work(core, settings, api, stop, probe)


async def has_owner(core: Core, settings: BotSettings) -> bool:
    """Say whether the settings or a pairing name an owner."""
    return await core.store.read(lambda tx: people.owner(tx, settings)) is not None


def is_terminal() -> bool:
    """Say whether a person sits here, who can follow a pairing link."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def stop_signal() -> asyncio.Event:
    """Give what SIGTERM and SIGINT set from now on."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


async def work(
    core: Core, settings: BotSettings, api: Api, stop: asyncio.Event, probe: Probe = ignore
) -> None:
    """Run the bot over an open core until told to stop. Raises what ended it before."""
    username = await _until_known(api, stop)
    if username is None:
        return
    async with open_bot(core, settings, username, api, probe=probe) as bot:
        running = asyncio.create_task(bot.run(), name="bot")
        stopping = asyncio.create_task(stop.wait(), name="stop signal")
        helpers: list[asyncio.Task[Any]] = [asyncio.create_task(_publish_menu(api), name="menu")]
        noting = core.store.write(lambda tx: note_environment(tx, core.spec(Path.cwd()).env))
        helpers.append(asyncio.create_task(noting, name="noting"))
        if not await has_owner(core, settings):
            pairing = pair(core, username, language(), click.echo)
            helpers.append(asyncio.create_task(pairing, name="pairing"))
        gc.freeze()  # else a full collection, which looks at every module, stops the loop for 50 ms
        log.info("running", bot=f"@{username}", store=str(settings.store_path))
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        log.info("stopping")
        for task in (running, stopping, *helpers):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError, TimeoutError):
            async with asyncio.timeout(STOP_S):
                await asyncio.gather(running, stopping, *helpers, return_exceptions=True)
        if running.done() and not running.cancelled() and running.exception() is not None:
            raise running.exception() or RuntimeError


async def _until_known(api: Api, stop: asyncio.Event) -> str | None:
    """Ask Telegram who we are, as long as it takes; None when we are told to stop first."""
    pause = _FIRST_PAUSE_S
    while not stop.is_set():
        try:
            await api.initialize()
            return api.username
        except InvalidToken as error:
            log.error("Telegram does not know this token: check it, or take a new one", error=str(error))
        except TelegramError as error:  # a 429 or a 409 too
            log.warning("cannot reach Telegram", error=str(error), pause_s=pause)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await stop.wait()
        pause = min(_MAX_PAUSE_S, pause * 2)
    return None


async def _publish_menu(api: Api) -> None:
    """Publish the menu of commands in both languages; the bot works without it."""
    try:
        await api.call("setMyCommands", {"commands": menu("en")})
        await api.call("setMyCommands", {"commands": menu("fr"), "language_code": "fr"})
    except TelegramError as error:
        log.warning("menu not published", error=str(error))


def protect() -> None:
    """Keep the token out of the agent's reach: no other process may read our memory or environment (S8)."""
    import ctypes  # noqa: PLC0415 -- only where a bot runs

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
