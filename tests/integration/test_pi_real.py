"""The real Pi with an offline provider: what only Pi itself can prove."""

import asyncio
import json
import os
import pickle
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from core.agents.environment import allowed_env
from core.agents.pi.runner import EXTENSION, PiRunner
from core.agents.pi.session import PiSession
from core.agents.reaping import reap_strays
from core.errors import AgentDied, AgentRefused
from core.events import (
    Asked,
    Dialog,
    Ended,
    Event,
    Notice,
    Outcome,
    Retrying,
    Started,
    Text,
    ToolEnded,
    ToolStarted,
)
from core.ports import AgentSpec
from tests.e2e.pi_install import PI_084, PI_16, pi_command
from tests.fakes.pi_home import MODEL, make_pi_home
from tests.fakes.stub_provider import StubProvider

pytestmark = pytest.mark.pi
BOTH = [PI_16, pytest.param(PI_084, marks=pytest.mark.long)]
BLOCK = '<lessons>\n- l-001: run `npm test` & "lint" <first>\n- l-002: naïve 🙂\n</lessons>\n'

ASKING = """export default function (pi) {
  pi.registerCommand("all", { handler: async (_args, ctx) => {
    const said = [
      await ctx.ui.select("Colour?", ["red", "green"]), await ctx.ui.confirm("Sure?", "Really"),
      await ctx.ui.input("Name?", "your name"), await ctx.ui.editor("Text?", "old"),
      await ctx.ui.select("Again?", ["x"]), await ctx.ui.select("Late?", ["x"], { timeout: 200 }),
    ];
    ctx.ui.setStatus("key", "never shown");
    ctx.ui.notify(JSON.stringify(said.map((each) => each ?? null)), "info");
  } });
  pi.registerCommand("boom", { handler: async () => { throw new Error("exploded"); } });
  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "bash" || !String(event.input.command).startsWith("rm ")) return undefined;
    const said = await ctx.ui.select("Allow?", ["Allow", "Deny"]);
    return said === "Allow" ? undefined : { block: true, reason: "Denied by the user" };
  });
}
"""


def bash(command: str) -> list[dict[str, object]]:
    """Replies of the model: one shell command, then its output as the answer."""
    call: dict[str, object] = {"tool_calls": [{"name": "bash", "arguments": {"command": command}}]}
    return [call, {"text": "{{last_tool}}"}]


def script(**rules: list[dict[str, object]]) -> dict[str, object]:
    """A provider that answers by the first word of the prompt, else "Hello"."""
    listed = [{"match": f"^{word}", "replies": replies} for word, replies in rules.items()]
    return {"rules": listed, "default": {"text": "Hello"}}


@dataclass
class Desk:
    """A Pi to be started, and the provider that sees what it sends."""

    spec: AgentSpec
    stub: StubProvider
    folder: Path

    @property
    def block(self) -> Path:
        """The file with what the agent is told."""
        assert self.spec.context_file is not None
        return self.spec.context_file

    def systems(self) -> list[str]:
        """The system texts of all requests."""
        return [str(request["system"]) for request in self.stub.requests]

    @asynccontextmanager
    async def session(self) -> AsyncIterator[PiSession]:
        """A session that is closed at the end."""
        session = await PiRunner().open(self.spec)
        try:
            yield session
        finally:
            await session.close()

    def mark(self) -> str:
        """Mark every process of this Pi with the test's own folder; give what to look for."""
        self.spec = replace(self.spec, env={**self.spec.env, "TEST_FOLDER": str(self.folder)})
        return f"TEST_FOLDER={self.folder}"

    async def until_running(self, mark: str, count: int) -> None:
        """Wait until so many processes run."""
        async with asyncio.timeout(30):
            while marked_processes(mark) < count:
                await asyncio.sleep(0.05)

    def extend(self, code: str) -> None:
        """Start Pi with one more extension."""
        file = self.folder / "more.ts"
        file.write_text(code)
        self.spec = replace(self.spec, command=(*self.spec.command, "-e", str(file)))


