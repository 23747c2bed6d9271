"""An agent without a model, shipped for the demo, for tests and for embedders: it plays a script.

Everything around it is real: shell commands run in the session's folder with its environment, can be aborted,
and what they leave behind is reaped.
"""

import asyncio
import re
from collections import Counter, deque
from contextlib import suppress
from itertools import count

from core.agents.process import AgentProcess, spawn
from core.agents.reaping import new_marker, reap
from core.agents.script import Ask, Die, Fail, Hang, Mention, Say, Script, Shell, Step, Stumble
from core.agents.stream import EventStream
from core.errors import AgentDied, AgentRefused
from core.events import (
    Asked,
    Ended,
    Event,
    Notice,
    Outcome,
    Retrying,
    Started,
    Text,
    ToolEnded,
    ToolStarted,
)
from core.ports import AgentSpec

PIECE = 24  # characters of a delta
OUTPUT_KEPT = 32 * 1024

_BLANK = re.compile(r"\{\{(prompt|told|output|answer)\}\}")


class ScriptedRunner:
    """AgentRunner that plays a script; what it was asked can be looked at."""

    def __init__(self, script: Script, pause_s: float = 0.0) -> None:
        self.script = script
        self.pause_s = pause_s
        """Seconds between two pieces of text."""
        self.sessions: list[ScriptedSession] = []
        self.questions: list[str] = []
        self._asked: Counter[str] = Counter()

    async def open(self, spec: AgentSpec) -> "ScriptedSession":
        """Start a session."""
        session = ScriptedSession(self.script, spec, self.pause_s)
        self.sessions.append(session)
        return session

    async def ask(self, spec: AgentSpec, text: str, timeout_s: float) -> str:  # noqa: ARG002 - the port's form
        """Answer a question by the script."""
        self.questions.append(text)
        answer = self.script.answer(text)
        if answer is None:
            raise AgentRefused("agent.refused", error="no answer in the script")
        if answer.hangs:
            async with asyncio.timeout(timeout_s):
                await asyncio.Event().wait()
        if answer.error is not None:
            raise AgentRefused("agent.refused", error=answer.error)
        turn = min(self._asked[answer.match], len(answer.texts) - 1)
        self._asked[answer.match] += 1
        return answer.texts[turn]


