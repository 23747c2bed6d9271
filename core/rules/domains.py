"""Say what kind of work a run was, from its tool calls (learning.md 2).

What was done decides; the words of the prompt only break ties. A test run after edits is verification, so
only what came before the first edit speaks for `debug`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from core.model.lesson import Domain
from core.model.trace import ErrorClass, Trace
from core.rules.hunting import hunts
from core.rules.shell import Command, parse
from core.rules.stemming import fold
from core.rules.test_runs import is_test_run
from core.rules.toolbox import Act, Call, Change, act_of, changed, is_look, patched, runs

__all__ = ["Call", "call_of_tool", "call_of_trace", "domain_of"]

_FILE_KEYS = (
    "path",
    "file_path",
    "filePath",
    "filename",
    "file",
    "target_file",
    "notebook_path",
    "absolute_path",
)
_COMMAND_KEYS = ("command", "cmd", "pattern", "query", "regex", "patch", "input", "script")


def call_of_tool(tool: str, arguments: Mapping[str, object], is_error: bool, output: str = "") -> Call:
    """Make a call of what an agent passed to its tool."""
    return Call(tool, _first(arguments, _FILE_KEYS), _first(arguments, _COMMAND_KEYS), is_error, output)


def call_of_trace(trace: Trace) -> Call:
    """Make a call of a record."""
    is_red_run = trace.error_class is ErrorClass.TEST_FAILURE
    return Call(
        trace.tool, trace.file, trace.cmd, trace.is_flagged or is_red_run, trace.snippet, trace.exit_code
    )


def domain_of(calls: Sequence[Call], prompt: str = "") -> Domain:
    """Say the domain of a run; `general` where none is clear."""
    work = _Work()
    for call in calls:
        work.add(call)
    candidates = work.candidates()
    if len(candidates) > 1:
        return _break_tie(candidates, prompt)
    return candidates[0] if candidates else Domain.GENERAL


def _first(arguments: Mapping[str, object], keys: Sequence[str]) -> str | None:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, list):
            value = " ".join(map(str, value))
        if isinstance(value, str) and value:
            return value
    return None


@dataclass(slots=True)
class _Files:
    """Files by name; one written relative is the same as one written absolute that ends so."""

    by_name: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)

    def add(self, path: str) -> None:
        if path not in self:
            parts = _parts(path)
            self.by_name.setdefault(parts[-1], []).append(parts)

    def remove(self, path: str) -> None:
        parts = _parts(path)
        kept = [known for known in self.by_name.pop(parts[-1], []) if not _is_same(parts, known)]
        if kept:
            self.by_name[parts[-1]] = kept

    def __contains__(self, path: str) -> bool:
        parts = _parts(path)
        return any(_is_same(parts, known) for known in self.by_name.get(parts[-1], ()))

    def __len__(self) -> int:
        return sum(map(len, self.by_name.values()))

    def __iter__(self) -> Iterator[str]:
        return ("/".join(known) for paths in self.by_name.values() for known in paths)


def _is_same(parts: tuple[str, ...], known: tuple[str, ...]) -> bool:
    shorter = min(len(parts), len(known))
    return parts[-shorter:] == known[-shorter:]


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.strip("\"'").split("/") if part not in {"", "."}) or ("",)


@dataclass(slots=True)
class _Work:
    """What a run did so far."""

    seen: _Files = field(default_factory=_Files)
    created: _Files = field(default_factory=_Files)
    modified: _Files = field(default_factory=_Files)
    ran: _Files = field(default_factory=_Files)
    looks: int = 0
    others: int = 0
    is_hunting: bool = False
    is_changing: bool = False

    def add(self, call: Call) -> None:
        """Take one call in; a failed one changes nothing but may be what the run hunts."""
        act = act_of(call.tool, call.cmd)
        command = parse(call.cmd) if act is Act.SHELL and call.cmd else None
        if not self.is_changing and hunts(call, act, command):
            self.is_hunting = True
        changes = _changes(call, act, command)
        if changes:
            if not call.is_error:
                self._take(changes)
        elif act in {Act.READ, Act.SEARCH} or (command is not None and is_look(command)):
            self.looks += command is None or not is_test_run(command)
            if not call.is_error:
                self._see(call, command)
        elif command is None or not is_test_run(command):
            self.others += act is Act.SHELL
            self._note_runs(command)

    def candidates(self) -> list[Domain]:
        """List the domains that what was done speaks for, the likeliest first."""
        new = self._list_features()
        found = [Domain.DEBUG] if self.is_hunting else []
        is_few_new = 3 * len(new) <= len(self.modified)
        if len(self.modified) > 1 and is_few_new:
            found.append(Domain.REFACTORING)
        if new:
            found.append(Domain.FEATURE)
        if not found and not self.is_changing and self.looks > self.others:
            found.append(Domain.REVIEW)
        return found

    def _list_features(self) -> list[str]:
        """List new files; beside a change of existing code, neither tests nor scripts written to run once."""
        if not self.modified:
            return list(self.created)
        return [each for each in self.created if not _TEST_FILE.search(each) and each not in self.ran]

    def _note_runs(self, command: Command | None) -> None:
        for word in runs(command) if command else ():
            if word in self.created:
                self.ran.add(word)

    def _take(self, changes: Sequence[Change]) -> None:
        for change in changes:
            file, is_new = change.file, change.is_new
            if change.is_gone and (file in self.created or file not in self.seen):
                self.created.remove(file)
                continue
            if _SCRATCH.search(file) or file in self.created:
                continue
            self.is_changing = True
            if is_new is None:
                is_new = file not in self.seen and file not in self.modified
            (self.created if is_new else self.modified).add(file)

    def _see(self, call: Call, command: Command | None) -> None:
        if call.file:
            self.seen.add(call.file)
        for segment in command.segments if command else ():
            for each in segment.args:
                self.seen.add(each)


def _changes(call: Call, act: Act, command: Command | None) -> list[Change]:
    match act:
        case Act.SHELL if command is not None and call.cmd:
            return patched(call.cmd) or list(changed(command, call.cmd))
        case Act.EDIT:
            in_patch = patched(call.cmd) if call.cmd else []
            is_new = call.is_new_file or False
            return in_patch or [Change(call.file or "?", is_new)]
        case Act.WRITE if call.file:
            return [Change(call.file, _is_created(call))]
        case _:
            return []


def _is_created(call: Call) -> bool | None:
    """Read from the tool's answer whether a written file is new, where the tool says it."""
    if call.is_new_file is not None:
        return call.is_new_file
    if re.search(r"\b(?:created|new file)\b", call.output[:200], re.IGNORECASE):
        return True
    return (
        False if re.search(r"\b(?:updated|overwr\w+|modified)\b", call.output[:200], re.IGNORECASE) else None
    )


