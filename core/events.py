"""What an agent does, said in nine events; every adapter speaks only these.

A run is `Started (Text | ToolStarted | ToolEnded | Asked | Retrying | Notice | Usage)* Ended`: exactly one
`Started` and one `Ended` a run, whatever the agent's own protocol repeats, retries or forgets.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """How a run ended."""

    DONE = "done"
    FAILED = "failed"  # provider error, refused prompt, or the process died: `Ended.error` says which
    STOPPED = "stopped"  # a person (or a watchdog) aborted it


class Dialog(StrEnum):
    """What kind of answer the agent waits for."""

    SELECT = "select"
    CONFIRM = "confirm"
    INPUT = "input"
    EDITOR = "editor"


@dataclass(frozen=True, slots=True)
class Started:
    """The agent took the prompt up."""


@dataclass(frozen=True, slots=True)
class Text:
    """More of the running answer; `delta` continues the current message of the agent."""

    delta: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call begins. `arguments` is the JSON object the model gave, `call` its id."""

    call: str
    tool: str
    arguments: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool call ended. `output` is its text, at most 64 KiB kept (32 KiB head and tail)."""

    call: str
    tool: str
    is_error: bool
    output: str
    arguments: dict[str, object] = field(default_factory=dict)
    exit_code: int | None = None
    is_aborted: bool = False
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The agent waits for a person. `request` identifies it to `AgentSession.answer`."""

    request: str
    dialog: Dialog
    title: str
    message: str = ""
    options: tuple[str, ...] = ()
    prefill: str = ""
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Retrying:
    """The provider failed and the agent will try again by itself."""

    attempt: int
    max_attempts: int
    delay_s: float
    error: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the person that is no part of the answer."""

    text: str
    level: str = "info"  # info | warning | error


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The run is over. `answer` is the whole final text; `error` is one line where it failed."""

    outcome: Outcome
    answer: str = ""
    error: str | None = None


Event = Started | Text | ToolStarted | ToolEnded | Asked | Retrying | Notice | Usage | Ended
