"""The small interfaces between the use cases and the world."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from core.events import Event
from core.model.evidence import Evidence
from core.model.proposal import Finding
from core.tables import Tx
from core.trace_tables import TraceTx

T = TypeVar("T")

Probe = Callable[[str], None]
"""Called with the name of each step that must survive kill -9; a test passes one that kills there."""


def ignore(_step: str) -> None:
    """Pass every step: the probe of the product."""


class Clock(Protocol):
    """Time, as an argument: no rule and no use case reads the machine's clock."""

    def now(self) -> float:
        """Give seconds since the epoch, UTC."""
        ...


class Ids(Protocol):
    """Unique names."""

    def new(self) -> str:
        """Give a time-ordered unique id (UUIDv7, RFC 9562)."""
        ...

    def token(self) -> str:
        """Give an unguessable id of at least 64 random bits, URL-safe, 11 characters."""
        ...


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """How to start one agent process.

    `command` is argv without our own options; `env` is the whole environment of the process (an allow-list,
    never the bot's own); `session_file` is where the agent keeps the conversation; `context_file` is the file
    whose text the agent is told at each prompt; `skills_folder` holds the skills it was given, the only ones
    its process is to know; `model` is the agent's own name of a model.
    """

    command: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    session_file: Path | None = None
    context_file: Path | None = None
    skills_folder: Path | None = None
    model: str | None = None
    is_project_trusted: bool = False


class AgentSession(Protocol):
    """One running agent process with its conversation; runs one prompt at a time."""

    async def prompt(self, text: str) -> None:
        """Start a run; return once accepted. Raises AgentRefused, AgentDied."""
        ...

    async def steer(self, text: str) -> None:
        """Hand a message into the running run. Raises AgentRefused, AgentDied."""
        ...

    async def abort(self) -> None:
        """End the running run, no effect when idle; dialogs are cancelled, queued messages dropped."""
        ...

    async def answer(self, request: str, value: str | bool | None) -> None:
        """Answer an `Asked`; None cancels it. An unknown or late request is ignored."""
        ...

    async def reload(self) -> None:
        """Read skills and settings again before the next prompt, the conversation kept; only when idle.

        Raises AgentRefused, AgentDied.
        """
        ...

    def events(self) -> AsyncIterator[Event]:
        """Iterate over what the agent does, over all runs, until the session is closed."""
        ...

    @property
    def is_alive(self) -> bool:
        """Say whether the process can still take a prompt."""
        ...

    async def close(self) -> None:
        """End the process and everything it left running; never raises."""
        ...


class AgentRunner(Protocol):
    """Starts agent processes of one kind."""

    async def open(self, spec: AgentSpec) -> AgentSession:
        """Start a session, ready for a prompt. Raises AgentMissing, AgentTooOld, AgentDied."""
        ...

    async def ask(self, spec: AgentSpec, text: str, timeout_s: float) -> str:
        """Put one question without tools, session or lessons; give the whole answer.

        Raises AgentMissing, AgentTooOld, AgentDied, AgentRefused (provider error), TimeoutError.
        """
        ...


class Analyst(Protocol):
    """Finds out what went wrong and proposes at most one lesson; it decides nothing."""

    async def analyse(self, evidence: Evidence, spec: AgentSpec | None) -> Finding:
        """Give one verdict; `spec` says how to start the agent the run was made with, where one is asked.

        Raises AnalysisFailed (not started, provider error, time out).
        """
        ...


class Store(Protocol):
    """The one place where state lives. `fn` touches nothing but its transaction and never waits."""

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """Run `fn` in a transaction that is durable when this returns; an exception undoes all of it.

        Raises StoreFull, StoreReadOnly, StoreError beside what `fn` raises.
        """
        ...

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """Run `fn` on one consistent view; it cannot write."""
        ...


class TraceStore(Protocol):
    """Where traces are counted: a file of its own, so that they never wait for, or spoil, what people do.

    What a transaction wrote survives a crash of the process; the last moments may go with the power.
    """

    async def write(self, fn: Callable[[TraceTx], T]) -> T:
        """Run `fn` in a transaction, in a thread of the store; an exception undoes all of it.

        Raises StoreFull, StoreReadOnly, StoreError beside what `fn` raises.
        """
        ...

    async def read(self, fn: Callable[[TraceTx], T]) -> T:
        """Run `fn` on one consistent view; it cannot write."""
        ...
