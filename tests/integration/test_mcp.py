"""`auto-improve mcp` asked by an independent client: the official SDK's, over stdio (learning.md 8)."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, TextContent

from core.model.agent import AgentKind
from core.model.lesson import Domain, Scope
from core.model.skill import Skill, SkillKind
from core.services import agents, capabilities, lessons, skill_writing
from core.services.changes import By
from core.settings import project_of
from core.store.sqlite import open_store
from core.tables import Tx
from tests.factories import ANN, NOW

BY = By(ANN, NOW, "cli")


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A home with two agents: `helper` has `deploy`, `pi` has `release`; three lessons in force."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    shop, other = project_of(tmp_path / "shop"), str(tmp_path)

    def fill(tx: Tx) -> None:
        agents.add(tx, "helper", AgentKind.CLAUDE, BY, name="Helper", command=("helper", "--secret"))
        for agent, name in (("helper", "deploy"), ("pi", "release")):
            skill = Skill(name, f"How to {name}", f"BODY of {name}", SkillKind.REFERENCE, origin="test")
            capabilities.assign(tx, agent, skill_writing.write(tmp_path / "home/skills", skill), BY)
        for rule, scope, project in (
            ("Take small steps.", Scope.GLOBAL, None),
            ("Use pnpm here.", Scope.PROJECT, shop),
            ("Ask Bob first.", Scope.PROJECT, other),
        ):
            lessons.add(tx, rule, Domain.GENERAL, scope, project, ANN, "cli", NOW)

    async with open_store(tmp_path / "home" / "store.db") as store:
        await store.write(fill)
    return tmp_path


@asynccontextmanager
async def asking(folder: Path, agent: str = "helper") -> AsyncIterator[Client]:
    """Start the server as a client's configuration would, and connect to it."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "AUTO_IMPROVE_HOME": str(folder / "home")}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "bot", "mcp", "--agent", agent, "--project", str(folder / "shop")],
        env=env,
        cwd=str(Path(__file__).parents[2]),
    )
    async with Client(stdio_client(server)) as client:
        yield client


def text_of(result: CallToolResult) -> str:
    """Give the text of a tool's answer."""
    return "".join(each.text for each in result.content if isinstance(each, TextContent))


async def test_four_tools_and_no_vote_or_decision(folder: Path) -> None:
    """An agent sees what it has, and hands in; the rest is people's."""
    async with asking(folder) as client:
        tools = (await client.list_tools()).tools

    assert sorted(each.name for each in tools) == ["lessons", "list_agents", "propose_lesson", "skill_read"]
    assert {each.name for each in tools if not (each.annotations and each.annotations.read_only_hint)} == {
        "propose_lesson"
    }
    assert all("agent" not in each.input_schema.get("properties", {}) for each in tools)


async def test_agents_are_listed_with_what_they_can_do_and_no_body(folder: Path) -> None:
    """The raw references stand beside the capabilities; no body, no command line."""
    async with asking(folder) as client:
        result = await client.call_tool("list_agents", {})

    assert result.structured_content is not None
    found = {each["id"]: each for each in result.structured_content["result"]}
    assert found["helper"]["capabilities"] == [
        {"name": "deploy", "description": "How to deploy", "kind": "reference"}
    ]
    assert (found["helper"]["skills"], found["pi"]["skills"]) == (["deploy"], ["release"])
    assert "BODY" not in text_of(result)
    assert "secret" not in text_of(result)


async def test_a_body_is_read_by_its_holder_alone(folder: Path) -> None:
    """Unassigned, missing and hostile names get the same answer."""
    async with asking(folder) as client:
        held = await client.call_tool("skill_read", {"name": "deploy"})
        others = [
            await client.call_tool("skill_read", {"name": name})
            for name in ("release", "missing", "../release", "/etc/passwd", "")
        ]

    assert (held.is_error, text_of(held)) == (False, "BODY of deploy")
    assert {(bool(each.is_error), text_of(each)) for each in others} == {
        (True, "Error executing tool skill_read: not found")
    }


async def test_lessons_are_this_project_s_and_the_global_ones(folder: Path) -> None:
    """Scope is strict; the newest decision comes first."""
    async with asking(folder) as client:
        every = await client.call_tool("lessons", {})
        own = await client.call_tool("lessons", {"scope": "project"})

    assert every.structured_content is not None and own.structured_content is not None
    assert [each["rule"] for each in every.structured_content["result"]] == [
        "Use pnpm here.",
        "Take small steps.",
    ]
    assert [each["id"] for each in own.structured_content["result"]] == ["l-002"]


async def test_a_proposed_lesson_is_a_proposal_and_waits_for_people(folder: Path) -> None:
    """Handed in twice it is one; nothing is a lesson by it."""
    given = {"rule": "Run the linter first.", "rationale": "It failed twice.", "domain": "review"}
    async with asking(folder) as client:
        made = [await client.call_tool("propose_lesson", given) for _ in range(2)]

    assert {text_of(each) for each in made} == {text_of(made[0])}
    assert json.loads(text_of(made[0]))["state"] == "pending"
    async with open_store(folder / "home" / "store.db") as store:
        proposals, active, log = await store.read(
            lambda tx: (tx.proposals.all(), tx.lessons.all(), tx.runs.activities(0))
        )
    assert [(each.rule, each.state, each.scope) for each in proposals] == [
        ("Run the linter first.", "pending", "project")
    ]
    assert len(active) == 3
    assert (log[-1].who, log[-1].surface, log[-1].verb) == ("helper", "mcp", "propose")


@pytest.mark.parametrize(
    "given",
    [{"rule": ""}, {"rule": "x" * 301}, {"rule": "Do it.", "lesson": "l-003"}, {"rule": "a", "scope": "x"}],
)
async def test_a_proposal_that_is_none_is_refused_with_the_reason(
    folder: Path, given: dict[str, object]
) -> None:
    """Empty, too long, about a lesson of another project, or not as agreed."""
    async with asking(folder) as client:
        result = await client.call_tool("propose_lesson", given)

    assert result.is_error
    assert len(text_of(result)) > 10


async def test_a_flood_of_proposals_is_held_back(folder: Path) -> None:
    """People decide before more come in (S15)."""
    async with asking(folder) as client:
        results = [
            await client.call_tool("propose_lesson", {"rule": f"Do number {number}."}) for number in range(51)
        ]

    assert [number for number, each in enumerate(results) if each.is_error] == [50]
    assert "wait for a decision already" in text_of(results[-1])


async def test_two_agents_each_have_their_own_server(folder: Path) -> None:
    """The identity is the process's."""
    async with asking(folder, "pi") as client:
        own = await client.call_tool("skill_read", {"name": "release"})
        other = await client.call_tool("skill_read", {"name": "deploy"})

    assert (text_of(own), text_of(other)) == ("BODY of release", "Error executing tool skill_read: not found")