@pytest.fixture(params=BOTH)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    """Both versions; the older one only with the whole matrix."""
    with StubProvider() as stub:
        yield make_desk(request.param, tmp_path, stub)


def make_desk(version: str, folder: Path, stub: StubProvider) -> Desk:
    """A clean home, a project folder, a session file and a block file."""
    work = folder / "work"
    work.mkdir()
    env = make_pi_home(folder, stub.base_url)
    session = folder / "sessions" / "chat.jsonl"
    return Desk(AgentSpec(pi_command(version), work, env, session, folder / "block.md", MODEL), stub, folder)


async def follow(session: PiSession, answers: tuple[str | bool | None, ...] = ()) -> list[Event]:
    """Collect the events of one run; answer its dialogs in turn."""
    found: list[Event] = []
    waiting = list(answers)
    async with asyncio.timeout(30):
        async for event in session.events():
            found.append(event)
            if isinstance(event, Asked) and waiting:
                await session.answer(event.request, waiting.pop(0))
            if isinstance(event, Ended):
                break
    return found


async def until(session: PiSession, kind: type[Event]) -> None:
    """Read on to the next event of a kind."""
    async with asyncio.timeout(30):
        async for event in session.events():
            if isinstance(event, kind):
                return


def marked_processes(marker: str) -> int:
    """Count the processes with these bytes in their environment."""
    found = 0
    for entry in Path("/proc").iterdir():
        try:
            found += entry.name.isdigit() and marker.encode() in (entry / "environ").read_bytes()
        except OSError:
            continue
    return found


@pytest.mark.parametrize("version", [PI_16, PI_084])
async def test_both_supported_versions_answer_and_are_told_the_block(version: str, tmp_path: Path) -> None:
    """The smoke test of each version in every CI run."""
    with StubProvider() as stub:
        desk = make_desk(version, tmp_path, stub)
        desk.block.write_text(BLOCK)
        async with desk.session() as session:
            await session.prompt("hi")

            assert (await follow(session))[-1] == Ended(Outcome.DONE, "ok")

    assert f"<auto_improve>\n{BLOCK}</auto_improve>" in desk.systems()[0]


# ---- the block


async def test_the_block_changes_between_prompts_and_is_else_byte_stable(desk: Desk) -> None:
    """Same file, same bytes; another file, another block; no file, no block, and never an error."""
    async with desk.session() as session:
        for text in (BLOCK, BLOCK, "other\n", "", " \n", None, "back"):
            desk.block.unlink(missing_ok=True)
            if text is not None:
                desk.block.write_text(text)
            await session.prompt("hi")
            await follow(session)

    first, same, other, *none, back = desk.systems()
    assert first == same
    assert first.count("<auto_improve>") == 1
    assert f"<auto_improve>\n{BLOCK}</auto_improve>" in first
    assert first.replace(BLOCK, "other\n") == other
    assert ["auto_improve" in system for system in none] == [False] * 3
    assert back == other.replace("other\n", "back\n")


async def test_an_installed_copy_does_not_tell_the_block_twice(desk: Desk) -> None:
    """The person has our extension in Pi, and the bot brings its own."""
    installed = desk.folder / "agent" / "extensions"
    installed.mkdir()
    shutil.copy(EXTENSION, installed / "auto-improve.ts")
    desk.block.write_text(BLOCK)
    async with desk.session() as session:
        await session.prompt("hi")
        await follow(session)

    assert desk.systems()[0].count("l-001") == 1


async def test_a_resumed_conversation_is_told_the_block_of_now(desk: Desk) -> None:
    """A new process on the same session file knows the past, and the newest lessons."""
    for text in ("first block", "second block"):
        desk.block.write_text(text)
        async with desk.session() as session:
            await session.prompt(f"prompt on {text}")
            await follow(session)

    sent = json.dumps(desk.stub.requests[-1]["body"])
    assert "prompt on first block" in sent
    assert "<auto_improve>\nsecond block\n</auto_improve>" in desk.systems()[-1]


