"""What `bench_bot` measures with: a bot in its own process against a local Bot API server in this one."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.local.calls import Recorded
from bot.local.faults import Fault, FaultKind
from bot.local.records import Message
from bot.local.server import LocalServer
from tests.fakes.fake_pi import write_fake_pi

TOKEN = "42:a-token-of-the-local-server"
REPOSITORY = Path(__file__).parents[2]
PATIENCE_S = 60.0
STREAMING = """
import threading
def stream():
    while True:
        event = {"type": "text_delta", "contentIndex": 0, "delta": "some more words of an answer "}
        out(type="message_update", assistantMessageEvent=event); time.sleep(0.01)
def on_prompt(command):
    begin(command)
    if "stream" in command["message"]:
        threading.Thread(target=stream, daemon=True).start()
    else:
        say("hello"); settle()
"""


@dataclass(slots=True)
class Rig:
    """One bot, its server and its people; everybody has a message with 👍 and 👎 after `meet`."""

    name: str
    server: LocalServer
    argv: tuple[str, ...]
    env: dict[str, str]
    process: asyncio.subprocess.Process | None = None

    @property
    def people(self) -> list[int]:
        """Give the ids of the people, which are their chats' too."""
        return [number for number, user in self.server.state.users.items() if not user.is_bot]

    async def start(self) -> float:
        """Start the bot; give the seconds until its first poll."""
        self.server.recorder.calls.clear()
        began = time.time()
        self.process = await asyncio.create_subprocess_exec(
            *self.argv,
            env=self.env,
            cwd=REPOSITORY,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await self.until(lambda: any(_is(each, "getUpdates") for each in self.server.recorder.calls))
        polls = (each.started_at for each in self.server.recorder.calls if _is(each, "getUpdates"))
        return next(polls) - began

    async def stop(self) -> None:
        """Stop the bot."""
        if self.process is not None and self.process.returncode is None:
            self.process.terminate()
            await self.process.wait()

    async def meet(self) -> None:
        """Let everybody say something and get an answer with buttons."""
        for person in self.people:
            self.server.state.say(person, person, "hello")
        await self.until(lambda: all(self.answer_of(person) for person in self.people))
        await self.settle()

    async def settle(self) -> None:
        """Wait until nothing more leaves."""
        seen = -1
        while seen != self.server.recorder.total:
            seen = self.server.recorder.total
            await asyncio.sleep(1.5)

    def answer_of(self, person: int) -> Message | None:
        """Give the newest message with 👎 in a chat."""
        messages = reversed(self.server.state.chat(person).messages.values())
        return next((message for message in messages if any(_keys(message, "down"))), None)

    async def say(self, people: Sequence[int], text: str) -> list[float]:
        """Let people write at once; give the seconds until the first call that answers each."""
        since = {}
        for person in people:
            since[person] = time.time()
            self.server.state.say(person, person, text)
        await self.until(lambda: len(self._first_calls(since)) == len(since))
        return [at - since[person] for person, at in self._first_calls(since).items()]

    def _first_calls(self, since: dict[int, float]) -> dict[int, float]:
        found: dict[int, float] = {}
        for recorded in self.server.recorder.calls:
            chat = recorded.call.integer("chat_id")
            if chat in since and recorded.started_at >= since[chat] and not _is(recorded, "sendChatAction"):
                found.setdefault(chat, recorded.started_at)
        return found

    async def tap(self, people: Sequence[int], choices: Sequence[str] = ("down",)) -> list[float]:
        """Let people tap one button after the other without waiting; give the seconds until each answer."""
        since = {}
        for choice in choices:
            for person in people:
                message = self.answer_of(person)
                assert message is not None, "everybody has met the bot"
                began = time.time()
                data = next(_keys(message, choice))
                since[self.server.state.tap(person, person, message.id, data)] = began
        await self.until(lambda: len(self._answered(since)) == len(since))
        return [at - since[query] for query, at in self._answered(since).items()]

    def _answered(self, since: dict[str, float]) -> dict[str, float]:
        found = {}
        for recorded in self.server.recorder.calls:
            query = recorded.call.text("callback_query_id")
            if query in since and recorded.ended_at is not None:
                found[query] = recorded.ended_at
        return found

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait, looking seldom: this process serves the bot meanwhile."""
        async with asyncio.timeout(PATIENCE_S):
            while not is_so():
                await asyncio.sleep(0.02)

    def usage(self) -> tuple[float, float]:
        """Give resident memory in MB and processor time in seconds of the bot's process."""
        assert self.process is not None
        folder = Path(f"/proc/{self.process.pid}")
        status = (folder / "status").read_text(encoding="utf-8")
        pages = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return int(pages.split()[1]) / 1024, ticks / os.sysconf("SC_CLK_TCK")

    @contextmanager
    def fault(self, **fields: object) -> Iterator[None]:
        """Let calls go wrong for a while."""
        self.server.faults.add(Fault.model_validate(fields))
        try:
            yield
        finally:
            self.server.faults.clear()

    def latency(self) -> AbstractContextManager[None]:
        """Put 50 ms of network before every call."""
        return self.fault(kind=FaultKind.DELAY, seconds=0.05, times=0)


@asynccontextmanager
async def open_rig(name: str, folder: Path, people: int) -> AsyncIterator[Rig]:
    """Make a rig for "ours" or "bare"; the bot is not started yet."""
    async with LocalServer(TOKEN) as server:
        for number in range(people):
            server.state.add_person(f"Person {number}")
        rig = Rig(name, server, _argv(name, server), {})
        folder.mkdir()
        rig.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "AUTO_IMPROVE_TELEGRAM_TOKEN": TOKEN,
            "AUTO_IMPROVE_TELEGRAM_BASE_URL": server.base_url,
            "AUTO_IMPROVE_TELEGRAM_BASE_FILE_URL": server.base_file_url,
            "AUTO_IMPROVE_ALLOWED_USERS": ",".join(str(person) for person in rig.people),
            "AUTO_IMPROVE_HOME": str(folder / "home"),
            "AUTO_IMPROVE_PROJECT": str(folder),
            "AUTO_IMPROVE_PI_COMMAND": " ".join(write_fake_pi(folder, STREAMING)),
            "AUTO_IMPROVE_ANALYSIS_DELAY_S": "86400",
            "AUTO_IMPROVE_IDLE_S": "5",
        }
        try:
            yield rig
        finally:
            await rig.stop()


def _argv(name: str, server: LocalServer) -> tuple[str, ...]:
    if name == "ours":
        return (sys.executable, "-m", "bot", "run")
    return (sys.executable, "-m", "tests.bench.bare_ptb", server.base_url, server.base_file_url, TOKEN)


def _is(recorded: Recorded, method: str) -> bool:
    return recorded.call.method.lower() == method.lower()


def _keys(message: Message, choice: str) -> Iterator[str]:
    """Give the callback data of the buttons of a message that end in a choice."""
    rows = (message.keyboard or {}).get("inline_keyboard")
    for row in rows if isinstance(rows, list) else []:
        for key in row:
            if str(key.get("callback_data", "")).split(":")[-1] == choice:
                yield str(key["callback_data"])
