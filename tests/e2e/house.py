"""One house for end-to-end tests: Telegram on loopback, the bot in its own process, a real Pi behind it."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.local.person import LocalTelegram, NothingCame, Person, Wanted
from bot.local.server import LocalServer
from bot.local.wire import MessageView
from core.ports import T
from core.store.sqlite import open_store
from core.tables import Tx
from tests.fakes.pi_home import MODEL, make_pi_home
from tests.fakes.stub_provider import StubProvider

TOKEN = "42:a-token-of-the-local-server"
REPOSITORY = Path(__file__).parents[2]
PATIENCE_S = 45.0  # longest wait for anything: the machine may be busy with other tests


@dataclass(slots=True)
class House:
    """Everything of one test. `env` is the bot's environment; the bot may die and be started again."""

    folder: Path
    server: LocalServer
    telegram: LocalTelegram
    ada: Person
    stub: StubProvider
    env: dict[str, str]
    process: asyncio.subprocess.Process | None = None

    @property
    def home(self) -> Path:
        return self.folder / "auto-improve"

    @property
    def project(self) -> Path:
        return self.folder / "project"

    async def start(self, **more: str) -> None:
        """Start the bot, killable by KILL_AT."""
        polls = (await self.telegram.bot()).polls
        await self.launch(**more)
        if "KILL_AT" not in more:  # one that is to die may die before its first poll
            await self._wait_for_poll(polls)

    async def _wait_for_poll(self, polls: int) -> None:
        try:
            await self.telegram.wait_for_poll(after=polls, timeout_s=PATIENCE_S)
        except NothingCame as error:
            raise AssertionError(f"{error}; the bot said:\n{self.log_text()[-3000:]}") from None

    async def launch(self, **more: str) -> None:
        """Start the bot and do not wait for it."""
        log = (self.folder / "bot.log").open("ab")
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.fakes.killable_bot",
            cwd=REPOSITORY,
            env={**self.env, **more},
            stdout=log,
            stderr=log,
        )
        log.close()

    async def kill(self) -> None:
        """Kill -9 the bot."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
        await self.dead()

    async def dead(self, timeout_s: float = PATIENCE_S) -> int:
        """Wait until the bot is dead; give its exit code."""
        assert self.process is not None
        async with asyncio.timeout(timeout_s):
            return await self.process.wait()

    async def restart(self, **more: str) -> None:
        """Kill -9 the bot and start it again."""
        await self.kill()
        await self.start(**more)

    async def stop(self) -> int:
        """Stop it as a service manager does."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        return await self.dead()

    async def store(self, fn: Callable[[Tx], T]) -> T:
        """Look into the store from this process."""
        async with open_store(self.home / "store.db") as store:
            return await store.read(fn)

    async def quiet(self) -> None:
        """Wait until nothing is on its way any more: kill then, and nothing has an unknown outcome."""

        def is_busy(tx: Tx) -> bool:
            return bool(tx.inbox.waiting() or tx.outbox.waiting() or tx.runs.running())

        async with asyncio.timeout(PATIENCE_S):
            while await self.store(is_busy):
                await asyncio.sleep(0.05)

    # -- what a person does, with the patience of a busy machine -----------------------------------------

    async def see(self, wanted: Wanted, *, after: MessageView | None = None) -> MessageView:
        """Wait for a message of the bot."""
        return await self.ada.wait_for(wanted, after=after, timeout_s=PATIENCE_S)

    async def change(self, message: MessageView, is_wanted: Callable[[MessageView], bool]) -> MessageView:
        """Wait until a message has become something."""
        return await self.see(lambda m: m.id == message.id and is_wanted(m))

    async def ask(self, prompt: str) -> MessageView:
        """Say something to the agent; give the last part of its answer."""
        said = await self.ada.say(prompt)
        return await self.see(lambda m: "👎" in m.buttons, after=said)

    async def tap(self, message: MessageView, button: str) -> str:
        """Tap a button; give the toast."""
        tap = await self.ada.tap(message, button)
        return (await self.ada.wait_for_toast(tap, timeout_s=PATIENCE_S)).text

    async def tell(self, text: str, *, reply_to: MessageView | None = None) -> MessageView:
        """Say something that the bot answers itself; give what it says next."""
        said = await self.ada.say(text, reply_to=reply_to)
        return await self.see(lambda m: True, after=said)

    async def complain(self, answer: MessageView, reason: str = "Wrong result") -> MessageView:
        """Tap 👎 and a reason; give the answer as it stands then."""
        await self.tap(answer, "👎")
        asked = await self.change(answer, lambda m: reason in m.buttons)
        await self.tap(asked, reason)
        return asked

    async def card(self, words: str = "New lesson?", *, after: MessageView | None = None) -> MessageView:
        """Wait for a proposal's card that can be decided."""
        return await self.see(lambda m: words in m.text and bool(m.buttons), after=after)

    async def propose(self, prompt: str = "fix the bug") -> MessageView:
        """Ask, complain, and give the card that follows."""
        answer = await self.ask(prompt)
        await self.complain(answer)
        return await self.see(lambda m: " · p-" in m.text and bool(m.buttons), after=answer)

    async def cli(self, *words: str, stdin: str = "", **more: str) -> tuple[int, str, str]:
        """Run `auto-improve` as a person at the terminal does; give exit code, output, errors."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bot",
            *words,
            cwd=self.project,
            env={**self.env, "PYTHONPATH": str(REPOSITORY), **more},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate(stdin.encode())
        return process.returncode or 0, out.decode(), err.decode()

    def prompts(self) -> list[dict[str, object]]:
        """Give what the provider was asked on a person's prompt, analyses left out."""
        return [each for each in self.stub.requests if not _is_analysis(each)]

    def analyses(self) -> list[str]:
        """Give what the analyst was asked."""
        return [str(each["last_user"]) for each in self.stub.requests if _is_analysis(each)]

    def told(self) -> str:
        """Give the system text of the newest prompt."""
        return str(self.prompts()[-1]["system"])

    def log_text(self) -> str:
        """Give what the bot logged so far."""
        return (self.folder / "bot.log").read_text(errors="replace")


