"""Bytes to records and back: one JSON object a line, LF only (pi-protocol.md 2). No I/O.

Lines of many MB are ordinary (6.9 MB seen), U+2028 is legal in a string, what is no record is noise.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

LINE_LIMIT_B = 64 * 2**20

Record = dict[str, object]

# Records that only repeat what others said, with whole conversations inside: not worth parsing.
UNUSED = frozenset(
    (
        b"session",
        b"agent_end",
        b"turn_start",
        b"turn_end",
        b"message_start",
        b"tool_execution_update",
        b"entry_appended",
        b"bash_execution_update",
    )
)
_TYPE = re.compile(rb'\s*\{"type":\s?"(\w+)"')
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line above the limit was dropped."""

    size_b: int


class LineSplitter:
    """Cut a stream of bytes into lines; half lines wait, over-long ones are dropped."""

    def __init__(self, limit_b: int = LINE_LIMIT_B) -> None:
        self._limit_b = limit_b
        self._parts: list[bytes] = []
        self._size_b = 0

    def receive(self, data: bytes) -> list[bytes | Overlong]:
        """Take the next bytes; give the lines they complete, without their ends."""
        *complete, rest = data.split(b"\n")
        lines = []
        for piece in complete:
            self._add(piece)
            lines.append(self._take())
        self._add(rest)
        return [line for line in lines if line]

    def receive_eof(self) -> list[bytes | Overlong]:
        """Give what is left when the stream ends (a last line without an end, or half a line)."""
        rest = self._take()
        return [rest] if rest else []

    def _add(self, piece: bytes) -> None:
        self._size_b += len(piece)
        if self._size_b > self._limit_b:
            self._parts.clear()
        elif piece:
            self._parts.append(piece)

    def _take(self) -> bytes | Overlong:
        parts, size_b = self._parts, self._size_b
        self._parts, self._size_b = [], 0
        return Overlong(size_b) if size_b > self._limit_b else b"".join(parts)


def decode(line: bytes) -> Record | None:
    """Read one line; None when it is noise or says nothing new. Invalid UTF-8 is replaced."""
    kind = _TYPE.match(line)
    if kind is not None and kind[1] in UNUSED:
        return None
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if _SURROGATE.search(line):
        return {str(name): _mend(inner) for name, inner in value.items()}
    return value


def encode(record: Mapping[str, object]) -> bytes:
    """Write one record as a line (ASCII, so that no character can break it)."""
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"


def _mend(value: object) -> object:
    """Replace lone surrogates, which no later encoder would take."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case list():
            return [_mend(inner) for inner in value]
        case dict():
            return {_mend(name): _mend(inner) for name, inner in value.items()}
        case _:
            return value
