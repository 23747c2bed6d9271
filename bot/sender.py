"""Sends the outbox: per-chat order, one network call at a time a chat, every refusal with a defined end.

The rules are telegram.md 3. A send is marked before it goes out; one found marked later has an unknown
outcome and is repeated once at most, visibly. Edits, deletions and reactions may simply be repeated.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import structlog
from telegram.error import RetryAfter

from bot.api import Api, BadRequest, ChatMigrated, Forbidden, TelegramError, is_unknown, retry_after_s
from bot.outbox import address
from bot.pace import Pace
from bot.patience import insist
from core.errors import StoreError
from core.model.ids import SessionId
from core.model.mail import MailState, Outgoing, Receipt
from core.ports import Clock, Probe, Store, T
from core.services import runs
from core.tables import Tx

log = structlog.get_logger()

Sleep = Callable[[float], Awaitable[None]]

_ONCE = frozenset({"sendMessage", "sendDocument"})  # what must not happen twice
_NO_CHANGE = ("message is not modified", "message to delete not found", "message can't be deleted")
_GONE = (
    "message to edit not found",
    "message can't be edited",
    "message_id_invalid",
    "message to react not found",
)
_REPEAT_MARK = " ↻"
_MAX_TEXT_UNITS = 4096
_LONG_WAIT_S = 60.0
_MAX_PAUSE_S = 30.0
_STORE_PAUSE_S = 1.0


@dataclass(frozen=True, slots=True)
class Live:
    """The newest state of something that changes often (a progress message); never stored."""

    method: str
    params: dict[str, Any]
    target: str | None = None


class Sender:
    """Owns everything that leaves, except answers to taps and polling: those never wait."""

    def __init__(
        self,
        store: Store,
        api: Api,
        clock: Clock,
        probe: Probe,
        pace: Pace,
        on_gone: Callable[[SessionId], None] = lambda _session: None,
    ) -> None:
        self._store, self._api, self._clock, self._probe, self._pace = store, api, clock, probe, pace
        self._on_gone = on_gone  # hears which session's chat is gone: nobody can stop its agent any more
        self._wakes: dict[str, asyncio.Event] = {}
        self._live: dict[str, dict[str, Live]] = {}
        self._failures: Counter[str] = Counter()  # in a row, by lane
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Send until cancelled, beginning with what an earlier process left."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for lane in await self._store.read(lambda tx: tx.outbox.lanes()):
                self.wake(lane)
            await asyncio.Event().wait()

    def wake(self, lane: str) -> None:
        """Look at a lane: something was stored for it."""
        if self._group is None:
            return
        if lane not in self._wakes:
            self._wakes[lane] = asyncio.Event()
            self._group.create_task(self._serve(lane), name=f"sender {lane}")
        self._wakes[lane].set()

    def show(self, lane: str, key: str, live: Live) -> None:
        """Show the newest state of something; an older one that was not sent yet is dropped."""
        self._live.setdefault(lane, {})[key] = live
        self.wake(lane)

    def hide(self, lane: str, key: str) -> None:
        """Send no more of that."""
        self._live.get(lane, {}).pop(key, None)

    async def _serve(self, lane: str) -> None:
        wake = self._wakes[lane]
        while True:
            wake.clear()
            try:
                if await self._step(lane, wake):
                    break
            except StoreError as error:  # a lane's trouble must not end the others
                log.error("cannot look into the outbox", lane=lane, error=str(error))
                await asyncio.sleep(_STORE_PAUSE_S)
        self._wakes.pop(lane, None)
        if wake.is_set():
            self.wake(lane)

    async def _step(self, lane: str, wake: asyncio.Event) -> bool:
        """Send the next thing of a lane, or wait for it; say whether the lane has nothing left."""
        now = self._clock.now()
        waiting = await self._store.read(lambda tx: tx.outbox.waiting(lane))
        if waiting and waiting[0].not_before <= now:  # order within a chat: nothing overtakes what waits
            return await self._send(waiting[0])
        if await self._send_live(lane):
            return False
        if not waiting and not self._live.get(lane):
            return True
        await _wait(wake, waiting[0].not_before - now if waiting else self._pace.pause(lane))
        return False

    async def _send_live(self, lane: str) -> bool:
        pending = self._live.get(lane)
        if not pending or self._pace.pause(lane) > 0:
            return False
        key = next(iter(pending))
        live = pending.pop(key)
        params = live.params
        if live.target is not None:
            target = live.target
            message = await self._store.read(lambda tx: _message_of(tx, target))
            if message is None:
                return True
            params = {**params, "message_id": message}
        await self._pace.enter(lane)
        try:
            await self._api.call(live.method, params)
        except RetryAfter as error:
            self._pace.hold(lane, retry_after_s(error))
        except Forbidden as error:
            await self._drop(lane, str(error))
        except TelegramError as error:  # superseded soon, or of no weight: never repeated
            log.debug("live call refused", method=live.method, error=str(error))
        return True

    async def _send(self, row: Outgoing) -> bool:
        """Send one stored call to its end or put it back; say whether its lane moved elsewhere."""
        body = json.loads(row.body)
        is_once = body["method"] in _ONCE
        if is_once and row.state is MailState.SENDING:
            if body.get("is_repeat"):
                await self._write(lambda tx: tx.outbox.fail(row.seq, "outcome unknown twice"))
                log.warning("message given up: outcome unknown twice", lane=row.lane, ref=row.ref)
                return False
            body = _marked(body)
        params = _params(body)
        if "target" in body:
            message = await self._store.read(lambda tx: _message_of(tx, body["target"]))
            if message is None:  # what it is about was never sent, or is gone
                await self._write(lambda tx: tx.outbox.finish(row.seq))
                return False
            params["message_id"] = message
        await self._pace.enter(row.lane)
        if is_once:
            text = json.dumps(body, ensure_ascii=False)
            await self._write(lambda tx: tx.outbox.start(row.seq, text))
        self._probe("send.before")
        try:
            result = await self._api.call(body["method"], params)
        except TelegramError as error:
            return await self._refused(row, body, error)
        self._probe("send.after")
        self._failures.pop(row.lane, None)
        await self._write(lambda tx: _record(tx, row, body, result))
        self._probe("send.recorded")
        return False

    async def _refused(self, row: Outgoing, body: dict[str, Any], error: TelegramError) -> bool:
        match error:
            case RetryAfter():
                await self._hold(row, body, retry_after_s(error))
            case ChatMigrated():
                target = str(error.new_chat_id)
                await self._write(lambda tx: _follow(tx, row, target))
                log.info("chat moved", lane=row.lane, to=target)
                self.wake(target)
                return True
            case Forbidden():
                await self._drop(row.lane, str(error))
            case BadRequest():
                await self._bad_request(row, body, str(error))
            case _:
                await self._later(row, body, error)
        return False

    async def _hold(self, row: Outgoing, body: dict[str, Any], wait_s: float) -> None:
        if wait_s > _LONG_WAIT_S:
            log.warning(
                "Telegram asks to wait; the message goes out afterwards", lane=row.lane, wait_s=wait_s
            )
        self._pace.hold(row.lane, wait_s)
        await self._delay(row, body, wait_s, "429")

    async def _later(self, row: Outgoing, body: dict[str, Any], error: TelegramError) -> None:
        pause = min(_MAX_PAUSE_S, 0.5 * 2 ** min(self._failures[row.lane], 6))
        self._failures[row.lane] += 1
        log.warning("send failed, trying again", lane=row.lane, pause_s=pause, error=str(error))
        if is_unknown(error) and body["method"] in _ONCE:
            await asyncio.sleep(pause)  # stays marked: the next look sees an unknown outcome
        else:
            await self._delay(row, body, pause, str(error))

    async def _bad_request(self, row: Outgoing, body: dict[str, Any], reason: str) -> None:
        if any(part in reason.lower() for part in _NO_CHANGE):
            await self._write(lambda tx: tx.outbox.finish(row.seq))
        elif "chat not found" in reason.lower():
            await self._drop(row.lane, reason)
        elif any(part in reason.lower() for part in _GONE):
            log.info("message is gone, edit dropped", lane=row.lane, reason=reason)
            await self._write(lambda tx: tx.outbox.finish(row.seq))
        elif (plainer := _plainer(body, reason)) is not None:
            log.warning("refused, sending it plainer", lane=row.lane, reason=reason)
            await self._delay(row, plainer, 0.0, reason)
        else:
            log.error("message refused for good", lane=row.lane, ref=row.ref, reason=reason)
            await self._write(lambda tx: tx.outbox.fail(row.seq, reason))

    async def _delay(self, row: Outgoing, body: dict[str, Any], pause_s: float, reason: str) -> None:
        text, at = json.dumps(body, ensure_ascii=False), self._clock.now() + pause_s
        await self._write(lambda tx: tx.outbox.delay(row.seq, text, at if pause_s else 0.0, reason))

    async def _drop(self, lane: str, reason: str) -> None:
        log.warning("chat is gone, nothing more goes there", lane=lane, reason=reason)
        self._live.pop(lane, None)
        session = await self._write(lambda tx: _close(tx, lane))
        if session is not None:
            self._on_gone(session)

    async def _write(self, fn: Callable[[Tx], T]) -> T:
        return await insist(self._store, fn)


async def _wait(wake: asyncio.Event, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await wake.wait()
    except TimeoutError:
        return


def _message_of(tx: Tx, ref: str) -> int | None:
    receipts = tx.outbox.receipts(ref)
    return int(receipts[-1].external) if receipts else None


def _params(body: dict[str, Any]) -> dict[str, Any]:
    params = dict(body["params"])
    if "file" in body:
        params[body["file"]["field"]] = _upload(body["file"])
    return params


def _upload(file: dict[str, str]) -> object:
    from telegram import InputFile  # noqa: PLC0415 -- only long answers need it

    return InputFile(file["content"].encode(), filename=file["filename"])


def _record(tx: Tx, row: Outgoing, body: dict[str, Any], result: Any) -> None:
    """Remember what was sent; of two copies the first tap or reply chooses, and it may have come already."""
    receipt = None
    if isinstance(result, dict) and "message_id" in result and body["method"] in _ONCE:
        external, is_repeat = str(result["message_id"]), bool(body.get("is_repeat"))
        buttons = [button for token in body.get("bind", ()) if (button := tx.buttons.get(token)) is not None]
        is_chosen = is_repeat and any(button.message for button in buttons)
        receipt = Receipt(row.lane, external, "" if is_chosen else row.ref or "")
        for button in () if is_repeat else buttons:
            tx.buttons.put(replace(button, message=external))
    tx.outbox.finish(row.seq, receipt)


def _follow(tx: Tx, row: Outgoing, target: str) -> None:
    """Move a lane to the supergroup it became, with the addresses inside what waits."""
    for waiting in tx.outbox.waiting(row.lane):
        body = json.loads(waiting.body)
        body["params"].update(address(target))
        tx.outbox.delay(waiting.seq, json.dumps(body, ensure_ascii=False), 0.0, "chat moved")
    tx.outbox.move(row.lane, target)


def _close(tx: Tx, lane: str) -> SessionId | None:
    """Stop what would go to a chat that is gone: nothing loops. Give its session."""
    tx.outbox.drop(lane)
    session = tx.runs.current_session(lane)
    if session is None:
        return None
    runs.clear(tx, session.id)
    return session.id


def _plainer(body: dict[str, Any], reason: str) -> dict[str, Any] | None:
    """Give a plainer form of a refused call (no topic, entities, reply, buttons), None after the last."""
    params = dict(body["params"])
    if "thread not found" in reason.lower() and params.pop("message_thread_id", None) is not None:
        return {**body, "params": params}
    for name in ("entities", "reply_parameters", "reply_markup"):
        if params.pop(name, None) is not None:
            return {**body, "params": params}
    return None


def _marked(body: dict[str, Any]) -> dict[str, Any]:
    """Mark a message that may arrive twice."""
    params = dict(body["params"])
    name = "text" if "text" in params else "caption"
    text = params.get(name, "")
    if len(text.encode("utf-16-le")) // 2 + len(_REPEAT_MARK) <= _MAX_TEXT_UNITS:
        params[name] = (text + _REPEAT_MARK).lstrip()
    return {**body, "params": params, "is_repeat": True}
