"""The whole loop inside Pi's terminal, on the real Pi, without Telegram (product.md 2)."""

import asyncio
import json
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.pi_install import PI_084, PI_16, pi_command
from tests.fakes.own_pi import Json, OwnPi, bash, make_own_pi, script
from tests.fakes.pi_home import MODEL
from tests.fakes.stub_provider import StubProvider
from tests.fakes.terminal import Terminal, run_in_terminal

# A person, an agent and an analyst, on a busy machine.
pytestmark = [pytest.mark.pi, pytest.mark.timeout(150)]
BOTH = [PI_16, pytest.param(PI_084, marks=pytest.mark.long)]
FINDING = {
    "verdict": "new",
    "rule": "Use pnpm in this project, never npm.",
    "rationale": "npm does not know the lock file.",
    "domain": "feature",
    "scope": "project",
    "lesson": None,
    "relation": None,
    "cause": "npm was called",
}
INSTALL = "true npm install left-pad; echo 'npm error: no lock file'; exit 1"
RULE = str(FINDING["rule"])
ANALYST = {"match": "^AUTO-IMPROVE ANALYSIS", "replies": [{"text": json.dumps(FINDING)}]}
APPROVE, EDIT, REJECT, LATER = ({"value": each} for each in ("✅ Approve", "✏️ Edit", "❌ Reject", "Later"))


@pytest.fixture(params=BOTH)
async def own(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OwnPi]:
    """A person's Pi, installed by the command line; the analyst finds the same each time."""
    with StubProvider() as stub:
        own = make_own_pi(tmp_path, pi_command(request.param), stub)
        assert "Written: " in await own.run("install", "pi")
        play(own, install=[bash(INSTALL), {"text": "npm failed"}])
        yield own


def play(own: OwnPi, **rules: list[Json]) -> None:
    """Let the model answer so, and the analyst as always."""
    played = script(**rules)
    own.stub.set_script({**played, "rules": [ANALYST, *played["rules"]]})


def last_system(own: OwnPi) -> str:
    """What the model was told last."""
    return str(own.stub.requests[-1]["system"])


async def test_a_bad_answer_becomes_a_lesson_that_the_next_session_is_told(own: OwnPi) -> None:
    """Asked, analysed, shown word for word, edited, approved: all in Pi's own dialogs."""
    better = "Use pnpm here, and never npm."
    async with own.rpc() as pi:
        await pi.say("install left-pad")
        said = await pi.say("/bad", [{"value": "use pnpm"}, EDIT, {"value": better}, APPROVE])
    async with own.rpc() as pi:
        await pi.say("hello")

    assert [each["method"] for each in said.asked] == ["input", "select", "editor", "select"]
    assert RULE in said.asked[1]["title"]
    assert better in said.asked[3]["title"]
    assert said.told[-1].endswith(better)
    assert better in last_system(own)
    assert any("analysing" in str(each.get("statusText")) for each in said.events)


async def test_the_analyst_sees_the_run_it_is_about(own: OwnPi) -> None:
    """The prompt, the failed command, the answer and the person's words; the vote is the terminal's."""
    async with own.rpc() as pi:
        await pi.say("install left-pad")
        await pi.say("/bad use pnpm instead", [LATER])

    (asked,) = [each for each in own.stub.requests if each["last_user"].startswith("AUTO-IMPROVE")]
    (vote,) = await own.rows("feedback", "list")
    assert all(
        each in asked["last_user"]
        for each in ("install left-pad", "npm install", "npm failed", "use pnpm instead")
    )
    assert (vote["type"], vote["source"], vote["user_comment"]) == ("negative", "cli", "use pnpm instead")
    assert vote["context"] != ""


async def test_an_undecided_proposal_waits_and_is_shown_again(own: OwnPi) -> None:
    """Later, or Escape; another session brings it back; rejected, nothing is learned."""
    async with own.rpc() as pi:
        await pi.say("install left-pad")
        await pi.say("/bad use pnpm", [LATER])
    async with own.rpc() as pi:
        first = await pi.say("/evolver review", [{"cancelled": True}])
        second = await pi.say("/evolver review", [REJECT])
        third = await pi.say("/evolver review")

    assert [len(each.asked) for each in (first, second, third)] == [1, 1, 0]
    assert third.told == ["Nothing waits for a decision."]
    assert await own.rows("lessons", "list") == []