# Files, and the words of the prompt

_SCRATCH = re.compile(r"^/tmp/|^/var/tmp/|(?:^|/)(?:repro\w*|reproduc\w+|scratch\w*|tmp|temp)(?:[_.-]|\d|$)")
_TEST_FILE = re.compile(r"(?:^|[_.-])(?:tests?|spec)(?=[_.-]|$)|Tests?\.", re.IGNORECASE)
_PROMPT_WORDS = {
    Domain.DEBUG: r"bugs?|fix\w*|debug\w*|errors?|crash\w*|fail\w*|broken"
    r"|corrig\w*|erreurs?|plant\w*|casse\w*|echou\w*",
    Domain.REFACTORING: r"refactor\w*|renam\w*|extract\w*|restructur\w*|clean\w*|simplif\w*|split\w*"
    r"|migrat\w*|renomm\w*|extrai\w*|nettoy\w*|decoup\w*|reorganis\w*|deplac\w*",
    Domain.FEATURE: r"add\w*|implement\w*|creat\w*|new|support\w*|feature\w*|build"
    r"|ajout\w*|cree\w*|nouve\w*|fonctionnalite\w*",
    Domain.REVIEW: r"review\w*|explain\w*|audit\w*|analy\w*|relis\w*|relire|expliqu\w*|revue",
}


def _break_tie(candidates: Sequence[Domain], prompt: str) -> Domain:
    words = fold(prompt)
    counts = {each: len(re.findall(rf"\b(?:{_PROMPT_WORDS[each]})\b", words)) for each in candidates}
    return max(candidates, key=lambda each: counts[each])
