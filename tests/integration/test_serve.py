"""Start and end of the bot, in this process: what keeps it from starting, and that it ends when told."""

import asyncio
import time
from pathlib import Path

import pytest

from bot.api import make_api
from bot.local.faults import FaultKind
from bot.local.person import LocalTelegram
from bot.local.server import LocalServer
from bot.lock import only_one
from bot.serve import STOP_S, work
from bot.settings import BotSettings
from core.agents.scripted import Script, ScriptedRunner
from core.analysis.scripted import Scripted
from core.app import open_core
from core.errors import SettingsError
from tests.integration.parts import PATIENCE_S

OTHER = "43:another-token-of-nobody"


async def starts_and_ends(server: LocalServer, telegram: LocalTelegram, home: Path) -> float:
    """Run the bot until its first poll, then tell it to stop; give the seconds it took to end."""
    settings = BotSettings(telegram_token=server.token, home=home, agent="scripted", allowed_users="1001")  # type: ignore[arg-type]
    agents, stop = {"scripted": ScriptedRunner(Script())}, asyncio.Event()
    api = make_api(server.token, server.base_url, server.base_file_url)
    async with open_core(settings, agents=agents, analyst=Scripted()) as core:
        running = asyncio.create_task(work(core, settings, api, stop))
        await telegram.wait_for_poll(timeout_s=PATIENCE_S)
        told = time.monotonic()
        stop.set()
        await running
    return time.monotonic() - told


@pytest.mark.parametrize(
    "fault",
    [
        {"code": 401},
        {"code": 404},
        {"code": 409},
        {"code": 429, "retry_after_s": 1},
        {"code": 500},
        {"kind": FaultKind.HTML, "code": 502},
        {"kind": FaultKind.RESET},
    ],
)
async def test_no_trouble_at_the_first_call_ends_the_start(
    server: LocalServer, telegram: LocalTelegram, tmp_path: Path, fault: dict[str, object]
) -> None:
    """P5: who we are is asked again until Telegram says it."""
    await telegram.fault(method="getMe", **fault)  # type: ignore[arg-type]

    await starts_and_ends(server, telegram, tmp_path)

    assert len(await telegram.calls("getMe")) == 2


async def test_told_to_stop_it_ends_at_once(
    server: LocalServer, telegram: LocalTelegram, tmp_path: Path
) -> None:
    """D16: a waiting poll, idle lanes and the scheduler hold nothing up."""
    assert await starts_and_ends(server, telegram, tmp_path) < STOP_S


async def test_a_menu_that_is_refused_keeps_nobody_from_starting(
    server: LocalServer, telegram: LocalTelegram, tmp_path: Path
) -> None:
    """The menu is a convenience."""
    await telegram.fault(method="setMyCommands", code=400)

    await starts_and_ends(server, telegram, tmp_path)


def test_one_token_is_polled_by_one_process(tmp_path: Path, server: LocalServer) -> None:
    """P8, D12: a second one is refused with a clear line; another bot may share the home."""
    with only_one(tmp_path, server.token):
        with pytest.raises(SettingsError) as raised, only_one(tmp_path, server.token):
            raise AssertionError
        with only_one(tmp_path, OTHER):
            pass
    with only_one(tmp_path, server.token):
        pass

    assert raised.value.key == "settings.already_running"
