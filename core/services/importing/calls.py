"""What the readers of every format share: a conversation that goes on, call by call."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from core.model.trace import Trace
from core.rules.redact import redact
from core.services.importing.lines import Line
from core.services.traces import Finished, absolute, told_by

MAX_OPEN = 1_000


@dataclass(frozen=True, slots=True)
class Source:
    """What is known of a file beside its lines. `project` is taken where the records name none."""

    name: str
    project: str
    now: float


class Reader(Protocol):
    """Makes calls of the records of one file; what it remembers between imports is plain JSON."""

    def __init__(self, source: Source, state: dict[str, object]) -> None: ...
    def take(self, line: Line) -> Iterator[Finished]:
        """Take the next record in; give the calls that it ends."""
        ...

    def state(self) -> dict[str, object]:
        """Give what has to be known to go on with the next line."""
        ...


@dataclass(slots=True)
class Talk:
    """Where a conversation stands: its runs are a person's prompts, its turns what the model said."""

    session: str
    agent: str
    folder: str
    project: str
    run: int = 0
    turn: int = 0
    open: dict[str, tuple[str, str | None, str | None]] = field(default_factory=dict)

    def ask(self) -> None:
        """Begin a run: a person wrote."""
        self.run += 1

    def start(self, call: str, tool: str, arguments: object) -> None:
        """Remember a call until its result comes."""
        self.open[call] = (tool, *told_by(arguments if isinstance(arguments, dict) else {}))
        while len(self.open) > MAX_OPEN:
            del self.open[next(iter(self.open))]

    def end(
        self, call: str, key: str, ts: float, output: str, *, is_error: bool | None, exit_code: int | None
    ) -> Finished | None:
        """Give a call with its result; None where the call itself was never seen."""
        started = self.open.pop(call, None)
        if started is None:
            return None
        tool, cmd, file = started
        trace = Trace(
            ts=ts,
            session=self.session,
            run=f"{self.session}:{self.run}",
            turn=self.turn,
            project=self.project,
            agent=self.agent,
            tool=tool,
            is_error=is_error,
            exit_code=exit_code,
            file=absolute(file, self.folder, self.project),
            cmd=cmd,
        )
        return Finished(key, trace, output)

    def state(self) -> dict[str, object]:
        """Give all of it as plain JSON."""
        told = {name: getattr(self, name) for name in self.__slots__}
        return {**told, "open": {call: _masked(each) for call, each in self.open.items()}}


def talk_of(state: dict[str, object], usual: Talk) -> Talk:
    """Go on where a state ends; the usual one where there is none."""
    if not state:
        return usual
    opened = state.pop("open")
    talk = Talk(**state)  # type: ignore[arg-type]  # our own, written by `Talk.state`
    if isinstance(opened, dict):
        talk.open = {call: (tool, cmd, file) for call, (tool, cmd, file) in opened.items()}
    return talk


def _masked(started: tuple[str, str | None, str | None]) -> list[str | None]:
    """Give an open call as it may be written to the disk."""
    return [each and redact(each) for each in started]
