"""The tables of the traces, in SQL (see `core.trace_tables` for what each promises)."""

import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

import structlog

from core.errors import AutoImproveError
from core.model.trace import ErrorClass, Trace
from core.ports import TraceStore
from core.rules.mining import Pattern, PatternKey
from core.store.database import Database, open_database
from core.store.rows import Rows, Value, queries, run, scalar
from core.store.schema import TRACES
from core.trace_tables import ImportState, TraceTx, Usage

T = TypeVar("T")

log = structlog.get_logger()

LATELY_ROWS = 16_384  # counted calls that wait to be put among all others, in order
_WINDOW_ROWS = 200  # calls of a session that are looked at for a recovery

_Columns = tuple[Value, ...]


class SqlTraces:
    """The finished tool calls."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def claim(self, hashes: Sequence[int]) -> set[int]:
        values = {"hashes": json.dumps(sorted(hashes))}
        fresh = {row[0] for row in self._connection.execute(queries()["trace_claim"], values)}
        if fresh and scalar(self._connection, "trace_lately") > LATELY_ROWS:
            run(self._connection, "trace_settle")
            run(self._connection, "trace_settled")
        return fresh

    def add(self, traces: Iterable[Trace]) -> None:
        self._connection.executemany(queries()["trace_add"], map(_columns, traces))

    def window(self, session: str, run: str, turn: int) -> list[Trace]:
        values = {"session": session, "run": run, "turn": turn, "limit": _WINDOW_ROWS}
        return [_trace(row) for row in self._connection.execute(queries()["trace_window"], values)]

    def newest(self, limit: int, project: str | None = None) -> list[Trace]:
        values = {"limit": limit, "project": project}
        return [_trace(row) for row in self._connection.execute(queries()["trace_newest"], values)]

    def range(self) -> tuple[int, int]:
        first, last = self._connection.execute(queries()["trace_range"]).fetchone()
        return first, last

    def prune(self, before: float, first: int, last: int) -> int:
        return run(self._connection, "trace_prune", before=before, first=first, last=last)

    def erase(self, key: PatternKey) -> int:
        return run(self._connection, "trace_erase", **_names(key))

    def count(self) -> int:
        return int(scalar(self._connection, "trace_count"))


def _columns(trace: Trace) -> _Columns:
    return (
        trace.ts, trace.session, trace.run, trace.turn, trace.project, trace.agent, trace.tool,
        trace.is_error, trace.exit_code, int(trace.aborted), trace.file, trace.cmd, trace.verb,
        trace.error_class, trace.snippet,
    )  # fmt: skip


def _trace(row: sqlite3.Row) -> Trace:
    return Trace(
        ts=row["ts"],
        session=row["session"],
        run=row["run"],
        turn=row["turn"],
        project=row["project"],
        agent=row["agent"],
        tool=row["tool"],
        is_error=None if row["is_error"] is None else bool(row["is_error"]),
        exit_code=row["exit_code"],
        aborted=bool(row["aborted"]),
        file=row["file"],
        cmd=row["cmd"],
        verb=row["verb"],
        error_class=ErrorClass(row["error_class"]) if row["error_class"] else None,
        snippet=row["snippet"],
    )


def _names(key: PatternKey) -> dict[str, str]:
    return {
        "project": key.project,
        "tool": key.tool,
        "verb": key.verb or key.tool,
        "error_class": key.error_class or "",
    }


class SqlPatterns:
    """What was counted of failures."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def get(self, key: PatternKey) -> Pattern | None:
        row = self._connection.execute(queries()["pattern_get"], _names(key)).fetchone()
        return _pattern(row) if row is not None else None

    def put(self, pattern: Pattern) -> None:
        values = {name: getattr(pattern, name) for name in _COUNTED}
        self._connection.execute(queries()["pattern_put"], {**values, **_names(pattern.key)})

    def note(self, key: PatternKey, kind: str, hash: int) -> bool:
        return run(self._connection, "pattern_note", kind=kind, hash=hash, **_names(key)) > 0

    def of(self, project: str | None = None) -> list[Pattern]:
        found = self._connection.execute(queries()["pattern_of"], {"project": project})
        return [_pattern(row) for row in found]

    def drop(self, key: PatternKey) -> None:
        run(self._connection, "pattern_forget", **_names(key))
        run(self._connection, "pattern_drop", **_names(key))


