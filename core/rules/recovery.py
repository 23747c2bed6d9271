"""What worked instead, after a failure (learning.md 5.4)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from core.model.trace import TEXT_LIMIT, Trace
from core.rules.grammar import NORMAL, Segment
from core.rules.roles import (
    Role,
    acts,
    is_interpreter,
    list_targets,
    resolve_path,
    role_of,
    role_of_tool,
    script_of,
    writes_text,
)
from core.rules.shell import Command, parse

MAX_TURNS = 3
_MAX_ACTS = 3


class Relation(IntEnum):
    """How a success does the job of a failure, strongest first."""

    SAME_TARGET = 1
    SAME_ARGUMENTS = 2
    SAME_PROGRAM = 3
    SAME_COMMAND_LATER = 4


@dataclass(frozen=True, slots=True)
class Recovery:
    """A failure and what worked instead; `text` says it as a person would type it, at most 300 characters."""

    failure: Trace
    success: Trace
    relation: Relation
    text: str


@dataclass(frozen=True, slots=True)
class _Call:
    """A trace with what its command line means."""

    trace: Trace
    command: Command | None
    base: str

    @property
    def outer(self) -> list[Segment]:
        """Give the commands that count, in order."""
        if self.command is None:
            return []
        return [one for one in self.command.segments if one.weight == NORMAL and not one.is_nested]


class _Calls:
    """The calls of a session, read when looked at: most are near no failure."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self.traces = traces
        self._read: dict[int, _Call] = {}

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, place: int) -> _Call:
        if place not in self._read:
            self._read[place] = _read(self.traces[place])
        return self._read[place]


def find_recoveries(traces: Sequence[Trace], max_turns: int = MAX_TURNS) -> list[Recovery]:
    """Pair each failure of one session, in order, with the success that did the same job another way."""
    calls = _Calls(traces)
    found = (_recover(calls, place, max_turns) for place, trace in enumerate(traces) if trace.is_failure)
    return [one for one in found if one]


def _read(trace: Trace) -> _Call:
    command = parse(trace.cmd, trace.snippet if trace.is_failure else "") if trace.cmd else None
    directory = command.directory if command else ""
    return _Call(trace, command, resolve_path(directory, trace.project) if directory else trace.project)


def _recover(calls: _Calls, place: int, max_turns: int) -> Recovery | None:
    """Choose the strongest relation, then the first success."""
    failure = calls[place]
    best: Recovery | None = None
    for index in _follow(calls, place, max_turns):
        if not _succeeded(calls.traces[index]):
            continue
        found = _relate(failure, calls[index]) or _repeat(calls, place, index)
        if found and (best is None or found.relation < best.relation):
            best = found
    return best


def _follow(calls: _Calls, place: int, max_turns: int) -> Iterator[int]:
    """Go through the calls of the same run that could react: of later turns, within reach."""
    failure = calls.traces[place]
    for index in range(place + 1, len(calls)):
        trace = calls.traces[index]
        if (trace.session, trace.run) != (failure.session, failure.run):
            continue
        distance = trace.turn - failure.turn
        if distance > max_turns:
            return
        if distance > 0:
            yield index


def _succeeded(trace: Trace) -> bool:
    return not trace.is_flagged and not trace.aborted and trace.error_class is None


# The same job another way


def _relate(failure: _Call, success: _Call) -> Recovery | None:
    failed = failure.command.chosen if failure.command else None
    if failure.trace.cmd and failed is None:
        return None
    role = role_of(failed) if failed else role_of_tool(failure.trace.tool)
    if failed and any(one.text == failed.text for one in success.outer):
        return None  # the same command again, not another way
    relations = [one for one in _list_relations(failure, failed, role, success) if one]
    if not relations:
        return None
    return Recovery(failure.trace, success.trace, min(relations), say(success.trace))


def _list_relations(
    failure: _Call, failed: Segment | None, role: Role, success: _Call
) -> Iterator[Relation | None]:
    if success.command is None:
        is_other = success.trace.tool != failure.trace.tool
        has_role = role_of_tool(success.trace.tool) is role
        shared = _targets(failure, failed) & _targets(success, None)
        yield Relation.SAME_TARGET if is_other and has_role and shared else None
        return
    for one in success.outer:
        if role_of(one) is not role or (writes_text(one) and failed and not writes_text(failed)):
            continue
        if failed is None:
            yield Relation.SAME_TARGET if _targets(failure, None) & _targets(success, one) else None
        else:
            yield _relate_commands(failure, failed, success, one)


