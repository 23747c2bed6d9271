"""Per-chat order: each update of a lane runs to its commit before the next one begins.

Effect, "inbox done" and the outbox rows are one transaction, shared by taps that wait behind one another;
then the tap is answered, best effort; then the sender sends (reliability.md 1). Nothing here waits for an
agent, so votes and `/stop` never queue behind one.
"""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import structlog
from telegram import Update

from bot.api import TelegramError
from bot.inbox import Raw, lane_of, part
from bot.locales import say
from bot.outbox import Message, post
from bot.turn import App, Reply, Turn, begin
from core.errors import AutoImproveError, StoreError, StoreFull
from core.model.mail import Incoming
from core.ports import Clock, Probe, Store
from core.tables import Tx
from core.texts import say_error

log = structlog.get_logger()

MAX_ATTEMPTS = 3
HEAD_START_S = 0.25  # how long what a tap leads to waits for the tap's answer to be out

_PAUSE_S = 0.5
_MAX_PAUSE_S = 10.0
_TOGETHER = 32  # taps of one chat that share a transaction


class Lanes:
    """Owns one task per chat (and topic) that has something to do."""

    def __init__(
        self,
        store: Store,
        app: App,
        clock: Clock,
        probe: Probe,
        after: Callable[[Reply], None],
        send: Callable[[str], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._sleep = sleep
        self._store, self._app, self._clock, self._probe = store, app, clock, probe
        self._after, self._send = after, send
        self._queues: dict[str, deque[Incoming]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._early: list[Incoming] = []
        self._answers: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Work until cancelled, beginning with what an earlier process did not finish."""
        async with asyncio.TaskGroup() as group:
            waiting = await self._store.read(lambda tx: tx.inbox.waiting())
            self._group = group
            # What came meanwhile stands after what waited, and may be among it already: each once.
            for incoming in {each.id: each for each in (*waiting, *self._early)}.values():
                self.put(incoming)
            await asyncio.Event().wait()

    def put(self, incoming: Incoming) -> None:
        """Take a stored update in; the lane's task does it when its turn comes."""
        if self._group is None:
            self._early.append(incoming)
            return
        queue = self._queues.get(incoming.lane)
        if queue is None:
            queue = self._queues[incoming.lane] = deque()
            self._group.create_task(self._serve(incoming.lane, queue), name=f"lane {incoming.lane}")
        queue.append(incoming)

    async def _serve(self, lane: str, queue: deque[Incoming]) -> None:
        while queue:
            batch = _next(queue)
            if len(batch) == 1 or not await self._finish_together(batch):
                for incoming in batch:
                    await self._finish(incoming)
        del self._queues[lane]

    async def _finish_together(self, taps: list[Incoming]) -> bool:
        """Bring taps to their end in one transaction; False: one failed, so nothing was done."""
        try:
            done = await self._take_turns(taps)
        except Exception as error:  # noqa: BLE001 -- the border of all handlers (P2): each is tried alone
            log.debug("taps are taken one by one", error=str(error))
            return False
        for turn, reply in done:
            self._follow_up(taps[0].lane, turn.raw, reply)
        return True

    async def _finish(self, incoming: Incoming) -> None:
        """Bring one update to its end: done, or dead after three tries."""
        pause, left = _PAUSE_S, await self._try(incoming)
        while left is not None:
            await self._sleep(pause)
            pause = min(_MAX_PAUSE_S, pause * 2)
            left = await self._try(left)

    async def _try(self, incoming: Incoming) -> Incoming | None:
        """Take the update's turn once; give it back, its failures counted, when it needs another."""
        try:
            return await self._attempt(incoming)
        except StoreError as error:  # not the update's fault: it waits until the store works again
            log.error("cannot store what this update does", update=incoming.id, error=str(error))
            if isinstance(error, StoreFull):
                await self.answer_full(json.loads(incoming.raw))
            return incoming

    async def _attempt(self, incoming: Incoming) -> Incoming | None:
        try:
            ((turn, reply),) = await self._take_turns([incoming])
            self._follow_up(incoming.lane, turn.raw, reply)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 -- the border of all handlers (P2): retried, then dead
            counted = replace(incoming, attempts=incoming.attempts + 1)
            is_end = await self._fail(counted, error, is_last=counted.attempts >= MAX_ATTEMPTS)
            return None if is_end else counted
        return None

    async def _take_turns(self, updates: Sequence[Incoming]) -> list[tuple[Turn, Reply]]:
        """Do what updates say, in their order and in one transaction. Raises what handlers raise."""
        turns = [await self._turn(each) for each in updates]
        return await self._store.write(lambda tx: [(turn, _conclude(tx, turn)) for turn in turns])

    async def _turn(self, incoming: Incoming) -> Turn:
        """Let the handlers say what an update does. Raises what they raise."""
        raw: Raw = json.loads(incoming.raw)
        update = Update.de_json(_lean(raw), self._app.bot)
        turn = begin(raw)
        await self._app.process_update(update)
        if turn.error is not None:
            raise turn.error
        self._probe("lane.before")
        return turn

    def _follow_up(self, lane: str, raw: Raw, reply: Reply) -> None:
        self._probe("lane.committed")
        self._after(reply)
        if "callback_query" not in raw:
            self._send(lane)
            return
        answer = asyncio.create_task(self._answer_first(lane, raw, reply))
        self._answers.add(answer)  # the loop itself would let go of it
        answer.add_done_callback(self._answers.discard)

    async def _answer_first(self, lane: str, raw: Raw, reply: Reply) -> None:
        """Answer a tap, then let go out what it led to; an answer that hangs holds it up only shortly."""
        patience = asyncio.get_running_loop().call_later(HEAD_START_S, self._send, lane)
        try:
            await self._answer(raw, reply.toast, is_alert=reply.is_alert)
        finally:
            patience.cancel()
            self._send(lane)

    async def _fail(self, incoming: Incoming, error: Exception, *, is_last: bool) -> bool:
        """Count a failed try; say whether that ends it. Our own refusals are an answer, not a failure."""
        raw: Raw = json.loads(incoming.raw)
        if isinstance(error, AutoImproveError):
            text = say_error(error, language_of(raw))
            now = self._clock.now()
            reply = await self._store.write(lambda tx: _refuse(tx, incoming, raw, text, now))
            self._follow_up(incoming.lane, raw, reply)
            return True
        log.error("update failed", update=incoming.id, is_last=is_last, exc_info=error)
        reason = f"{type(error).__name__}: {error}"[:300]
        await self._store.write(lambda tx: tx.inbox.fail(incoming.id, reason, is_dead=is_last))
        if is_last:
            await self._answer(raw, say("toast.failed", language_of(raw)), is_alert=True)
        return is_last

    async def answer_full(self, raw: Raw) -> None:
        """Tell who tapped that nothing was stored: a full disk is said, not hidden."""
        await self._answer(raw, say("toast.full", language_of(raw)), is_alert=True)

    async def _answer(self, raw: Raw, text: str, *, is_alert: bool) -> None:
        query = part(raw, "callback_query").get("id")
        if query is None:
            return
        params: dict[str, Any] = {"callback_query_id": query}
        if text:
            params |= {"text": text[:200], "show_alert": is_alert}
        try:
            await self._app.bot.call("answerCallbackQuery", params)
        except TelegramError as error:  # a stale tap cannot be answered (P12); what it did is stored
            log.debug("tap not answered", error=str(error))


def _lean(raw: Raw) -> Raw:
    """Take the message under a tap away: handlers read it raw, and parsing it is most of what a tap costs."""
    query = part(raw, "callback_query")
    if "message" not in query:
        return raw
    return {**raw, "callback_query": {name: query[name] for name in query if name != "message"}}


def _next(queue: deque[Incoming]) -> list[Incoming]:
    """Take the next update, and where it is a tap the taps that wait right behind it.

    A message stands alone: who may say it can depend on what the one before it did.
    """
    batch = [queue.popleft()]
    while queue and len(batch) < _TOGETHER and _is_tap(batch[0]) and _is_tap(queue[0]):
        batch.append(queue.popleft())
    return batch


def _is_tap(incoming: Incoming) -> bool:
    return '"callback_query":' in incoming.raw  # inside a text the quotes would be escaped


def _conclude(tx: Tx, turn: Turn) -> Reply:
    reply = turn.effect(tx) if turn.effect is not None else None
    tx.inbox.finish(int(turn.raw["update_id"]))
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
        code = part(part(raw, name), "from").get("language_code")
        if code:
            return "fr" if str(code).lower().startswith("fr") else "en"
    return "en"
