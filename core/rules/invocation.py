"""From the words of one command to the program that runs and its verb (learning.md 5.2)."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from core.rules.programs import (
    KEYWORDS,
    LATE_SCRIPT_PROGRAMS,
    PHP_CONSOLES,
    PREFIX_ALONE,
    PREFIXES,
    PYTHON_VALUED,
    RUNNERS,
    SCRIPT_OPTIONS,
    SCRIPT_PROGRAMS,
    SCRIPT_RUN,
    SHELL_VALUED,
    SHELLS,
    SUBCOMMANDS,
    TARGET_PROGRAMS,
    Wrapper,
)

_MAX_PEELS = 16
_NAME_LIMIT = 64
_SPELLINGS = {"[": "test", ".": "source"}
_NAME = re.compile(r"(?!-)[\w.+~@-]*[^\W\d_][\w.+~@-]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?|py")
_PYTHON_MODULE = re.compile(r"-[bBdEiIOqsSuvx]*m(.*)", re.DOTALL)
_VERSION = re.compile(r"(.+)@(?:latest|next|canary|beta|rc|v?\d.*)")
_WINDOWS_SUFFIX = re.compile(r"(.+)\.exe|((?:p?npm|p?npx|yarn))\.(?:cmd|ps1)", re.IGNORECASE)
_SUBCOMMAND = re.compile(r"\w[\w.:@+-]*")
_SCRIPT_NAME = re.compile(r"[\w@][\w.:@+/-]*")
_FILE = re.compile(
    r".*\.(?:[cm]?[jt]sx?|py|rb|dll|jar|php|json|ya?ml|toml|sh|html?|txt|md|css|go|rs|c|cc|cpp|h|csproj|sln|lock)"
)


class Invocation(NamedTuple):
    """What runs: `typed` is everything up to the program as a person typed it, `args` what follows.

    `names` are all the names by which an error text may call it; `script` is the line a shell wrapper is
    given, to be read in its place.
    """

    program: str | None
    verb: str | None
    typed: str
    args: tuple[str, ...]
    names: tuple[str, ...]
    script: str | None = None


Step = tuple[int, str | None]
"""Where the wrapped program stands, or the command line that is wrapped."""


def name_program(word: str) -> str | None:
    """Cut a path to the program's name; None where it is no name (a variable, an option, text)."""
    name = (word.replace("\\", "/") if "\\" in word else word).rpartition("/")[2]
    if "." in name and (suffix := _WINDOWS_SUFFIX.fullmatch(name)):
        name = suffix[1] or suffix[2]
    if "@" in name and (version := _VERSION.fullmatch(name)):
        name = version[1]
    if name in _SPELLINGS:
        return _SPELLINGS[name]
    return name if len(name) <= _NAME_LIMIT and _NAME.fullmatch(name) else None


def resolve(words: list[str]) -> Invocation | None:
    """Peel everything off that only wraps; None where no program is left."""
    if words and (name := _alone(words[0])) is not None:
        return _named(name, words)
    if len(words) > 1 and words[1][:1] != "-" and (name := _interpreter(words[0])) is not None:
        return Invocation(name, name, words[0], tuple(words[1:]), (name,))
    return _peel_all(words)


@lru_cache(maxsize=2_048)
def _alone(word: str) -> str | None:
    """Name a program that wraps no other, whatever follows it: most are such."""
    name = _first(word)
    is_wrapper = name in _WRAPPERS or (name is not None and name[:2] == "py" and _PYTHON.fullmatch(name))
    return None if is_wrapper else name


@lru_cache(maxsize=256)
def _interpreter(word: str) -> str | None:
    """Name a Python: it wraps nothing where no option follows it."""
    name = _first(word)
    is_one = (
        name is not None and name not in _WRAPPERS and name not in SUBCOMMANDS and _PYTHON.fullmatch(name)
    )
    return name if is_one else None


def _first(word: str) -> str | None:
    return None if _ASSIGNMENT.match(word) else name_program(word)


def _named(name: str, words: list[str]) -> Invocation:
    sub = _subcommand(name, words, 0) if name in SUBCOMMANDS else None
    return Invocation(name, f"{name}:{sub}" if sub else name, words[0], tuple(words[1:]), (name,))


def _peel_all(words: list[str]) -> Invocation | None:
    position, names = _skip_assignments(words, 0), list[str]()
    for _ in range(_MAX_PEELS):
        if position >= len(words):
            break
        word = words[position]
        name = name_program(word) or (word if word in _SPECIAL else None)
        step = _peel(name, words, position) if name else _peel_variable(words, position)
        if step is None:
            return _finish(name, words, position, names)
        names.append(name or word)
        if step[1] is not None:
            return _finish(name, words, position, names, script=step[1])
        if not _is_program(words, step[0]):
            return _finish(name, words, position, names)
        position = step[0]
    return None


