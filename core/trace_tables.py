"""What a transaction on the traces offers (learning.md 5); their store is a file of its own.

Everything is counted as it comes: nothing here reads all traces again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from core.model.trace import Trace
from core.rules.mining import Pattern, PatternKey


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls and failures of a verb in a week (or of whatever they are summed up by)."""

    calls: int
    failures: int


@dataclass(frozen=True, slots=True)
class ImportState:
    """How far a file was read: `head` hashes its beginning, `state` is what its reader remembers (JSON)."""

    path: str
    format: str
    head: str
    offset: int
    line: int
    state: str


class TraceTable(Protocol):
    """The finished tool calls, kept for a while."""

    def claim(self, hashes: Sequence[int]) -> set[int]:
        """Remember calls as counted; give those that were not before."""
        ...

    def add(self, traces: Iterable[Trace]) -> None: ...
    def window(self, session: str, run: str, turn: int) -> list[Trace]:
        """Give the calls of a run from that turn on, in order."""
        ...

    def newest(self, limit: int, project: str | None = None) -> list[Trace]:
        """Give the newest calls first."""
        ...

    def range(self) -> tuple[int, int]:
        """Give the numbers of the first and the last call that is kept."""
        ...

    def prune(self, before: float, first: int, last: int) -> int:
        """Forget the calls of that range that are older than that; give how many."""
        ...

    def erase(self, key: PatternKey) -> int:
        """Forget the calls a pattern counted (a purge); give how many."""
        ...

    def count(self) -> int: ...


class PatternTable(Protocol):
    """What was counted of failures; people's decisions are in the other store."""

    def get(self, key: PatternKey) -> Pattern | None: ...
    def put(self, pattern: Pattern) -> None: ...
    def note(self, key: PatternKey, kind: str, hash: int) -> bool:
        """Remember a run or session of a pattern that was put; say whether it is new to it."""
        ...

    def of(self, project: str | None = None) -> list[Pattern]:
        """Give the patterns of a project, or all."""
        ...

    def drop(self, key: PatternKey) -> None: ...


class UsageTable(Protocol):
    """How often each verb was called."""

    def add(self, counted: Mapping[tuple[PatternKey, int], Usage]) -> None:
        """Add calls and failures by (key without class, week)."""
        ...

    def calls(self, project: str | None = None) -> dict[PatternKey, int]:
        """Give all calls by key without class."""
        ...

    def weeks(self, project: str | None = None) -> dict[int, Usage]:
        """Give the sums by week, oldest first."""
        ...

    def tools(self, project: str | None = None) -> dict[str, Usage]:
        """Give the sums by tool."""
        ...


class ImportTable(Protocol):
    """How far files were imported."""

    def get(self, path: str) -> ImportState | None: ...
    def put(self, state: ImportState) -> None: ...


class TraceTx(Protocol):
    """One transaction: all of it happens, or none."""

    @property
    def traces(self) -> TraceTable: ...
    @property
    def patterns(self) -> PatternTable: ...
    @property
    def usage(self) -> UsageTable: ...
    @property
    def imports(self) -> ImportTable: ...
