"""Time the whole way of an event into the store on one core: grammar, masking, counting, recoveries, SQLite.

Beside it, in the same run, `json.loads` alone and sqlite3 alone (the same rows, one transaction per 1,000).
Processor time of the process, so that what else runs on the machine does not count. Uses the recorded shell
calls where the shared folder is there (each line made distinct, so that no line is answered from a cache),
else lines of its own.
usage: python -m tests.bench.bench_ingest [EVENTS=10000 EVENTS=…]
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
from pathlib import Path

from core.rules.redact import Redactor
from core.rules.shell import parse
from core.services.importing.files import import_file
from core.store.traces import open_traces
from tests.bench.bench_mining import load

NOW = 1_800_000_000.0
PROJECT = "/srv/app"
SMALL = 100
ROUNDS = 7


@dataclass(frozen=True, slots=True)
class Row:
    """What one size costs, in microseconds an event; `small_ms` is 100 new events on top of that size."""

    events: int
    json_us: float
    sqlite_us: float
    ingest_us: float
    small_ms: float
    file_mb: float
    memory_mb: float


def write_events(path: Path, count: int, first: int = 0) -> None:
    """Write that many distinct events, from the `first` of their kind on."""
    with path.open("w", encoding="utf-8") as file:
        for line in events(count, first):
            file.write(line + "\n")


def events(count: int, first: int = 0) -> Iterator[str]:
    """Make events of the recorded calls, each one distinct."""
    recorded = [json.loads(line) for line in load(10_000)]
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
            "cmd": f"{row['cmd']} #{number}",
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
    connection.execute("CREATE TABLE event (ts, session, turn, project, tool, is_error, exit_code, cmd, snippet)")
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


async def time_ingest(path: Path, folder: Path, count: int) -> tuple[float, float]:
    """Import the file, then a few hundred more; give both times, the second as the median in seconds."""
    async with open_traces(folder / "traces.db") as traces:
        begin = time.process_time()
        done = await import_file(traces, path, PROJECT, NOW)
        spent = time.process_time() - begin
        assert done.new == count, f"{done.new} of {count} events were new"
        small = []
        for turn in range(ROUNDS):
            more = folder / f"more-{turn}.jsonl"
            write_events(more, SMALL, count + turn * SMALL)
            begin = time.process_time()
            await import_file(traces, more, PROJECT, NOW, format="events")
            small.append(time.process_time() - begin)
    return spent, sorted(small)[ROUNDS // 2]


def measure(count: int) -> Row:
    """Measure one size in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "events.jsonl"
        write_events(path, count)
        alone, bare = time_json(path), time_sqlite(path, folder)
        spent, small = asyncio.run(time_ingest(path, folder, count))
        size = (folder / "traces.db").stat().st_size
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Row(
        count, 1e6 * alone / count, 1e6 * bare / count, 1e6 * spent / count, 1e3 * small, size / 1e6, memory
    )


def main() -> None:
    """Print a line a size."""
    sizes = [int(each) for each in sys.argv[1:]] or [10_000, 100_000]
    parse("true")  # grammar and patterns are loaded once
    Redactor().redact("warm up")
    print(f"{'events':>9} {'events/s':>9} {'us/event':>9} {'json us':>8} {'sqlite us':>9} "
          f"{'100 more':>9} {'store':>9} {'peak':>8}")  # fmt: skip
    for size in sizes:
        row = measure(size)
        print(f"{row.events:9,} {1e6 / row.ingest_us:9,.0f} {row.ingest_us:9.1f} {row.json_us:8.1f} "
              f"{row.sqlite_us:9.1f} {row.small_ms:6.2f} ms {row.file_mb:6.0f} MB {row.memory_mb:5.0f} MB")  # fmt: skip


if __name__ == "__main__":
    main()
