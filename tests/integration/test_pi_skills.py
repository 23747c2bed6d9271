"""Skills as the real Pi sees them: handed to its process, or read over MCP (pi-protocol 7 and 10)."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from core.agents.pi.runner import PiRunner
from core.agents.pi.session import PiSession
from core.events import Ended
from core.model.agent import AgentKind
from core.model.skill import Skill
from core.ports import AgentSpec
from core.services import agents, capabilities, context, skill_writing
from core.services.changes import By
from core.settings import CoreSettings
from core.store.sqlite import open_store
from core.tables import Tx
from tests.e2e.pi_install import PI_084, PI_16, pi_command
from tests.factories import ANN, NOW
from tests.fakes.pi_home import MODEL, make_pi_home
from tests.fakes.stub_provider import StubProvider

pytestmark = pytest.mark.pi
BY = By(ANN, NOW, "cli")
HEAD = "---\nname: {name}\ndescription: About {name}\n---\n\nBODY of {name}\n"


def a_skill(folder: Path, name: str) -> Skill:
    """A skill in our own folder."""
    return skill_writing.write(folder / "skills", Skill(name, f"About {name}", f"BODY of {name}", origin="x"))


def spec_of(folder: Path, stub: StubProvider, version: str = PI_16) -> AgentSpec:
    """A Pi with a home, a project and a folder of skills; one more skill lies where Pi looks by itself."""
    work = folder / "work"
    work.mkdir()
    env = make_pi_home(folder, stub.base_url)
    usual = folder / "agent" / "skills" / "usual" / "SKILL.md"
    usual.parent.mkdir(parents=True)
    usual.write_text(HEAD.format(name="usual"))
    handed = folder / "handed"
    return AgentSpec(pi_command(version), work, env, folder / "s.jsonl", folder / "b.md", handed, MODEL)


@asynccontextmanager
async def opened(spec: AgentSpec) -> AsyncIterator[PiSession]:
    """A session that is closed at the end."""
    session = await PiRunner().open(spec)
    try:
        yield session
    finally:
        await session.close()


async def say(session: PiSession, text: str) -> str:
    """Make one run; give its answer."""
    await session.prompt(text)
    async with asyncio.timeout(30):
        async for event in session.events():
            if isinstance(event, Ended):
                return event.answer
    return ""


@pytest.mark.parametrize("version", [PI_16, pytest.param(PI_084, marks=pytest.mark.long)])
async def test_a_running_pi_sees_what_it_is_given_and_keeps_the_talk(version: str, tmp_path: Path) -> None:
    """Only what it was given is listed, no body is; a reload brings the next one without a restart."""
    given: list[Skill] = []
    async with open_store(tmp_path / "store.db") as store:

        async def hand(*names: str) -> bool:
            given[:] = [a_skill(tmp_path, name) for name in names]

            def decide(tx: Tx) -> None:
                capabilities.withdraw(tx, "one", BY)
                for each in given:
                    capabilities.assign(tx, "pi", each, BY)

            await store.write(decide)
            held = await store.read(lambda tx: capabilities.held_files(tx, "pi", None))
            return skill_writing.hand_over(tmp_path / "handed", held)

        with StubProvider() as stub:
            await hand("one")
            async with opened(spec_of(tmp_path, stub, version)) as session:
                await say(session, "first")
                assert await hand("two")
                await session.reload()
                await say(session, "second")

    first, second = (json.dumps(each) for each in stub.requests)
    assert ("About one" in first, "About two" in first) == (True, False)
    assert ("About one" in second, "About two" in second) == (False, True)
    assert "first" in second
    assert "BODY" not in first + second
    assert "About usual" not in first + second


async def test_an_agent_is_known_by_what_its_host_says(tmp_path: Path) -> None:
    """The shell of a hosted Pi reads what this agent was given, and nothing of another's."""
    settings = CoreSettings(home=tmp_path / "home")

    def decide(tx: Tx) -> None:
        agents.add(tx, "builder", AgentKind.PI, BY)
        for agent, name in (("builder", "one"), ("pi", "two")):
            capabilities.assign(tx, agent, a_skill(tmp_path, name), BY)

    async with open_store(settings.store_path) as store:
        await store.write(decide)
    read = f"{sys.executable} -m bot skills read"
    command = f"{read} one; {read} two; AUTO_IMPROVE_AGENT_ID=pi {read} two; echo end"
    call = {"tool_calls": [{"name": "bash", "arguments": {"command": command}}]}
    with StubProvider({"rules": [{"match": "go", "replies": [call, {"text": "{{last_tool}}"}]}]}) as stub:
        spec = spec_of(tmp_path, stub)
        repository = str(Path(__file__).parents[2])
        more = {"AUTO_IMPROVE_AGENT_ID": "builder", "AUTO_IMPROVE_HOME": str(settings.home)}
        spec = replace(spec, env={**spec.env, **more, "PYTHONPATH": repository}, skills_folder=None)
        async with opened(spec) as session:
            answer = await say(session, "go")

    assert answer.split() == ["BODY", "of", "one", "not", "found", "not", "found", "end"]


