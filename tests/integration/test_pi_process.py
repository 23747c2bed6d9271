"""Real processes that misbehave: whatever they do, the run ends and nothing survives (reliability.md D14)."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.agents.pi import session as pi_session
from core.agents.pi.runner import PiRunner
from core.agents.pi.session import PiSession
from core.agents.reaping import MARKER, marked, new_marker, reap, reap_strays, strays
from core.errors import AgentDied, AgentMissing, AgentRefused, AgentTooOld
from core.events import Ended, Event, Notice, Outcome, Started, Text, ToolEnded
from core.ports import AgentSpec
from tests.fakes.fake_pi import write_fake_pi

ENV = {"PATH": os.environ["PATH"]}
ROOT = Path(__file__).parents[2]
DEAF = "def on_abort(command): time.sleep(60)\ndef on_prompt(command): begin(command)\n"
ORPHANS = """
def on_prompt(command):
    begin(command)
    for new in (False, True):
        subprocess.Popen(["sleep", "300"], start_new_session=new)
    subprocess.Popen(["sh", "-c", "(setsid sleep 300 &) ; exec sleep 300"], stdout=subprocess.DEVNULL)
    subprocess.Popen(["env", "-i", "sleep", "300"], start_new_session=True)
    time.sleep(0.2)
    say("left four"); settle()
"""


def spec_of(folder: Path, behaviour: str = "") -> AgentSpec:
    """How to start the fake."""
    return AgentSpec(write_fake_pi(folder, behaviour), folder, ENV)


@asynccontextmanager
async def fake(folder: Path, behaviour: str = "") -> AsyncIterator[PiSession]:
    """A session with a fake Pi, closed at the end; nothing may survive it."""
    session = await PiRunner().open(spec_of(folder, behaviour))
    try:
        yield session
    finally:
        await session.close()
        assert survivors(folder) == []


def survivors(folder: Path) -> list[int]:
    """List every process whose working directory is the test's own folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


async def until_end(session: PiSession) -> list[Event]:
    """Collect the events of one run."""
    found: list[Event] = []
    async with asyncio.timeout(20):
        async for event in session.events():
            found.append(event)
            if isinstance(event, Ended):
                break
    return found


async def test_a_good_fake_answers_prompt_after_prompt(tmp_path: Path) -> None:
    """The measure for all that follows."""
    async with fake(tmp_path) as session:
        for _ in range(3):
            await session.prompt("hi")

            assert await until_end(session) == [Started(), Text("hello"), Ended(Outcome.DONE, "hello")]


async def test_an_abort_of_a_hanging_agent_returns_within_5_s(tmp_path: Path) -> None:
    """It does not even read the abort; the process is ended and the run stopped."""
    async with fake(tmp_path, DEAF) as session:
        await session.prompt("hang")
        began = time.monotonic()

        await session.abort()

        assert time.monotonic() - began < 5
        assert await until_end(session) == [Started(), Ended(Outcome.STOPPED)]
        assert not session.is_alive


async def test_an_agent_that_ignores_sigterm_and_eof_is_killed(tmp_path: Path) -> None:
    """close returns, and it is gone."""
    stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ndef on_eof(): time.sleep(60)\n"
    async with fake(tmp_path, stubborn) as session:
        began = time.monotonic()

        await session.close()

        assert time.monotonic() - began < 5
        assert survivors(tmp_path) == []