def _relate_commands(failure: _Call, failed: Segment, success: _Call, one: Segment) -> Relation | None:
    if (one.typed, one.args) == (failed.typed, failed.args):
        return None
    if _targets(failure, failed) & _targets(success, one):
        return Relation.SAME_TARGET
    if _has_same_arguments(failed, one):
        return Relation.SAME_ARGUMENTS
    return Relation.SAME_PROGRAM if _is_same_program(failed, one) else None


def _has_same_arguments(failed: Segment, one: Segment) -> bool:
    """Compare what the programs are told; a subcommand more is the program's: `docker compose up -d`."""
    if one.args == failed.args:
        return bool(one.args) or one.program == failed.program
    if one.program == failed.program:
        return False
    longer, shorter = sorted((one.args, failed.args), key=len, reverse=True)
    return bool(shorter) and longer[1:] == shorter and not longer[0].startswith("-")


def _is_same_program(failed: Segment, one: Segment) -> bool:
    """Say whether one program was told otherwise; a look needs its target, an interpreter its script."""
    if one.program != failed.program or role_of(failed) is Role.LOOK:
        return False
    if is_interpreter(failed.program):
        script = script_of(failed)
        return script is not None and script == script_of(one)
    if role_of(failed) in (Role.WRITE, Role.MOVE):
        return not _names(failed).isdisjoint(_names(one))
    return True


def _names(segment: Segment) -> frozenset[str]:
    return frozenset(one.rpartition("/")[2] for one in segment.args if not one.startswith("-"))


def _targets(call: _Call, segment: Segment | None) -> frozenset[str]:
    if segment is not None:
        return list_targets(segment, call.base)
    return frozenset({resolve_path(call.trace.file, call.trace.project)}) if call.trace.file else frozenset()


# The same command later


def _repeat(calls: _Calls, place: int, index: int) -> Recovery | None:
    """Take what acted between a failure and the success of the same command."""
    failure, success = calls[place], calls[index]
    if not _is_same_command(failure, success):
        return _prepare(failure, success)
    between = [
        one.trace
        for one in (calls[between] for between in range(place + 1, index))
        if one.trace.run == failure.trace.run and one.trace.turn > failure.trace.turn and _acted(one)
    ]
    if not between:
        return None
    steps = [say(one) for one in between[-_MAX_ACTS:]]
    text = ", then ".join((*steps, say(success.trace)))[:TEXT_LIMIT]
    return Recovery(failure.trace, success.trace, Relation.SAME_COMMAND_LATER, text)


def _prepare(failure: _Call, success: _Call) -> Recovery | None:
    """Take `npm install && npm test` after `npm test`."""
    failed = failure.command.chosen if failure.command else None
    if failed is None or success.command is None:
        return None
    before = {one.text for one in failure.outer}
    outer = success.outer
    again = next((place for place, one in enumerate(outer) if one.text == failed.text), None)
    if again is None or not any(acts(one) and one.text not in before for one in outer[:again]):
        return None
    return Recovery(failure.trace, success.trace, Relation.SAME_COMMAND_LATER, say(success.trace))


def _is_same_command(failure: _Call, success: _Call) -> bool:
    if failure.trace.tool != success.trace.tool:
        return False
    if failure.command is None or success.command is None:
        return failure.trace.file is not None and failure.trace.file == success.trace.file
    if "<<" in f"{failure.trace.cmd}{success.trace.cmd}":  # what is fed in is part of the text
        return failure.trace.cmd == success.trace.cmd
    return bool(failure.command.text) and failure.command.text == success.command.text


def _acted(call: _Call) -> bool:
    if not _succeeded(call.trace):
        return False
    if call.command is None:
        return role_of_tool(call.trace.tool) is not Role.LOOK
    return any(acts(one) for one in call.outer)


def say(trace: Trace) -> str:
    """Say a call as a person would type it: the command line, else the tool and its file.

    Of a line with here-documents only the commands that act are said: the rest is content.
    """
    text = trace.cmd.strip() if trace.cmd else " ".join(part for part in (trace.tool, trace.file) if part)
    if trace.cmd and "<<" in trace.cmd:
        steps = [one.text for one in parse(trace.cmd).segments if acts(one)]
        text = " && ".join(steps) or text
    return text[:TEXT_LIMIT]
