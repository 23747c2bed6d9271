"""Import files of traces: incremental, idempotent, resumable, in constant memory (learning.md 5)."""

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Final

from core.errors import Invalid
from core.ports import TraceStore
from core.rules.redact import Redactor
from core.services.importing import claude, pi, plain
from core.services.importing.calls import Reader, Source
from core.services.importing.lines import Line, Record, head_of, opened, read_lines
from core.services.journal import Journal, silent
from core.services.mining import Keyed, Mined, ingest
from core.services.rulings import Rulings
from core.services.traces import Finished, prepare_all, tell
from core.trace_tables import ImportState, TraceTx

_COLLECT_AFTER: Final = 50_000
BATCH: Final = 1_000  # calls that share a transaction
_BATCH_BYTES: Final = 32 * 1024 * 1024
_LOOKED_AT: Final = 200  # lines that may tell the format

_KNOWS: Final[dict[str, Callable[[Record], bool]]] = {
    "pi": pi.knows,
    "claude": claude.knows,
    "evolver": plain.is_evolver,
    "events": plain.is_event,
}
_READERS: Final[dict[str, type[Reader]]] = {
    "pi": pi.PiReader,
    "claude": claude.ClaudeReader,
    "evolver": plain.EvolverReader,
    "events": plain.EventReader,
}
FORMATS: Final = tuple(_READERS)


@dataclass(frozen=True, slots=True)
class Progress:
    """What came of a file so far: calls that were new, and all that were read; `offset` is in its bytes."""

    path: Path
    format: str
    offset: int = 0
    calls: int = 0
    new: int = 0
    failures: int = 0
    broken: int = 0


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told how an import goes on: after each batch, and of each broken line (number, reason)."""

    progress: Callable[[Progress], None] = lambda _progress: None
    broken: Callable[[Path, int, str], None] = lambda _path, _number, _reason: None
    journal: Journal = silent


def detect(file: IO[bytes], path: Path) -> str:
    """Tell the format of a file by its first records. Raises Invalid."""
    for line in read_lines(file):
        for name, knows in _KNOWS.items():
            if line.record is not None and knows(line.record):
                return name
        if line.number >= _LOOKED_AT:
            break
    raise Invalid("traces.unknown_format", file=path, formats=", ".join(FORMATS))


async def import_file(
    traces: TraceStore,
    path: Path,
    project: str,
    now: float,
    *,
    format: str = "auto",
    redactor: Redactor | None = None,
    rulings: Rulings | None = None,
    watch: Watch | None = None,
) -> Progress:
    """Import what is new in a file; each batch is kept with how far it was read.

    `project` is taken where the records name none. Raises Invalid (unreadable, unknown format).
    """
    with ExitStack() as stack:
        file = stack.enter_context(opened(path))
        name = detect(file, path) if format == "auto" else format
        stack.enter_context(_fewer_collections())
        parts = (redactor or Redactor(), rulings or Rulings(), watch or Watch())
        return await _Import(traces, path, *parts).run(file, name, project, now)


@contextmanager
def _fewer_collections() -> Iterator[None]:
    """Look for cycles less often while many records pass, which hold none: a tenth of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(_COLLECT_AFTER, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


class _Import:
    """One file on its way in."""

    def __init__(
        self, traces: TraceStore, path: Path, redactor: Redactor, rulings: Rulings, watch: Watch
    ) -> None:
        self._traces, self._path, self._watch = traces, path.resolve(), watch
        self._redactor, self._rulings = redactor, rulings

    async def run(self, file: IO[bytes], format: str, project: str, now: float) -> Progress:
        held = await self._held(file, format)
        reader = _READERS[format](Source(self._path.stem, project, now), json.loads(held.state))
        done = Progress(self._path, format, held.offset)
        for calls, last, broken in self._batches(file, reader, held):
            state = replace(held, offset=last.end, line=last.number, state=json.dumps(reader.state()))
            kept = prepare_all(calls, self._redactor)
            mined = await self._traces.write(partial(_keep, kept, self._rulings, state))
            tell(self._watch.journal, mined)
            done = _added(done, len(calls), mined, last, broken)
            self._watch.progress(done)
        return done

    async def _held(self, file: IO[bytes], format: str) -> ImportState:
        head, path = head_of(file), str(self._path)
        held = await self._traces.read(lambda tx: tx.imports.get(path))
        size = file.seek(0, 2)
        if held is None or (held.head, held.format) != (head, format) or held.offset > size:
            return ImportState(path, format, head, 0, 0, "{}")
        return held

    def _batches(
        self, file: IO[bytes], reader: Reader, held: ImportState
    ) -> Iterator[tuple[list[Finished], Line, int]]:
        calls, broken, size, last = list[Finished](), 0, 0, None
        for line in read_lines(file, held.offset, held.line):
            last = line
            if line.record is None:
                broken += 1
                self._watch.broken(self._path, line.number, line.fault)
            else:
                calls += reader.take(line)
            size += len(line.raw)
            if len(calls) >= BATCH or size >= _BATCH_BYTES:
                yield calls, line, broken
                calls, broken, size, last = [], 0, 0, None
        if last is not None:
            yield calls, last, broken


def _keep(kept: Sequence[Keyed], rulings: Rulings, state: ImportState, tx: TraceTx) -> Mined:
    mined = ingest(tx, kept, rulings)
    tx.imports.put(state)
    return mined


def _added(done: Progress, calls: int, mined: Mined, last: Line, broken: int) -> Progress:
    return replace(
        done,
        offset=last.end,
        calls=done.calls + calls,
        new=done.new + len(mined.traces),
        failures=done.failures + mined.failures,
        broken=done.broken + broken,
    )
