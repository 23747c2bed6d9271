"""From a finished tool call, as a source tells it, to a trace that may be kept (learning.md 5, S6)."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import structlog

from core.events import Event, Text, ToolEnded, ToolStarted, Usage
from core.model.run import Run
from core.model.trace import TEXT_LIMIT, Trace
from core.ports import Store, TraceStore
from core.rules.failures import examine, excerpt
from core.rules.redact import Redactor
from core.services.journal import Journal, silent
from core.services.mining import Keyed, Mined, hash_of, ingest
from core.services.rulings import Rulings

log = structlog.get_logger()

_UNIQUE_CHARS = 20
_LONG_NAME = 24
_SPACE = re.compile(r"\s")
_HEAD, _TAIL = 4_000, 8_000  # characters of an output that are masked and looked at for what went wrong
_PATH_KEYS = ("path", "file_path", "filename", "notebook_path", "file")


class Finished(NamedTuple):
    """A call as it was: `trace` with its texts unmasked and uncut, and the whole `output`.

    `key` is what it is known by: the same each time the same call is told, whatever tells it.
    """

    key: str
    trace: Trace
    output: str = ""


def prepare(call: Finished, redactor: Redactor) -> Keyed:
    """Complete, mask, then cut: nothing unmasked leaves here.

    Output is kept of failures and red test runs only.
    """
    key, trace, output = call
    verb, exit_code, error_class, is_aborted = examine(trace, output)
    names = (trace.session, trace.run, trace.project, trace.agent, trace.tool)
    session, run, project, agent, tool = names if "".join(names).isascii() else map(storable, names)
    return Keyed(
        hash_of(key),
        Trace(
            trace.ts, session, run, trace.turn, project, agent, tool, trace.is_error, exit_code, is_aborted,
            _kept(trace.file, redactor), _kept(trace.cmd, redactor), _named(verb, redactor), error_class,
            "" if error_class is None else storable(excerpt(redactor.redact(_ends(output)))),
        ),
    )  # fmt: skip


def _kept(text: str | None, redactor: Redactor) -> str | None:
    return storable(redactor.snippet(text, TEXT_LIMIT)) if text else text


def _named(verb: str | None, redactor: Redactor) -> str | None:
    """Mask a verb that is longer than names are: somebody's word stands where a subcommand would."""
    if verb is None or (len(verb) <= _LONG_NAME and verb.isascii()):
        return verb
    return storable(redactor.redact(verb))


def storable(text: str) -> str:
    """Give a text that UTF-8 can hold: half a character becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _ends(output: str) -> str:
    if len(output) <= _HEAD + _TAIL:
        return output
    # What a cut halves might be a secret that its half does not show: the halves go.
    head, tail = output[:_HEAD], output[-_TAIL:]
    before, after = max(head.rfind(" "), head.rfind("\n")), _SPACE.search(tail)
    return f"{head[: before + 1]}\n{tail[after.end() :] if after else ''}"


class RunRecorder:
    """Makes finished calls of one run's events; `folder` is where the agent works.

    A turn is what the model said at once: calls that start before anything else is heard from it.
    """

    def __init__(self, run: Run, folder: str) -> None:
        self._run, self._folder = run, folder
        self._turn = 0
        self._is_spoken = True
        self._open: set[str] = set()

    def take(self, event: Event, now: float) -> Finished | None:
        """Take one event in; give the call that it ends. `now` is seconds since the epoch."""
        match event:
            case Text() | Usage():
                self._is_spoken = True
            case ToolStarted(call):
                self._turn += self._is_spoken or not self._open
                self._is_spoken = False
                self._open.add(call)
            case ToolEnded():
                self._open.discard(event.call)
                return self._finish(event, now)
        return None

    def _finish(self, event: ToolEnded, now: float) -> Finished:
        run, (cmd, file) = self._run, told_by(event.arguments)
        trace = Trace(
            ts=now,
            session=run.session or run.id,
            run=run.id,
            turn=max(self._turn, 1),
            project=run.project or self._folder,
            agent=run.agent,
            tool=event.tool,
            is_error=event.is_error,
            exit_code=event.exit_code,
            aborted=event.is_aborted,
            file=absolute(file, self._folder, run.project or self._folder),
            cmd=cmd,
        )
        return Finished(call_key(event.call, run.id), trace, event.output)


def call_key(call: str, place: object) -> str:
    """Name a call by its id, with the place it was made where providers could give the id twice.

    The bot's own runs and an import of their session files name a call alike.
    """
    return f"call:{call}" if len(call) >= _UNIQUE_CHARS else f"call:{call}:{place}"


def told_by(arguments: dict[str, object]) -> tuple[str | None, str | None]:
    """Give the command line and the file that a call's arguments name."""
    command = next((arguments[key] for key in ("command", "cmd") if key in arguments), None)
    file = next((arguments[key] for key in _PATH_KEYS if key in arguments), None)
    cmd = command if isinstance(command, str) and command else None
    return cmd, file if cmd is None and isinstance(file, str) and file else None


def absolute(file: str | None, folder: str, project: str) -> str | None:
    """Give a file as seen from the project, which may be above the folder the agent works in."""
    if file is None or folder == project or file.startswith(("/", "~")):
        return file
    return f"{folder}/{file}"


class TraceSink:
    """Takes finished calls from running agents. It never raises and never disturbs: what fails is logged."""

    def __init__(
        self, traces: TraceStore, store: Store, redactor: Redactor | None = None, journal: Journal = silent
    ) -> None:
        self._traces, self._store, self._journal = traces, store, journal
        self._redactor = redactor or Redactor()

    async def record(self, calls: Sequence[Finished]) -> Mined:
        """Mask, keep and count calls of a run, in the threads of the stores."""
        if not calls:
            return Mined()
        try:
            rulings = Rulings(await self._store.read(lambda tx: tx.rulings.of()))
            kept = await asyncio.to_thread(prepare_all, calls, self._redactor)
            mined = await self._traces.write(lambda tx: ingest(tx, kept, rulings))
        except Exception:  # the border of tracing: an agent's run goes on whatever happens here
            log.exception("calls could not be traced", calls=len(calls))
            return Mined()
        tell(self._journal, mined)
        return mined


def prepare_all(calls: Iterable[Finished], redactor: Redactor) -> list[Keyed]:
    """Prepare calls one by one; one that cannot be read is left out and logged."""
    prepared = []
    for call in calls:
        try:
            prepared.append(prepare(call, redactor))
        except Exception:  # one odd call must not take the others with it
            log.exception("a call could not be traced")
    return prepared


def tell(journal: Journal, mined: Mined) -> None:
    """Write what was traced and mined to the debug file."""
    if journal is silent:
        return
    for trace in mined.traces:
        journal(
            "trace", session=trace.session, run=trace.run, tool=trace.tool, verb=trace.verb, cmd=trace.cmd,
            file=trace.file, is_failure=trace.is_failure, error_class=trace.error_class,
        )  # fmt: skip
    for pattern in mined.patterns:
        journal("mine", id=pattern.key.id, project=pattern.key.project, failures=pattern.failures,
                sessions=pattern.sessions, last_recovery=pattern.last_recovery)  # fmt: skip
