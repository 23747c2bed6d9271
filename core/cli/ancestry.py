"""Whose child this process is: an agent's shell cannot wash its marker off with `env -i`."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

PROC = Path("/proc")
_MAX_DEPTH = 64


def environments() -> Iterator[Mapping[str, str]]:
    """Give our environment, then that of every ancestor that may be read, nearest first.

    Where there is no `/proc` ours is all there is; the threat model says so.
    """
    yield os.environ
    pid = os.getppid()
    for _ in range(_MAX_DEPTH):
        if pid <= 0:
            return
        yield _environment(pid)
        pid = _parent(pid)


def _environment(pid: int) -> Mapping[str, str]:
    try:
        text = (PROC / str(pid) / "environ").read_bytes().decode("utf-8", "surrogateescape")
    except OSError:  # another user's, or one that hides its memory: its own parents may still be read
        return {}
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def _parent(pid: int) -> int:
    try:
        stat = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    # The program's name, in brackets, may hold anything: what follows the last bracket is state and parent.
    return int(stat.rpartition(")")[2].split()[1])
