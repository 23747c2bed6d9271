"""The scripted agent's script: what is chosen, filled in, and done."""

import asyncio
from pathlib import Path

import pytest

from core.agents.script import Answer, Ask, Die, Fail, Mention, Say, Scene, Script, Shell, Stumble
from core.agents.scripted import ScriptedRunner
from core.agents.stream import EventStream
from core.errors import AgentDied, AgentRefused
from core.events import Asked, Dialog, Ended, Event, Notice, Outcome, Retrying, Started, Text, ToolEnded
from core.ports import AgentSpec

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


async def play(script: Script, folder: Path, *prompts: str) -> list[Event]:
    """Play the prompts one after the other; give all events."""
    session = await ScriptedRunner(script).open(
        AgentSpec(("x",), folder, ENV, context_file=folder / "block.md")
    )
    for prompt in prompts:
        await session.prompt(prompt)
        await asyncio.wait_for(session.finished(), 20)
    await session.close()
    return [event async for event in session.events()]


def steps(*told: object) -> Script:
    """A script that does this at every prompt."""
    return Script(default=told)  # type: ignore[arg-type]


async def test_the_scene_is_chosen_by_prompt_and_by_what_was_told(tmp_path: Path) -> None:
    """The demo's point: the same prompt, done better once the lesson is told."""
    script = Script((Scene("test", (Say("pnpm"),), told="use pnpm"), Scene("test", (Say("npm"),))))
    before = await play(script, tmp_path, "run the tests")

    (tmp_path / "block.md").write_text("- use pnpm here")
    after = await play(script, tmp_path, "run the tests")

    assert (before[-1], after[-1]) == (Ended(Outcome.DONE, "npm"), Ended(Outcome.DONE, "pnpm"))


async def test_a_shell_step_runs_for_real(tmp_path: Path) -> None:
    """In the session's folder; its output can be said, its code is told."""
    (tmp_path / "file.txt").write_text("contents")

    told = await play(steps(Shell("cat file.txt; exit 4"), Say("It holds: {{output}}")), tmp_path, "go")

    (tool,) = [event for event in told if isinstance(event, ToolEnded)]
    assert (tool.exit_code, tool.is_error) == (4, True)
    assert tool.output == "contents\n\nCommand exited with code 4"
    assert told[-1] == Ended(Outcome.DONE, "It holds: contents")


async def test_a_background_job_outlives_its_command_and_not_the_session(tmp_path: Path) -> None:
    """As with the real one."""
    script = steps(Shell("(sleep 300 & echo $!) > pid"), Shell("kill -0 $(cat pid) && echo lives"))

    told = await play(script, tmp_path, "go")

    assert [event.output.strip() for event in told if isinstance(event, ToolEnded)] == ["", "lives"]
    assert not Path("/proc", (tmp_path / "pid").read_text().strip(), "cwd").exists()


async def test_messages_are_apart_and_the_last_is_the_answer(tmp_path: Path) -> None:
    """Deltas joined are readable; retries and notices are told."""
    told = await play(
        steps(Say("One."), Stumble("500 x"), Mention("by the way"), Say("Two.")), tmp_path, "go"
    )

    assert told == [
        *(Started(), Text("One."), Retrying(1, 3, 0.0, "500 x"), Notice("by the way")),
        *(Text("\n\nTwo."), Ended(Outcome.DONE, "Two.")),
    ]


@pytest.mark.parametrize(("value", "said"), [("red", "red"), (True, "yes"), (False, "no"), (None, "")])
async def test_an_answer_is_filled_in(tmp_path: Path, value: str | bool | None, said: str) -> None:
    """Whatever the person taps."""
    ask = Ask("Colour?", Dialog.SELECT, options=("red",))
    session = await ScriptedRunner(steps(ask, Say("[{{answer}}]"))).open(AgentSpec(("x",), tmp_path, ENV))
    await session.prompt("go")
    async for event in session.events():
        if isinstance(event, Asked):
            await session.answer(event.request, value)
        if isinstance(event, Ended):
            break
    await session.close()

    assert event == Ended(Outcome.DONE, f"[{said}]")


async def test_a_failure_ends_the_run_and_a_death_the_session(tmp_path: Path) -> None:
    """Two kinds of failed."""
    script = Script((Scene("fail", (Say("a"), Fail("401 no"))), Scene("die", (Say("b"), Die("boom")))))

    told = await play(script, tmp_path, "fail", "die")

    ends = [event for event in told if isinstance(event, Ended)]
    assert ends == [Ended(Outcome.FAILED, "a", "401 no"), Ended(Outcome.FAILED, "b", "the agent died: boom")]
    with pytest.raises(AgentDied):
        await play(script, tmp_path, "die", "again")


async def test_questions_are_answered_in_turn(tmp_path: Path) -> None:
    """Malformed once, then well: what an analyst must bear."""
    runner = ScriptedRunner(Script(answers=(Answer("^AUTO", ("oops", "{}")),)))
    spec = AgentSpec(("x",), tmp_path)

    said = [await runner.ask(spec, "AUTO-IMPROVE ANALYSIS", 1) for _ in range(3)]

    assert said == ["oops", "{}", "{}"]
    assert runner.questions == ["AUTO-IMPROVE ANALYSIS"] * 3
    with pytest.raises(AgentRefused):
        await runner.ask(spec, "something else", 1)


async def test_text_nobody_reads_is_merged_and_nothing_is_lost() -> None:
    """A flood costs its own size."""
    stream = EventStream()
    for number in range(10_000):
        stream.put(Text(f"{number} "))
    stream.put(Notice("end"))
    stream.close()
    stream.put(Notice("too late"))

    told = [event async for event in stream]

    assert "".join(event.delta for event in told if isinstance(event, Text)).split() == [
        str(n) for n in range(10_000)
    ]
    assert len(told) < 20
    assert told[-1] == Notice("end")