def _is_analysis(request: Mapping[str, object]) -> bool:
    return str(request["last_user"]).startswith("AUTO-IMPROVE ANALYSIS")


@asynccontextmanager
async def open_house(
    folder: Path, pi: tuple[str, ...], script: dict[str, object], **settings: str
) -> AsyncIterator[House]:
    """Build a house; the bot is not started yet. `pi` is the argv of the agent."""
    (folder / "project").mkdir()
    with StubProvider(script) as stub:
        pi_env = make_pi_home(folder / "pi", stub.base_url)
        async with (
            LocalServer(TOKEN, record=folder / "calls.jsonl") as server,
            LocalTelegram(server.url) as telegram,
        ):
            ada = await telegram.person("Ada", language_code="en")
            env = {
                **pi_env,
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "AUTO_IMPROVE_TELEGRAM_TOKEN": TOKEN,
                "AUTO_IMPROVE_TELEGRAM_BASE_URL": server.base_url,
                "AUTO_IMPROVE_TELEGRAM_BASE_FILE_URL": server.base_file_url,
                "AUTO_IMPROVE_ALLOWED_USERS": str(ada.chat_id),
                "AUTO_IMPROVE_HOME": str(folder / "auto-improve"),
                "AUTO_IMPROVE_PROJECT": str(folder / "project"),
                "AUTO_IMPROVE_PI_COMMAND": " ".join(pi),
                "AUTO_IMPROVE_ANALYSIS_DELAY_S": "0.2",
                "AUTO_IMPROVE_DIGEST": "off",
                **settings,
            }
            house = House(folder, server, telegram, ada, stub, env)
            try:
                yield house
            finally:
                if house.process is not None and house.process.returncode is None:
                    house.process.kill()
                    await house.process.wait()


__all__ = ["MODEL", "House", "open_house"]
