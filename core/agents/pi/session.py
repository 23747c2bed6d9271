"""One running Pi: the protocol joined to a process."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from core.agents.pi.framing import LineSplitter, Overlong, decode, encode
from core.agents.pi.protocol import PiProtocol, Reply
from core.agents.pi.records import string
from core.agents.process import AgentProcess, spawn
from core.agents.stream import EventStream
from core.errors import AgentDied, AgentRefused
from core.events import Event

READY_S = (
    30.0  # 0.3 s for 1.6 and 0.8 s for 0.84 on an idle machine; npm's first start on a slow disk is long
)
ACCEPT_S = 10.0
ABORT_S = 2.5  # an orderly abort takes 4-7 ms; what does not answer in this time is ended
ABORT_GRACE_S = 0.2
KEPT_ERROR = 300

log = logging.getLogger(__name__)


class PiSession:
    """AgentSession over Pi's RPC. Made by `start`."""

    def __init__(self, *, can_clear_queue: bool) -> None:
        self._can_clear_queue = can_clear_queue
        self._protocol = PiProtocol()
        self._splitter = LineSplitter()
        self._stream = EventStream()
        self._replies: dict[str, asyncio.Future[Reply]] = {}
        self._changed = asyncio.Event()
        self._process: AgentProcess | None = None
        self._is_over = False
        self._is_closing = False
        self._cleaning: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        command: tuple[str, ...],
        *,
        cwd: Path,
        env: Mapping[str, str],
        marker: str,
        can_clear_queue: bool = True,
    ) -> "PiSession":
        """Start Pi and wait until it answers. Raises AgentMissing, AgentDied."""
        session = cls(can_clear_queue=can_clear_queue)
        session._process = await spawn(
            command,
            cwd=cwd,
            env=env,
            marker=marker,
            on_output=session._take,
            on_close=session._finish,
        )
        try:
            async with asyncio.timeout(READY_S):
                await session._expect(session._protocol.ask_state())
        except TimeoutError:
            await session.close()
            raise AgentDied("agent.not_ready", seconds=READY_S, error=session._last_words()) from None
        except BaseException:
            await session.close()
            raise
        return session

    # ---- AgentSession

    @property
    def is_alive(self) -> bool:
        """Say whether the process can still take a prompt."""
        is_open = not self._is_over and not self._is_closing
        return is_open and self._process is not None and self._process.is_writable

    async def prompt(self, text: str) -> None:
        """Start a run; return once it is accepted, or after `ACCEPT_S` of silence (it then counts as on).

        A command of an extension may ask the person before Pi answers the prompt: its dialog accepts it.
        """
        self._require_alive()
        if self._protocol.is_busy:
            raise AgentRefused("agent.busy")
        runs = self._protocol.runs
        reply = self._expect(self._protocol.prompt(text))
        try:
            async with asyncio.timeout(ACCEPT_S):
                while self._protocol.runs == runs and not self._is_refused(reply):
                    await self._change()
        except TimeoutError:
            self._emit(self._protocol.assume_started())
            return
        if self._protocol.runs == runs:
            raise AgentRefused("agent.refused", error=(await reply).error)

    async def steer(self, text: str) -> None:
        """Hand a message into the running run."""
        self._require_alive()
        if not self._protocol.is_running:
            raise AgentRefused("agent.idle")
        with suppress(TimeoutError):
            async with asyncio.timeout(ACCEPT_S):
                reply = await self._expect(self._protocol.steer(text))
                if not reply.is_ok:
                    raise AgentRefused("agent.refused", error=reply.error)

    async def abort(self) -> None:
        """End the run within 5 s: in order, else by ending the process (`is_alive` tells)."""
        if self._is_over or not self._protocol.is_busy:
            return
        self._emit(self._protocol.assume_started())
        if self._protocol.queued and not self._can_clear_queue:
            self._protocol.expect_end()  # told to abort, 0.84 would go on with what it has queued
            await self._end(0.0)
            return
        reply = self._expect(self._protocol.abort())
        with suppress(TimeoutError, AgentDied):
            async with asyncio.timeout(ABORT_S):
                await reply
                await self._until_idle()
        if self._protocol.is_busy:
            await self._end(ABORT_GRACE_S)

    async def _until_idle(self) -> None:
        while self._protocol.is_busy:
            await self._change()

    async def answer(self, request: str, value: str | bool | None) -> None:
        """Answer a dialog; an unknown or late request is ignored."""
        self._protocol.answer(request, value)
        self._flush()

    async def reload(self) -> None:
        """Open the session's own file again: skills are read anew, the talk is kept (pi-protocol 4)."""
        self._require_alive()
        if self._protocol.is_busy:
            raise AgentRefused("agent.busy")
        try:
            async with asyncio.timeout(ACCEPT_S):
                state = await self._expect(self._protocol.ask_state())
                file = string(state.data.get("sessionFile"))
                if not file:
                    raise AgentRefused("agent.refused", error="the session has no file")
                reply = await self._expect(self._protocol.switch_session(file))
        except TimeoutError:
            raise AgentRefused("agent.refused", error="no answer to a reload") from None
        if not reply.is_ok or reply.data.get("cancelled") is True:
            raise AgentRefused("agent.refused", error=reply.error or "the reload was cancelled")

    def events(self) -> EventStream:
        """Iterate over what Pi does, over all runs."""
        return self._stream

    async def close(self) -> None:
        """End the process and everything it left running."""
        self._is_closing = True
        with suppress(AgentDied):
            await self.abort()
        await self._end()

    # ---- inside

    async def _end(self, grace_s: float | None = None) -> None:
        self._is_closing = True
        if self._process is not None:
            left = await (self._process.end() if grace_s is None else self._process.end(grace_s))
            if left:
                log.warning("agent left processes running: %d", left)
        self._finish()

    def _take(self, data: bytes) -> None:
        for line in self._splitter.receive(data):
            self._take_line(line)
        self._flush()

    def _take_line(self, line: bytes | Overlong) -> None:
        """Border of the agent reader: whatever Pi writes, the next line is read."""
        try:
            record = decode(line) if isinstance(line, bytes) else line
            if record is not None:
                self._emit(self._protocol.receive(record))
        except Exception:  # a record of a form nobody foresaw must not end the session
            log.exception("agent record not understood")

    def _emit(self, items: Sequence[Event | Reply]) -> None:
        for item in items:
            if isinstance(item, Reply):
                waiting = self._replies.pop(item.id, None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(item)
            else:
                self._stream.put(item)
        self._changed.set()

    def _flush(self) -> None:
        for record in self._protocol.data_to_send():
            if self._process is not None:
                self._process.write(encode(record))

    def _finish(self) -> None:
        """Take the end of the process; called by the process and by `_end`, works once."""
        if self._is_over:
            return
        self._is_over = True
        for line in self._splitter.receive_eof():
            self._take_line(line)
        self._emit(self._protocol.receive_eof(self._last_words()))
        for waiting in self._replies.values():
            if not waiting.done():
                waiting.set_exception(self._death())
        self._stream.close()
        self._changed.set()
        if self._process is not None and not self._is_closing:
            self._cleaning = asyncio.create_task(self._end(0.0))

    def _expect(self, command: str) -> asyncio.Future[Reply]:
        waiting: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        waiting.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be waiting
        self._replies[command] = waiting
        if self._is_over:
            waiting.set_exception(self._death())
        self._flush()
        return waiting

    @staticmethod
    def _is_refused(reply: asyncio.Future[Reply]) -> bool:
        """Say whether the prompt will start nothing: refused, or the process has died."""
        return reply.done() and (reply.exception() is not None or not reply.result().is_ok)

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _require_alive(self) -> None:
        if not self.is_alive:
            raise self._death()

    def _death(self) -> AgentDied:
        return AgentDied("agent.died", error=self._last_words())

    def _last_words(self) -> str:
        """Say in one line that the process ended, with its status and the last line of its stderr."""
        code = self._process.returncode if self._process is not None else None
        told = self._process.stderr_tail.rpartition("\n")[2].strip() if self._process is not None else ""
        died = "the agent died" if code is None else f"the agent died (exit code {code})"
        return f"{died}: {told}"[:KEPT_ERROR] if told else died