_COUNTED = (
    "failures", "runs", "sessions", "first_ts", "last_ts", "last_cmd", "last_error", "last_recovery",
    "last_recovery_ts", "regressed_ts", "agent",
)  # fmt: skip


def _key(row: sqlite3.Row, error_class: str = "") -> PatternKey:
    return PatternKey(
        row["project"], row["tool"], row["verb"], ErrorClass(error_class) if error_class else None
    )


def _pattern(row: sqlite3.Row) -> Pattern:
    return Pattern(_key(row, row["error_class"]), **{name: row[name] for name in _COUNTED})


class SqlUsage:
    """How often each verb was called."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, counted: Mapping[tuple[PatternKey, int], Usage]) -> None:
        rows = [
            (key.project, key.tool, key.verb or key.tool, week, usage.calls, usage.failures)
            for (key, week), usage in counted.items()
        ]
        self._connection.executemany(queries()["usage_add"], rows)

    def calls(self, project: str | None = None) -> dict[PatternKey, int]:
        found = self._connection.execute(queries()["usage_calls"], {"project": project})
        return {_key(row): row["calls"] for row in found}

    def weeks(self, project: str | None = None) -> dict[int, Usage]:
        found = self._connection.execute(queries()["usage_weeks"], {"project": project})
        return {row["week"]: Usage(row["calls"], row["failures"]) for row in found}

    def tools(self, project: str | None = None) -> dict[str, Usage]:
        found = self._connection.execute(queries()["usage_tools"], {"project": project})
        return {row["tool"]: Usage(row["calls"], row["failures"]) for row in found}


class SqlImports:
    """How far files were imported."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._states = Rows(connection, "import", ImportState)

    def get(self, path: str) -> ImportState | None:
        return self._states.one("import_get", path=path)

    def put(self, state: ImportState) -> None:
        self._states.put(state, key="path")


class SqlTraceTx:
    """The tables of one connection, inside whatever transaction it is in."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.traces = SqlTraces(connection)
        self.patterns = SqlPatterns(connection)
        self.usage = SqlUsage(connection)
        self.imports = SqlImports(connection)


def _tables(connection: sqlite3.Connection) -> TraceTx:
    return SqlTraceTx(connection)


@asynccontextmanager
async def open_traces(path: Path) -> AsyncIterator[Database[TraceTx]]:
    """Open the file of the traces, making or migrating it first. Raises what `open_store` raises."""
    async with open_database(path, TRACES, _tables) as store:
        yield store


class NoTraces:
    """Stands for a file of traces that cannot be used: every use says why, nothing else is held up."""

    def __init__(self, error: AutoImproveError) -> None:
        self._error = error

    async def write(self, fn: Callable[[TraceTx], T]) -> T:  # noqa: ARG002 -- nothing is done with it
        raise self._error

    async def read(self, fn: Callable[[TraceTx], T]) -> T:  # noqa: ARG002 -- nothing is done with it
        raise self._error


@asynccontextmanager
async def open_traces_or_none(path: Path) -> AsyncIterator[TraceStore]:
    """Open the file of the traces; what is wrong with it is logged, and must not stop who answers people."""
    async with AsyncExitStack() as stack:
        try:
            traces: TraceStore = await stack.enter_async_context(open_traces(path))
        except AutoImproveError as error:
            log.error("traces cannot be used", error=str(error))
            traces = NoTraces(error)
        yield traces
