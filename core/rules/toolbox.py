"""What a tool call does, whatever the agent calls its tools (learning.md 2).

Pi says `read`, Claude Code `Read`, Codex `exec_command` and `apply_patch`, Gemini `read_many_files`, MCP
servers `mcp__fs__write_file`: the words of the name decide. A shell command is read by its programs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from core.rules.grammar import Segment
from core.rules.shell import Command
from core.rules.test_runs import RUNNERS


class Act(StrEnum):
    """What a call does to files."""

    READ = "read"
    SEARCH = "search"
    EDIT = "edit"
    WRITE = "write"
    SHELL = "shell"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Call:
    """One finished tool call, in order; `is_new_file` where the agent says whether it created the file.

    `cmd` is the command line of a shell, the pattern of a search or the text of a patch.
    """

    tool: str
    file: str | None = None
    cmd: str | None = None
    is_error: bool = False
    output: str = ""
    exit_code: int | None = None
    is_new_file: bool | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A file that a call changes; `is_new` is None where the call alone does not tell."""

    file: str
    is_new: bool | None = None
    is_gone: bool = False


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ASIDE = _set(
    "todo todos plan think thinking memory task tasks ask agent skill web browser fetch issue message"
)
_ACTS: tuple[tuple[Act, frozenset[str]], ...] = (
    (
        Act.SHELL,
        _set("bash shell exec execute run terminal command commands cmd powershell sh zsh console process"),
    ),
    (
        Act.EDIT,
        _set("edit edits multiedit patch applypatch replace update modify diff insert rename move delete"),
    ),
    (Act.WRITE, _set("write create save")),
    (Act.SEARCH, _set("grep glob search ls list find rg ripgrep tree symbols references definition")),
    (Act.READ, _set("read view cat open get show notebookread")),
)
_SUBCOMMANDS = {
    "view": Act.READ,
    "create": Act.WRITE,
    "str_replace": Act.EDIT,
    "insert": Act.EDIT,
    "undo_edit": Act.EDIT,
}
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)

_LOOKS = _set(
    "cat less more head tail bat nl ls find fd tree wc file stat du df od xxd hexdump strings jq yq awk sed"
    " sort uniq cut diff cmp which whereis type realpath readlink basename dirname pwd column tac view"
    " git:status git:log git:diff git:show git:blame git:ls-files git:branch git:remote git:rev-parse"
    " git:describe git:shortlog gh:pr gh:issue"
)
_SEARCHES = _set("grep egrep fgrep zgrep rg ag ack git:grep")
_MOVES = _set("mv git:mv patch git:apply git:am")
_REMOVALS = _set("rm git:rm unlink trash")
_EDITORS = _set("sed perl ruby gsed")
_WRITERS = _set("cat echo printf")
_INTERPRETERS = re.compile(r"(?:python|pypy)[\d.]*|node|ruby|perl|deno|bun")
_REWRITES = re.compile(r"-[a-zA-Z]*i.*|--in-place.*")
_FIXERS = re.compile(r"--write|--fix|-w|-i|--in-place|--apply")
_FORMATTERS = _set(
    "black isort prettier eslint gofmt goimports rustfmt clang-format biome autopep8 yapf 2to3 jscodeshift"
)
_CODE_WRITES = re.compile(r"write_text\(|write_bytes\(|writeFileSync|open\([^)\n]*,\s*(?:mode=)?['\"][wax]")
_NOWHERE = re.compile(r"/dev/|&\d|/tmp/|/var/tmp/|-$")


@lru_cache(maxsize=1024)
def name_act(tool: str) -> Act:
    """Say what a tool does by its name."""
    words = [word.lower() for word in _WORDS.findall(tool)]
    if not _ASIDE.isdisjoint(words):
        return Act.OTHER
    return next((act for act, names in _ACTS if not names.isdisjoint(words)), Act.OTHER)


def act_of(tool: str, cmd: str | None) -> Act:
    """Say what a call does; an editor tool may have commands of its own (`view`, `create`, …)."""
    return _SUBCOMMANDS.get((cmd or "").strip(), name_act(tool))


def patched(cmd: str) -> list[Change]:
    """List the files of a patch given as text."""
    found = (match.groups() for match in _PATCHED.finditer(cmd))
    return [Change((name or plain).strip(), kind == "Add" if kind else None) for kind, name, plain in found]


def is_look(command: Command) -> bool:
    """Say whether a command line only reads or searches."""
    segments = [each for each in command.segments if each.program]
    return bool(segments) and all(_looks(each) for each in segments) and not list(changed(command, ""))


def is_search(segment: Segment) -> bool:
    """Say whether a command searches texts."""
    return segment.program in _SEARCHES or segment.verb in _SEARCHES


def runs(command: Command) -> Iterator[str]:
    """List the words of a command line that may name a script it runs."""
    for segment in command.segments:
        yield from (segment.typed.rpartition(" ")[2], *segment.names, *segment.args[:2])


def changed(command: Command, cmd: str) -> Iterator[Change]:
    """List the files that a command line changes, as far as it can be seen."""
    for segment in command.segments:
        # another program's redirection only keeps its output
        if segment.written and segment.program in _WRITERS and not _NOWHERE.match(segment.written):
            is_appended = f">>{segment.written}" in cmd.replace(" ", "")
            yield Change(segment.written, False if is_appended else None)
        yield from _changed_by(segment)
    is_program_text = any(_INTERPRETERS.fullmatch(each) for each in command.programs)
    if is_program_text and _CODE_WRITES.search(cmd):
        yield Change("?", False)


def _changed_by(segment: Segment) -> Iterator[Change]:
    files = [each for each in segment.args if not each.startswith("-") and not _NOWHERE.match(each)]
    names = {segment.program, segment.verb}
    if segment.program == "git":
        files = files[1:]  # the first is the subcommand
    if not names.isdisjoint(_EDITORS) and any(_REWRITES.fullmatch(each) for each in segment.args):
        yield from (Change(each, False) for each in files[-1:])
    elif segment.program in {"tee", "touch"}:
        yield from (Change(each) for each in files)
    elif segment.program == "cp" and len(files) > 1:
        yield Change(files[-1])
    elif not names.isdisjoint(_REMOVALS):
        yield from (Change(each, False, is_gone=True) for each in files)
    elif not names.isdisjoint(_MOVES):
        yield from (Change(each, False) for each in files[:1])
    elif segment.program in _FORMATTERS and any(_FIXERS.fullmatch(each) for each in segment.args):
        yield from (Change(each, False) for each in files[-1:])


def _looks(segment: Segment) -> bool:
    return not {segment.program, segment.verb}.isdisjoint(_HARMLESS)


_HARMLESS = _LOOKS | _SEARCHES | RUNNERS | _set("cd export source set pushd popd true : echo printf xargs")
