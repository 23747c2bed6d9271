"""Lines of the spool as calls and runs, and where they are kept (product.md 7, learning.md 5).

A file in the spool may have been written by anybody of this user: every field is checked, every text masked.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from core.model.ids import RunId, SessionId
from core.model.run import Call, Run, RunState, Session
from core.model.trace import Trace
from core.ports import Store, TraceStore
from core.rules.domains import call_of_trace, domain_of
from core.rules.redact import Redactor
from core.services import context
from core.services.importing import fields
from core.services.importing.lines import Line, Record
from core.services.journal import Journal, silent
from core.services.mining import Mined, ingest
from core.services.rulings import Rulings
from core.services.traces import Finished, absolute, call_key, prepare_all, tell
from core.services.transcripts import Exchange, Transcript
from core.settings import CoreSettings
from core.tables import Tx

_ID: Final = re.compile(r"[A-Za-z0-9][\w.:-]{0,99}")
_KEPT_CALLS: Final = 200


@dataclass(frozen=True, slots=True)
class Taken:
    """What came in: runs and calls that were new, and lines that could not be read."""

    runs: int = 0
    calls: int = 0
    broken: int = 0

    def plus(self, other: "Taken") -> "Taken":
        """Add another."""
        return Taken(self.runs + other.runs, self.calls + other.calls, self.broken + other.broken)


@dataclass(frozen=True, slots=True)
class Desk:
    """Where what comes in goes to; `language` is that of who sits at the terminal."""

    store: Store
    traces: TraceStore
    settings: CoreSettings
    language: str = "en"
    journal: Journal = silent
    redactor: Redactor = field(default_factory=Redactor)


# -- lines -----------------------------------------------------------------------------------------------


async def keep(desk: Desk, lines: Sequence[Line]) -> Taken:
    """Keep what these lines tell; what is no record of ours is counted as broken. Raises StoreError."""
    records = [line.record for line in lines if line.record is not None and line.record.get("v") == 1]
    calls = [call for each in records if each.get("kind") == "trace" and (call := _call(each))]
    runs = [run for each in records if each.get("kind") == "run" and (run := _run(each))]
    mined = await _count(desk, calls)
    new = 0
    transcripts: dict[tuple[str, str], Transcript] = {}
    for told in runs:
        new += await _keep_run(desk, told, transcripts)
    return Taken(new, len(mined.traces), len(lines) - len(calls) - len(runs))


async def _count(desk: Desk, calls: Sequence[Finished]) -> Mined:
    if not calls:
        return Mined()
    rulings = Rulings(await desk.store.read(lambda tx: tx.rulings.of()))
    kept = await asyncio.to_thread(prepare_all, calls, desk.redactor)
    mined = await desk.traces.write(lambda tx: ingest(tx, kept, rulings))
    tell(desk.journal, mined)
    return mined


def _call(record: Record) -> Finished | None:
    """Read a finished call; None where it lacks what makes it one."""
    tool, session, project = (_name(record, name) for name in ("tool", "session", "project"))
    ts, call = fields.time(record, "ts"), fields.text(record, "call")
    if not (tool and session and project and ts and call):
        return None
    run = fields.text(record, "run") or session
    trace = Trace(
        ts=ts,
        session=session,
        run=run,
        turn=max(fields.number(record, "turn") or 1, 1),
        project=project,
        agent=_name(record, "agent") or "pi",
        tool=tool,
        is_error=fields.flag(record, "is_error"),
        exit_code=fields.number(record, "exit_code"),
        aborted=bool(fields.flag(record, "aborted")),
        file=absolute(fields.text(record, "file"), _name(record, "cwd") or project, project),
        cmd=fields.text(record, "cmd"),
    )
    return Finished(call_key(call, run), trace, fields.text(record, "snippet") or "")


def _name(record: Record, name: str) -> str | None:
    text = fields.text(record, name)
    return text if text is not None and len(text) <= 4096 else None


@dataclass(frozen=True, slots=True)
class _Told:
    """A finished run, as the extension tells it."""

    id: str
    session: str
    project: str
    folder: str
    agent: str
    ts: float
    ended: float
    told: str
    is_aborted: bool
    file: str | None
    before: str | None
    last: str | None


def _run(record: Record) -> _Told | None:
    id, session = fields.text(record, "run"), fields.text(record, "session")
    project, ts = _name(record, "project"), fields.time(record, "ts")
    if not (id and session and project and ts and _ID.fullmatch(id) and _ID.fullmatch(session)):
        return None
    return _Told(
        id=id,
        session=session,
        project=project,
        folder=_name(record, "cwd") or project,
        agent=_name(record, "agent") or "pi",
        ts=ts,
        ended=fields.time(record, "ended") or ts,
        told=fields.text(record, "told") or "",
        is_aborted=bool(fields.flag(record, "aborted")),
        file=_name(record, "session_file"),
        before=fields.text(record, "from"),
        last=fields.text(record, "to"),
    )


# -- runs ------------------------------------------------------------------------------------------------


async def _keep_run(desk: Desk, told: _Told, transcripts: dict[tuple[str, str], Transcript]) -> bool:
    """Store a run with its words and calls; say whether it was new."""
    if await desk.store.read(lambda tx: tx.runs.get(RunId(told.id))) is not None:
        return False
    said = Exchange()
    if told.file is not None:
        key = (told.file, told.session)
        if key not in transcripts:
            transcripts[key] = await asyncio.to_thread(Transcript.read, Path(told.file), told.session)
        said = transcripts[key].exchange(told.before, told.last)
    masked = await asyncio.to_thread(
        lambda: replace(
            said, prompt=desk.redactor.redact(said.prompt), answer=desk.redactor.redact(said.answer)
        )
    )
    traces = await desk.traces.read(lambda tx: tx.traces.window(told.session, told.id, 0))
    run = _made(told, masked, traces)
    return await desk.store.write(lambda tx: _put(tx, desk, run, told, masked))


def _made(told: _Told, said: Exchange, traces: Sequence[Trace]) -> Run:
    state = RunState.FAILED if said.stop == "error" else RunState.DONE
    if told.is_aborted or said.stop == "aborted":
        state = RunState.STOPPED
    return Run(
        id=RunId(told.id),
        session=SessionId(told.session),
        agent=told.agent,
        project=told.project,
        prompt=said.prompt,
        state=state,
        started=told.ts,
        answer=said.answer,
        ended=told.ended,
        told_sha256=told.told,
        domain=domain_of([call_of_trace(each) for each in traces], said.prompt),
        calls=tuple(_evidence(each) for each in traces[-_KEPT_CALLS:]),
    )


def _evidence(trace: Trace) -> Call:
    is_error = trace.is_flagged
    error = trace.snippet if is_error else ""
    command = trace.cmd or trace.file or ""
    return Call(trace.tool, command, is_error, error, trace.exit_code, trace.aborted)


def _put(tx: Tx, desk: Desk, run: Run, told: _Told, said: Exchange) -> bool:
    session = SessionId(told.session)
    if tx.runs.get(run.id) is not None:
        return False
    # Whoever changes the store takes in first: as it is now, it was when the run began.
    block = context.current(tx, run.project, desk.settings)
    if block.sha256 == run.told_sha256:
        run = replace(run, told=block.told_ids)
    if tx.runs.session(session) is None:
        tx.runs.put_session(
            Session(
                id=session,
                lane=f"terminal:{session}",
                project=told.project,
                agent=told.agent,
                created=told.ts,
                first_prompt=said.prompt,
                language=desk.language,
                folder=told.folder,
            )
        )
    tx.runs.put(run)
    return True
