"""Finished tool calls and files of them, small and complete, for the tests of traces and patterns."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from core.model.trace import Trace
from core.rules.failures import examine
from core.rules.redact import Redactor
from core.services.changes import By
from core.services.mining import Mined, ingest
from core.services.pattern_gate import Gate
from core.services.rulings import Rulings
from core.services.traces import Finished, prepare_all
from core.settings import CoreSettings
from core.store.sqlite import open_store
from core.store.traces import open_traces

NOW = 1_800_000_000.0
DAY_S = 86_400.0
PROJECT = "/srv/app"
MISSING = 'npm ERR! Missing script: "test"'
ID = "bash:npm:test#usage"


def complete(trace: Trace, output: str | None = None) -> Trace:
    """Give a call with what is computed of it."""
    return replace(trace, **examine(trace, output)._asdict())


def call(
    cmd: str | None = "npm test",
    session: str = "s1",
    turn: int = 1,
    output: str = "",
    *,
    ts: float = NOW,
    project: str = PROJECT,
    tool: str = "bash",
    file: str | None = None,
    exit_code: int | None = None,
    key: str = "",
    run: str = "",
) -> Finished:
    """Build a finished call; it failed where there is an output and no other status."""
    status = (1 if output else 0) if exit_code is None else exit_code
    trace = Trace(
        ts, session, run or session, turn, project, "pi", tool, status != 0, status, file=file, cmd=cmd
    )
    return Finished(key or f"{session}:{run}:{turn}:{tool}:{cmd}:{file}", trace, output)


def story(sessions: Iterable[str] = ("s1", "s2"), **more: float) -> list[Finished]:
    """Tell of sessions in which `npm test` fails for want of a script, and `npm run test:unit` works."""
    told = []
    for session in sessions:
        told += [
            call("npm test", session, 1, MISSING, **more),
            call("npm run test:unit", session, 2, **more),
        ]
    return told


@asynccontextmanager
async def open_gate(home: Path) -> AsyncIterator[Gate]:
    """Open both stores in a home."""
    settings = CoreSettings(home=home)
    async with open_store(settings.store_path) as store, open_traces(settings.traces_path) as traces:
        yield Gate(store, traces, settings)


async def take_in(gate: Gate, calls: Iterable[Finished]) -> Mined:
    """Count calls as a run's end does."""
    kept = prepare_all(calls, Redactor())
    rulings = Rulings(await gate.store.read(lambda tx: tx.rulings.of()))
    return await gate.traces.write(lambda tx: ingest(tx, kept, rulings))


def by(now: float = NOW) -> By:
    """Give a person who decides."""
    return By("ann", now, "cli")


def write_lines(path: Path, records: Iterable[object]) -> Path:
    """Write records as JSON lines; a text is a line as it is."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in records]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
