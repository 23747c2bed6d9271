"""Per-chat order: each update of a lane runs to its commit before the next one begins.

Effect, "inbox done" and the outbox rows are one transaction; then the tap is answered, best effort; then the
sender sends (reliability.md 1). Nothing here waits for an agent, so votes and `/stop` never queue behind one.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import structlog
from telegram import Update

from bot.api import TelegramError
from bot.inbox import Raw, lane_of
from bot.locales import say
from bot.outbox import Message, post
from bot.turn import App, Reply, Signal, begin
from core.errors import AutoImproveError, StoreError, StoreFull
from core.model.mail import Incoming
from core.ports import Clock, Probe, Store
from core.tables import Tx
from core.texts import say_error

log = structlog.get_logger()

MAX_ATTEMPTS = 3
_PAUSE_S = 0.5
_MAX_PAUSE_S = 10.0


class Lanes:
    """Owns one task per chat (and topic) that has something to do."""

    def __init__(
        self,
        store: Store,
        app: App,
        clock: Clock,
        probe: Probe,
        after: Callable[[str, tuple[Signal, ...]], None],
    ) -> None:
        self._store, self._app, self._clock, self._probe, self._after = store, app, clock, probe, after
        self._queues: dict[str, asyncio.Queue[Incoming]] = {}
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Work until cancelled, beginning with what an earlier process did not finish."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for incoming in await self._store.read(lambda tx: tx.inbox.waiting()):
                self.put(incoming)
            await asyncio.Event().wait()

    def put(self, incoming: Incoming) -> None:
        """Take a stored update in; the lane's task does it when its turn comes."""
        queue = self._queues.get(incoming.lane)
        if queue is None:
            queue = self._queues[incoming.lane] = asyncio.Queue()
            assert self._group is not None, "lanes are running"
            self._group.create_task(self._serve(incoming.lane, queue), name=f"lane {incoming.lane}")
        queue.put_nowait(incoming)

    async def _serve(self, lane: str, queue: asyncio.Queue[Incoming]) -> None:
        while not queue.empty():
            await self._finish(queue.get_nowait())
        del self._queues[lane]

    async def _finish(self, incoming: Incoming) -> None:
        """Bring one update to its end: done, or dead after three tries."""
        pause, attempts = _PAUSE_S, incoming.attempts
        while True:
            try:
                await self._take_turn(incoming)
                return
            except StoreError as error:  # not the update's fault: it waits until the store works again
                log.error("cannot store what this update does", update=incoming.id, error=str(error))
                if isinstance(error, StoreFull):
                    await self.answer_full(json.loads(incoming.raw))
            except Exception as error:  # noqa: BLE001 -- the border of all handlers (P2): retried, then dead
                attempts += 1
                if await self._fail(incoming, error, is_last=attempts >= MAX_ATTEMPTS):
                    return
            await asyncio.sleep(pause)
            pause = min(_MAX_PAUSE_S, pause * 2)

    async def _take_turn(self, incoming: Incoming) -> None:
        raw: Raw = json.loads(incoming.raw)
        update = Update.de_json(raw, self._app.bot)
        turn = begin()
        await self._app.process_update(update)
        if turn.error is not None:
            raise turn.error
        self._probe("lane.before")
        reply = await self._store.write(lambda tx: _conclude(tx, turn.effect, incoming.id))
        await self._follow_up(incoming.lane, raw, reply)

    async def _follow_up(self, lane: str, raw: Raw, reply: Reply) -> None:
        self._probe("lane.committed")
        if query := raw.get("callback_query"):
            asyncio.create_task(self._answer(query["id"], reply.toast, is_alert=reply.is_alert))  # noqa: RUF006 -- best effort by design
        self._after(lane, reply.signals)

    async def _fail(self, incoming: Incoming, error: Exception, *, is_last: bool) -> bool:
        """Count a failed try; say whether that ends it. Our own refusals are an answer, not a failure."""
        raw: Raw = json.loads(incoming.raw)
        if isinstance(error, AutoImproveError):
            text = say_error(error, language_of(raw))
            now = self._clock.now()
            reply = await self._store.write(lambda tx: _refuse(tx, incoming, raw, text, now))
            await self._follow_up(incoming.lane, raw, reply)
            return True
        log.error("update failed", update=incoming.id, is_last=is_last, exc_info=error)
        reason = f"{type(error).__name__}: {error}"[:300]
        await self._store.write(lambda tx: tx.inbox.fail(incoming.id, reason, is_dead=is_last))
        if is_last and (query := raw.get("callback_query")):
            await self._answer(query["id"], say("toast.failed", language_of(raw)), is_alert=True)
        return is_last

    async def answer_full(self, raw: Raw) -> None:
        """Tell who tapped that nothing was stored: a full disk is said, not hidden."""
        if query := raw.get("callback_query"):
            await self._answer(query["id"], say("toast.full", language_of(raw)), is_alert=True)

    async def _answer(self, query: str, text: str, *, is_alert: bool) -> None:
        params: dict[str, Any] = {"callback_query_id": query}
        if text:
            params |= {"text": text[:200], "show_alert": is_alert}
        try:
            await self._app.bot.call("answerCallbackQuery", params)
        except TelegramError as error:  # a stale tap cannot be answered (P12); what it did is stored
            log.debug("tap not answered", error=str(error))


def _conclude(tx: Tx, effect: Callable[[Tx], Reply | None] | None, id: int) -> Reply:
    reply = effect(tx) if effect is not None else None
    tx.inbox.finish(id)
    return reply or Reply()


def _refuse(tx: Tx, incoming: Incoming, raw: Raw, text: str, now: float) -> Reply:
    tx.inbox.finish(incoming.id)
    if raw.get("callback_query"):
        return Reply(toast=text, is_alert=True)
    if message := raw.get("message"):
        post(tx, lane_of(raw), Message(text), now=now, reply_to=str(message["message_id"]))
    return Reply()


def language_of(raw: Raw) -> str:
    """Give the language of who sent an update: French or English."""
    for name in ("message", "edited_message", "callback_query"):
        code = ((raw.get(name) or {}).get("from") or {}).get("language_code")
        if code:
            return "fr" if str(code).lower().startswith("fr") else "en"
    return "en"
