"""Core put together from its settings."""

import os
from pathlib import Path

import pytest

from core.agents.pi.runner import PiRunner
from core.agents.script import Answer, Script
from core.agents.scripted import ScriptedRunner
from core.analysis.by_agent import ByAgent
from core.analysis.by_rules import ByRules
from core.analysis.scripted import Scripted
from core.app import open_core
from core.errors import AgentMissing, SettingsError
from core.model.agent import Agent, AgentKind
from core.model.evidence import Evidence
from core.settings import CoreSettings
from core.store.sqlite import open_store


def settings(home: Path, **values: object) -> CoreSettings:
    """Give settings with a home of their own."""
    return CoreSettings(home=home, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "kind"),
    [({}, ByAgent), ({"analyst": "rules"}, ByRules), ({"agent": "scripted"}, Scripted)],
)
async def test_the_analyst_that_is_set_is_at_work(
    tmp_path: Path, values: dict[str, object], kind: type[object]
) -> None:
    """The agent by default, rules where set, the script's own beside the shipped script."""
    async with open_core(settings(tmp_path, **values)) as core:
        assert isinstance(core.analyst, kind)


async def test_an_analyst_that_is_not_installed_is_a_clear_error(tmp_path: Path) -> None:
    """Nothing is opened."""
    with pytest.raises(SettingsError):
        async with open_core(settings(tmp_path, analyst="model")):
            raise AssertionError

    assert list(tmp_path.iterdir()) == []


async def test_an_agent_that_nobody_registered_is_a_clear_error(tmp_path: Path) -> None:
    """Neither shipped nor in the store."""
    with pytest.raises(AgentMissing):
        async with open_core(settings(tmp_path, agent="codex")):
            raise AssertionError


async def test_given_agents_take_the_place_of_the_shipped_ones(tmp_path: Path) -> None:
    """An embedder's runner answers the analysis."""
    runner = ScriptedRunner(Script(answers=(Answer("ANALYSIS", ('{"verdict": "none", "cause": "fine"}',)),)))

    async with open_core(settings(tmp_path, agent="mine"), agents={"mine": runner}) as core:
        found = await core.analyst.analyse(Evidence(None), core.spec(tmp_path))

    assert (core.runner is runner, found.cause) == (True, "fine")


async def test_the_agent_sees_none_of_our_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment is an allow-list with what the settings add."""
    monkeypatch.setitem(os.environ, "AUTO_IMPROVE_TELEGRAM_TOKEN", "1:token")
    monkeypatch.setitem(os.environ, "MY_KEY", "x")

    async with open_core(settings(tmp_path, agent_env=("MY_KEY",), pi_command=("node", "pi.js"))) as core:
        spec = core.spec(tmp_path)

    assert ("AUTO_IMPROVE_TELEGRAM_TOKEN" in spec.env, spec.env["MY_KEY"]) == (False, "x")
    assert (spec.command, spec.cwd) == (("node", "pi.js"), tmp_path)


async def test_keys_kept_in_the_home_reach_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `setup` wrote for a service; the environment is stronger, our own variables never pass."""
    lines = ("OPENAI_API_KEY=kept", "GROQ_API_KEY=old", "AUTO_IMPROVE_TELEGRAM_TOKEN=1:t", "OTHER=x")
    (tmp_path / ".env").write_text("\n".join(lines))
    monkeypatch.setenv("GROQ_API_KEY", "new")

    async with open_core(settings(tmp_path)) as core:
        env = core.spec(tmp_path).env

    assert (env["OPENAI_API_KEY"], env["GROQ_API_KEY"]) == ("kept", "new")
    assert {"OTHER", "AUTO_IMPROVE_TELEGRAM_TOKEN"} & set(env) == set()


async def test_a_registered_pi_is_run_as_one_by_its_own_command(tmp_path: Path) -> None:
    """The setting names it; its process is told who it is."""
    builder = Agent("builder", "Builder", AgentKind.PI, ("my-pi", "--fast"))
    async with open_store(settings(tmp_path).store_path) as store:
        await store.write(lambda tx: tx.agents.put(builder))

    async with open_core(settings(tmp_path, agent="builder")) as core:
        spec = core.spec(tmp_path)

        assert isinstance(core.runner, PiRunner) and isinstance(core.analyst, ByAgent)
        assert (spec.command, spec.env["AUTO_IMPROVE_AGENT_ID"]) == (("my-pi", "--fast"), "builder")


async def test_a_registered_agent_of_another_kind_is_a_clear_error(tmp_path: Path) -> None:
    """It can be given skills; the bot does not run it."""
    async with open_store(settings(tmp_path).store_path) as store:
        await store.write(lambda tx: tx.agents.put(Agent("codex", "Codex", AgentKind.CODEX)))

    with pytest.raises(AgentMissing):
        async with open_core(settings(tmp_path, agent="codex")):
            raise AssertionError