# ---- what the model may see


async def test_the_models_shell_sees_no_variable_of_the_bot(desk: Desk) -> None:
    """Through the allow-list; provider keys and proxies pass, secrets do not."""
    bots = {
        "AUTO_IMPROVE_TELEGRAM_TOKEN": "synthetic-token",
        "DATABASE_PASSWORD": "synthetic-password",
        "PI_SESSION_ID": "outer",
        "OPENAI_API_KEY": "synthetic-key",
        "LC_TIME": "C",
    }
    env = {**allowed_env({**os.environ, **bots}), **desk.spec.env}
    desk.spec = replace(desk.spec, env=env)
    desk.stub.set_script(script(show=bash("env")))
    async with desk.session() as session:
        await session.prompt("show")
        (tool,) = [event for event in await follow(session) if isinstance(event, ToolEnded)]

    assert "synthetic-token" not in tool.output
    assert "synthetic-password" not in tool.output
    assert "PI_SESSION_ID=outer" not in tool.output
    assert "OPENAI_API_KEY=synthetic-key" in tool.output
    assert "AUTO_IMPROVE_AGENT_RUN=" in tool.output
    assert "AUTO_IMPROVE_AGENT_ID=pi" in tool.output


@pytest.mark.parametrize(
    "text", ["@secret.txt", "-p hello", "/unknown thing", "a\u2028b\n\nc 🙂 \x01", "x" * 200_000]
)
async def test_a_persons_text_reaches_the_model_as_it_is(desk: Desk, text: str) -> None:
    """No file is read, no option is taken, nothing is split."""
    (desk.spec.cwd / "secret.txt").write_text("contents")
    async with desk.session() as session:
        await session.prompt(text)
        await follow(session)

    assert desk.stub.requests[-1]["last_user"] == text


@pytest.mark.parametrize("is_trusted", [True, False])
async def test_a_projects_own_extensions_load_only_when_trusted(desk: Desk, is_trusted: bool) -> None:
    """-a and -na."""
    extensions = desk.spec.cwd / ".pi" / "extensions"
    extensions.mkdir(parents=True)
    mark = desk.folder / "loaded"
    code = f'import {{ writeFileSync as write }} from "node:fs"; export default () => write("{mark}", "x");'
    (extensions / "its.ts").write_text(code)
    desk.spec = replace(desk.spec, is_project_trusted=is_trusted)

    async with desk.session():
        assert mark.exists() is is_trusted


# ---- runs


async def test_parallel_tools_are_joined_with_their_own_arguments(desk: Desk) -> None:
    """They end in another order than they began."""
    calls = [
        {"name": "bash", "arguments": {"command": f"sleep {wait}; exit {code}"}}
        for wait, code in ((0.4, 4), (0, 5))
    ]
    desk.stub.set_script(script(two=[{"tool_calls": calls}, {"text": "both"}]))
    async with desk.session() as session:
        await session.prompt("two")
        told = await follow(session)

    ended = [(event.arguments["command"], event.exit_code) for event in told if isinstance(event, ToolEnded)]
    assert ended == [("sleep 0; exit 5", 5), ("sleep 0.4; exit 4", 4)]


async def test_a_provider_that_recovers_is_one_run(desk: Desk) -> None:
    """Retrying is said, the answer is the good one."""
    desk.stub.push({"status": 500, "error": "boom"}, {"text": "fine"})
    async with desk.session() as session:
        await session.prompt("hi")
        told = await follow(session)

    assert [event.error for event in told if isinstance(event, Retrying)] == ["500 boom"]
    assert (told[0], told[-1]) == (Started(), Ended(Outcome.DONE, "fine"))


