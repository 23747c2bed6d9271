"""Parts of the bot over a real store and the local Bot API server, for tests of one part at a time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.api import Api, make_api
from bot.app import Bot, open_bot
from bot.local.server import LocalServer
from bot.settings import BotSettings
from core.agents.script import Script
from core.agents.scripted import ScriptedRunner
from core.analysis.scripted import Scripted
from core.app import open_core
from core.errors import StoreError
from core.ports import Store, T
from core.tables import Tx

PATIENCE_S = 15.0  # longest wait for anything: the machine may be busy with other tests


class MovableClock:
    """A clock that tests move; wall time is an argument everywhere."""

    def __init__(self, at: float = 1_900_000_000.0) -> None:
        self.at = at

    def now(self) -> float:
        """Give seconds since the epoch."""
        return self.at


class FailingStore:
    """A real store whose next writes fail as told: a disk that is full for a while (D5, D6)."""

    def __init__(self, store: Store, *errors: StoreError) -> None:
        self._store, self.errors = store, list(errors)

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """Fail, or write."""
        if self.errors:
            raise self.errors.pop(0)
        return await self._store.write(fn)

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """Read."""
        return await self._store.read(fn)


@asynccontextmanager
async def open_api(server: LocalServer) -> AsyncIterator[Api]:
    """Open our connection to Telegram."""
    api = make_api(server.token, server.base_url, server.base_file_url)
    await api.initialize()
    try:
        yield api
    finally:
        await api.shutdown()


@asynccontextmanager
async def working(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Let something work in the background; what ends it early fails the test."""
    task = asyncio.create_task(work)
    try:
        yield
        if task.done():
            task.result()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def until(is_so: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(timeout_s):
        while not is_so():
            await asyncio.sleep(0.01)


async def until_stored(store: Store, is_so: Callable[[Tx], bool], timeout_s: float = PATIENCE_S) -> None:
    """Wait until something holds in the store."""
    async with asyncio.timeout(timeout_s):
        while not await store.read(is_so):
            await asyncio.sleep(0.02)


@asynccontextmanager
async def open_whole(
    server: LocalServer, home: Path, script: Script | None = None, **settings: object
) -> AsyncIterator[tuple[Bot, Store]]:
    """Run the whole bot in this process, its agent a script."""
    given = BotSettings(telegram_token=server.token, home=home, agent="scripted", project=home, **settings)  # type: ignore[arg-type]
    agents = {"scripted": ScriptedRunner(script or Script())}
    async with (
        open_core(given, agents=agents, analyst=Scripted()) as core,
        open_api(server) as api,
        open_bot(core, given, api.username, api) as bot,
        working(bot.run()),
    ):
        yield bot, core.store
