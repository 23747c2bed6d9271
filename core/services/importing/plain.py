"""Plain records, one finished call a line: `events` (learning.md 5) and pi-evolver's traces.jsonl."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b

from core.model.trace import ErrorClass, Trace
from core.services.importing import fields
from core.services.importing.calls import Source
from core.services.importing.lines import Line, Record
from core.services.traces import Finished, absolute, call_key

_GAP_S = 1800.0  # pi-evolver writes no session: half an hour of silence begins another
_REMEMBERED = 2_048
_CLASSES = {each.value: each for each in ErrorClass}


def is_evolver(record: Record) -> bool:
    """Say whether this looks like a line of pi-evolver."""
    return "tool" in record and "isError" in record and not record.keys() & {"session", "is_error"}


def is_event(record: Record) -> bool:
    """Say whether this looks like a record of learning.md 5."""
    return isinstance(record.get("tool"), str)


class _Twins:
    """Tells equal lines of one file apart, as long as they are not far from each other."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, int] = OrderedDict()

    def name(self, raw: bytes) -> str:
        digest = blake2b(raw.rstrip(), digest_size=12).hexdigest()
        count = self._counts.get(digest, 0)
        self._counts[digest] = count + 1
        if count:
            self._counts.move_to_end(digest)
        elif len(self._counts) > _REMEMBERED:
            self._counts.popitem(last=False)
        return f"line:{digest}:{count}"


class EventReader:
    """See `core.services.importing.calls.Reader`; what a record lacks is computed."""

    def __init__(self, source: Source, state: dict[str, object]) -> None:
        self._source, self._twins = source, _Twins()
        turn, ts = state.get("turn"), state.get("ts")
        self._turn = turn if isinstance(turn, int) else 0
        self._ts = ts if isinstance(ts, int | float) else source.now

    def state(self) -> dict[str, object]:
        return {"turn": self._turn, "ts": self._ts}

    def take(self, line: Line) -> Iterator[Finished]:
        record = line.record or {}
        tool = fields.text(record, "tool")
        if tool is None:
            return
        self._turn += 1
        self._ts = fields.time(record, "ts", "timestamp") or self._ts
        session = fields.text(record, "session") or self._source.name
        turn, cmd = record.get("turn"), record.get("cmd")
        trace = Trace(
            ts=self._ts,
            session=session,
            run=fields.text(record, "run") or session,
            turn=turn if type(turn) is int and abs(turn) < fields.MOST else self._turn,
            project=fields.text(record, "project") or self._source.project,
            agent=fields.text(record, "agent") or "pi",
            tool=tool,
            is_error=fields.flag(record, "is_error", "isError"),
            exit_code=fields.number(record, "exit_code", "exitCode", "returncode"),
            aborted=bool(fields.flag(record, "aborted")),
            file=fields.text(record, "file"),
            cmd=cmd if type(cmd) is str and cmd else None,
            verb=None if cmd else fields.text(record, "verb"),
            error_class=_CLASSES.get(fields.text(record, "error_class") or ""),
        )
        call, folder = fields.text(record, "call"), fields.text(record, "cwd")
        if folder is not None:
            trace = replace(trace, file=absolute(trace.file, folder, trace.project))
        # The extension's spool names the call, as the session's own file does.
        key = call_key(call, session) if call is not None else self._twins.name(line.raw)
        yield Finished(key, trace, fields.text(record, "snippet", "out") or "")


class EvolverReader:
    """See `core.services.importing.calls.Reader`; verbs are computed anew, runs are told by silence."""

    def __init__(self, source: Source, state: dict[str, object]) -> None:
        self._source, self._twins = source, _Twins()
        session, turn, ts = state.get("session"), state.get("turn"), state.get("ts")
        self._session = session if isinstance(session, str) else ""
        self._turn = turn if isinstance(turn, int) else 0
        self._ts = ts if isinstance(ts, int | float) else 0.0

    def state(self) -> dict[str, object]:
        return {"session": self._session, "turn": self._turn, "ts": self._ts}

    def take(self, line: Line) -> Iterator[Finished]:
        record = line.record or {}
        tool = fields.text(record, "tool")
        if tool is None:
            return
        ts = fields.time(record, "ts") or self._ts or self._source.now
        if not self._session or abs(ts - self._ts) > _GAP_S:
            self._session, self._turn = f"evolver-{ts:.3f}", 0
        self._ts, self._turn = ts, self._turn + 1
        cmd = fields.text(record, "cmd")
        trace = Trace(
            ts=ts,
            session=self._session,
            run=self._session,
            turn=self._turn,
            project=fields.text(record, "project") or self._source.project,
            agent="pi",
            tool=tool,
            is_error=bool(record.get("isError")),
            file=fields.text(record, "file"),
            cmd=cmd,
            verb=None if cmd else fields.text(record, "verb"),
        )
        yield Finished(self._twins.name(line.raw), trace, fields.text(record, "snippet", "error") or "")