async def test_an_abort_in_a_retry_wait_stops_the_run(desk: Desk) -> None:
    """There is no message to end then; and the next prompt is a run of its own."""
    desk.stub.set_script(script(bad=[{"status": 500, "error": "boom"}]))
    settings = desk.folder / "agent" / "settings.json"
    settings.write_text(settings.read_text().replace('"baseDelayMs": 50', '"baseDelayMs": 20000'))
    async with desk.session() as session:
        await session.prompt("bad")
        await until(session, Retrying)
        await session.abort()

        assert (await follow(session))[-1] == Ended(Outcome.STOPPED)
        await session.prompt("hi")
        assert await follow(session) != []


async def test_a_cut_answer_is_kept(desk: Desk) -> None:
    """Pi takes it out of its own conversation."""
    desk.stub.push({"text": "half an answer", "finish": "length"})
    async with desk.session() as session:
        await session.prompt("hi")
        told = await follow(session)

    assert told[-1] == Ended(Outcome.DONE, "half an answer")
    assert [event.level for event in told if isinstance(event, Notice)] == ["warning"]


@pytest.mark.parametrize("when", ["tool", "text"])
async def test_a_message_queued_at_an_abort_never_runs(desk: Desk, when: str) -> None:
    """Pi would keep it for the next prompt: cleared in 1.6; 0.84 is ended where it still holds one."""
    hangs: dict[str, object] = {"text": "a long answer that never ends", "hang": 60}
    desk.stub.set_script(script(tool=bash("sleep 100"), text=[hangs]))
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(desk.session())
        await session.prompt(when)
        await until(session, ToolStarted if when == "tool" else Text)
        await session.steer("leftover words")
        await session.abort()
        stopped = (await follow(session))[-1]
        if not session.is_alive:
            session = await stack.enter_async_context(desk.session())
        await session.prompt("hello again")
        answered = (await follow(session))[-1]

    assert isinstance(stopped, Ended)
    assert (stopped.outcome, answered) == (Outcome.STOPPED, Ended(Outcome.DONE, "Hello"))
    assert [request["last_user"] for request in desk.stub.requests] == [when, "hello again"]


async def test_a_model_that_is_not_set_up_refuses_the_prompt(desk: Desk) -> None:
    """No run begins; the words are Pi's."""
    (desk.folder / "agent" / "models.json").write_text("{}")
    (desk.folder / "agent" / "settings.json").write_text("{}")
    desk.spec = replace(desk.spec, model=None)
    async with desk.session() as session:
        with pytest.raises(AgentRefused) as caught:
            await session.prompt("hi")

    assert "No" in str(caught.value.values["error"])


async def test_an_extension_that_is_not_there_is_a_death_at_start(desk: Desk) -> None:
    """open says what Pi said."""
    desk.spec = replace(desk.spec, command=(*desk.spec.command, "-e", "/no/such/extension.ts"))

    with pytest.raises(AgentDied) as caught:
        await PiRunner().open(desk.spec)

    assert "exit code 1" in str(caught.value.values["error"])


# ---- extensions that ask


async def test_every_kind_of_dialog_goes_to_the_person_and_back(desk: Desk) -> None:
    """Answered, cancelled, timed out; the command's last word is the answer of the run."""
    desk.extend(ASKING)
    async with desk.session() as session:
        await session.prompt("/all")
        told = await follow(session, ("green", True, "Ada", "new\ntext", None))

    asked = [(event.dialog, event.timeout_s) for event in told if isinstance(event, Asked)]
    select = (Dialog.SELECT, None)
    assert asked[:4] == [select, (Dialog.CONFIRM, None), (Dialog.INPUT, None), (Dialog.EDITOR, None)]
    assert asked[4:] == [select, (Dialog.SELECT, 0.2)]
    assert told[-1] == Ended(Outcome.DONE, '["green",true,"Ada","new\\ntext",null,null]')
    assert desk.stub.requests == []


async def test_a_command_that_throws_is_a_notice_and_the_run_ends(desk: Desk) -> None:
    """Pi calls it a success; the person is told otherwise."""
    desk.extend(ASKING)
    async with desk.session() as session:
        await session.prompt("/boom")
        told = await follow(session)

    assert told == [Started(), Notice("command:boom: exploded", "error"), Ended(Outcome.DONE)]


