"""Find and end what an agent left running, by the marker in its environment.

An agent's shells live in process groups of their own and its background jobs survive everything
(pi-protocol.md 4), so a group signal does not reach them. All of them inherit the agent's environment: the
marker variable finds them in `/proc/*/environ`. A job that empties its environment *and* leaves the process
tree escapes; only another user id or a container prevents that. Without `/proc` nothing is found.
"""

import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

MARKER = "AUTO_IMPROVE_AGENT_RUN"
REAP_S = 2.0
PAUSE_S = 0.01

_PROC = Path("/proc")
_NEEDLE = f"{MARKER}=".encode()


def new_marker() -> str:
    """Give a value for the marker that says who owns the agent: `<pid>.<start time>.<random>`."""
    return f"{os.getpid()}.{_started(os.getpid())}.{uuid.uuid4().hex}"


def marked(marker: str) -> list[int]:
    """List the processes that carry this marker."""
    return [pid for pid, value in _carriers() if value == marker]


def strays() -> list[int]:
    """List the processes marked by an owner that is gone (killed before it could clean up)."""
    spared = _ancestry(os.getpid())
    return [pid for pid, value in _carriers() if pid not in spared and not _has_owner(value)]


def descendants(root: int) -> list[int]:
    """List the children of a process and theirs, by parent id, without the root."""
    children: dict[int, list[int]] = {}
    for pid in _pids():
        children.setdefault(_parent(pid), []).append(pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def reap(marker: str, tree: list[tuple[int, str]] | None = None) -> int:
    """Kill what carries the marker and the given processes if still the same; give how many are left.

    Blocks for at most `REAP_S`: call it in a thread. `tree` holds pairs made by `named`.
    """

    def remaining() -> list[tuple[int, str]]:
        return named(marked(marker)) + [pair for pair in tree or () if _is_running(*pair)]

    return _kill_until_none(remaining)


def reap_strays() -> int:
    """Kill what a dead owner's agents left running; give how many are left. Blocks: call it in a thread."""
    return _kill_until_none(lambda: named(strays()))


def named(pids: list[int]) -> list[tuple[int, str]]:
    """Pair each process id with its start time, so that a reused id is told apart."""
    return [(pid, _started(pid)) for pid in pids]


def _kill_until_none(remaining: Callable[[], list[tuple[int, str]]]) -> int:
    deadline = time.monotonic() + REAP_S
    while left := remaining():
        if time.monotonic() > deadline:
            return len(left)
        for pid, started in left:
            _kill(pid, started)
        time.sleep(PAUSE_S)
    return 0


def _kill(pid: int, started: str) -> None:
    """Kill one process; the handle is taken before the id is looked at again, so no reused id is hit."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if _is_running(pid, started):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    finally:
        os.close(handle)


def _pids() -> Iterator[int]:
    if _PROC.is_dir():
        for name in os.listdir(_PROC):  # noqa: PTH208 - one system call, ten times cheaper than Path objects
            if name.isdigit():
                yield int(name)


def _carriers() -> Iterator[tuple[int, str]]:
    for pid in _pids():
        if value := _marker_of(pid):
            yield pid, value


def _marker_of(pid: int) -> str | None:
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:  # gone, or another user's
        return None
    if _NEEDLE not in environment:
        return None
    for pair in environment.split(b"\0"):
        if pair.startswith(_NEEDLE):
            return pair.removeprefix(_NEEDLE).decode(errors="replace")
    return None


def _stat(pid: int) -> list[str]:
    """Give the fields of `stat` after the command name: state, parent, ... (empty when gone)."""
    try:
        line = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return []
    return line.rpartition(")")[2].split()


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def _started(pid: int) -> str:
    """Give the start time in ticks since boot ("0" when gone)."""
    fields = _stat(pid)
    return fields[19] if fields else "0"


def _is_running(pid: int, started: str) -> bool:
    fields = _stat(pid)
    return bool(fields) and fields[19] == started and fields[0] not in "ZX"


def _has_owner(value: str) -> bool:
    """Say whether the owner named in a marker lives; a marker that is not ours counts as owned."""
    pid, _, rest = value.partition(".")
    started = rest.partition(".")[0]
    if not (pid.isdigit() and started.isdigit()):
        return True
    return _is_running(int(pid), started)


def _ancestry(pid: int) -> set[int]:
    line = set()
    while pid > 0 and pid not in line:
        line.add(pid)
        pid = _parent(pid)
    return line
