"""What every store keeps of agents and their skills: one suite over memory and SQLite."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.model.agent import Agent, AgentKind, Assignment
from core.model.skill import SkillKind, SkillScope
from core.ports import Store
from core.store.memory import MemoryStore
from core.store.sqlite import open_store
from core.tables import Tx
from tests.factories import NOW, PROJECT


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store of each kind."""
    if request.param == "memory":
        yield MemoryStore()
        return
    async with open_store(tmp_path / "store.db") as opened:
        yield opened


def an_assignment(agent: str = "pi", skill: str = "deploy") -> Assignment:
    scope = SkillScope.PROJECT
    return Assignment(
        agent, skill, "Déployer", SkillKind.REFERENCE, scope, PROJECT, "found", "/x", "ab", "7", NOW
    )


async def test_an_agent_comes_back_as_it_was_put(store: Store) -> None:
    """Every field, the command's words too."""
    agent = Agent("helper", "Helper", AgentKind.CLAUDE, ("claude", "--a b"), PROJECT, NOW)

    await store.write(lambda tx: tx.agents.put(agent))

    assert await store.read(lambda tx: (tx.agents.get("helper"), tx.agents.all())) == (agent, [agent])


async def test_what_an_agent_has_comes_by_name(store: Store) -> None:
    """One list an agent, one over all."""
    given = [an_assignment("pi", "b"), an_assignment("pi", "a"), an_assignment("other", "c")]

    def assign(tx: Tx) -> None:
        for each in given:
            tx.agents.assign(each)

    await store.write(assign)

    assert await store.read(lambda tx: tx.agents.assigned_to("pi")) == [given[1], given[0]]
    assert await store.read(lambda tx: tx.agents.assignments()) == [given[2], given[1], given[0]]


async def test_a_skill_given_twice_is_given_once_as_it_is_now(store: Store) -> None:
    """The later decision stands."""
    await store.write(lambda tx: tx.agents.assign(an_assignment()))

    await store.write(lambda tx: tx.agents.assign(replace(an_assignment(), sha256="cd")))

    assert [each.sha256 for each in await store.read(lambda tx: tx.agents.assigned_to("pi"))] == ["cd"]


async def test_a_skill_is_taken_back_once(store: Store) -> None:
    """The second time there is nothing to take."""
    await store.write(lambda tx: tx.agents.assign(an_assignment()))

    taken = await store.write(
        lambda tx: [tx.agents.unassign("pi", "deploy"), tx.agents.unassign("pi", "deploy")]
    )

    assert taken == [True, False]


async def test_reads_are_counted(store: Store) -> None:
    """How often, and when last."""
    await store.write(lambda tx: tx.agents.assign(an_assignment()))

    await store.write(lambda tx: tx.agents.count_read("pi", "deploy", NOW + 1))
    await store.write(lambda tx: tx.agents.count_read("pi", "unknown", NOW + 2))

    held = await store.read(lambda tx: tx.agents.assignment("pi", "deploy"))
    assert held == replace(an_assignment(), reads=1, read_at=NOW + 1)


async def test_a_removed_agent_leaves_nothing(store: Store) -> None:
    """What it had goes with it, what others have stays."""
    await store.write(lambda tx: tx.agents.put(Agent("pi2", "Pi", AgentKind.PI)))
    await store.write(lambda tx: tx.agents.assign(an_assignment("pi2")))
    await store.write(lambda tx: tx.agents.assign(an_assignment("pi")))

    await store.write(lambda tx: tx.agents.drop("pi2"))

    assert await store.read(lambda tx: (tx.agents.get("pi2"), tx.agents.assignments())) == (
        None,
        [an_assignment("pi")],
    )
