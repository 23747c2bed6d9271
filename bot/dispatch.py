"""From an update to the one use of the chat it asks for: a command, a reply, a tap or a prompt.

Handlers are functions of a transaction: `(tx, desk, what was said or tapped) → Reply`. Which one is chosen is
decided inside the transaction too, since a reply means what the message it replies to is about.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from telegram import Message as TelegramMessage
from telegram import Update

from bot import chats, people
from bot.callbacks import Callback, Kind, decode
from bot.inbox import Raw, lane_of
from bot.locales import say
from bot.outbox import Message, post
from bot.turn import Context, Desk, Reply, Sightings
from bot.typed import as_markdown
from core.model.mail import Button, Receipt
from core.tables import Tx

BY_AGENT_BUTTON = frozenset({"lessons", "why", "context", "stats", "help", "review", "stop", "good", "bad"})
NEED_SIGHTINGS = frozenset({"patterns", "evolver", "review", "stats"})
_COMMAND = re.compile(r"/([A-Za-z0-9_:-]{1,64})(?:@(\w+))?(?:\s+(.*))?\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Said:
    """A message: `text` is what was typed (after the command's name, for a command), as Markdown.

    `reply_to` is the id of the message it replies to, `about` what that message is about ("run:…", ""),
    `quoted` its text, `quoted_button` the data of the first button under it.
    """

    lane: str
    user: str
    name: str
    language: str
    text: str
    message: str
    now: float
    reply_to: str | None = None
    about: str = ""
    quoted: str = ""
    quoted_button: str = ""
    units: int = 0


@dataclass(frozen=True, slots=True)
class Tap:
    """A tap on one of our buttons: `payload` is what the store keeps behind it."""

    lane: str
    user: str
    name: str
    language: str
    message: str
    button: Button
    payload: dict[str, Any]
    choice: str
    now: float


OnSaid = Callable[[Tx, Desk, Said], Reply | None]
OnTap = Callable[[Tx, Desk, Tap], Reply | None]


@dataclass(frozen=True, slots=True)
class Command:
    """One command; `name` with underscores, found by dashes too. `group` is its place in /help."""

    name: str
    group: str
    run: OnSaid
    is_in_menu: bool = False
    is_for_owner: bool = False


@dataclass(frozen=True, slots=True)
class Routes:
    """The one table of everything the chat understands."""

    commands: Sequence[Command]
    replies: Mapping[str, OnSaid]  # by what the message replied to is about, up to its first colon
    taps: Mapping[Kind, OnTap]
    typed: OnSaid  # a message that replies to nothing: a prompt, or a bare word right under a card
    prompt: OnSaid  # a message for the agent, whatever it says
    edited: OnSaid
    agent_button: Callable[[Tx, Tap], Reply | str]

    def command(self, name: str) -> Command | None:
        """Find a command as typed."""
        wanted = name.lower().replace("-", "_")
        return next((command for command in self.commands if command.name == wanted), None)


class Dispatcher:
    """Brings each kind of update to its handler."""

    def __init__(self, desk: Desk, routes: Routes, look: Callable[[Sightings], Awaitable[None]]) -> None:
        self._desk, self._routes, self._look = desk, routes, look

    async def _prepare(self, is_needed: bool) -> None:
        """Look at what was counted before a transaction that needs it: it cannot wait for the other file."""
        if is_needed:
            await self._look(self._desk.sightings)

    async def on_message(self, update: Update, context: Context) -> None:
        """Take a message: a command, a reply to something of ours, or a prompt."""
        message, desk, routes = update.message, self._desk, self._routes
        if message is None or message.from_user is None:
            return
        said = _said(context.raw, message, desk)
        if message.text is not None:
            await self._prepare(is_needed=said.reply_to is not None or _named(said.text) in NEED_SIGHTINGS)
            context.commit(lambda tx: _take(tx, desk, routes, said))
        elif message.effective_attachment or message.caption:  # a service message (a title) gets no answer
            context.commit(lambda tx: _decline(tx, said))

    async def on_edit(self, update: Update, context: Context) -> None:
        """Take an edited message: one that is still queued is replaced."""
        message, desk, routes = update.edited_message, self._desk, self._routes
        if message is not None and message.text is not None and message.from_user is not None:
            said = _said(context.raw, message, desk)
            context.commit(lambda tx: routes.edited(tx, desk, said))

    async def on_tap(self, update: Update, context: Context) -> None:
        """Take a tap: find what stands behind the button, and whether it stands there still."""
        query, desk, routes, raw = update.callback_query, self._desk, self._routes, context.raw
        if query is None:
            return
        callback = decode(query.data or "")
        language = desk.settings.speak(query.from_user.language_code)
        if callback is None:
            context.commit(lambda _tx: Reply(toast=say("toast.old_button", language), is_alert=True))
            return
        await self._prepare(is_needed=callback.kind in (Kind.PATTERN, Kind.REVIEW, Kind.AGENT))
        message = str((raw["callback_query"].get("message") or {}).get("message_id", ""))
        where = (lane_of(raw), str(query.from_user.id), query.from_user.first_name or "", language, message)
        context.commit(lambda tx: _tapped(tx, desk, routes, callback, where))


def _named(text: str) -> str:
    """Give the name of the command a text is, "" for none."""
    match = _COMMAND.fullmatch(text)
    return match[1].lower().replace("-", "_") if match is not None else ""


def _tapped(
    tx: Tx, desk: Desk, routes: Routes, callback: Callback, where: tuple[str, str, str, str, str]
) -> Reply | None:
    lane, user, name, language, message = where
    now = desk.clock.now()
    button = tx.buttons.get(callback.token)
    if button is None or button.kind != callback.kind or now > button.expires:
        return Reply(toast=say("toast.expired", language), is_alert=True)
    if button.lane != lane or button.message not in ("", message):
        return Reply(toast=say("toast.elsewhere", language), is_alert=True)
    button = _bind(tx, button, message)
    chats.remember_person(tx, user, name)
    tap = Tap(lane, user, name, language, message, button, json.loads(button.payload), callback.choice, now)
    if callback.kind is Kind.AGENT:
        return _agent_button(tx, desk, routes, tap)
    return routes.taps[callback.kind](tx, desk, tap)


def _bind(tx: Tx, button: Button, message: str) -> Button:
    """Let a button stand under that message from now on.

    A send whose outcome was unknown is repeated and bound to neither copy: the first tap or reply says which
    one the person uses, and edits go there.
    """
    if button.message:
        return button
    if tx.outbox.ref_of(button.lane, message) is None:
        tx.outbox.bind(Receipt(button.lane, message, button.ref))
    bound = replace(button, message=message)
    tx.buttons.put(bound)
    return bound


def _agent_button(tx: Tx, desk: Desk, routes: Routes, tap: Tap) -> Reply | None:
    """Send what an agent's button says as if typed; of our commands only those that decide nothing."""
    text = routes.agent_button(tx, tap)
    if isinstance(text, Reply):
        return text
    said = Said(tap.lane, tap.user, tap.name, tap.language, text, "", tap.now)
    match = _COMMAND.fullmatch(text)
    if match is None or ":" in match[1]:
        return routes.prompt(tx, desk, said)
    if _is_harmless(match):
        return _command(tx, desk, routes, said, match)
    return Reply(toast=say("toast.not_by_agent", tap.language), is_alert=True)  # Pi has commands like it too


def _is_harmless(match: re.Match[str]) -> bool:
    """Say whether an agent's button may run that command: it shows, stops or votes, it changes no lesson."""
    is_switch = (match[3] or "").strip().lower() in ("off", "on")
    return match[1].replace("-", "_") in BY_AGENT_BUTTON and not is_switch


def _take(tx: Tx, desk: Desk, routes: Routes, said: Said) -> Reply | None:
    chats.remember_person(tx, said.user, said.name)
    if int(said.user) == people.owner(tx, desk.settings):
        chats.settle_block_language(tx, said.language)
    if said.reply_to is not None:
        said = replace(said, about=tx.outbox.ref_of(said.lane, said.reply_to) or _about_copy(tx, said))
    match = _COMMAND.fullmatch(said.text)
    if match is not None and ":" not in match[1]:
        return _command(tx, desk, routes, said, match)
    handler = routes.replies.get(said.about.partition(":")[0], routes.typed)
    return handler(tx, desk, said)


def _about_copy(tx: Tx, said: Said) -> str:
    """Give what an unrecorded copy of a message is about, by a button under it; "" for none."""
    callback = decode(said.quoted_button)
    button = tx.buttons.get(callback.token) if callback is not None else None
    if button is None or said.reply_to is None or button.lane != said.lane or button.message:
        return ""
    return _bind(tx, button, said.reply_to).ref


def _command(tx: Tx, desk: Desk, routes: Routes, said: Said, match: re.Match[str]) -> Reply | None:
    if match[2] and match[2].lower() != desk.username.lower():
        return None  # said to another bot of the group
    command = routes.command(match[1])
    argument = replace(said, text=(match[3] or "").strip())
    if command is None:
        post(tx, said.lane, Message(say("help.unknown", said.language, name=match[1])), now=said.now)
        return None
    if command.is_for_owner and int(said.user) != people.owner(tx, desk.settings):
        post(tx, said.lane, Message(say("help.owner_only", said.language)), now=said.now)
        return None
    return command.run(tx, desk, argument)


def _decline(tx: Tx, said: Said) -> None:
    """Answer what is not text yet with one clear line."""
    post(
        tx, said.lane, Message(say("prompt.unsupported", said.language)), now=said.now, reply_to=said.message
    )


def _first_button(message: Raw) -> str:
    """Give the data of the first button under a message, "" for none."""
    rows = (message.get("reply_markup") or {}).get("inline_keyboard") or []
    found = [key["callback_data"] for row in rows for key in row if key.get("callback_data")]
    return str(found[0]) if found else ""


def _said(raw: Raw, message: TelegramMessage, desk: Desk) -> Said:
    user, written = message.from_user, raw.get("message") or raw["edited_message"]
    assert user is not None, "an allowed message has a sender"
    text = as_markdown(message.text or "", written.get("entities", ()))
    replied = message.reply_to_message
    return Said(
        lane=lane_of(raw),
        user=str(user.id),
        name=user.first_name or "",
        language=desk.settings.speak(user.language_code),
        text=text.strip(),
        message=str(message.message_id),
        now=desk.clock.now(),
        reply_to=str(replied.message_id) if replied is not None else None,
        quoted=(replied.text or replied.caption or "") if replied is not None else "",
        quoted_button=_first_button(written.get("reply_to_message") or {}),
        units=len((message.text or "").encode("utf-16-le")) // 2,
    )