async def test_a_silent_agent_counts_as_working_and_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prompt that is never answered does not block its caller for ever."""
    monkeypatch.setattr(pi_session, "ACCEPT_S", 0.2)
    async with fake(tmp_path, "def on_prompt(command): pass\n") as session:
        await session.prompt("hi")
        await session.abort()

        assert await until_end(session) == [Started(), Ended(Outcome.STOPPED)]


async def test_an_agent_that_is_never_ready_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """open says so instead of waiting for ever."""
    monkeypatch.setattr(pi_session, "READY_S", 0.3)

    with pytest.raises(AgentDied) as caught:
        await PiRunner().open(spec_of(tmp_path, "time.sleep(60)\n"))

    assert caught.value.key == "agent.not_ready"
    assert survivors(tmp_path) == []


async def test_an_agent_that_dies_at_start_says_why(tmp_path: Path) -> None:
    """The last line of stderr is the reason."""
    with pytest.raises(AgentDied) as caught:
        await PiRunner().open(
            spec_of(tmp_path, "print('warning\\nno such extension', file=sys.stderr); sys.exit(1)\n")
        )

    assert caught.value.values == {"error": "the agent died (exit code 1): no such extension"}


@pytest.mark.parametrize("death", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(7)", "1/0"])
async def test_death_in_mid_run_fails_the_run(tmp_path: Path, death: str) -> None:
    """Killed, gone or crashed: one Ended, and the next prompt is refused as died."""
    async with fake(
        tmp_path, f"def on_prompt(command):\n    begin(command); say('half'); {death}\n"
    ) as session:
        await session.prompt("hi")
        *_, ended = await until_end(session)

        assert isinstance(ended, Ended)
        assert (ended.outcome, ended.answer) == (Outcome.FAILED, "half")
        assert (ended.error or "").startswith("the agent died")
        with pytest.raises(AgentDied):
            await session.prompt("again")


async def test_death_before_the_prompt_is_accepted_is_raised(tmp_path: Path) -> None:
    """No run began, so none ends."""
    async with fake(tmp_path, "def on_prompt(command): os._exit(3)\n") as session:
        with pytest.raises(AgentDied):
            await session.prompt("hi")

        assert [event async for event in session.events()] == []


async def test_stdout_closed_by_a_living_agent_is_its_death(tmp_path: Path) -> None:
    """It can tell us nothing any more."""
    shut = "def on_prompt(command):\n    begin(command); os.close(1); time.sleep(60)\n"
    async with fake(tmp_path, shut) as session:
        await session.prompt("hi")

        *_, ended = await until_end(session)

        assert ended == Ended(Outcome.FAILED, "", "the agent died")
        assert not session.is_alive


async def test_death_is_noticed_while_a_child_holds_stdout_open(tmp_path: Path) -> None:
    """No end of file comes then; the exit itself is watched."""
    leaves = "def on_prompt(command):\n    begin(command); subprocess.Popen(['sleep', '300']); os._exit(1)\n"
    async with fake(tmp_path, leaves) as session:
        await session.prompt("hi")

        *_, ended = await until_end(session)

        assert isinstance(ended, Ended)
        assert ended.outcome is Outcome.FAILED


async def test_a_flood_is_drained_and_costs_its_size(tmp_path: Path) -> None:
    """20 MB on stdout and 20 MB on stderr while nobody reads the events."""
    flood = """
def on_prompt(command):
    begin(command)
    for _ in range(20):
        sys.stdout.buffer.write(b"x" * 2**20 + b"\\n"); os.write(2, b"e" * 2**20)
    for _ in range(20000):
        out(type="message_update", assistantMessageEvent={"type": "text_delta", "delta": "0123456789"})
    settle()
"""
    async with fake(tmp_path, flood) as session:
        await session.prompt("hi")
        await asyncio.sleep(1)

        told = await until_end(session)

        assert sum(len(event.delta) for event in told if isinstance(event, Text)) == 200_000
        assert len(told) < 100 + 20_000


async def test_long_lines_arrive_whole_and_monsters_are_dropped(tmp_path: Path) -> None:
    """70 kB and 7 MB are read, 65 MB is a notice, and the run goes on."""
    long = """
def on_prompt(command):
    begin(command)
    for size in (70_000, 7_000_000):
        text = [{"type": "text", "text": "y" * size}]
        out(type="tool_execution_end", toolCallId="c", toolName="bash", result={"content": text})
    for _ in range(65):
        sys.stdout.buffer.write(b"z" * 2**20)
    out(); say("ok"); settle()
"""
    async with fake(tmp_path, long) as session:
        await session.prompt("hi")

        told = await until_end(session)

    assert [len(event.output) for event in told if isinstance(event, ToolEnded)] == [65536, 65536]
    assert [event.level for event in told if isinstance(event, Notice)] == ["warning"]
    assert told[-1] == Ended(Outcome.DONE, "ok")


async def test_broken_bytes_and_half_lines_do_not_end_the_session(tmp_path: Path) -> None:
    """Invalid UTF-8, U+2028, a record written in two halves, noise."""
    broken = """
def on_prompt(command):
    begin(command)
    write = lambda data: (sys.stdout.buffer.write(data), sys.stdout.buffer.flush(), time.sleep(0.05))
    write(b"\\xff\\xfe noise\\n"); write(b'{"type":"message_upd')
    write(b'ate","assistantMessageEvent":{"type":"text_delta","delta":"a\\xe2\\x80\\xa8\\xff"}}\\n')
    settle()