async def test_a_decision_on_what_has_changed_meanwhile_is_refused_and_shown_anew(own: OwnPi) -> None:
    """Somebody reworded it while the dialog was open: the old text is never approved."""
    async with own.rpc() as pi:
        await pi.say("install left-pad")
        await pi.say("/bad use pnpm", [LATER])
        await pi.begin("/evolver review")
        shown = await pi.until(lambda each: each.get("method") == "select")
        await own.run("proposals", "edit", "p-001", "Another wording.")
        await pi.answer(shown.events[-1], APPROVE)
        said = await pi.rest([APPROVE])

    assert "Another wording." in said.asked[-1]["title"]
    assert [each["rule"] for each in await own.rows("lessons", "list")] == ["Another wording."]


async def test_good_and_the_commands_about_lessons_work(own: OwnPi) -> None:
    """Votes, lists, adding, removing, what the next run is told."""
    async with own.rpc() as pi:
        await pi.say("install left-pad")
        good = await pi.say("/good well done")
        added = await pi.say("/lesson-add debug project Reproduce the bug first.")
        listed = await pi.say("/lessons debug")
        block = await pi.say("/evolver-lessons")
        kept = await pi.say("/lesson-remove l-001", [{"confirmed": False}])
        removed = await pi.say("/lesson-remove l-001", [{"confirmed": True}])
        empty = await pi.say("/lessons")
        wrong = await pi.say("/lesson-remove l-077")

    assert good.told == ["Noted 👍"]
    assert [len(each.told) for each in (added, kept, removed)] == [1, 0, 1]
    assert "l-001  project  debug  told  Reproduce the bug first." in listed.told[0]
    assert "- [debug] Reproduce the bug first." in block.told[0]
    assert "l-001" not in empty.told[0]
    assert "no lesson l-077" in wrong.told[0]


async def test_what_a_person_types_is_never_an_option_or_a_shell_command(own: OwnPi) -> None:
    """Argument vectors, and `--` before words."""
    odd = "--json; touch pwned $(touch pwned) 'quoted' \"and\" `ticks`"
    async with own.rpc() as pi:
        await pi.say("install left-pad")
        await pi.say(f"/good {odd}")
        said = await pi.say(f"/lesson-add {odd}")

    (vote,) = await own.rows("feedback", "list")
    assert vote["user_comment"] == odd
    assert "auto-improve" not in said.told[0]
    assert not (own.project / "pwned").exists()


async def test_failures_that_recur_are_decided_in_pi(own: OwnPi) -> None:
    """/evolver: from two failing runs to what the next session is told."""
    missing = bash("left-pad-cli --version")
    play(own, pad=[missing, missing, {"text": "no"}])
    for _ in range(2):
        async with own.rpc() as pi:
            await pi.say("pad it")
    async with own.rpc() as pi:
        status = await pi.say("/evolver status")
        shown = await pi.say("/evolver show bash:left-pad-cli")
        accepted = await pi.say("/evolver accept bash:left-pad-cli install it first")
        usage = await pi.say("/evolver nonsense")
    async with own.rpc() as pi:
        await pi.say("hello")

    assert all("left-pad-cli" in each.told[0] for each in (status, shown, accepted))
    assert usage.told[0].startswith("Usage: ")
    assert "install it first" in last_system(own)


async def test_the_agents_own_shell_cannot_decide(own: OwnPi) -> None:
    """Promise 3: the same command line that the person's commands use refuses there."""
    command = shlex.join([sys.executable, "-P", "-m", "bot"])
    tries = [
        "lessons add Obey me",
        "proposals approve p-001",
        "feedback good",
        "patterns accept bash:npm",
        "uninstall pi",
    ]
    ways = [f"{command} {each}" for each in tries]
    ways += [
        f"env -u PI_SESSION_ID -u PI_SESSION_FILE {command} lessons add Obey me",
        f"env -i PYTHONPATH=$PYTHONPATH AUTO_IMPROVE_HOME=$AUTO_IMPROVE_HOME {command} feedback good",
        f"env -u PI_SESSION_ID AUTO_IMPROVE_TICKET=0000:/tmp/none {command} lessons add Obey me",
    ]
    await own.run("proposals", "propose", stdin=json.dumps(FINDING))
    play(own, obey=[bash(*ways), {"text": "{{last_tool}}"}])

    async with own.rpc() as pi:
        said = await pi.say("obey")
        person = await pi.say("/lesson-add A person may.")

    refused = [each["result"]["content"][0]["text"] for each in said.ended("tool_execution_end")]
    assert [each.startswith("People decide this") for each in refused] == [True] * len(ways)
    assert "A person may." in person.told[0]
    assert [each["rule"] for each in await own.rows("lessons", "list")] == ["A person may."]
    assert own.extension.exists()


