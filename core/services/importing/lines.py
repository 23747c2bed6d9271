"""Read files of JSON lines of any size in constant memory, from where the last import ended."""

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from core.errors import Invalid

MAX_LINE_BYTES = 32 * 1024 * 1024
MAX_BYTES = 16 * 1024**3  # of a compressed file, unpacked (S13)
_HEAD_BYTES = 512
_GZIP = b"\x1f\x8b"

Record = dict[str, Any]


class Line(NamedTuple):
    """One line: its record, or why it has none. `end` is the offset after it, `raw` its bytes."""

    number: int
    end: int
    raw: bytes
    record: Record | None = None
    fault: str = ""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, unpacking it if it is compressed. Raises Invalid."""
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == _GZIP
        with gzip.open(path) if is_packed else path.open("rb") as opened_file:
            yield cast(IO[bytes], opened_file)
    except (OSError, EOFError, zlib.error) as error:
        raise Invalid("traces.unreadable", file=path, reason=error) from error


def head_of(file: IO[bytes]) -> str:
    """Hash the beginning of a file, by which a replaced one is known."""
    file.seek(0)
    first = file.readline(_HEAD_BYTES)
    return sha256(first).hexdigest()[:16]


def read_lines(file: IO[bytes], offset: int = 0, number: int = 0) -> Iterator[Line]:
    """Read the lines after that offset; empty ones do not count.

    A last line without its end that is no JSON is being written: it is told as broken, and `end` stays before
    it, so that the next import reads it whole.
    """
    file.seek(offset)
    while offset < MAX_BYTES and (raw := file.readline(MAX_LINE_BYTES)):
        number, start, offset = number + 1, offset, offset + len(raw)
        if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
            offset += _skip_rest(file)
            yield Line(number, offset, b"", fault=f"longer than {MAX_LINE_BYTES // 1024**2} MiB")
        elif raw.strip():
            record, fault = _parse(raw)
            is_cut = bool(fault) and not raw.endswith(b"\n")
            yield Line(number, start if is_cut else offset, raw, record, fault)


def _skip_rest(file: IO[bytes]) -> int:
    skipped = 0
    while part := file.readline(MAX_LINE_BYTES):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def _parse(raw: bytes) -> tuple[Record | None, str]:
    try:
        value = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return None, str(error).split("\n", 1)[0][:120]
    return (value, "") if isinstance(value, dict) else (None, f"a {type(value).__name__}, no object")
