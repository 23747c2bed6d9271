"""From a command line to its verb, by a real shell grammar (learning.md 5.2)."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from core.rules.grammar import NORMAL, Reader, Segment
from core.rules.invocation import name_program
from core.rules.programs import SHELLS

_CACHED_LENGTH = 1_000
_ERROR_LIMIT = 4_000


class Command(NamedTuple):
    """A command line as understood: `chosen` is what it stands for, `last` what gave the status.

    `directory` is where its own `cd` lead, `~` and variables unresolved.
    """

    verb: str | None = None
    program: str | None = None
    programs: tuple[str, ...] = ()
    chosen: Segment | None = None
    last: Segment | None = None
    segments: tuple[Segment, ...] = ()
    directory: str = ""

    @property
    def text(self) -> str:
        """Give the line without set-up, decoration and redirections: equal text is the same command."""
        return "; ".join(one.text for one in self.segments if one.weight == NORMAL and not one.is_nested)


def parse(command: str, error_text: str = "") -> Command:
    """Understand a command line; never raises.

    `error_text` is the output of a failed call (nothing for a success): the command it names wins.
    """
    read = _read_cached(command) if len(command) <= _CACHED_LENGTH else _read_long(command)
    if not error_text or len(read.segments) < 2:
        return read
    failing = _find_named(read.segments, error_text)
    return read._replace(verb=failing.verb, program=failing.program, chosen=failing) if failing else read


def describe(command: str) -> dict[str, object]:
    """Give the object `inspect verbs` prints (product.md 3)."""
    read = parse(command)
    return {"verb": read.verb, "program": read.program, "programs": list(read.programs)}


def _read(command: str) -> Command:
    reader = Reader()
    chosen = reader.read(command)
    segments = tuple(reader.segments)
    outer = [one for one in segments if one.weight == NORMAL and not one.is_nested]
    return Command(
        chosen.verb if chosen else None,
        chosen.program if chosen else None,
        tuple([one.program for one in segments if one.program]),
        chosen,
        outer[-1] if outer else chosen,
        segments,
        reader.directory,
    )


_read_cached = lru_cache(maxsize=4_096)(_read)
_read_long = lru_cache(maxsize=8)(_read)  # a call is looked at several times in a row


# The failing command


_SHELL_PLACE = re.compile(r"(?:-c|line \d+|\d+)")
_USAGE = re.compile(r"usage:?\s+(\S+)", re.IGNORECASE)
_MISSING = re.compile(r"(?:zsh: )?command not found: (\S+)", re.IGNORECASE)
_FRAME = re.compile(r'\s+File "[^"]*/bin/([^"/]+)", line ')
_SPEAKS = re.compile(r"([\w./+-]+)(?:\[\d+\])? (?:ERR!|error\b|ERROR\b)")


def _find_named(segments: tuple[Segment, ...], error_text: str) -> Segment | None:
    named = set(_list_names(error_text))
    if not named:
        return None
    return next((one for one in reversed(segments) if one.program and named.intersection(one.names)), None)


def _list_names(error_text: str) -> Iterable[str]:
    """Name the programs that speak in an error text: `npm ERR! …`, `bash: line 1: foo: …`, `usage: foo`."""
    text = (
        error_text
        if len(error_text) <= _ERROR_LIMIT
        else error_text[: _ERROR_LIMIT // 2] + error_text[-2_000:]
    )
    for line in text.splitlines():
        if match := _USAGE.match(line) or _MISSING.match(line) or _SPEAKS.match(line) or _FRAME.match(line):
            yield name_program(match[1].strip("'\"")) or ""
        elif line.startswith("Traceback (most recent call last)"):
            yield from ("python", "python3")
        elif line.startswith("fatal: "):
            yield "git"
        elif ": " in line:
            yield from _list_prefixes(line)


def _list_prefixes(line: str) -> Iterable[str]:
    parts = [part.strip(" '\"`‘’") for part in line.split(": ")[:4]]
    names = []
    for part in parts[:-1]:
        if _SHELL_PLACE.fullmatch(part):
            continue
        name = name_program(part.partition("[")[0])
        if name is None or " " in part:
            break
        names.append(name)
    return names[1:] if len(names) > 1 and names[0] in SHELLS else names