class ScriptedSession:
    """AgentSession that plays a script."""

    def __init__(self, script: Script, spec: AgentSpec, pause_s: float) -> None:
        self.prompts: list[str] = []
        self.told: list[str] = []
        """The block as read at each prompt."""
        self._script = script
        self._spec = spec
        self._pause_s = pause_s
        self._stream = EventStream()
        self._marker = new_marker()
        self._run: asyncio.Task[None] | None = None
        self._steered: deque[str] = deque()
        self._steering = asyncio.Event()
        self._dialogs: dict[str, asyncio.Future[str | bool | None]] = {}
        self._filled: dict[str, str] = {}
        self._numbers = count(1)
        self._is_alive = True

    @property
    def is_alive(self) -> bool:
        """Say whether it can still take a prompt."""
        return self._is_alive

    async def prompt(self, text: str) -> None:
        """Start a run."""
        if not self._is_alive:
            raise AgentDied("agent.died", error="")
        if self._run is not None and not self._run.done():
            raise AgentRefused("agent.busy")
        told = await asyncio.to_thread(self._read_block)
        self.prompts.append(text)
        self.told.append(told)
        self._steered.clear()
        self._filled = {"prompt": text, "told": told, "output": "", "answer": ""}
        self._stream.put(Started())
        self._run = asyncio.create_task(self._play(self._script.steps(text, told)))
        await asyncio.sleep(0)  # a task that is cancelled before its first step would never say Ended

    async def steer(self, text: str) -> None:
        """Leave the rest of the scene for the scene of this text."""
        if not self._is_alive:
            raise AgentDied("agent.died", error="")
        if self._run is None or self._run.done():
            raise AgentRefused("agent.idle")
        self._steered.append(text)
        self._steering.set()

    async def abort(self) -> None:
        """End the run."""
        if self._run is not None and not self._run.done():
            self._run.cancel()
            with suppress(asyncio.CancelledError):
                await self._run

    async def answer(self, request: str, value: str | bool | None) -> None:
        """Answer a dialog."""
        waiting = self._dialogs.pop(request, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(value)

    async def reload(self) -> None:
        """Do nothing: a script reads no skills."""

    def events(self) -> EventStream:
        """Iterate over what it does."""
        return self._stream

    async def close(self) -> None:
        """End it and what its commands left running."""
        self._is_alive = False
        await self.abort()
        await asyncio.to_thread(reap, self._marker)
        self._stream.close()

    async def finished(self) -> None:
        """Wait for the end of the run, if one is on."""
        if self._run is not None:
            await asyncio.wait((self._run,))

    # ---- inside

    def _read_block(self) -> str:
        file = self._spec.context_file
        with suppress(OSError):
            return file.read_text("utf-8") if file is not None else ""
        return ""

    async def _play(self, steps: tuple[Step, ...]) -> None:
        said = ""
        waiting = deque(steps)
        ended = Ended(Outcome.STOPPED)
        try:
            while waiting:
                step = waiting.popleft()
                if isinstance(step, Fail | Die):
                    ended = self._fail(step, said)
                    return
                text = await self._do(step, is_next=bool(said))
                said = text or said
                ended = Ended(Outcome.STOPPED, said)
                if self._steered:
                    waiting = deque(self._turn(self._steered.popleft()))
            ended = Ended(Outcome.DONE, said)
        finally:
            self._dialogs.clear()
            self._stream.put(ended)
            if not self._is_alive:
                self._stream.close()

    def _fail(self, step: Fail | Die, said: str) -> Ended:
        if isinstance(step, Die):
            self._is_alive = False
            return Ended(Outcome.FAILED, said, f"the agent died: {step.error}".rstrip(": "))
        return Ended(Outcome.FAILED, said, step.error)

    def _turn(self, text: str) -> tuple[Step, ...]:
        self._steering.clear()
        self._filled["prompt"] = text
        return self._script.steps(text, self._filled["told"])

    async def _do(self, step: Step, *, is_next: bool) -> str:
        """Do one step; give the message it wrote, if any."""
        match step:
            case Say(text):
                return await self._say(self._fill(text), "\n\n" if is_next else "")
            case Shell():
                await self._run_shell(step)
            case Ask():
                await self._ask(step)
            case Mention(text, level):
                self._stream.put(Notice(self._fill(text), level))
            case Stumble(error, delay_s):
                self._stream.put(Retrying(1, 3, delay_s, error))
                await asyncio.sleep(delay_s)
            case Hang():
                await self._steering.wait()
        return ""

    def _fill(self, text: str) -> str:
        return _BLANK.sub(lambda blank: self._filled[blank[1]], text)

    async def _say(self, text: str, gap: str) -> str:
        for start in range(0, len(text), PIECE):
            self._stream.put(Text((gap if start == 0 else "") + text[start : start + PIECE]))
            await asyncio.sleep(self._pause_s)
        return text

    async def _ask(self, step: Ask) -> None:
        request = f"ask-{next(self._numbers)}"
        waiting: asyncio.Future[str | bool | None] = asyncio.get_running_loop().create_future()
        self._dialogs[request] = waiting
        self._stream.put(Asked(request, step.dialog, self._fill(step.title), step.message, step.options))
        value = await waiting
        self._filled["answer"] = _spell(value)

    async def _run_shell(self, step: Shell) -> None:
        command = self._fill(step.command)
        call = f"call-{next(self._numbers)}"
        arguments: dict[str, object] = {"command": command}
        self._stream.put(ToolStarted(call, step.tool, arguments))
        output = bytearray()
        code: int | None = None
        try:
            code = await self._run_command(command, output)
        finally:
            self._stream.put(_tool_ended(call, step.tool, arguments, bytes(output), code))
        self._filled["output"] = output.decode(errors="replace").strip()

    async def _run_command(self, command: str, output: bytearray) -> int | None:
        closed = asyncio.Event()
        process: AgentProcess = await spawn(
            ("/bin/sh", "-c", f"exec 2>&1\n{command}"),
            cwd=self._spec.cwd,
            env=self._spec.env,
            marker=self._marker,
            on_output=output.extend,
            on_close=closed.set,
        )
        try:
            process.close_stdin()
            await closed.wait()
        except asyncio.CancelledError:
            await process.end(0.0)
            raise
        process.release()
        return process.returncode


def _spell(value: str | bool | None) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case _:
            return value


def _tool_ended(call: str, tool: str, arguments: dict[str, object], output: bytes, code: int | None) -> Event:
    """Say how a command ended, in the words Pi uses; `code` is None when it was aborted."""
    kept = output if len(output) <= 2 * OUTPUT_KEPT else output[:OUTPUT_KEPT] + output[-OUTPUT_KEPT:]
    text = kept.decode(errors="replace")
    if code is None:
        return ToolEnded(call, tool, True, f"{text}\n\nCommand aborted".strip(), arguments, is_aborted=True)
    if code:
        text = f"{text}\n\nCommand exited with code {code}".strip()
    return ToolEnded(call, tool, code != 0, text, arguments, exit_code=code)
