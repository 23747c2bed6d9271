"""The composition root: settings in, a working core out."""

import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.agents.environment import allowed_env
from core.agents.pi.runner import IDENTITY, PiRunner
from core.agents.script import Script
from core.agents.scripted import ScriptedRunner
from core.analysis.by_agent import ByAgent
from core.analysis.by_rules import ByRules
from core.analysis.scripted import Scripted
from core.clock import SystemClock, SystemIds
from core.errors import AgentMissing, SettingsError
from core.model.agent import Agent, AgentKind
from core.ports import AgentRunner, AgentSpec, Analyst, Clock, Ids, Store, TraceStore
from core.rules.redact import Redactor
from core.services import agents as registry
from core.services.journal import journal
from core.services.pattern_gate import Gate
from core.services.traces import TraceSink
from core.settings import PREFIX, CoreSettings, beside_ours
from core.store.sqlite import open_store
from core.store.traces import open_traces_or_none

PI = "pi"
SCRIPTED = "scripted"


@dataclass(frozen=True, slots=True)
class Core:
    """What every surface works with; closed by the context manager that gave it."""

    settings: CoreSettings
    store: Store
    analyst: Analyst
    agents: Mapping[str, AgentRunner]
    clock: Clock
    ids: Ids
    environment: Mapping[str, str]
    traces: TraceStore

    @property
    def patterns(self) -> Gate:
        """Give what decides about patterns across both stores."""
        return Gate(self.store, self.traces, self.settings, journal(self.settings.debug))

    def sink(self, own_secrets: Iterable[str] = ()) -> TraceSink:
        """Give what takes the calls of running agents; `own_secrets` are masked by their value."""
        redactor = Redactor(own_secrets)
        return TraceSink(self.traces, self.store, redactor, journal(self.settings.debug))

    @property
    def runner(self) -> AgentRunner:
        """Give the runner of the agent that is set. Raises AgentMissing."""
        try:
            return self.agents[self.settings.agent]
        except KeyError:
            raise AgentMissing("agent.not_registered", agent=self.settings.agent) from None

    def spec(self, project: Path) -> AgentSpec:
        """Say how the agent is started in that folder: an allow-listed environment, no session, no block.

        It is told who it is and where our home is, so that `auto-improve skills read` works in its shell.
        """
        env = allowed_env(self.environment, self.settings.agent_env)
        env |= {IDENTITY: self.settings.agent, f"{PREFIX}HOME": str(self.settings.home)}
        return AgentSpec(command=self.settings.pi_command, cwd=project, env=env)


@asynccontextmanager
async def open_core(
    settings: CoreSettings,
    *,
    agents: Mapping[str, AgentRunner] | None = None,
    analyst: Analyst | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Core]:
    """Put core together; what is given takes the place of the usual part.

    Raises SettingsError, AgentMissing, and what `open_store` raises.
    """
    ids = SystemIds()
    runners = shipped_agents() if agents is None else agents
    if analyst is None and (settings.agent in runners or settings.analyst == "model"):
        # The shipped script answers no questions: beside it the analyst that needs none is at work.
        is_script = agents is None and settings.agent == SCRIPTED
        analyst = Scripted() if is_script else choose_analyst(settings, runners, ids)
    async with (
        open_store(settings.store_path, is_checked=True) as store,
        open_traces_or_none(settings.traces_path) as traces,
    ):
        if settings.agent not in runners:
            known = await store.read(partial(registry.find, id=settings.agent))
            runners, settings = with_registered(runners, settings, known)
        if analyst is None:
            analyst = choose_analyst(settings, runners, ids)
        environment = {**beside_ours(settings.home), **os.environ}
        yield Core(settings, store, analyst, runners, clock or SystemClock(), ids, environment, traces)


def shipped_agents() -> Mapping[str, AgentRunner]:
    """Give the agents that need no registration."""
    return {PI: PiRunner(), SCRIPTED: ScriptedRunner(Script())}


def with_registered(
    runners: Mapping[str, AgentRunner], settings: CoreSettings, agent: Agent | None
) -> tuple[Mapping[str, AgentRunner], CoreSettings]:
    """Let a registered agent that is a Pi be run as one, by its own command where it names one."""
    if agent is None or agent.kind is not AgentKind.PI or PI not in runners:
        return runners, settings
    command = agent.command or settings.pi_command
    return {**runners, agent.id: runners[PI]}, settings.model_copy(update={"pi_command": command})


def choose_analyst(settings: CoreSettings, agents: Mapping[str, AgentRunner], ids: Ids) -> Analyst:
    """Give the analyst that is set. Raises SettingsError, AgentMissing."""
    match settings.analyst:
        case "rules":
            return ByRules()
        case "model":
            raise SettingsError("settings.analyst_missing")
    if settings.agent not in agents:
        raise AgentMissing("agent.not_registered", agent=settings.agent)
    return ByAgent(agents[settings.agent], ids, ByRules(), settings.analysis_timeout_s)
