"""What comes in: raw updates, stored before they are acknowledged (reliability.md 1, P1, P4 to P6).

`getUpdates` is our own loop over raw dictionaries: one that cannot be parsed blocks nothing, no error ends
it, and the next call, which acknowledges, is made only after the commit.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from telegram.error import Conflict, InvalidToken, RetryAfter

from bot.api import POLL_TIMEOUT_S, Api, TelegramError, retry_after_s
from core.errors import StoreError, StoreFull
from core.model.mail import Incoming
from core.ports import Clock, Probe, Store
from core.tables import Tx

log = structlog.get_logger()

ALLOWED_UPDATES = ("message", "edited_message", "callback_query", "message_reaction", "my_chat_member")
KEPT_S = 2 * 86_400.0  # Telegram keeps an update for 24 h, and its ids may restart after a quiet week

_IN_CHAT = ("message", "edited_message", "message_reaction", "my_chat_member")
_MIN_PAUSE_S, _MAX_PAUSE_S = 0.5, 30.0
_MAX_ID = 2**62  # what the store can hold, and more than Telegram will ever count to

Raw = dict[str, Any]
OnFull = Callable[[Raw], Awaitable[None]]


def part(raw: Raw, name: str) -> Raw:
    """Give an object inside a raw one; an empty one where there is none, whatever else stands there."""
    found = raw.get(name)
    return found if isinstance(found, dict) else {}


def message_of(raw: Raw) -> Raw:
    """Give what an update is about in a chat, the message under a tap for one; an empty one for none."""
    in_chat = (part(raw, name) for name in _IN_CHAT)
    return part(part(raw, "callback_query"), "message") or next((found for found in in_chat if found), {})


def lane_of(raw: Raw) -> str:
    """Give the chat, and the topic where it is one, that an update belongs to; "0" for none."""
    message = message_of(raw)
    chat = part(message, "chat").get("id", 0)
    topic = message.get("message_thread_id") if message.get("is_topic_message") else None
    return f"{chat}/{topic}" if topic else f"{chat}"


def keep(tx: Tx, updates: list[Raw], now: float) -> list[Incoming]:
    """Store updates; give those that are new, in their order."""
    new = []
    for raw in updates:
        # Escaped: a lone surrogate is no text for the store.
        incoming = Incoming(int(raw["update_id"]), lane_of(raw), json.dumps(raw), 0, now)
        if tx.inbox.add(incoming.id, incoming.lane, incoming.raw, now):
            new.append(incoming)
    return new


def _is_id(value: object) -> bool:
    return isinstance(value, int) and 0 <= value <= _MAX_ID


class Poller:
    """Fetches updates for ever; hands on what is new."""

    def __init__(
        self,
        store: Store,
        api: Api,
        clock: Clock,
        probe: Probe,
        hand_on: Callable[[Incoming], None],
        on_full: OnFull,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._sleep = sleep
        self._store, self._api, self._clock, self._probe = store, api, clock, probe
        self._hand_on, self._on_full = hand_on, on_full
        self._offset: int | None = None  # never trusted from an earlier process: ids may restart (P16)
        self.is_deaf_since: float | None = None
        self.trouble = ""

    async def run(self) -> None:
        """Poll until cancelled; every error backs off and says so."""
        pause = _MIN_PAUSE_S
        while True:
            try:
                updates = await self._fetch()
                self._probe("poll.fetched")
                await self._store_all(updates)
            except Exception as error:  # noqa: BLE001 -- the border of receiving: nothing may end it (P5, P6)
                self.is_deaf_since = self.is_deaf_since or self._clock.now()
                self.trouble = f"{type(error).__name__}: {error}"
                pause = await self._back_off(error, pause)
            else:
                if self.is_deaf_since is not None:
                    log.info("polling again")
                self.is_deaf_since, self.trouble, pause = None, "", _MIN_PAUSE_S

    async def _fetch(self) -> list[Raw]:
        params: Raw = {"timeout": POLL_TIMEOUT_S, "allowed_updates": list(ALLOWED_UPDATES)}
        if self._offset is not None:
            params["offset"] = self._offset
        found = await self._api.call("getUpdates", params, read_timeout_s=POLL_TIMEOUT_S + 10)
        updates = [raw for raw in found if isinstance(raw, dict) and _is_id(raw.get("update_id"))]
        if found and not updates:
            raise TelegramError("no update has an id")  # asking again at once would be a hot loop
        return updates

    async def _store_all(self, updates: list[Raw]) -> None:
        if not updates:
            return
        now = self._clock.now()
        try:
            new = await self._store.write(lambda tx: keep(tx, updates, now))
        except StoreFull:
            for raw in updates:
                await self._on_full(raw)
            raise
        self._probe("poll.stored")
        self._offset = max(raw["update_id"] for raw in updates) + 1
        for incoming in new:
            self._hand_on(incoming)

    async def _back_off(self, error: Exception, pause: float) -> float:
        match error:
            case Conflict():
                log.error("another program polls with this token: stop it, or take a token of your own")
            case InvalidToken():
                log.error("Telegram does not know this token (right now)", error=str(error))
            case RetryAfter():
                pause = max(pause, retry_after_s(error))
            case TelegramError() | StoreError():
                log.warning("cannot fetch updates", error=str(error), pause_s=pause)
            case _:
                log.error("receiving failed", pause_s=pause, exc_info=error)
        await self._sleep(pause)
        return min(_MAX_PAUSE_S, pause * 2)