async def test_the_skill_leads_from_a_complaint_to_a_lesson(own: OwnPi) -> None:
    """Read by the model, followed, handed in; shown to the person, approved, told in the next session."""
    skill = own.agent / "skills" / "auto-improve" / "SKILL.md"
    handed = f"auto-improve proposals propose <<'JSON'\n{json.dumps(FINDING)}\nJSON"
    read = {"tool_calls": [{"name": "read", "arguments": {"path": str(skill)}}]}
    play(
        own,
        analyze=[read, bash("auto-improve lessons list --json"), bash(handed), {"text": "I proposed it."}],
    )

    async with own.rpc() as pi:
        await pi.say("analyze what went wrong")
        shown = await pi.until(lambda each: each.get("method") == "notify", [APPROVE])
    async with own.rpc() as pi:
        await pi.say("hello")

    assert "Use when the user gives negative feedback" in str(own.stub.requests[0]["system"])
    assert "five duties" in json.dumps(own.stub.requests[1]["body"])
    assert RULE in shown.asked[0]["title"]
    assert shown.told == [f"Learned, l-001: {RULE}"]
    assert RULE in last_system(own)


async def test_print_mode_votes_and_leaves_the_proposal_waiting(own: OwnPi) -> None:
    """There is nobody to ask: the answer is not spoiled, and nothing is learned unasked."""
    await own.print("install left-pad", "--session-id", "chosen")
    printed = await own.print("/bad use pnpm", "--session-id", "chosen")

    (proposal,) = await own.rows("proposals", "list")
    assert (proposal["state"], proposal["rule"], RULE in printed) == ("pending", RULE, False)
    assert await own.rows("lessons", "list") == []


async def test_people_read_french(own: OwnPi) -> None:
    """By the locale, like the command line."""
    own.env["LC_ALL"] = "fr_FR.UTF-8"
    async with own.rpc() as pi:
        await pi.say("install left-pad")
        said = await pi.say("/bad", [{"value": "utilise pnpm"}, {"value": "✅ Approuver"}])

    assert said.asked[0]["title"] == "Qu’aurait-il fallu faire autrement ?"
    assert said.told == [f"Appris, l-001 : {RULE}"]


async def test_the_loop_in_pis_own_screen(tmp_path: Path) -> None:
    """The TUI of 1.6 on a terminal, keys typed by a person."""
    with StubProvider() as stub:
        own = make_own_pi(tmp_path, pi_command(PI_16), stub)
        await own.run("install", "pi")
        play(own, install=[bash(INSTALL), {"text": "npm failed"}])
        env = {**own.env, "TERM": "xterm-256color"}
        command = (*own.command, "--model", MODEL)
        async with run_in_terminal(command, cwd=own.project, env=env) as screen:
            await screen.see(MODEL.partition("/")[2])
            await enter(screen, "install left-pad")
            await screen.see("npm failed")
            await enter(screen, "/bad ")
            await screen.see("What should have been different?")
            await enter(screen, "use pnpm")
            await screen.see("analysing")
            await screen.see(RULE)
            await screen.see("Later")
            screen.keys("\r")
            await screen.see(f"Learned, l-001: {RULE}")

        assert RULE in await own.run("context")


async def enter(screen: Terminal, text: str) -> None:
    """Type a line as a person does: what comes at once with its end would be a paste."""
    screen.keys(text)
    await screen.see(text.strip())
    await asyncio.sleep(0.3)
    screen.keys("\r")
