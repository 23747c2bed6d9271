"""A compiled skill goes to the agent whose traces made it, once (learning.md 8)."""

from dataclasses import replace
from pathlib import Path

from core.model.agent import AgentKind
from core.services import agents, capabilities
from core.services.pattern_gate import Gate
from tests.calls import ID, PROJECT, by, open_gate, story, take_in

SESSIONS = ("s1", "s2", "s3", "s4", "s5")


async def failing(gate: Gate, agent: str = "pi") -> None:
    """Let an agent fail often enough for a skill."""
    calls = [each._replace(trace=replace(each.trace, agent=agent)) for each in story(SESSIONS)]
    await take_in(gate, calls)


async def held(gate: Gate, agent: str = "pi", project: str = PROJECT) -> list[str]:
    """Give the names of what an agent has."""
    found = await gate.store.read(lambda tx: capabilities.resolve_capabilities(tx, agent, project))
    return [each.name for each in found]


async def test_an_accepted_pattern_s_skill_goes_to_the_agent_that_failed(tmp_path: Path) -> None:
    """It can read it at once; nobody else has it, no other project sees it."""
    async with open_gate(tmp_path) as gate:
        await gate.store.write(lambda tx: agents.add(tx, "builder", AgentKind.PI, by()))
        await failing(gate, "builder")

        (ruling,) = await gate.accept(ID, PROJECT, by())

        assert await held(gate, "builder") == [ruling.skill]
        assert (await held(gate), await held(gate, "builder", "/srv/other")) == ([], [])
        read = await gate.store.write(
            lambda tx: capabilities.read(tx, "builder", ruling.skill, PROJECT, by().now)
        )
        assert "npm run test:unit" in read.body


async def test_an_agent_nobody_registered_leaves_its_skill_to_pi(tmp_path: Path) -> None:
    """Imported traces may be of any agent."""
    async with open_gate(tmp_path) as gate:
        await failing(gate, "somebody")

        (ruling,) = await gate.accept(ID, PROJECT, by())

        assert await held(gate) == [ruling.skill]


async def test_a_skill_taken_back_is_not_given_again(tmp_path: Path) -> None:
    """A lost file is written again; who has it stays what people decided."""
    async with open_gate(tmp_path) as gate:
        await failing(gate)
        (ruling,) = await gate.accept(ID, PROJECT, by())
        await gate.store.write(lambda tx: capabilities.unassign(tx, "pi", ruling.skill, by()))
        (tmp_path / "skills" / ruling.skill / "SKILL.md").unlink()

        written = await gate.publish()

        assert [each.name for each in written] == [ruling.skill]
        assert await held(gate) == []


async def test_a_demoted_skill_is_taken_from_all_and_promoted_given_again(tmp_path: Path) -> None:
    """The file goes with it."""
    async with open_gate(tmp_path) as gate:
        await failing(gate)
        (ruling,) = await gate.accept(ID, PROJECT, by())

        await gate.demote(ruling.skill, PROJECT, by())
        assert await held(gate) == []
        assert not (tmp_path / "skills" / ruling.skill).exists()

        await gate.promote(ID, PROJECT, by())
        assert await held(gate) == [ruling.skill]
