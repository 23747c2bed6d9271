"""What every AgentRunner keeps, over the scripted one and the real Pi in both supported versions."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from core.agents.environment import allowed_env
from core.agents.pi.runner import PiRunner
from core.agents.script import Answer, Ask, Fail, Hang, Say, Scene, Script, Shell
from core.agents.scripted import ScriptedRunner
from core.errors import AgentError, AgentRefused
from core.events import Asked, Ended, Event, Outcome, Started, Text, ToolEnded, ToolStarted
from core.ports import AgentRunner, AgentSession, AgentSpec
from tests.e2e.pi_install import PI_084, PI_16, pi_command
from tests.fakes.pi_home import make_pi_home
from tests.fakes.stub_provider import StubProvider

FAILING = "echo out; echo err >&2; exit 3"
SCRIPT = Script(
    scenes=(
        Scene("^tool", (Say("Looking."), Shell(FAILING), Say("Saw it."))),
        Scene("^slow", (Shell("echo begun; sleep 100"), Say("never"))),
        Scene("^hang", (Hang(), Say("never"))),
        Scene("^steered", (Say("turned"),)),
        Scene("^bad", (Fail("401 Incorrect key"),)),
        Scene("^/sure", (Ask("Sure?", message="All lost"), Say("said {{answer}}"))),
        Scene("^told", (Say("I was told: {{told}}"),)),
    ),
    answers=(
        Answer("^AUTO-IMPROVE", ('{"verdict": "none"}',)),
        Answer("^bad", error="401 Incorrect key"),
        Answer("^hang", hangs=True),
    ),
    default=(Say("Hello {{prompt}}"),),
)
STUB = {
    "rules": [
        {
            "match": "^tool",
            "replies": [
                {"text": "Looking.", "tool_calls": [{"name": "bash", "arguments": {"command": FAILING}}]},
                {"text": "Saw it."},
            ],
        },
        {
            "match": "^slow",
            "replies": [
                {"tool_calls": [{"name": "bash", "arguments": {"command": "echo begun; sleep 100"}}]}
            ],
        },
        {
            "match": "^hang",
            "replies": [
                {"tool_calls": [{"name": "bash", "arguments": {"command": "sleep 1"}}]},
                {"text": "never"},
            ],
        },
        {"match": "^steered", "replies": [{"text": "turned"}]},
        {"match": "^bad", "replies": [{"status": 401, "error": "Incorrect key"}]},
        {"match": "^told", "replies": [{"text": "I was told: {{system}}"}]},
        {"match": "^AUTO-IMPROVE", "replies": [{"text": '{"verdict": "none"}'}]},
    ],
    "default": {"text": "Hello {{last_user}}"},
}
SURE = """export default function (pi) {
  pi.registerCommand("sure", { handler: async (_args, ctx) => {
    const said = await ctx.ui.confirm("Sure?", "All lost");
    ctx.ui.notify("said " + (said ? "yes" : "no"), "info");
  } });
}
"""


@dataclass(frozen=True)
class Subject:
    """A runner and how to start its agent."""

    runner: AgentRunner
    spec: AgentSpec


def pi_subject(version: str, folder: Path, base_url: str) -> Subject:
    """The real Pi with the stub provider and one extension of our own."""
    extension = folder / "sure.ts"
    extension.write_text(SURE)
    env = make_pi_home(folder, base_url)
    session = folder / "sessions" / "one.jsonl"
    command = (*pi_command(version), "-e", str(extension))
    return Subject(PiRunner(), AgentSpec(command, folder / "work", env, session, folder / "block.md"))


@pytest.fixture(
    params=[
        "scripted",
        pytest.param(PI_16, marks=pytest.mark.pi),
        pytest.param(PI_084, marks=[pytest.mark.pi, pytest.mark.long]),
    ]
)
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    """Each implementation in turn, in a folder of its own."""
    (tmp_path / "work").mkdir()
    if request.param == "scripted":
        env = allowed_env({"PATH": "/usr/local/bin:/usr/bin:/bin"})
        spec = AgentSpec(("scripted",), tmp_path / "work", env, context_file=tmp_path / "block.md")
        yield Subject(ScriptedRunner(SCRIPT), spec)
        return
    with StubProvider(STUB) as stub:
        yield pi_subject(request.param, tmp_path, stub.base_url)


@asynccontextmanager
async def opened(subject: Subject) -> AsyncIterator[AgentSession]:
    """A session that is closed at the end."""
    session = await subject.runner.open(subject.spec)
    try:
        yield session
    finally:
        await session.close()


async def follow(session: AgentSession) -> list[Event]:
    """Collect the events of one run."""
    found: list[Event] = []
    async with asyncio.timeout(30):
        async for event in session.events():
            found.append(event)
            if isinstance(event, Ended):
                break
    return found


async def until(session: AgentSession, kind: type[Event]) -> Event:
    """Read on to the next event of a kind."""
    async with asyncio.timeout(30):
        async for event in session.events():
            if isinstance(event, kind):
                return event
    raise AssertionError(f"no {kind.__name__} came")


async def test_a_run_begins_once_and_ends_once_with_its_answer(subject: Subject) -> None:
    """Prompt after prompt in one session."""
    async with opened(subject) as session:
        for word in ("one", "two"):
            await session.prompt(word)
            told = await follow(session)

            assert told[0] == Started()
            assert told[-1] == Ended(Outcome.DONE, f"Hello {word}")
            assert "".join(event.delta for event in told if isinstance(event, Text)) == f"Hello {word}"


async def test_a_tool_call_is_told_with_command_output_and_exit_code(subject: Subject) -> None:
    """The shell is real in all of them."""
    async with opened(subject) as session:
        await session.prompt("tool")
        told = await follow(session)

    (ended,) = [event for event in told if isinstance(event, ToolEnded)]
    assert (ended.tool, ended.is_error, ended.exit_code) == ("bash", True, 3)
    assert ended.arguments == {"command": FAILING}
    assert ended.output.split() == ["out", "err", "Command", "exited", "with", "code", "3"]
    assert told[-1] == Ended(Outcome.DONE, "Saw it.")


async def test_an_abort_ends_run_and_command_within_5_s(subject: Subject) -> None:
    """The session takes the next prompt afterwards."""
    async with opened(subject) as session:
        await session.prompt("slow")
        await until(session, ToolStarted)
        began = time.monotonic()

        await session.abort()
        told = await follow(session)

        assert time.monotonic() - began < 5
        assert [event.is_aborted for event in told if isinstance(event, ToolEnded)] == [True]
        assert told[-1] == Ended(Outcome.STOPPED)
        await session.prompt("next")
        assert (await follow(session))[-1] == Ended(Outcome.DONE, "Hello next")


async def test_an_abort_without_a_run_does_nothing(subject: Subject) -> None:
    """No event, and the session lives."""
    async with opened(subject) as session:
        await session.abort()
        await session.prompt("hi")

        assert (await follow(session))[-1] == Ended(Outcome.DONE, "Hello hi")


async def test_a_steered_message_turns_the_run(subject: Subject) -> None:
    """One run, whose answer is the one to the later message."""
    async with opened(subject) as session:
        await session.prompt("hang")
        await session.steer("steered")
        told = await follow(session)

    assert [type(event) for event in told].count(Started) == 1
    assert told[-1] == Ended(Outcome.DONE, "turned")


async def test_one_prompt_at_a_time(subject: Subject) -> None:
    """A second prompt in a run is refused, and so is steering without one."""
    async with opened(subject) as session:
        with pytest.raises(AgentRefused):
            await session.steer("nobody listens")
        await session.prompt("slow")

        with pytest.raises(AgentRefused):
            await session.prompt("two")


async def test_a_provider_error_fails_the_run_in_one_line(subject: Subject) -> None:
    """And the session lives on."""
    async with opened(subject) as session:
        await session.prompt("bad")

        assert (await follow(session))[-1] == Ended(Outcome.FAILED, "", "401 Incorrect key")
        assert session.is_alive


@pytest.mark.parametrize(("value", "answer"), [(True, "said yes"), (False, "said no")])
async def test_a_dialog_is_asked_and_answered(subject: Subject, value: bool, answer: str) -> None:
    """Answers to dialogs nobody asked are ignored."""
    async with opened(subject) as session:
        await session.prompt("/sure")
        asked = await until(session, Asked)
        assert isinstance(asked, Asked)

        await session.answer("unknown", True)
        await session.answer(asked.request, value)

        assert (asked.title, asked.message) == ("Sure?", "All lost")
        assert (await follow(session))[-1] == Ended(Outcome.DONE, answer)


async def test_an_abort_in_a_dialog_ends_the_run(subject: Subject) -> None:
    """A dialog that stays open would block it for ever."""
    async with opened(subject) as session:
        await session.prompt("/sure")
        await until(session, Asked)
        began = time.monotonic()

        await session.abort()

        assert isinstance((await follow(session))[-1], Ended)
        assert time.monotonic() - began < 5


async def test_the_block_is_read_anew_at_each_prompt(subject: Subject) -> None:
    """A lesson approved between two prompts is told to the second; without a file nothing is."""
    file = subject.spec.context_file
    assert file is not None
    answers = []
    async with opened(subject) as session:
        for block in ("", "LESSON ONE\n", "LESSON TWO\n"):
            file.write_text(block)
            await session.prompt("told")
            ended = (await follow(session))[-1]
            assert isinstance(ended, Ended)
            answers.append([word for word in ("ONE", "TWO") if f"LESSON {word}" in ended.answer])

    assert answers == [[], ["ONE"], ["TWO"]]


async def test_close_ends_events_and_prompts_for_good(subject: Subject) -> None:
    """Twice is fine; in mid run the run is stopped."""
    session = await subject.runner.open(subject.spec)
    await session.prompt("slow")
    await until(session, ToolStarted)

    await session.close()
    await session.close()

    assert [event async for event in session.events()][-1] == Ended(Outcome.STOPPED)
    assert not session.is_alive
    with pytest.raises(AgentError):
        await session.prompt("again")


async def test_a_question_is_answered_without_a_session(subject: Subject) -> None:
    """The analyst's way in."""
    answer = await subject.runner.ask(subject.spec, "AUTO-IMPROVE ANALYSIS\n{}", 30)

    assert answer == '{"verdict": "none"}'


async def test_a_question_the_provider_fails_is_refused(subject: Subject) -> None:
    """With the provider's words."""
    with pytest.raises(AgentRefused) as caught:
        await subject.runner.ask(subject.spec, "bad", 30)

    assert caught.value.values == {"error": "401 Incorrect key"}


async def test_a_question_has_a_time_limit(subject: Subject) -> None:
    """A provider that never answers costs the limit and no more."""
    began = time.monotonic()

    with pytest.raises(TimeoutError):
        await subject.runner.ask(replace(subject.spec), "hang", 0.05)

    assert time.monotonic() - began < 10
