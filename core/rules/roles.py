"""What a call does to the world: looks, writes, moves, checks or runs (learning.md 5.4)."""

import posixpath
import re
from enum import StrEnum

from core.rules.grammar import DECORATING, NORMAL, Segment
from core.rules.programs import INTERPRETERS, word_set

_PATH = re.compile(r"[^\s:]*/[^\s]*|[^\s/]+\.\w{1,8}")
_SCRIPT = re.compile(r"\./.*|.*\.\w{1,8}")

LOOK_TOOLS = word_set(
    "read grep find ls glob search view cat list tree read_file list_dir list_files search_files"
    " websearch webfetch web_search fetch todoread todowrite"
)
WRITE_TOOLS = word_set(
    "write edit multiedit multi_edit str_replace apply_patch create patch write_file edit_file"
    " notebookedit str_replace_based_edit_tool replace"
)
_LOOKS = word_set(
    "cat ls sed head tail grep egrep fgrep zgrep rg ag ack find fd read less more bat wc stat file"
    " tree du df pwd which whereis type command printenv env whoami id date uname hostname ps top diff"
    " cmp cut sort uniq awk gawk jq yq nl od xxd strings hexdump column tr basename dirname realpath"
    " readlink test man tldr history lsof pgrep tac dir comm md5sum sha256sum getent locate"
)
_LOOK_VERBS = re.compile(
    r"git:(?:status|log|diff|show|blame|grep|ls-files|ls-tree|ls-remote|describe|rev-parse|rev-list|shortlog|reflog"
    r"|cat-file|merge-base|show-ref)"
    r"|[^:]+:(?:list|ls|show|info|status|view|help|version|search|describe|get|ps|images|logs|inspect|events|outdated"
    r"|why|explain|top|history|freeze)(?:[:-].*)?"
)
_ASKS = frozenset({"--version", "--help", "-V"})
_SETTLED_PATHS = word_set("cat ls head tail less more bat wc stat file tree du find")
_PATTERN_FIRST = word_set("grep egrep fgrep rg ag ack sed awk gawk jq yq fd")
_PATTERN_OPTIONS = word_set("-e -f --regexp --file")
_SEARCHES = word_set("rg ag ack ls tree find fd du")
_WRITES = frozenset({"tee", "patch", "git:apply", "truncate", "dd"})
_MOVES = word_set(
    "rm cp mv mkdir rmdir touch chmod chown chgrp ln install rsync git:add git:rm git:mv unzip tar"
)
_CHECKS = word_set(
    "black ruff ruff:check ruff:format flake8 mypy pylint pyright isort autopep8 eslint prettier tsc"
    " tsgo biome biome:check shellcheck stylelint pycodestyle pydocstyle bandit yapf clippy"
    " cargo:clippy cargo:fmt gofmt golint go:vet py_compile"
)


class Role(StrEnum):
    """What a command or tool does."""

    LOOK = "look"
    WRITE = "write"  # the content of files
    MOVE = "move"  # files as such
    CHECK = "check"
    RUN = "run"


def role_of_tool(tool: str) -> Role:
    """Give the role of a tool that is no shell."""
    name = tool.lower()
    if name in LOOK_TOOLS:
        return Role.LOOK
    return Role.WRITE if name in WRITE_TOOLS else Role.RUN


def role_of(segment: Segment) -> Role:
    """Give the role of one command."""
    program, verb = segment.program or "", segment.verb or ""
    if segment.is_local:
        return Role.RUN
    if _edits_in_place(segment) or verb in _WRITES:
        return Role.WRITE
    if verb in _MOVES:
        return Role.MOVE
    if program in _LOOKS or segment.weight == DECORATING:
        return Role.WRITE if segment.written else Role.LOOK
    if _LOOK_VERBS.fullmatch(verb) or not _ASKS.isdisjoint(segment.args):
        return Role.LOOK
    return Role.CHECK if verb in _CHECKS else Role.RUN


def writes_text(segment: Segment) -> bool:
    """Say whether a looking or decorating program only puts text into a file: `cat > f`, `echo x > f`."""
    program = segment.program or ""
    return segment.written is not None and (program in _LOOKS or segment.weight == DECORATING)


def acts(segment: Segment) -> bool:
    """Say whether a command counts as doing something: neither set-up, nor looking, nor writing text."""
    if segment.weight != NORMAL or segment.is_nested or segment.program is None:
        return False
    return role_of(segment) is not Role.LOOK and not writes_text(segment)


def script_of(segment: Segment) -> str | None:
    """Give the script that an interpreter is told to run, None where it is told code or nothing."""
    first = next(iter(segment.args), "")
    if first in ("-c", "-e", "-", "-m"):
        return None
    return next((one for one in segment.args if not one.startswith("-")), None)


def is_interpreter(program: str | None) -> bool:
    """Say whether the program only runs scripts: two scripts are two jobs."""
    return program is not None and (program in INTERPRETERS or program.startswith("python3."))


def list_targets(segment: Segment, base: str) -> frozenset[str]:
    """Give the absolute paths a command is about; relative ones start at `base`."""
    words = _positionals(segment)
    is_settled = segment.program in _SETTLED_PATHS or segment.program in _PATTERN_FIRST
    paths = [one for one in words if is_settled or _is_path(one)]
    if not words and segment.program in _SEARCHES:
        paths.append(".")
    script = segment.typed.rpartition(" ")[2]
    if _SCRIPT.fullmatch(script):
        paths.append(script)
    if segment.written and writes_text(segment):
        paths.append(segment.written)
    return frozenset(resolve_path(one, base) for one in paths)


def _positionals(segment: Segment) -> list[str]:
    args = segment.args
    if segment.program == "find":  # paths stand before its expression
        end = next((place for place, one in enumerate(args) if one[:1] in ("-", "(", "!")), len(args))
        return list(args[:end])
    words = [one for one in args if one and not one.startswith("-")]
    is_pattern_first = segment.program in _PATTERN_FIRST and not _PATTERN_OPTIONS.intersection(args)
    return words[1:] if is_pattern_first else words


def resolve_path(path: str, base: str) -> str:
    """Make a path absolute; `~` stays as it is."""
    return path if path.startswith("~") else posixpath.normpath(posixpath.join(base, path))


def _is_path(word: str) -> bool:
    return "://" not in word and "\n" not in word and _PATH.fullmatch(word) is not None


def _edits_in_place(segment: Segment) -> bool:
    if segment.program not in ("sed", "gsed", "perl"):
        return False
    return any(one.startswith(("-i", "--in-place", "-pi")) for one in segment.args)
