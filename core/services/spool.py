"""Take in what Pi's extension wrote in the terminal: finished calls and runs (product.md 7, learning.md 5).

Nothing is lost and nothing counts twice. A file is first moved aside, so that Pi goes on in a new one; it is
read; and it is removed a while later, when it has not grown since. A crash at any step only means that it is
read once more: calls are known by their keys, runs by their ids.
"""

import asyncio
import fcntl
import os
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from core.services.importing.lines import Line, read_lines
from core.services.spooled import Desk, Taken, keep

FOLDER: Final = "spool"
_BATCH: Final = 1_000
_MAX_FILE_B: Final = 64 * 1024**2
_SETTLE_S: Final = 60.0  # a write that was under way when the file was moved has come to its end by then
_TAKEN: Final = re.compile(r"\.(\d+)\.taken$")


async def take_in(desk: Desk, now: float) -> Taken:
    """Take in every file there is. Raises OSError, StoreError; what was not taken in then waits."""
    folder = desk.settings.home / FOLDER
    done = Taken()
    if not has_news(folder):
        return done
    async with _alone(folder / ".lock"):
        for path in _moved_aside(folder, now):
            done = done.plus(await _take(desk, path))
    return done


def has_news(folder: Path) -> bool:
    """Say whether there is anything to take in or to tidy up; costs next to nothing."""
    try:
        with os.scandir(folder) as entries:
            return any(each.name.endswith((".jsonl", ".taking", ".taken")) for each in entries)
    except OSError:
        return False


@asynccontextmanager
async def _alone(path: Path) -> AsyncIterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        await asyncio.to_thread(fcntl.flock, handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# -- files -----------------------------------------------------------------------------------------------


def _moved_aside(folder: Path, now: float) -> list[Path]:
    """Move what Pi wrote aside; give that, and what an interrupted or late write left to be read."""
    for path in sorted(folder.glob("*.jsonl")):
        if _is_plain(path):
            path.rename(_free(path.with_suffix(".taking")))
    for path in sorted(folder.glob("*.taken")):
        _settle(path, now)
    return [path for path in sorted(folder.glob("*.taking")) if _is_plain(path)]


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _free(path: Path) -> Path:
    """Give a name that nothing has."""
    number = 0
    found = path
    while found.exists():
        number += 1
        found = path.with_name(f"{path.stem}~{number}{path.suffix}")
    return found


def _settle(path: Path, now: float) -> None:
    """Remove a file that was read to its end; one that has grown since is read again."""
    match = _TAKEN.search(path.name)
    stat = path.stat()
    if match is None or stat.st_size != int(match[1]):
        path.rename(_free(path.with_name(path.name.partition(".")[0] + ".taking")))
    elif abs(now - stat.st_mtime) > _SETTLE_S:
        path.unlink()


async def _take(desk: Desk, path: Path) -> Taken:
    size, done = _size(path), Taken()
    if size <= _MAX_FILE_B:  # the extension begins a new file long before: a larger one is none of ours
        with path.open("rb") as file:
            for lines in _batches(read_lines(file)):
                done = done.plus(await keep(desk, lines))
    _mark_taken(path, size)
    return done


def _size(path: Path) -> int:
    return path.stat().st_size


def _mark_taken(path: Path, size: int) -> None:
    path.rename(_free(path.with_name(f"{path.stem}.{size}.taken")))


def _batches(lines: Iterable[Line]) -> Iterator[list[Line]]:
    held: list[Line] = []
    for line in lines:
        held.append(line)
        if len(held) >= _BATCH:
            yield held
            held = []
    if held:
        yield held
