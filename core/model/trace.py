"""What one finished tool call leaves behind (learning.md 5)."""

from dataclasses import dataclass
from enum import StrEnum

TEXT_LIMIT = 300
"""Characters kept of any text of a trace; secrets are masked before anything is cut."""


class ErrorClass(StrEnum):
    """What kind of failure it was (learning.md 5.1); `TEST_FAILURE` labels a red test run, which is none."""

    COMMAND_NOT_FOUND = "command-not-found"
    NO_SUCH_FILE = "no-such-file"
    PERMISSION_DENIED = "permission-denied"
    USAGE = "usage"
    IMPORT_ERROR = "import-error"
    SYNTAX = "syntax"
    TIMEOUT = "timeout"
    NETWORK = "network"
    CONFLICT = "conflict"
    TEST_FAILURE = "test-failure"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Trace:
    """One finished tool call.

    `ts` is seconds since the epoch; `turn` counts the agent's turns within `run`; `project` is the real path
    of the working directory; `is_error` is the tool's own flag and None where the tool has none; `verb` and
    `error_class` are computed (`core.rules.failures.complete`): `error_class` is None for a call that did not
    fail, whatever its flag says. The caller masks and cuts `cmd`, `file` and `snippet`.
    """

    ts: float
    session: str
    run: str
    turn: int
    project: str
    agent: str
    tool: str
    is_error: bool | None
    exit_code: int | None = None
    aborted: bool = False
    file: str | None = None
    cmd: str | None = None
    verb: str | None = None
    error_class: ErrorClass | None = None
    snippet: str = ""

    @property
    def is_flagged(self) -> bool:
        """Say whether the tool itself reported an error, by flag or status."""
        return bool(self.is_error) or self.exit_code not in (None, 0)

    @property
    def is_failure(self) -> bool:
        """Say whether the call counts as a failure: classified, and no red test run."""
        return self.error_class is not None and self.error_class is not ErrorClass.TEST_FAILURE