"""
    async with fake(tmp_path, broken) as session:
        await session.prompt("hi")

        assert await until_end(session) == [Started(), Text("a\u2028\ufffd"), Ended(Outcome.DONE)]


async def test_a_second_prompt_in_a_run_is_refused(tmp_path: Path) -> None:
    """One at a time; and steering an idle agent is refused too."""
    async with fake(tmp_path, "def on_prompt(command): begin(command)\n") as session:
        with pytest.raises(AgentRefused, match="idle"):
            await session.steer("left")
        await session.prompt("one")

        with pytest.raises(AgentRefused, match="busy"):
            await session.prompt("two")


async def test_close_in_mid_run_stops_the_run_and_ends_the_events(tmp_path: Path) -> None:
    """Who follows the events gets the end, then the iteration is over."""
    async with fake(tmp_path, DEAF) as session:
        await session.prompt("hi")
        await session.close()

        assert [event async for event in session.events()] == [Started(), Ended(Outcome.STOPPED)]
        await session.close()


async def test_no_orphan_survives_a_close(tmp_path: Path) -> None:
    """Background jobs in groups and sessions of their own, one with an empty environment; counted: 0."""
    async with fake(tmp_path, ORPHANS) as session:
        await session.prompt("hi")
        await until_end(session)
        before = len(survivors(tmp_path))

        await session.close()

        assert before >= 5
        assert survivors(tmp_path) == []


async def test_children_of_an_agent_that_was_killed_are_reaped_unasked(tmp_path: Path) -> None:
    """Nobody calls close: its death alone cleans up what carries the marker."""
    marked_only = ORPHANS.replace(
        '    subprocess.Popen(["env", "-i", "sleep", "300"], start_new_session=True)\n', ""
    )
    kills = marked_only.replace('say("left four")', "os.kill(os.getpid(), signal.SIGKILL)")
    async with fake(tmp_path, kills) as session:
        await session.prompt("hi")
        await until_end(session)
        async with asyncio.timeout(5):
            while survivors(tmp_path):
                await asyncio.sleep(0.02)

        assert not session.is_alive


def test_what_a_killed_owner_left_is_found_and_reaped(tmp_path: Path) -> None:
    """The bot was killed -9: at its next start the strays of its agents go, those of others stay."""
    code = (
        "import os, subprocess; from core.agents.reaping import MARKER, new_marker;"
        "print(subprocess.Popen(['sleep', '300'], env={MARKER: new_marker()}, stdout=-3).pid, flush=True);"
        "os.kill(os.getpid(), 9)"
    )
    marker = new_marker()
    kept = subprocess.Popen(["sleep", "300"], env={MARKER: marker})
    try:
        owner = subprocess.run((sys.executable, "-c", code), cwd=ROOT, stdout=subprocess.PIPE, check=False)
        stray = int(owner.stdout)

        assert stray in strays()
        assert reap_strays() == 0
        assert stray not in strays()
        assert marked(marker) == [kept.pid]
    finally:
        assert reap(marker) == 0
        assert kept.wait() == -signal.SIGKILL


async def test_the_agent_sees_only_the_environment_it_is_given(tmp_path: Path) -> None:
    """Not one variable of ours passes by itself."""
    shows = "def on_prompt(command):\n    begin(command); say(' '.join(sorted(os.environ))); settle()\n"
    async with fake(tmp_path, shows) as session:
        await session.prompt("hi")
        *_, ended = await until_end(session)

    assert isinstance(ended, Ended)
    ours = {"AUTO_IMPROVE_AGENT_ID", "AUTO_IMPROVE_AGENT_RUN", "AUTO_IMPROVE_HOSTED", "PATH"}
    assert set(ended.answer.split()) - {"LC_CTYPE"} == ours | {"PI_SKIP_VERSION_CHECK", "PI_TELEMETRY"}


# ---- questions


@pytest.mark.parametrize("how", ["cancelled", "timed out"])
async def test_a_question_given_up_leaves_no_process(tmp_path: Path, how: str) -> None:
    """The analysis of a vote that was taken back, or one that took too long."""
    asking = asyncio.create_task(PiRunner().ask(spec_of(tmp_path, "time.sleep(60)\n"), "?", 1.0))
    if how == "cancelled":
        await asyncio.sleep(0.5)
        asking.cancel()

    with pytest.raises((asyncio.CancelledError, TimeoutError)):
        await asking

    assert survivors(tmp_path) == []


async def test_a_question_to_an_agent_that_dies_says_why(tmp_path: Path) -> None:
    """No answer is not an empty answer."""
    with pytest.raises(AgentDied) as caught:
        await PiRunner().ask(
            spec_of(tmp_path, "print('out of memory', file=sys.stderr); sys.exit(1)\n"), "?", 20
        )

    assert caught.value.values == {"error": "out of memory"}


# ---- is it there, is it new enough


async def test_a_missing_command_is_named(tmp_path: Path) -> None:
    """No traceback of the operating system."""
    with pytest.raises(AgentMissing) as caught:
        await PiRunner().open(AgentSpec(("no-such-pi",), tmp_path, ENV))

    assert (caught.value.key, caught.value.values) == ("agent.missing", {"command": "no-such-pi"})


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """The agent is there, the project is not."""
    with pytest.raises(AgentMissing) as caught:
        await PiRunner().open(AgentSpec(write_fake_pi(tmp_path), tmp_path / "gone", ENV))

    assert caught.value.key == "agent.folder_missing"


def program(folder: Path, name: str, body: str) -> Path:
    """Write an executable script."""
    file = folder / name
    file.write_text(body)
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("where", ["stdout", "stderr"])
async def test_an_old_pi_is_told_to_be_upgraded(tmp_path: Path, where: str) -> None:
    """0.73 prints its version on stderr."""
    pi = program(tmp_path, "pi", f"#!/bin/sh\necho 0.73.1 >&{1 if where == 'stdout' else 2}\n")

    with pytest.raises(AgentTooOld) as caught:
        await PiRunner().open(AgentSpec((str(pi),), tmp_path, ENV))

    assert (caught.value.key, caught.value.values) == (
        "agent.too_old",
        {"found": "0.73.1", "needed": "0.84.0"},
    )


async def test_a_missing_node_is_told(tmp_path: Path) -> None:
    """Pi is found, `env node` finds nothing: a service's short PATH."""
    pi = program(tmp_path, "pi", "#!/usr/bin/env node\n")

    with pytest.raises(AgentMissing) as caught:
        await PiRunner().open(AgentSpec((str(pi),), tmp_path, {"PATH": str(tmp_path)}))

    assert caught.value.key == "agent.node_missing"


