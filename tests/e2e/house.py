"""One house for end-to-end tests: Telegram on loopback, the bot in its own process, Pi (or a script) behind it."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bot.local.person import LocalTelegram, Person
from bot.local.server import LocalServer
from core.ports import T
from core.store.sqlite import open_store
from tests.fakes.pi_home import MODEL, make_pi_home
from tests.fakes.stub_provider import StubProvider

TOKEN = "42:a-token-of-the-local-server"
REPOSITORY = Path(__file__).parents[2]


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
    kills: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "auto-improve"

    @property
    def project(self) -> Path:
        return self.folder / "project"

    async def start(self, **more: str) -> None:
        """Start the bot, killable by KILL_AT."""
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

    async def dead(self, timeout_s: float = 20.0) -> int:
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

    async def store(self, fn: "type[T] | object") -> T:
        """Look into the store from this process."""
        async with open_store(self.home / "store.db") as store:
            return await store.read(fn)  # type: ignore[arg-type]

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
        async with LocalServer(TOKEN, record=folder / "calls.jsonl") as server, LocalTelegram(server.url) as telegram:
            ada = await telegram.person("Ada", language_code="en")
            env = {
                **pi_env,
                "PATH": os.environ["PATH"],
                "AUTO_IMPROVE_TELEGRAM_TOKEN": TOKEN,
                "AUTO_IMPROVE_TELEGRAM_BASE_URL": server.base_url,
                "AUTO_IMPROVE_TELEGRAM_BASE_FILE_URL": server.base_file_url,
                "AUTO_IMPROVE_ALLOWED_USERS": str(ada.chat_id),
                "AUTO_IMPROVE_HOME": str(folder / "auto-improve"),
                "AUTO_IMPROVE_PROJECT": str(folder / "project"),
                "AUTO_IMPROVE_PI_COMMAND": " ".join(pi),
                "AUTO_IMPROVE_ANALYSIS_DELAY_S": "0.2",
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
