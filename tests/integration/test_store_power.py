"""D4 on the system calls: what a power cut may leave of every acknowledged write (needs strace)."""

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.store import backup
from core.store.sqlite import open_store

ROOT = Path(__file__).parents[2]
WRITES = 25
CALL = re.compile(r"^\d+\s+(\w+)\((.*)\)\s+=\s+(-?\d+)")
TRACED = "trace=openat,close,pwrite64,write,fsync,fdatasync,ftruncate,rename"


@dataclass(slots=True)
class Disk:
    """What the calls so far wrote to each file, and which of it is surely there."""

    synced: dict[str, bytearray] = field(default_factory=dict)
    waiting: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)

    def write(self, path: str, at: int, data: bytes) -> None:
        self.waiting.setdefault(path, []).append((at, data))

    def sync(self, path: str) -> None:
        for at, data in self.waiting.pop(path, []):
            _put(self.synced.setdefault(path, bytearray()), at, data)

    def truncate(self, path: str, size: int) -> None:
        self.sync(path)
        del self.synced.setdefault(path, bytearray())[size:]

    def cut(self, source: random.Random) -> dict[str, bytes]:
        """Lose the power: of what was not synced some writes arrive, in any order, some halves."""
        found = {path: bytearray(data) for path, data in self.synced.items()}
        for path, writes in self.waiting.items():
            for at, data in source.sample(writes, source.randrange(len(writes) + 1)):
                _put(
                    found.setdefault(path, bytearray()),
                    at,
                    data[: source.choice([len(data), len(data) // 2])],
                )
        return {path: bytes(data) for path, data in found.items()}


def _put(file: bytearray, at: int, data: bytes) -> None:
    file.extend(bytes(max(0, at + len(data) - len(file))))
    file[at : at + len(data)] = data


def replay(trace: Path, folder: Path) -> Iterator[tuple[int, Disk]]:
    """Go through the calls; stop at each number that the writer acknowledged."""
    disk, open_files = Disk(), dict[int, str]()
    for line in _whole(trace):
        match = CALL.match(line)
        if match is None or int(match[3]) < 0:
            continue
        name, args = match[1], match[2].split(", ")
        if name == "openat":
            open_files[int(match[3])] = _text(args[1]).decode()
        elif name == "rename":
            old, new = (_text(each).decode() for each in args)
            disk.sync(old)
            disk.synced[new] = disk.synced.pop(old, bytearray())
        elif (name, args[0]) == ("write", "1"):
            if said := _text(args[1]).strip():
                yield int(said), disk
        elif name == "close":
            open_files.pop(int(args[0]), None)
        elif (path := open_files.get(int(args[0]), "")).startswith(str(folder)):
            _apply(disk, name, path, args)


def _apply(disk: Disk, name: str, path: str, args: list[str]) -> None:
    match name:
        case "pwrite64":
            disk.write(path, int(args[3]), _text(args[1]))
        case "ftruncate":
            disk.truncate(path, int(args[1]))
        case "fsync" | "fdatasync":
            disk.sync(path)


def _whole(trace: Path) -> Iterator[str]:
    """Put together the lines of calls that another thread's came between."""
    begun: dict[str, str] = {}
    for line in trace.read_text().splitlines():
        thread, _, rest = line.partition(" ")
        if line.endswith("<unfinished ...>"):
            begun[thread] = line.removesuffix(" <unfinished ...>")
        elif rest.lstrip().startswith("<... "):
            yield begun.pop(thread) + rest.partition("resumed>")[2]
        else:
            yield line


def _text(quoted: str) -> bytes:
    return bytes.fromhex(quoted.strip('"').replace("\\x", ""))


@pytest.mark.long
async def test_d4_no_acknowledged_write_is_lost_with_the_power(tmp_path: Path) -> None:
    """Unsynced writes are dropped, halved, reordered after each of 25 acknowledged ones, four times each."""
    trace, live, left = tmp_path / "trace", tmp_path / "live", tmp_path / "left"
    live.mkdir()
    os.sync()
    argv = ["strace", "-f", "-xx", "-s", "100000", "-e", TRACED, "-o", str(trace)]
    writer = [sys.executable, "-m", "tests.fakes.store_writer", str(live / "store.db"), "one", str(WRITES)]
    subprocess.run([*argv, *writer], cwd=ROOT, check=True, capture_output=True)
    source, seen = random.Random(4), 0

    for number, disk in replay(trace, live):
        seen = number
        for _ in range(4):
            left.mkdir(exist_ok=True)
            for path, data in disk.cut(source).items():
                if Path(path).name in ("store.db", "store.db-wal"):
                    (left / Path(path).name).write_bytes(data)
            async with open_store(left / "store.db") as store:
                assert int(await store.read(lambda tx: tx.settings.get("one")) or 0) >= number
            backup.check(left / "store.db")
            for each in left.iterdir():
                each.unlink()

    assert seen == WRITES
