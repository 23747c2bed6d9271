"""One agent process: started in a group of its own, drained always, ended for good.

No parent-death signal is set: it needs code between fork and exec, which is unsafe beside threads. When the
bot is killed, its end of the agent's stdin closes and the agent ends by itself; whatever it leaves behind is
found by its marker at the next start (`reaping.reap_strays`).
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from core.agents.reaping import MARKER, descendants, named, reap
from core.errors import AgentMissing

GRACE_S = 1.5  # after stdin closed: Pi needs 20 ms
TERM_S = 1.0  # after SIGTERM
KILL_S = 2.0  # after SIGKILL
DRAIN_S = 0.5  # for output that is still on its way when the process has ended
STDERR_KEPT_B = 8 * 1024


class _Pipes(asyncio.SubprocessProtocol):
    """Take bytes from the pipes as they come; nothing is ever left unread."""

    def __init__(self, on_output: Callable[[bytes], None], on_close: Callable[[], None]) -> None:
        self._on_output = on_output
        self._on_close: Callable[[], None] | None = on_close
        self.stderr = bytearray()
        self.exited = asyncio.Event()
        self._open = {1, 2}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._on_output(data)
            return
        self.stderr += data
        del self.stderr[:-STDERR_KEPT_B]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's form
        self._open.discard(fd)
        if fd == 1 or self.exited.is_set():
            self._report_soon()

    def process_exited(self) -> None:
        self.exited.set()
        self._report_soon()

    def _report_soon(self) -> None:
        """Report the end: at once when all has come, else a moment later (a child may hold the pipes)."""
        wait_s = 0.0 if self.exited.is_set() and not self._open else DRAIN_S
        asyncio.get_running_loop().call_later(wait_s, self._report)

    def _report(self) -> None:
        told, self._on_close = self._on_close, None
        if told is not None:
            told()


class AgentProcess:
    """A running agent program. Made by `spawn`; ended by `end`, which everyone who spawns owes it."""

    def __init__(self, transport: asyncio.SubprocessTransport, pipes: _Pipes, marker: str) -> None:
        self._transport = transport
        self._pipes = pipes
        self._marker = marker
        self._ending: asyncio.Task[int] | None = None
        self.pid = transport.get_pid()

    @property
    def returncode(self) -> int | None:
        """Give the exit status, negative for a signal; None while it runs."""
        return self._transport.get_returncode()

    @property
    def stderr_tail(self) -> str:
        """Give the last 8 KiB the program wrote to stderr."""
        return self._pipes.stderr.decode(errors="replace").strip()

    @property
    def is_writable(self) -> bool:
        """Say whether it can still be told something."""
        stdin = self._stdin()
        return self.returncode is None and stdin is not None and not stdin.is_closing()

    def write(self, data: bytes) -> None:
        """Hand bytes to its stdin; lost without a word when it has gone (its end is reported anyway)."""
        stdin = self._stdin()
        if self.is_writable and stdin is not None:
            stdin.write(data)

    def close_stdin(self) -> None:
        """Close its stdin, which asks Pi to leave."""
        stdin = self._stdin()
        if stdin is not None and not stdin.is_closing():
            stdin.close()

    async def wait(self, timeout_s: float) -> bool:
        """Wait for its exit; say whether it came in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._pipes.exited.wait()
        return self._pipes.exited.is_set()

    def release(self) -> None:
        """Close what is left of a program that has ended, and leave alone what it started."""
        self._transport.close()

    async def end(self, grace_s: float = GRACE_S) -> int:
        """End it and everything it left running; give how many survive. Safe to call twice and to cancel."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(grace_s))
        return await asyncio.shield(self._ending)

    async def _end(self, grace_s: float) -> int:
        tree = await asyncio.to_thread(lambda: named(descendants(self.pid)))
        self.close_stdin()
        for wait_s, number in ((grace_s, signal.SIGTERM), (TERM_S, signal.SIGKILL)):
            if await self.wait(wait_s):
                break
            self._signal(number)
        await self.wait(KILL_S)
        left = await asyncio.to_thread(reap, self._marker, tree)
        self._transport.close()
        return left

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _stdin(self) -> asyncio.WriteTransport | None:
        pipe = self._transport.get_pipe_transport(0)
        return pipe if isinstance(pipe, asyncio.WriteTransport) else None


async def spawn(
    command: tuple[str, ...],
    *,
    cwd: Path,
    env: Mapping[str, str],
    marker: str,
    on_output: Callable[[bytes], None],
    on_close: Callable[[], None],
) -> AgentProcess:
    """Start a program with exactly this environment and the marker.

    `on_output` gets its stdout as it comes, `on_close` is called once when it has ended or closed its stdout.
    Raises AgentMissing when program or folder are not there.
    """
    if not await asyncio.to_thread(cwd.is_dir):
        raise AgentMissing("agent.folder_missing", folder=str(cwd))
    loop = asyncio.get_running_loop()
    try:
        transport, pipes = await loop.subprocess_exec(
            lambda: _Pipes(on_output, on_close),
            *command,
            cwd=cwd,
            env={**env, MARKER: marker},
            start_new_session=True,
        )
    except (FileNotFoundError, PermissionError, NotADirectoryError) as problem:
        raise AgentMissing("agent.missing", command=command[0]) from problem
    return AgentProcess(transport, pipes, marker)
