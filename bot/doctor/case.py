"""What is examined: the settings, the agent's environment, and what a running bot knows of itself."""

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bot.doctor.telegram import Telegram
from bot.settings import BotSettings
from core.agents.environment import allowed_env
from core.errors import StoreError
from core.ports import AgentRunner, AgentSpec
from core.settings import beside_ours
from core.store.health import is_current
from core.store.sqlite import open_store
from core.tables import CoreTx

T = TypeVar("T")

ENVIRONMENT = "agent_environment"
"""Setting of the store: the names of what the running bot hands its agent, and its PATH."""


@dataclass(frozen=True, slots=True)
class Case:
    """One examination. `is_bot` says that the bot examines itself; `deaf` is why it hears nothing, "" if not.

    `missing` are variables that this shell has for the agent and the running bot has not.
    """

    settings: BotSettings
    token: str | None
    runner: AgentRunner | None
    spec: AgentSpec
    is_bot: bool
    is_running: bool
    deaf: str = ""
    missing: tuple[str, ...] = ()

    def telegram(self) -> Telegram:
        """Open a connection to the Bot API."""
        return Telegram(self.token or "", self.settings.telegram_base_url)


async def look(settings: BotSettings, fn: Callable[[CoreTx], T]) -> T | None:
    """Read the store; None where it is not there, too old or broken: `check_store` says so."""
    if not await asyncio.to_thread(is_current, settings.store_path):
        return None
    try:
        async with open_store(settings.store_path) as store:
            return await store.read(fn)
    except StoreError:
        return None


def spec_here(settings: BotSettings) -> AgentSpec:
    """Say how a bot started here would start its agent."""
    env = allowed_env({**beside_ours(settings.home), **os.environ}, settings.agent_env)
    return AgentSpec(command=settings.pi_command, cwd=settings.project or Path.cwd(), env=env)


def note_environment(tx: CoreTx, env: Mapping[str, str]) -> None:
    """Let `doctor`, called in a shell, know what the running bot has: names, and the PATH."""
    tx.settings.put(ENVIRONMENT, json.dumps({"names": sorted(env), "path": env.get("PATH", "")}))


def env_of_bot(tx: CoreTx, here: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Give what the running bot hands its agent, as far as it can be known here, and what it lacks."""
    noted = tx.settings.get(ENVIRONMENT)
    if noted is None:
        return dict(here), ()
    known = json.loads(noted)
    names = set(known["names"])
    env = {name: value for name, value in here.items() if name in names}
    return {**env, "PATH": known["path"]}, tuple(sorted(here.keys() - names))
