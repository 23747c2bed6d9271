"""Sessions, the prompts that wait in them, and runs (learning.md 5, product.md 1.1)."""

from dataclasses import dataclass
from enum import StrEnum

from core.model.ids import PromptId, RunId, SessionId
from core.model.lesson import Domain


class RunState(StrEnum):
    """Where a run stands; `interrupted` means that its process was gone when we came back."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Call:
    """One finished tool call of a run as evidence: texts masked and at most 300 characters."""

    tool: str
    command: str
    is_error: bool
    error: str = ""
    exit_code: int | None = None
    is_aborted: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """One prompt and what became of it. `told` are the ids of the lessons and patterns in its block.

    `told_sha256` is the hash of the block's bytes (of the empty text where nothing was told). Prompt and
    answer are masked for storage. `lane` is where it was asked (opaque), `origin` the message that asked.
    """

    id: RunId
    session: SessionId | None
    agent: str
    project: str | None
    prompt: str
    state: RunState
    started: float
    answer: str = ""
    error: str = ""
    ended: float | None = None
    told: tuple[str, ...] = ()
    told_sha256: str = ""
    is_lessons_off: bool = False
    domain: Domain = Domain.GENERAL
    calls: tuple[Call, ...] = ()
    lane: str = ""
    user: str | None = None


@dataclass(frozen=True, slots=True)
class VotedRun:
    """What the effect of lessons is counted in: a run with votes, negative where one of them is."""

    run: RunId
    project: str | None
    started: float
    told: tuple[str, ...]
    is_lessons_off: bool
    is_negative: bool


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation with an agent: one per lane and project at a time.

    The agent works in `folder`; `project` is the one that folder belongs to, which lessons are told by.
    `is_paused` holds the queue after a stop. `is_lessons_off` runs it without any block. `language` is that
    of the person who wrote last.
    """

    id: SessionId
    lane: str
    project: str
    agent: str
    created: float
    is_current: bool = True
    is_paused: bool = False
    is_lessons_off: bool = False
    first_prompt: str = ""
    model: str | None = None
    language: str = "en"
    folder: str = ""


class PromptState(StrEnum):
    """Where a queued prompt stands."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    CLEARED = "cleared"  # the person emptied the queue
    INTERRUPTED = "interrupted"  # shown with Retry; never run again by itself


@dataclass(frozen=True, slots=True)
class Prompt:
    """A person's message on its way to the agent. `not_before` holds it for a following part (seconds)."""

    id: PromptId
    session: SessionId
    text: str
    user: str
    state: PromptState
    created: float
    not_before: float = 0.0
    run: RunId | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Activity:
    """One line of the audit log: who changed what, from which surface. `seq` orders, not `at`."""

    at: float
    who: str
    surface: str
    verb: str
    subject: str
    detail: str = ""
    batch: str = ""
    seq: int = 0