async def test_a_permission_denied_is_an_error_of_the_tool_in_the_run(desk: Desk) -> None:
    """The gate of an extension works over the chat."""
    desk.extend(ASKING)
    desk.stub.set_script(script(remove=bash("rm -f victim")))
    async with desk.session() as session:
        await session.prompt("remove")
        told = await follow(session, ("Deny",))

    assert [event.output for event in told if isinstance(event, ToolEnded)] == ["Denied by the user"]


# ---- ends


async def test_nothing_survives_a_pi_that_is_killed(desk: Desk) -> None:
    """SIGKILL in mid run with a background job of the model's: the run fails, survivors are 0."""
    own = desk.mark()
    desk.stub.set_script(script(leave=bash("echo $PPID > pid; setsid sleep 300 & exec sleep 200")))
    async with desk.session() as session:
        await session.prompt("leave")
        await desk.until_running(own, 3)
        os.kill(int((desk.spec.cwd / "pid").read_text()), signal.SIGKILL)
        ended = (await follow(session))[-1]
        await session.close()

    assert ended == Ended(Outcome.FAILED, "", "the agent died (exit code -9)")
    assert marked_processes(own) == 0


async def test_a_frozen_pi_is_stopped_within_5_s(desk: Desk) -> None:
    """It reads nothing any more: SIGSTOP stands for a wedged event loop."""
    own = desk.mark()
    desk.stub.set_script(script(leave=bash("echo $PPID > pid; exec sleep 200")))
    async with desk.session() as session:
        await session.prompt("leave")
        await desk.until_running(own, 2)
        os.kill(int((desk.spec.cwd / "pid").read_text()), signal.SIGSTOP)
        began = time.monotonic()
        await session.abort()
        took_s = time.monotonic() - began
        ended = (await follow(session))[-1]

    assert took_s < 5
    assert ended == Ended(Outcome.STOPPED)
    assert marked_processes(own) == 0


OWNER = """
import asyncio, pickle, sys
from core.agents.pi.runner import PiRunner
async def main():
    session = await PiRunner().open(pickle.loads(bytes.fromhex(sys.argv[1])))
    await session.prompt("leave")
    await asyncio.sleep(60)
asyncio.run(main())
"""


async def test_nothing_survives_a_bot_that_is_killed_once_it_has_started_again(desk: Desk) -> None:
    """kill -9 of the owner: Pi leaves by itself, the next start reaps the rest; survivors are counted."""
    own = desk.mark()
    desk.stub.set_script(script(leave=bash("setsid sleep 300 & exec sleep 200")))
    told = pickle.dumps(desk.spec).hex()
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, told, cwd=Path(__file__).parents[2]
    )
    try:
        await desk.until_running(own, 3)
    finally:
        owner.kill()
        await owner.wait()

    left = await asyncio.to_thread(reap_strays)

    assert left == 0
    assert marked_processes(own) == 0


async def test_a_question_carries_no_tools_no_block_and_no_project_files(desk: Desk) -> None:
    """The analyst's request, as the provider sees it."""
    desk.block.write_text(BLOCK)
    (desk.spec.cwd / "AGENTS.md").write_text("PROJECT RULES")
    desk.stub.push({"text": "{}"})
    question = f'AUTO-IMPROVE ANALYSIS\n{"long " * 100_000}@AGENTS.md {{"a": "\u2028"}}'

    answer = await PiRunner().ask(desk.spec, question, 30)

    (request,) = desk.stub.requests
    assert answer == "{}"
    assert request["last_user"].strip() == question
    assert not request["body"].get("tools")
    assert "PROJECT RULES" not in json.dumps(request["body"])
    assert "l-001" not in json.dumps(request["body"])
    assert not list(desk.folder.glob("sessions/*"))
