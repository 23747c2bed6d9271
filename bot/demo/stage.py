"""The composition of the demo: page and local Telegram, the real bot, a scripted agent or the person's Pi."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from bot.api import make_api
from bot.demo import guide, project
from bot.demo.access import Door
from bot.demo.analyst import DemoAnalyst
from bot.demo.guide import Guide
from bot.demo.page import Page
from bot.demo.project import Checks
from bot.demo.script import PAUSE_S, DemoScript
from bot.demo.server import DemoServer
from bot.demo.world import VISITOR_ID, World
from bot.serve import stop_signal, work
from bot.settings import BotSettings
from core.agents.scripted import ScriptedRunner, ScriptedSession
from core.app import PI, SCRIPTED, Core, open_core
from core.ports import AgentRunner, AgentSpec
from core.settings import load

CHAT_FILE: Final = "demo-chat.json"
PROJECT: Final = "project"
_CHECK_EVERY_S = 1.0

# What of the person's own settings says how their Pi is started and how long it may take.
_OF_PI = ("pi_command", "agent_env", "analysis_timeout_s", "run_deadline_s", "silence_s")


class DemoRunner(ScriptedRunner):
    """The scripted agent with a Python and a shell's tools on its PATH."""

    async def open(self, spec: AgentSpec) -> ScriptedSession:
        """Start a session."""
        return await super().open(replace(spec, env=project.environment(spec.env)))


def settings_for(home: Path, agent: str, token: str) -> BotSettings:
    """Give the bot's settings: none of the person's own but, for their Pi, how it is started."""
    ours = BotSettings.model_construct(
        home=home,
        project=home / PROJECT,
        agent=agent,
        telegram_token=SecretStr(token),
        allowed_users=(VISITOR_ID,),
        log_level="warning",
    )
    if agent != PI:
        return ours
    own = load(BotSettings)
    return ours.model_copy(update={name: getattr(own, name) for name in _OF_PI})


async def show(world: World, settings: BotSettings, port: int, announce: Callable[[str], None]) -> None:
    """Serve page and bot until SIGTERM or SIGINT; `announce` gets the link. Raises OSError (port taken)."""
    stop, folder = stop_signal(), settings.home / PROJECT
    project.create(folder)
    door, checks = Door(), Checks(folder)
    page = Page(world, door, settings.agent, folder)
    async with DemoServer(world, door, page, port) as server:
        base, files = f"{server.url}/bot", f"{server.url}/file/bot"
        settings = settings.model_copy(update={"telegram_base_url": base, "telegram_base_file_url": files})
        async with open_core(settings, agents=_agents(settings, world), analyst=_analyst(settings)) as core:
            page.look = _looker(core, settings, checks)
            watching = asyncio.create_task(_watch(checks, world), name="checks")
            api = make_api(settings.token(), base, files)
            announce(server.link)
            try:
                await work(core, settings, api, stop)
            finally:
                watching.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watching
                page.look = None
                world.bell.close()  # whoever waits for news hears it now, not when the store is gone


def _agents(settings: BotSettings, world: World) -> Mapping[str, AgentRunner] | None:
    if settings.agent != SCRIPTED:
        return None
    return {SCRIPTED: DemoRunner(DemoScript(language=lambda: world.language), PAUSE_S)}


def _analyst(settings: BotSettings) -> DemoAnalyst | None:
    return DemoAnalyst() if settings.agent == SCRIPTED else None


def _looker(core: Core, settings: BotSettings, checks: Checks) -> Callable[[], Awaitable[Guide]]:
    async def look() -> Guide:
        return await core.store.read(lambda tx: guide.look(tx, settings, str(VISITOR_ID), checks.suites))

    return look


async def _watch(checks: Checks, world: World) -> None:
    """Keep what the project's tests say up to date."""
    while True:
        if await checks.look():
            world.state.touch()
        await asyncio.sleep(_CHECK_EVERY_S)