_SPECIAL = KEYWORDS | {":"}


def _is_program(words: list[str], position: int) -> bool:
    return position < len(words) and (
        words[position] in _SPECIAL or name_program(words[position]) is not None
    )


def _finish(
    name: str | None, words: list[str], position: int, names: list[str], script: str | None = None
) -> Invocation:
    if name in KEYWORDS:
        name = None
    sub = _subcommand(name, words, position) if name in SUBCOMMANDS else None
    return Invocation(
        program=name,
        verb=f"{name}:{sub}" if sub else name,
        typed=" ".join(words[: position + 1]),
        args=tuple(words[position + 1 :]),
        names=(*names, name) if name else tuple(names),
        script=script,
    )


# What a program wraps


def _peel(name: str | None, words: list[str], at: int) -> Step | None:
    if name in PREFIXES:
        return (
            _peel_late_script(words, at)
            if name == "runuser" and "-c" in words
            else _peel_prefix(name, words, at)
        )
    if name in SHELLS:
        return _peel_shell(words, at)
    if name in _PEELERS:
        return _PEELERS[name](words, at)
    if name and name[:2] == "py" and _PYTHON.fullmatch(name):
        return _peel_module(words, at)
    return _peel_runner(name, words, at) if name in _RUNNER_NAMES else None


def _peel_variable(words: list[str], at: int) -> Step | None:
    """Peel `$PYTHON -m pytest`."""
    return _peel_module(words, at) if "$" in words[at] and "py" in words[at].lower() else None


def _peel_prefix(name: str, words: list[str], at: int) -> Step | None:
    wrapper = PREFIXES[name]
    start = after_options(words, at + 1, wrapper.valued)
    own = words[at + 1 : start]
    if PREFIX_ALONE.get(name, _NONE).intersection(own):
        return None
    while start < len(words) and _ASSIGNMENT.match(words[start]):  # `env A=B -i foo`
        start = after_options(words, start + 1, wrapper.valued)
    start += wrapper.words
    scripts = SCRIPT_OPTIONS.get(name, _NONE)
    for index, word in enumerate(own):
        if word in scripts:
            return at, " ".join(words[at + 2 + index :])
    if start + 1 < len(words) and words[start] in scripts:
        return at, words[start + 1]
    return _skip_assignments(words, start), None


def _peel_shell(words: list[str], at: int) -> Step | None:
    index = at + 1
    while index < len(words) and words[index][:1] in ("-", "+") and len(words[index]) > 1:
        word = words[index]
        if word[0] == "-" and word[1] != "-" and "c" in word:
            script = after_options(words, index + 1, SHELL_VALUED)
            return (at, words[script]) if script < len(words) else None
        if word in ("-s", "--version", "--help"):
            return None
        index += 2 if _takes_next(word, SHELL_VALUED) else 1
    return (index, None) if index < len(words) else None


def _peel_module(words: list[str], at: int) -> Step | None:
    index = at + 1
    while index < len(words) and words[index].startswith("-"):
        if module := _PYTHON_MODULE.fullmatch(words[index]):
            if module[1]:
                words[index : index + 1] = [words[index][: -len(module[1])], module[1]]
            return index + 1, None
        if words[index] in ("-c", "-"):
            return None
        index += 2 if words[index] in PYTHON_VALUED else 1
    return None


def _peel_runner(name: str | None, words: list[str], at: int) -> Step | None:
    index = after_options(words, at + 1, SUBCOMMANDS.get(name or "", _NONE))
    if name == "uv" and words[index : index + 2] == ["tool", "run"]:
        name, index = "uvx", index + 1
    wrapper = (
        PREFIXES["uvx"]
        if name == "uvx"
        else RUNNERS.get((name or "", words[index] if index < len(words) else ""))
    )
    return _after_runner(words, index, wrapper) if wrapper else None


def _after_runner(words: list[str], at: int, wrapper: Wrapper) -> Step | None:
    start = after_options(words, at + 1, wrapper.valued) + wrapper.words
    if start < len(words) and words[start] == "--":
        start += 1
    start = _skip_assignments(words, start)
    return (start, None) if start < len(words) else None


def _peel_late_script(words: list[str], at: int) -> Step | None:
    for index in range(at + 1, len(words) - 1):
        word = words[index]
        is_cluster = word.startswith("-") and not word.startswith("--") and word.endswith("c")
        if is_cluster or word in ("--command", "--run"):
            return at, words[index + 1]
    return None


