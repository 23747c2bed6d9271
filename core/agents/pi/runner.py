"""Start Pi: sessions over RPC, and single questions in JSON mode."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from core.agents.pi.framing import LineSplitter, decode
from core.agents.pi.protocol import PiProtocol
from core.agents.pi.providers import NO_KEY
from core.agents.pi.session import PiSession
from core.agents.pi.version import Version, check_version
from core.agents.process import spawn
from core.agents.reaping import new_marker
from core.errors import AgentDied, AgentRefused
from core.events import Ended, Outcome
from core.ports import AgentSpec

EXTENSION = Path(__file__).with_name("extension.ts")
AGENT_ID = "pi"
IDENTITY = "AUTO_IMPROVE_AGENT_ID"
CLEARS_QUEUE: Version = (0, 84, 4)
QUIET = {"PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
"""Nobody reads Pi's upgrade notice here, and a hosted agent reports nothing; both may be set otherwise."""

ASK_OPTIONS = ("--mode", "json", "--no-session", "--no-tools", "-ne", "-ns", "-nc")


class PiRunner:
    """AgentRunner for Pi 0.84 and newer."""

    def __init__(self, extension: Path = EXTENSION) -> None:
        self._extension = extension
        self._versions: dict[tuple[str, ...], Version] = {}
        self._checking = asyncio.Lock()

    async def open(self, spec: AgentSpec) -> PiSession:
        """Start a session, ready for a prompt."""
        version = await self.version(spec)
        if spec.session_file is not None:
            await asyncio.to_thread(spec.session_file.parent.mkdir, parents=True, exist_ok=True)
        command = (*spec.command, *self._session_options(spec))
        return await PiSession.start(
            command,
            cwd=spec.cwd,
            env=self._environment(spec),
            marker=new_marker(),
            can_clear_queue=version >= CLEARS_QUEUE,
        )

    async def ask(self, spec: AgentSpec, text: str, timeout_s: float) -> str:
        """Put one question without tools, session, lessons or the project's files; give the answer."""
        await self.version(spec)
        question = _Question()
        process = await spawn(
            (*spec.command, *ASK_OPTIONS, *_model(spec)),
            cwd=spec.cwd,
            env={**QUIET, **spec.env},
            marker=new_marker(),
            on_output=question.take,
            on_close=question.over.set,
        )
        try:
            process.write(text.encode("utf-8", "replace"))
            process.close_stdin()
            async with asyncio.timeout(timeout_s):
                await question.over.wait()
            ended = question.ended
        finally:
            await process.end(0.0)
        if ended is None:
            raise AgentDied("agent.died", error=_cause(process.stderr_tail))
        if ended.outcome is not Outcome.DONE:
            raise AgentRefused("agent.refused", error=ended.error or ended.outcome.value)
        return ended.answer

    async def version(self, spec: AgentSpec) -> Version:
        """Give the version of the command; asks it once."""
        async with self._checking:
            if spec.command not in self._versions:
                self._versions[spec.command] = await check_version(spec.command, spec.cwd, spec.env)
            return self._versions[spec.command]

    def _session_options(self, spec: AgentSpec) -> tuple[str, ...]:
        session = ("--no-session",) if spec.session_file is None else ("--session", str(spec.session_file))
        trust = "-a" if spec.is_project_trusted else "-na"
        extension = ("-e", str(self._extension))
        return ("--mode", "rpc", *session, *extension, *_skills(spec), *_model(spec), trust)

    def _environment(self, spec: AgentSpec) -> Mapping[str, str]:
        env = {
            **QUIET,
            **spec.env,
            "AUTO_IMPROVE_HOSTED": str(self._extension),
            IDENTITY: spec.env.get(IDENTITY) or AGENT_ID,
        }
        if spec.context_file is not None:
            env["AUTO_IMPROVE_CONTEXT_FILE"] = str(spec.context_file)
        return env


class _Question:
    """The one run of a question: over when it has ended or the process has."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.ended: Ended | None = None
        self._splitter = LineSplitter()
        self._protocol = PiProtocol()

    def take(self, data: bytes) -> None:
        for line in self._splitter.receive(data):
            record = decode(line) if isinstance(line, bytes) else None
            for event in self._protocol.receive(record) if record is not None else ():
                if isinstance(event, Ended):
                    self.ended = event
                    self.over.set()


def _cause(told: str) -> str:
    """Give the line that says why Pi gave up: its advice about logging in comes after it."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    return next((line for line in lines if NO_KEY in line), lines[-1] if lines else "").rstrip(".")


def _skills(spec: AgentSpec) -> tuple[str, ...]:
    """Let Pi know the skills it was given and look for no others (learning.md 8)."""
    return () if spec.skills_folder is None else ("-ns", "--skill", str(spec.skills_folder))


def _model(spec: AgentSpec) -> tuple[str, ...]:
    return () if spec.model is None else ("--model", spec.model)
