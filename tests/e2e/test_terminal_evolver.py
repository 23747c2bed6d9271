"""pi-evolver's commands in Pi's own terminal, on the real Pi, decided in its dialogs (product.md 2 and 4)."""

import asyncio
import fcntl
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.calls import ID, MISSING, write_lines
from tests.e2e.pi_install import PI_084, PI_16, pi_command
from tests.fakes.own_pi import Json, OwnPi, bash, installed_pi, script
from tests.fakes.pi_home import MODEL
from tests.fakes.stub_provider import StubProvider
from tests.fakes.terminal import Terminal, run_in_terminal

pytestmark = [pytest.mark.pi, pytest.mark.timeout(150)]
BOTH = [PI_16, pytest.param(PI_084, marks=pytest.mark.long)]
WHOLE = "bash:npm:test"
NOT_FOUND = f"{WHOLE}#command-not-found"
SKILL = "npm-test-usage"
ESCAPE = {"cancelled": True}
THIS_ERROR = {"value": "❌ This error: usage"}
EVERYTHING = {"value": "🔇 Everything about npm:test"}


@pytest.fixture(params=BOTH)
async def own(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OwnPi]:
    """A person's Pi with our extension, and four sessions that failed alike: one too few for a skill."""
    with StubProvider(script()) as stub:
        own = installed_pi(tmp_path, pi_command(request.param), stub)
        await take_in(own, MISSING, 4)
        yield own


async def take_in(own: OwnPi, error: str, sessions: int, exit_code: int = 1) -> None:
    """Import sessions in which `npm test` fails like that, and `npm run test:unit` works."""
    lines: list[Json] = []
    for number in range(sessions):
        where = {"project": str(own.project), "session": f"{exit_code}-{number}", "tool": "bash"}
        event = {**where, "ts": time.time() - 3600 + number, "agent": "pi"}
        fails = {"cmd": "npm test", "is_error": True, "exit_code": exit_code, "snippet": error}
        works = {"cmd": "npm run test:unit", "is_error": False, "exit_code": 0}
        lines += [{**event, "turn": 1, **fails}, {**event, "turn": 2, **works}]
    path = write_lines(own.folder / f"events-{exit_code}.jsonl", lines)
    printed = await own.run("traces", "import", str(path), "--format", "events", "--json")
    assert json.loads(printed)[0]["new"] == len(lines)


async def ripen(own: OwnPi) -> None:
    """Let it fail once more: enough for a skill."""
    await take_in(own, MISSING, 1, exit_code=2)


async def states(own: OwnPi) -> dict[str, str]:
    """Give the state of every pattern, as the command line says it."""
    rows = await own.rows("patterns", "list", "--all", "--project", str(own.project))
    return {each["id"]: each["state"] for each in rows}


def last_system(own: OwnPi) -> str:
    """What the model was told last."""
    return str(own.stub.requests[-1]["system"])


async def test_status_lists_what_recurs_and_show_has_its_evidence(own: OwnPi) -> None:
    """How often, in how many sessions, the error as it was, what worked instead; nothing is decided."""
    async with own.rpc() as pi:
        bare = await pi.say("/evolver")
        status = await pi.say("/evolver status")
        shown = await pi.say(f"/evolver show {WHOLE}")

    assert bare.told == status.told
    assert all(each in status.told[0] for each in (ID, "candidate", "4/4"))
    evidence = (ID, "4 sessions", "Last command: npm test\n", MISSING, "What worked: npm run test:unit")
    assert all(each in shown.told[0] for each in evidence)
    assert await states(own) == {ID: "candidate"}


async def test_an_accepted_note_is_what_the_next_prompt_is_told(own: OwnPi) -> None:
    """It replaces the generic text, in the session that is open and in the next one."""
    async with own.rpc() as pi:
        await pi.say("hello")
        before = last_system(own)
        said = await pi.say(f"/evolver accept {WHOLE} Use npm run test:unit here, --always.")
        await pi.say("hello again")
        same = last_system(own)
    async with own.rpc() as pi:
        await pi.say("hello")

    line = "- npm test: Use npm run test:unit here, --always."
    assert "npm test" not in before
    assert (len(said.told), line.removeprefix("- ") in said.told[0]) == (1, True)
    assert [line in each for each in (same, last_system(own))] == [True, True]
    assert "Missing script" not in same + last_system(own)


async def test_without_a_note_the_generic_text_is_told(own: OwnPi) -> None:
    """Word for word the line that `show` showed."""
    async with own.rpc() as pi:
        shown = await pi.say(f"/evolver show {ID}")
        await pi.say(f"/evolver accept {ID}")
        await pi.say("hello")

    (line,) = [each for each in last_system(own).splitlines() if each.startswith("- npm test: ")]
    assert "Missing script" in line and "npm run test:unit" in line
    assert line.removeprefix("- ") in shown.told[0]