def _peel_watch(words: list[str], at: int) -> Step | None:
    start = after_options(words, at + 1, _WATCH_VALUED)
    return (at, " ".join(words[start:])) if start < len(words) else None


def _peel_eval(words: list[str], at: int) -> Step | None:
    return (at, " ".join(words[at + 1 :])) if at + 1 < len(words) else None


def _peel_keyword(words: list[str], at: int) -> Step | None:
    return (at + 1, None) if at + 1 < len(words) else None


def _peel_cmd(words: list[str], at: int) -> Step | None:
    is_run = at + 2 < len(words) and words[at + 1].lower() in ("/c", "/k", "//c")
    return (at, " ".join(words[at + 2 :])) if is_run else None


def _peel_php(words: list[str], at: int) -> Step | None:
    index = after_options(words, at + 1, SUBCOMMANDS["php"])
    if index < len(words) and "bin/" in words[index] and name_program(words[index]) not in PHP_CONSOLES:
        return index, None
    return None


_NONE: frozenset[str] = frozenset()
_WATCH_VALUED = frozenset({"-n", "--interval", "-q", "--equexit"})
_RUNNER_NAMES = frozenset(name for name, _ in RUNNERS)
_PEELERS: dict[str | None, Callable[[list[str], int], Step | None]] = {
    **dict.fromkeys(KEYWORDS, _peel_keyword),
    **dict.fromkeys(LATE_SCRIPT_PROGRAMS - {"runuser"}, _peel_late_script),
    "watch": _peel_watch,
    "eval": _peel_eval,
    "cmd": _peel_cmd,
    "php": _peel_php,
}
_WRAPPERS = frozenset({*PREFIXES, *SHELLS, *(name for name in _PEELERS if name), *_RUNNER_NAMES, *KEYWORDS})


# The second level


def _subcommand(name: str | None, words: list[str], at: int) -> str | None:
    valued = SUBCOMMANDS[name or ""]
    index = after_options(words, at + 1, valued)
    if name in TARGET_PROGRAMS:
        return _target(words, index, valued)
    if name == "cargo" and index < len(words) and words[index].startswith("+"):
        index = after_options(words, index + 1, valued)
    if name in SCRIPT_PROGRAMS:
        return _script(words, index, valued)
    word = words[index] if index < len(words) else ""
    if name == "php":
        last = name_program(word)
        return last if last in PHP_CONSOLES else None
    return word if _SUBCOMMAND.fullmatch(word) and not _FILE.fullmatch(word) else None


def _target(words: list[str], index: int, valued: frozenset[str]) -> str | None:
    while index < len(words):
        word = words[index]
        is_jobs = words[index - 1] == "-j" and (word.isdigit() or "$" in word)
        if not is_jobs and not _ASSIGNMENT.match(word):  # `make CC=gcc -j 4 test`
            target = word.lstrip(":").partition("[")[0].rpartition("/")[2]
            return target if _SUBCOMMAND.fullmatch(target) else None
        index = after_options(words, index + 1, valued)
    return None


def _script(words: list[str], index: int, valued: frozenset[str]) -> str | None:
    """Name npm's, pnpm's, yarn's or bun's script, whether `run` is typed or not."""
    if words[index : index + 1] == ["workspace"]:
        index = after_options(words, index + 2, valued)
    if index >= len(words):
        return None
    if words[index] in SCRIPT_RUN:
        script = after_options(words, index + 1, valued)
        if (
            script < len(words)
            and _SCRIPT_NAME.fullmatch(words[script])
            and not _FILE.fullmatch(words[script])
        ):
            return words[script]
    word = words[index]
    return word if _SUBCOMMAND.fullmatch(word) and not _FILE.fullmatch(word) else None


# Options


def after_options(words: list[str], start: int, valued: frozenset[str]) -> int:
    """Find the first word at or after `start` that is neither an option nor an option's value."""
    index = start
    while index < len(words):
        word = words[index]
        if word == "--":
            return index + 1
        if not word.startswith("-") or word == "-":
            return index
        index += 2 if _takes_next(word, valued) else 1
    return len(words)


def _takes_next(option: str, valued: frozenset[str]) -> bool:
    """Say whether the option's value is the next word: `-C dir`, `-eo pipefail`, not `-j4` or `--dir=x`."""
    if option in valued:
        return True
    if option.startswith("--") or "=" in option:
        return False
    for place, letter in enumerate(option[1:], start=2):
        if f"-{letter}" in valued or f"+{letter}" in valued:
            return place == len(option)
    return False


def _skip_assignments(words: list[str], start: int) -> int:
    index = start
    while index < len(words) and _ASSIGNMENT.match(words[index]):
        index += 1
    return index
