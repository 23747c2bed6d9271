"""Whose child this process is: an agent's shell cannot wash its marker off with `env -i`."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

PROC = Path("/proc")
_MAX_DEPTH = 64
# They carry Pi's path in a command line that they were given, and stay above the Pi that they started.
_LAUNCHERS = frozenset(b"sh ash bash dash zsh ksh fish tmux screen script su sudo doas".split())


def environments() -> Iterator[Mapping[str, str]]:
    """Give our environment, then that of every ancestor that may be read, nearest first.

    Where there is no `/proc` ours is all there is; the threat model says so.
    """
    yield os.environ
    for pid in _above():
        yield _environment(pid)


def outermost_pi() -> int | None:
    """Give the process of the outermost Pi that we run in, None where there is none.

    Its shell hands a single command to the program itself (`bash -c "env -u … x"` becomes x), and then no
    process with the shell's marker is left above us.
    """
    found = [pid for pid in _above() if _is_pi(pid)]
    return found[-1] if found else None


def _above() -> Iterator[int]:
    pid = os.getppid()
    for _ in range(_MAX_DEPTH):
        if pid <= 0:
            return
        yield pid
        pid = _parent(pid)


def _is_pi(pid: int) -> bool:
    """Know Pi by the title it gives itself, or by its program while it starts."""
    try:
        argv = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    words = [each.strip() for each in argv]
    if words[0].rpartition(b"/")[2].lstrip(b"-") in _LAUNCHERS:
        return False
    return words[0] == b"pi" or any(b"/pi-coding-agent/" in each for each in words[:3])


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