async def test_a_promoted_pattern_is_a_skill_that_the_agent_reads(own: OwnPi) -> None:
    """Written, listed, told to the next prompt, and read by the model in its own shell."""
    await ripen(own)
    own.stub.set_script(script(look=[bash(f"auto-improve skills read {SKILL}"), {"text": "{{last_tool}}"}]))
    async with own.rpc() as pi:
        none = await pi.say("/evolver skills")
        promoted = await pi.say(f"/evolver promote {WHOLE}")
        listed = await pi.say("/evolver skills")
        read = await pi.say("look it up")

    file = own.home / "skills" / SKILL / "SKILL.md"
    (done,) = read.ended("tool_execution_end")
    assert none.told == ["No pattern is a skill yet. /evolver promote id makes one of it."]
    assert (len(promoted.told), SKILL in promoted.told[0]) == (1, True)
    assert listed.told[0].startswith(f"{SKILL}  Use before running npm test")
    assert f"- {SKILL} " in last_system(own)
    assert MISSING in file.read_text()
    assert "npm run test:unit" in done["result"]["content"][0]["text"]


async def test_a_demoted_skill_is_gone_and_its_pattern_stays_told(own: OwnPi) -> None:
    """A ripe one brought it along when accepted; no file, in no list, in no prompt; twice is refused."""
    await ripen(own)
    async with own.rpc() as pi:
        accepted = await pi.say(f"/evolver accept {WHOLE}")
        demoted = await pi.say(f"/evolver demote {SKILL}")
        listed = await pi.say("/evolver skills")
        again = await pi.say(f"/evolver demote {SKILL}")
        await pi.say("hello")

    assert f"with the skill {SKILL}" in accepted.told[0]
    assert (len(demoted.told), ID in demoted.told[0]) == (1, True)
    assert listed.told[0].startswith("No pattern is a skill yet")
    assert f"{SKILL} is no skill of a pattern" in again.told[0]
    assert not (own.home / "skills" / SKILL).exists()
    assert SKILL not in last_system(own)
    assert "- npm test: " in last_system(own)


async def test_rejecting_asks_whether_this_error_or_everything(own: OwnPi) -> None:
    """Escape decides nothing; this error leaves the others; everything silences them all."""
    await take_in(own, "sh: npm: command not found", 3, exit_code=127)
    async with own.rpc() as pi:
        escaped = await pi.say(f"/evolver reject {WHOLE}", [ESCAPE])
        undecided = await states(own)
        this = await pi.say(f"/evolver reject {ID}", [THIS_ERROR])
        one = await states(own)
        everything = await pi.say(f"/evolver reject {NOT_FOUND}", [EVERYTHING])
        both = await states(own)

    errors = ["❌ This error: command-not-found", "❌ This error: usage"]
    assert sorted(escaped.asked[0]["options"]) == [*errors, "🔇 Everything about npm:test"]
    assert this.asked[0]["options"] == [errors[1], "🔇 Everything about npm:test"]
    assert MISSING in this.asked[0]["title"]
    assert escaped.told == ["Nothing was decided."]
    assert undecided == {ID: "candidate", NOT_FOUND: "candidate"}
    assert one == {ID: "rejected", NOT_FOUND: "candidate"}
    assert both == {ID: "rejected", NOT_FOUND: "rejected"}
    assert [len(each.told) for each in (this, everything)] == [1, 1]


async def test_what_is_rejected_is_no_longer_told_until_it_is_reopened(own: OwnPi) -> None:
    """An accepted one goes from the next prompt on; a reopened one waits for a decision again."""
    async with own.rpc() as pi:
        await pi.say(f"/evolver accept {ID} Look at package.json first.")
        await pi.say("hello")
        told = last_system(own)
        await pi.say(f"/evolver reject {ID}", [THIS_ERROR])
        await pi.say("hello")
        rejected = await states(own)
        await pi.say(f"/evolver reopen {ID}")

    assert "Look at package.json first." in told
    assert "Look at package.json first." not in last_system(own)
    assert (rejected, await states(own)) == ({ID: "rejected"}, {ID: "candidate"})


@pytest.mark.parametrize(("id", "left"), [(ID, "candidate"), (WHOLE, "rejected")])
async def test_where_nobody_sees_dialogs_the_id_says_what_is_rejected(own: OwnPi, id: str, left: str) -> None:
    """As at the command line: with `#class` this error, without it everything."""
    await take_in(own, "sh: npm: command not found", 3, exit_code=127)

    printed = await own.print(f"/evolver reject {id}")

    assert printed == ""
    assert await states(own) == {ID: "rejected", NOT_FOUND: left}


