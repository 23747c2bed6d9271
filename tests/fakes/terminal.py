"""A program in a terminal of its own (a pty), and the person in front of it."""

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

PATIENCE_S = 45.0  # the machine may be busy with other tests
REPOSITORY = Path(__file__).parents[2]
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """What the program shows, and what the person types."""

    def __init__(self, process: asyncio.subprocess.Process, screen: int) -> None:
        self.process, self._screen = process, screen
        self._shown, self._news = "", asyncio.Event()
        self._read_to = 0
        asyncio.get_running_loop().add_reader(screen, self._take)

    def _take(self) -> None:
        try:
            data = os.read(self._screen, 65536)
        except OSError:  # the program is gone: a pty says so with EIO
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._screen)
        self._shown += data.decode("utf-8", "replace")
        self._news.set()

    @property
    def text(self) -> str:
        """Everything shown so far, without colours."""
        return _ESCAPES.sub("", self._shown).replace("\r\n", "\n")

    async def see(self, words: str) -> str:
        """Wait until the words are shown after what was seen before; give what was shown up to them."""
        async with asyncio.timeout(PATIENCE_S):
            while (found := self.text.find(words, self._read_to)) < 0:
                self._news.clear()
                await self._news.wait()
        seen = self.text[self._read_to : found + len(words)]
        self._read_to = found + len(words)
        return seen

    async def find(self, pattern: str) -> str:
        """Wait until something like that is shown; give its first group."""
        async with asyncio.timeout(PATIENCE_S):
            while (found := re.search(pattern, self.text)) is None:
                self._news.clear()
                await self._news.wait()
        return found[1]

    def type(self, text: str) -> None:
        """Type a line."""
        self.keys(f"{text}\n")

    def keys(self, keys: str) -> None:
        """Press keys, as a terminal sends them."""
        os.write(self._screen, keys.encode())

    async def answer(self, question: str, text: str = "") -> str:
        """Wait for a question, then answer it; nothing takes the default."""
        seen = await self.see(question)
        self.type(text)
        return seen

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        os.write(self._screen, b"\x03")

    async def break_off(self, words: str) -> str:
        """Press Ctrl-C until the program says so, as a person does.

        Python may miss one that comes just before its `input()` begins to wait.
        """
        for patience_s in (10.0, PATIENCE_S):
            self.interrupt()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience_s):
                    return await self.see(words)
        raise TimeoutError(self.text)

    async def ended(self) -> int:
        """Wait until the program has ended; give its exit code."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.process.wait()


@asynccontextmanager
async def in_terminal(*argv: str, cwd: Path, env: Mapping[str, str]) -> AsyncIterator[Terminal]:
    """Start `auto-improve` with these arguments in a terminal; it is ended with the context."""
    command = (sys.executable, "-m", "bot", *argv)
    told = {"TERM": "xterm", "PYTHONPATH": str(REPOSITORY), **env}
    async with run_in_terminal(command, cwd=cwd, env=told) as terminal:
        yield terminal


@asynccontextmanager
async def run_in_terminal(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str]
) -> AsyncIterator[Terminal]:
    """Start any program in a terminal of 110 columns and 40 lines; it is ended with the context."""
    screen, program = pty.openpty()
    fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 110, 0, 0))
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env=env,
        stdin=program,
        stdout=program,
        stderr=program,
        preexec_fn=_own_terminal,
    )
    os.close(program)
    terminal = Terminal(process, screen)
    try:
        yield terminal
    finally:
        asyncio.get_running_loop().remove_reader(screen)
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
            await process.wait()
        os.close(screen)


def _own_terminal() -> None:
    """Make the pty the controlling terminal, so that Ctrl-C reaches the program.

    Tests that run as a job in the background ignore it, and what they start would too.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
