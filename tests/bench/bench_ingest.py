"""Time the whole way of an event into the store on one core: grammar, masking, counting, recoveries, SQLite.

Beside it, in the same run, `json.loads` alone and sqlite3 alone (the same rows, one transaction per 1,000).
"100 counted" is the transaction of 100 prepared new calls, "100 more" a whole import of a file of them, on
top of that size. Grammar and patterns are loaded before, by an import that is not timed. Processor time of
the process, so that what else runs on the machine counts little. The events are the recorded shell calls
where the shared folder is there, else our own; each command is made another, so that none is answered from
a cache (the worst case), or with `--repeated` 2,000 of them come again and again.
usage: python -m tests.bench.bench_ingest [--repeated] [EVENTS=10000 EVENTS=…]
"""

import asyncio
import json
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.rules.redact import Redactor
from core.services.importing.calls import Source
from core.services.importing.files import import_file
from core.services.importing.lines import Line
from core.services.importing.plain import EventReader
from core.services.mining import Keyed, ingest
from core.services.traces import prepare_all
from core.store.traces import open_traces
from tests.bench.bench_mining import load

NOW = 1_800_000_000.0
PROJECT = "/srv/app"
SMALL = 100
ROUNDS = 7
REPEATED = "--repeated"


@dataclass(frozen=True, slots=True)
class Row:
    """What one size costs, in microseconds an event; the milliseconds are for 100 new events."""

    events: int
    json_us: float
    sqlite_us: float
    ingest_us: float
    counted_ms: float
    small_ms: float
    file_mb: float
    memory_mb: float


def write_events(path: Path, count: int, first: int = 0) -> None:
    """Write that many events, from the `first` of their kind on."""
    with path.open("w", encoding="utf-8") as file:
        for line in events(count, first):
            file.write(line + "\n")


def events(count: int, first: int = 0) -> Iterator[str]:
    """Make events of the recorded calls."""
    recorded = [json.loads(line) for line in load(2_000 if REPEATED in sys.argv else 9_000)]
    for number in range(first, first + count):
        row, again = recorded[number % len(recorded)], number // len(recorded)
        event = {
            "ts": row["ts"] + 86_400 * again % 3_000_000,
            "session": f"{row['session']}-{again}",
            "turn": row["turn"],
            "project": PROJECT,
            "tool": "bash",
            "is_error": row["isError"],
            "exit_code": row["returncode"],
            "cmd": row["cmd"] if REPEATED in sys.argv else f"cd /srv/w{number} && {row['cmd']}",
            "snippet": row["out"],
        }
        yield json.dumps(event)


def time_json(path: Path) -> float:
    """Read the lines and parse them, nothing else."""
    begin = time.process_time()
    with path.open("rb") as file:
        for line in file:
            json.loads(line)
    return time.process_time() - begin


def time_sqlite(path: Path, folder: Path) -> float:
    """Put the parsed lines into a bare table, 1,000 a transaction; parsing is not counted."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(
        "CREATE TABLE event (ts, session, turn, project, tool, is_error, exit_code, cmd, snippet)"
    )
    spent, rows = 0.0, list[tuple[object, ...]]()
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            rows.append(tuple(json.loads(line).values()))
            if number % 1_000 == 0:
                begin = time.process_time()
                connection.execute("BEGIN")
                connection.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
                connection.execute("COMMIT")
                spent += time.process_time() - begin
                rows = []
    connection.close()
    return spent


async def time_ingest(path: Path, folder: Path, count: int) -> tuple[float, float, float]:
    """Import the file, then 100 more, several times; give the seconds, medians for the small ones."""
    async with open_traces(folder / "traces.db") as traces:
        begin = time.process_time()
        done = await import_file(traces, path, PROJECT, NOW)
        spent = time.process_time() - begin
        assert done.new == count, f"{done.new} of {count} events were new"
        small, counted = [], []
        for turn in range(ROUNDS):
            more = folder / f"more-{turn}.jsonl"
            write_events(more, SMALL, count + turn * SMALL)
            begin = time.process_time()
            await import_file(traces, more, PROJECT, NOW, format="events")
            small.append(time.process_time() - begin)
            kept = prepared(count + (turn + ROUNDS) * SMALL)
            begin = time.process_time()
            await traces.write(partial(ingest, calls=kept))
            counted.append(time.process_time() - begin)
    return spent, sorted(counted)[ROUNDS // 2], sorted(small)[ROUNDS // 2]


def prepared(first: int) -> list[Keyed]:
    """Prepare 100 events, as a run's calls are before they are counted."""
    reader = EventReader(Source("bench", PROJECT, NOW), {})
    lines = [Line(0, 0, each.encode(), json.loads(each)) for each in events(SMALL, first)]
    return prepare_all([call for line in lines for call in reader.take(line)], Redactor())


def warm_up() -> None:
    """Load grammar, patterns and tables."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "events.jsonl"
        write_events(path, 2_000, 5_000_000)
        asyncio.run(time_ingest(path, Path(name), 2_000))


def measure(count: int) -> Row:
    """Measure one size in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "events.jsonl"
        write_events(path, count)
        alone, bare = time_json(path), time_sqlite(path, folder)
        spent, counted, small = asyncio.run(time_ingest(path, folder, count))
        size = (folder / "traces.db").stat().st_size / 1e6
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = 1e6 / count
    return Row(count, each * alone, each * bare, each * spent, 1e3 * counted, 1e3 * small, size, memory)


def main() -> None:
    """Print a line a size."""
    sizes = [int(each) for each in sys.argv[1:] if each != REPEATED] or [10_000, 100_000]
    warm_up()
    print("   events  events/s  us/event  json us  sqlite us  100 counted  100 more    store     peak")
    for size in sizes:
        row = measure(size)
        print(
            f"{row.events:9,} {1e6 / row.ingest_us:9,.0f} {row.ingest_us:9.1f} {row.json_us:8.1f}"
            f" {row.sqlite_us:10.1f} {row.counted_ms:9.2f} ms {row.small_ms:6.2f} ms"
            f" {row.file_mb:5.0f} MB {row.memory_mb:5.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    main()