UNCLEAR = ["nonsense", "show", "accept", "reject", "promote", "demote", "reopen", f"reject {WHOLE} unit"]
REFUSED = {
    "show bash:nope": "There is no pattern bash:nope here.",
    "accept bash:nope a note": "There is no pattern bash:nope here.",
    "reject bash:nope": "There is no pattern bash:nope here.",
    "promote bash:nope": "There is no pattern bash:nope here.",
    "reopen bash:npm:test": "Nothing was decided about bash:npm:test",
    "demote nope": "nope is no skill of a pattern.",
    f"demote {WHOLE}": f"{WHOLE} is no skill of a pattern.",
    f"promote {NOT_FOUND}": "was not seen often enough for a skill",
    "accept --global": "There is no pattern --global here.",
    "show --help": "There is no pattern --help here.",
    "reject $(touch pwned)#;": "Usage: ",
}


async def test_whatever_is_wrong_is_said_in_one_line(own: OwnPi) -> None:
    """Missing or too many words, unknown and odd ids, what is not ripe: no dialog, nothing decided."""
    await take_in(own, "sh: npm: command not found", 2, exit_code=127)
    expected = {**dict.fromkeys(UNCLEAR, "Usage: /evolver status"), **REFUSED}

    async with own.rpc() as pi:
        said = {typed: await pi.say(f"/evolver {typed}") for typed in expected}

    wrong = {
        typed: each.told
        for typed, each in said.items()
        if len(each.told) != 1 or "\n" in each.told[0] or expected[typed] not in each.told[0] or each.asked
    }
    assert wrong == {}
    assert "reject id#class (this error), reject id (everything" in said["reject"].told[0]
    assert await states(own) == {ID: "candidate", NOT_FOUND: "candidate"}


@pytest.mark.parametrize("name", ["store.db", "traces.db"])
async def test_a_damaged_store_is_one_clear_line_and_pi_goes_on(own: OwnPi, name: str) -> None:
    """Every subcommand says so, asks nothing, and leaves the file as it is."""
    for path in own.home.glob(f"{name}*"):
        path.unlink()
    (own.home / name).write_bytes(b"garbage" * 1000)

    async with own.rpc() as pi:
        typed = ["status", f"show {ID}", f"accept {ID}", f"reject {ID}", f"promote {ID}", f"demote {SKILL}"]
        said = [await pi.say(f"/evolver {each}") for each in typed]
        run = await pi.say("hello")

    assert [[name in line and "\n" not in line for line in each.told] for each in said] == [[True]] * 6
    assert [each.asked for each in said] == [[]] * 6
    assert run.ended("agent_settled")
    assert (own.home / name).read_bytes() == b"garbage" * 1000


@pytest.mark.long
async def test_a_locked_store_is_one_clear_line_and_decides_nothing(own: OwnPi) -> None:
    """Another program holds it for longer than a person wants to wait."""
    async with own.rpc() as pi:
        with (own.home / "store.db.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            said = await pi.say(f"/evolver accept {ID}")
        after = await pi.say("/evolver status")

    (line,) = said.told
    assert "no answer within 20 s" in line and "holds the store" in line
    assert "candidate" in after.told[0]


async def test_people_are_asked_in_french(own: OwnPi) -> None:
    """By the locale, as everywhere in Pi."""
    own.env["LC_ALL"] = "fr_FR.UTF-8"
    async with own.rpc() as pi:
        usage = await pi.say("/evolver nonsense")
        escaped = await pi.say(f"/evolver reject {ID}", [ESCAPE])
        await pi.say(f"/evolver reject {ID}", [{"value": "🔇 Tout sur npm:test"}])

    assert usage.told[0].startswith("Usage : /evolver status | show id")
    assert escaped.asked[0]["options"] == ["❌ Cette erreur : usage", "🔇 Tout sur npm:test"]
    assert escaped.told == ["Rien n’a été décidé."]
    assert await states(own) == {ID: "rejected"}


async def test_rejecting_in_pis_own_screen(own: OwnPi) -> None:
    """Keys pressed by a person: Escape leaves it, then one down and Enter."""
    env = {**own.env, "TERM": "xterm-256color"}
    async with run_in_terminal((*own.command, "--model", MODEL), cwd=own.project, env=env) as screen:
        await screen.see(MODEL.partition("/")[2])
        await enter(screen, f"/evolver reject {ID} ")
        await screen.see("Everything about npm:test")
        screen.keys("\x1b")
        await screen.see("Nothing was decided.")
        undecided = await states(own)
        await enter(screen, f"/evolver reject {ID} ")
        await screen.see("Everything about npm:test")
        screen.keys("\x1b[B")
        await screen.see("→ 🔇 Everything about npm:test")
        screen.keys("\r")
        await screen.see(f"{WHOLE} rejected")

    assert (undecided, await states(own)) == ({ID: "candidate"}, {ID: "rejected"})


async def enter(screen: Terminal, text: str) -> None:
    """Type a line as a person does: what comes at once with its end would be a paste."""
    screen.keys(text)
    await screen.see(text.strip())
    await asyncio.sleep(0.3)
    screen.keys("\r")