async def test_an_old_node_is_blamed_for_pis_syntax_error(tmp_path: Path) -> None:
    """Pi dies before it can say so itself."""
    program(tmp_path, "node", "#!/bin/sh\necho v20.20.2\n")
    pi = program(
        tmp_path, "pi", "#!/bin/sh\necho \"SyntaxError: 'node:module' does not provide\" >&2; exit 1\n"
    )

    with pytest.raises(AgentTooOld) as caught:
        await PiRunner().open(AgentSpec((str(pi),), tmp_path, {"PATH": f"{tmp_path}:{ENV['PATH']}"}))

    assert caught.value.key == "agent.node_too_old"
    assert caught.value.values == {"found": "20.20.2", "needed": "22.19.0"}


async def test_a_program_that_is_no_pi_is_told(tmp_path: Path) -> None:
    """What it said instead is shown."""
    other = program(tmp_path, "pi", "#!/bin/sh\necho 3.14159265\n")

    with pytest.raises(AgentMissing) as caught:
        await PiRunner().open(AgentSpec((str(other),), tmp_path, ENV))

    assert (caught.value.key, caught.value.values["found"]) == ("agent.unknown", "3.14159265")


async def test_the_version_is_asked_once_a_command(tmp_path: Path) -> None:
    """Starting node twice for every session would be felt."""
    log = tmp_path / "log"
    counts = f"open({str(log)!r}, 'a').write('x')\n"
    command = write_fake_pi(tmp_path, counts)
    file = Path(command[-1])
    file.write_text(file.read_text().replace("import json", f"{counts}import json", 1))
    runner, spec = PiRunner(), AgentSpec(command, tmp_path, ENV)

    for _ in range(2):
        await (await runner.open(spec)).close()

    assert len(log.read_text()) == 5  # one start that asks, and two that count twice
