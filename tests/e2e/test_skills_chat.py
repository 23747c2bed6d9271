"""Skills in the chat and on every surface: found, given, seen by a running Pi, taken back (learning.md 8)."""

import json
import re
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from bot.local.wire import MessageView
from tests.e2e.conftest import Build
from tests.e2e.house import REPOSITORY, House

pytestmark = pytest.mark.pi
SKILL = "---\nname: {name}\ndescription: How to {name}\nkind: {kind}\n---\n\nBODY of {name}.\n"


def put(house: House, name: str, kind: str = "workflow") -> Path:
    """Write a skill into the folder that agents share."""
    path = Path(house.env["HOME"]) / ".agents" / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SKILL.format(name=name, kind=kind))
    return path


async def card_of(house: House, name: str) -> MessageView:
    """Open the card of a skill from the list."""
    listed = await house.tell("/skills")
    number = re.search(rf"^(\d)\. {name} ", listed.text, re.MULTILINE)
    assert number is not None, listed.text
    await house.tap(listed, number[1])
    return await house.see(lambda m: f"BODY of {name}" in m.text, after=listed)


async def test_an_empty_list_says_where_skills_come_from(house: House) -> None:
    """Nothing found, nothing compiled."""
    assert "No skills yet" in (await house.tell("/skills")).text


async def test_a_skill_given_by_button_reaches_the_running_agent_and_the_talk_goes_on(house: House) -> None:
    """No restart: the next prompt's request lists it, and still holds what was said before."""
    put(house, "deploy")
    put(house, "release", "reference")
    await house.ask("first words")
    assert "How to deploy" not in house.told()
    before = agents_of(house)

    card = await card_of(house, "deploy")
    assert await house.tap(card, "➕ pi") == "pi has deploy from now on."
    await house.change(card, lambda m: "✓ pi: take away" in m.buttons)
    await house.ask("second words")

    asked = json.dumps(house.prompts()[-1])
    assert "How to deploy" in house.told() and "How to release" not in house.told()
    assert "first words" in asked and "BODY of" not in asked
    assert agents_of(house) == before != []


def agents_of(house: House) -> list[str]:
    """Give the process ids of the bot's children: the agent's one."""
    assert house.process is not None
    tasks = Path(f"/proc/{house.process.pid}/task").glob("*/children")
    return sorted(pid for task in tasks for pid in task.read_text().split())


async def test_a_skill_taken_back_is_gone_at_the_next_prompt(house: House) -> None:
    """By the same button."""
    put(house, "deploy")
    card = await card_of(house, "deploy")
    await house.tap(card, "➕ pi")
    given = await house.change(card, lambda m: "✓ pi: take away" in m.buttons)
    await house.ask("one")
    assert "How to deploy" in house.told()

    assert await house.tap(given, "✓ pi: take away") == "pi no longer has deploy."
    await house.ask("two")

    assert "How to deploy" not in house.told()


async def test_a_card_shown_before_the_file_changed_gives_nothing(house: House) -> None:
    """What is given is what was shown; the card comes again with the new text."""
    path = put(house, "deploy")
    card = await card_of(house, "deploy")
    path.write_text(path.read_text() + "And rm -rf.\n")

    toast = await house.tap(card, "➕ pi")

    assert "deploy from now on" not in toast
    fresh = await house.change(card, lambda m: "And rm -rf." in m.text)
    assert "➕ pi" in fresh.buttons
    assert await house.store(lambda tx: tx.agents.assignments()) == []


async def test_what_an_agent_wrote_into_its_skill_reaches_nobody(house: House) -> None:
    """The changed file is not handed on, and its card says so."""
    path = put(house, "deploy")
    await house.tap(await card_of(house, "deploy"), "➕ pi")
    path.write_text(path.read_text().replace("How to deploy", "EVIL"))

    await house.ask("go")
    card = await card_of(house, "deploy")

    assert "EVIL" not in house.told() and "How to deploy" not in house.told()
    assert "Changed since it was given to pi" in card.text
    assert "🔁 pi: assign again" in card.buttons


async def test_every_surface_shows_the_same(build: Build) -> None:
    """Block, `list_agents`, `/agents`, `/skills`, command line and MCP: names, descriptions and kinds."""
    house = await build(agent="scripted")
    for name, kind in (("deploy", "workflow"), ("release", "reference"), ("unassigned", "workflow")):
        put(house, name, kind)
    for name in ("deploy", "release"):
        assert (await house.cli("skills", "assign", name, "scripted"))[0] == 0
    wanted = {("deploy", "How to deploy", "workflow"), ("release", "How to release", "reference")}

    block = (await house.cli("context", "--agent", "scripted"))[1]
    shown = (await house.tell("/context")).text
    agents = (await house.tell("/agents")).text
    skills = (await house.tell("/skills")).text
    listed = json.loads((await house.cli("agents", "list", "--json"))[1])
    served = await list_agents(house)

    line = re.compile(r"^- (\S+) \((\w+)\): ([^.]+)\. Read: ", re.MULTILINE)
    for text in (block, shown):
        assert {(name, about, kind) for name, kind, about in line.findall(text)} == wanted
    chat = re.compile(r"^\d\. (\S+) \((\w+)\): (.+)$", re.MULTILINE)
    assert {(name, about, kind) for name, kind, about in chat.findall(agents)} == wanted
    rows = re.compile(r"^\d\. (\S+) \((\w+)\) · scripted · (.+)$", re.MULTILINE)
    assert {(name, about, kind) for name, kind, about in rows.findall(skills)} == wanted
    for profiles in (listed, served):
        (mine,) = (each for each in profiles if each["id"] == "scripted")
        found = {(each["name"], each["description"], each["kind"]) for each in mine["capabilities"]}
        assert found == wanted


async def list_agents(house: House) -> list[dict[str, object]]:
    """Ask the MCP server as an independent client."""
    env = {**house.env, "PYTHONPATH": str(REPOSITORY)}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "bot", "mcp", "--agent", "scripted"],
        env=env,
        cwd=str(house.project),
    )
    async with Client(stdio_client(server)) as client:
        result = await client.call_tool("list_agents", {})
    assert result.structured_content is not None
    found = result.structured_content["result"]
    assert isinstance(found, list)
    return found


async def test_agents_are_shown_with_what_they_can_do(house: House) -> None:
    """A number opens the skill's card."""
    put(house, "deploy")
    await house.cli("agents", "add", "helper", "--kind", "claude", "--name", "Helper")
    await house.cli("skills", "assign", "deploy", "helper")

    shown = await house.tell("/agents")
    await house.tap(shown, "1")
    card = await house.see(lambda m: "BODY of deploy" in m.text, after=shown)

    assert "Helper · helper · claude" in shown.text
    assert "1. deploy (workflow): How to deploy" in shown.text
    assert {"➕ pi", "✓ helper: take away"} <= set(card.buttons)


async def test_refused_files_are_told_in_the_list(house: House) -> None:
    """One line each, with the reason."""
    put(house, "deploy")
    evil = put(house, "evil")
    evil.write_text("---\nname: ../evil\ndescription: d\n---\n")

    listed = await house.tell("/skills")

    assert "1. deploy (workflow) · nobody · How to deploy" in listed.text
    assert "../evil is no name of a skill" in listed.text