async def test_pi_reads_its_skills_over_mcp(tmp_path: Path) -> None:
    """The model's request lists the tools; a body for its holder, the same answer for all else."""
    home = tmp_path / "home"

    def decide(tx: Tx) -> None:
        agents.add(tx, "other", AgentKind.CLAUDE, BY)
        for agent, name in (("pi", "one"), ("other", "two")):
            capabilities.assign(tx, agent, a_skill(tmp_path, name), BY)

    async with open_store(home / "store.db") as store:
        await store.write(decide)
        block = await store.read(lambda tx: context.current(tx, None, CoreSettings(home=home)))
    calls = [("skill_read", {"name": name}) for name in ("one", "two", "three")] + [("list_agents", {})]
    replies: list[dict[str, object]] = [
        {"tool_calls": [{"name": f"mcp__auto_improve__{tool}", "arguments": given}]} for tool, given in calls
    ]
    with StubProvider({"rules": [{"match": "go", "replies": [*replies, {"text": "done"}]}]}) as stub:
        spec = spec_of(tmp_path, stub)
        add_server(tmp_path, home)
        assert spec.context_file is not None
        spec.context_file.write_text(block.text)
        async with opened(replace(spec, skills_folder=None)) as session:
            assert await say(session, "go") == "done"

    first, *_, last = stub.requests
    tools = {each for each in tool_names(first) if each.startswith("mcp__auto_improve__")}
    assert tools == {
        f"mcp__auto_improve__{name}" for name in ("lessons", "list_agents", "propose_lesson", "skill_read")
    }
    assert "- one (workflow): About one. Read: skill_read" in str(first["system"])
    assert "BODY" not in json.dumps(first)
    results = tool_results(last)
    assert results[0] == "BODY of one"
    assert results[1] == results[2] != ""
    assert "not found" in results[1]
    assert "About two" in results[3] and "BODY" not in results[3]


def add_server(folder: Path, home: Path) -> None:
    """Write the entry of deploy/mcp/README.md for Pi 1.6, with this interpreter as the command."""
    text = (Path(__file__).parents[2] / "deploy" / "mcp" / "README.md").read_text(encoding="utf-8")
    entry = json.loads(text.partition("```json\n")[2].partition("```")[0])
    server = entry["mcpServers"]["auto_improve"]
    server |= {"command": sys.executable, "args": ["-m", "bot", *server["args"]]}
    server["env"] = {"AUTO_IMPROVE_HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2])}
    (folder / "agent" / "mcp.json").write_text(json.dumps(entry))


def tool_names(request: dict[str, object]) -> list[str]:
    """Give the names of the tools that a request declares."""
    tools = request["body"]["tools"]  # type: ignore[index]
    return [each["function"]["name"] for each in tools]


def tool_results(request: dict[str, object]) -> list[str]:
    """Give what the tools answered, in order."""
    messages = request["body"]["messages"]  # type: ignore[index]
    return [flat(each["content"]) for each in messages if each["role"] == "tool"]


def flat(content: object) -> str:
    """Give the text of a message, whichever way it is written."""
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    return "".join(each.get("text", "") for each in content)
