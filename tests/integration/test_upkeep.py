"""What the bot does by itself: ready files after decisions, a backup a day (reliability.md D9)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.upkeep import DAY_S, SETTLED_S, Upkeep
from core.app import Core, open_core
from core.model.lesson import Domain, Scope
from core.services import lessons
from core.settings import CoreSettings
from tests.integration.parts import MovableClock, until, working

QUIET_S = 0.3


@pytest.fixture
def clock() -> MovableClock:
    """A clock that stands still until a test moves it."""
    return MovableClock()


@pytest.fixture
async def core(tmp_path: Path, clock: MovableClock) -> AsyncIterator[Core]:
    """An open core."""
    async with open_core(CoreSettings(home=tmp_path / "home", agent="scripted"), clock=clock) as opened:
        yield opened


def backups(core: Core) -> int:
    """Give how many backups there are."""
    return len([*core.settings.backup_folder.glob("*.db")])


async def test_the_store_is_backed_up_once_a_day_but_not_while_the_bot_starts(
    core: Core, clock: MovableClock
) -> None:
    """A start never waits for a look through the whole store."""
    upkeep = Upkeep(core)
    async with working(upkeep.run()):
        await asyncio.sleep(QUIET_S)
        assert backups(core) == 0

        for count, pause_s in ((1, SETTLED_S), (2, DAY_S)):
            clock.at += pause_s
            upkeep.wake()
            await until(lambda count=count: backups(core) == count)  # type: ignore[misc]


async def test_a_decision_is_in_the_ready_file_soon(core: Core) -> None:
    """A terminal reads the file at its next prompt; nobody starts a process for it."""
    ready = core.settings.context_folder / "global.md"
    async with working(Upkeep(core).run()):
        await asyncio.sleep(QUIET_S)
        await core.store.write(
            lambda tx: lessons.add(
                tx, "Say hello first.", Domain.GENERAL, Scope.GLOBAL, None, "1001", "cli", 1.0
            )
        )

        await until(lambda: ready.is_file() and "Say hello first." in ready.read_text("utf-8"))
