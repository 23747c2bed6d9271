"""Our extension in a person's own Pi: what it tells, what it keeps, and that nothing of it breaks Pi."""

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.agents.pi.runner import EXTENSION
from core.model.lesson import project_hash
from core.services import installing
from core.services.installing import Filled
from tests.e2e.pi_install import PI_084, PI_16, node, pi_command
from tests.fakes.own_pi import Json, OwnPi, bash, installed_pi, script
from tests.fakes.stub_provider import StubProvider

pytestmark = pytest.mark.pi
BOTH = [PI_16, pytest.param(PI_084, marks=pytest.mark.long)]
BLOCK = "## Lessons learned (auto-improve)\nApproved by the person.\n- [debug] naïve 🙂 & <first>\n"
SECRET = "ghp_" + "q7Zp2LmX9vBt4KdR8sWn3CyG6hJf5TaE1uQo"


@pytest.fixture(params=BOTH)
async def own(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OwnPi]:
    """A person's Pi with our extension; both versions, the older one only with the whole matrix."""
    with StubProvider() as stub:
        yield installed_pi(tmp_path, pi_command(request.param), stub)


def write_block(own: OwnPi, text: str, name: str = "global") -> Path:
    """Put a ready file in place, as a decision does."""
    folder = own.home / "context"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.md"
    path.write_text(text)
    return path


def systems(own: OwnPi) -> list[str]:
    """The system texts of all requests."""
    return [str(each["system"]) for each in own.stub.requests]


def block_in(system: str) -> str:
    """What stands in our section; empty where there is none."""
    return system.partition("<auto_improve>\n")[2].partition("\n</auto_improve>")[0]


def calls(own: OwnPi) -> list[Json]:
    """The spool's calls."""
    return [each for each in own.spooled() if each["kind"] == "trace"]


# ---- what the agent is told


async def test_every_prompt_is_told_the_ready_file_byte_for_byte(own: OwnPi) -> None:
    """Read again only when it changed; no file, no block."""
    async with own.rpc() as pi:
        await pi.say("hi")
        for text in (BLOCK, BLOCK, "other\n", None):
            if text is None:
                (own.home / "context" / "global.md").unlink()
            elif text != BLOCK or not (own.home / "context").exists():
                write_block(own, text)
            await pi.say("hi")

    first, second, third, fourth, last = systems(own)
    assert [block_in(each) for each in (first, second, fourth, last)] == ["", BLOCK[:-1], "other", ""]
    assert second == third
    assert second.count("<auto_improve>") == 1


async def test_a_project_with_lessons_of_its_own_is_told_its_own_file(own: OwnPi) -> None:
    """Found by the hash of its real path, from a folder below it too."""
    write_block(own, "for all\n")
    write_block(own, "for this one\n", project_hash(str(own.project.resolve())))
    write_block(own, "for another\n", project_hash(str(own.project / "web")))
    (own.project / "web").mkdir()
    linked = own.folder / "linked"
    linked.symlink_to(own.project)

    await own.print("hi")
    await replace_project(own, "linked/web").print("hi")
    await replace_project(own, ".").print("hi")

    assert [block_in(each) for each in systems(own)] == ["for this one", "for this one", "for all"]


def replace_project(own: OwnPi, name: str) -> OwnPi:
    """The same person in another folder."""

    class Elsewhere(OwnPi):
        @property
        def project(self) -> Path:
            return self.folder / name

    return Elsewhere(own.folder, own.command, own.stub, own.env)


async def test_the_persons_own_texts_stay_in_force(own: OwnPi) -> None:
    """APPEND_SYSTEM.md and AGENTS.md beside our block."""
    (own.agent / "APPEND_SYSTEM.md").write_text("APPENDED BY ADA\n")
    (own.project / "AGENTS.md").write_text("RULES OF THE PROJECT\n")
    write_block(own, BLOCK)

    await own.print("hi")

    assert all(each in systems(own)[0] for each in ("APPENDED BY ADA", "RULES OF THE PROJECT", BLOCK[:-1]))


@pytest.mark.parametrize("kind", ["folder", "pipe", "huge", "binary", "blank"])
async def test_a_broken_ready_file_is_no_block_and_one_quiet_notice(own: OwnPi, kind: str) -> None:
    """The run goes on; a blank or odd text is simply that."""
    path = own.home / "context" / "global.md"
    path.parent.mkdir(parents=True)
    make = {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "huge": lambda: path.write_bytes(b"x" * (2 << 20)),
        "binary": lambda: path.write_bytes(b"\xff\xfe\n"),
        "blank": lambda: path.write_bytes(b" \n\n"),
    }
    make[kind]()

    async with own.rpc() as pi:
        told = [notice for _ in range(2) for notice in (await pi.say("hi")).told]

    assert len(own.stub.requests) == 2
    assert len(told) == (kind in ("folder", "pipe", "huge"))
    assert all(len(block_in(each)) < 10 for each in systems(own))


# ---- what is kept


async def test_every_way_a_call_ends_is_kept(own: OwnPi) -> None:
    """pi-protocol.md 5: from the start's arguments and the end's result."""
    (own.project / "there.txt").write_text("found")
    own.stub.set_script(script(work=[every_call(), {"text": "done"}]))

    async with own.rpc() as pi:
        await pi.say("work on it")

    kept = {each["cmd"] or each["file"] or each["tool"]: each for each in calls(own)}
    assert {name: (each["is_error"], each["exit_code"], each["aborted"]) for name, each in kept.items()} == {
        "echo fine": (False, 0 if kept["echo fine"]["exit_code"] == 0 else None, False),
        "echo boom; exit 3": (True, 3, False),
        "sleep 9": (True, None, False),
        "there.txt": (False, None, False),
        "absent.txt": (True, None, False),
        "nosuchtool": (True, None, False),
        "bash": (True, None, False),
    }
    assert kept["absent.txt"]["snippet"].startswith("ENOENT")
    assert "timed out" in kept["sleep 9"]["snippet"]
    assert {(each["turn"], each["project"]) for each in kept.values()} == {(1, str(own.project))}


def every_call() -> Json:
    """One message with a call for each way to end."""
    listed = [
        ("bash", {"command": "echo fine"}),
        ("bash", {"command": "echo boom; exit 3"}),
        ("bash", {"command": "sleep 9", "timeout": 1}),
        ("read", {"path": "there.txt"}),
        ("read", {"path": "absent.txt"}),
        ("nosuchtool", {}),
        ("bash", {"wrong": "argument"}),
    ]
    return {"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in listed]}


async def test_a_run_is_kept_with_its_session_and_what_it_was_told(own: OwnPi) -> None:
    """One file a session; the run's line comes last."""
    path = write_block(own, BLOCK)
    own.stub.set_script(script(work=[bash("true"), bash("false"), {"text": "done"}]))

    async with own.rpc() as pi:
        await pi.say("work")

    (file,) = (own.home / "spool").iterdir()
    *traces, run = own.spooled()
    assert file.stem == run["session"]
    assert run["told"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert Path(run["session_file"]).exists()
    assert [(each["run"], each["turn"]) for each in traces] == [(run["run"], 1), (run["run"], 2)]
    assert file.stat().st_mode & 0o777 == 0o600


async def test_no_secret_reaches_the_disk(own: OwnPi) -> None:
    """S6: in commands, outputs and paths, also where a cut would halve it; keys of ours by value."""
    own.env["SOME_API_KEY"] = "plain-words-nobody-would-guess"
    commands = (
        f"git push https://ada:{SECRET}@host/r",
        f"printf '%01010d{SECRET}%03000d' 1 1",
        "printenv SOME_API_KEY",
    )
    read = {"name": "read", "arguments": {"path": f"/tmp/{SECRET}/x"}}
    own.stub.set_script(script(work=[bash(*commands), {"tool_calls": [read]}, {"text": f"told {SECRET}"}]))

    async with own.rpc() as pi:
        await pi.say("work")

    written = "".join(file.read_text() for file in (own.home / "spool").iterdir())
    assert len(calls(own)) == 4
    assert SECRET[:20] not in written
    assert "plain-words" not in written
    assert written.count("[masked]") >= 3


async def test_long_texts_are_kept_short(own: OwnPi) -> None:
    """300 characters, head and tail."""
    own.stub.set_script(script(work=[bash(f"echo {'a' * 900}; seq 9999; echo the end"), {"text": "done"}]))

    async with own.rpc() as pi:
        await pi.say("work")

    (call,) = calls(own)
    assert [len(call[name]) for name in ("cmd", "snippet")] == [300, 300]
    assert "the end" in call["snippet"]


async def test_the_persons_stop_and_a_gates_refusal_are_no_failures(own: OwnPi) -> None:
    """Kept as aborted: neither is the tool's fault."""
    gate = own.agent / "extensions" / "gate.ts"
    gate.write_text(
        "export default (pi) => pi.on('tool_call', (event) => String(event.input.command).startsWith('rm ')"
        " ? { block: true, reason: 'not in my house' } : undefined);"
    )
    own.stub.set_script(script(work=[bash("rm -f x"), bash("echo begun; sleep 60"), {"text": "done"}]))

    async with own.rpc() as pi:
        pi_says = asyncio.create_task(pi.say("work"))
        while not (own.home / "spool").exists():
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        await pi.abort()
        await pi_says

    assert [(each["cmd"], each["aborted"]) for each in calls(own)] == [
        ("rm -f x", True),
        ("echo begun; sleep 60", True),
    ]


async def test_two_sessions_at_once_lose_nothing(own: OwnPi) -> None:
    """Each writes a file of its own, also while another process takes them in."""
    many = [bash(*(f"echo {turn} {each}" for each in range(5))) for turn in range(4)]
    own.stub.set_script(script(work=[*many, {"text": "done"}]))

    async with own.rpc() as first, own.rpc() as second:
        _, _, printed = await asyncio.gather(
            first.say("work one"), second.say("work two"), own.run("mine", "--json")
        )
    told = json.loads(await own.run("mine", "--json"))

    assert json.loads(printed)["new"] + told["new"] == 40


async def test_print_mode_tells_and_keeps_too(own: OwnPi) -> None:
    """`pi -p`; without a session file there are no words to keep, calls all the same."""
    write_block(own, BLOCK)
    own.stub.set_script(script(work=[bash("exit 4"), {"text": "done"}]))

    answer = await own.print("work", "--no-session")

    assert answer == "done"
    assert block_in(systems(own)[0]) == BLOCK[:-1]
    call, run = own.spooled()
    assert (call["exit_code"], run["session_file"]) == (4, None)


async def test_a_full_spool_file_is_followed_by_another(own: OwnPi) -> None:
    """Rotation at 4 MiB; both are taken in."""
    own.stub.set_script(script(work=[bash("true"), {"text": "done"}]))
    async with own.rpc() as pi:
        await pi.say("work")
        (file,) = (own.home / "spool").iterdir()
        with file.open("a") as opened:
            opened.write('{"v":1,"kind":"filler"}\n' * (4 << 20 >> 4))
        await pi.say("work")

    assert len(list((own.home / "spool").glob("*.jsonl"))) == 2
    assert len(calls(own)) == 2


async def test_half_a_line_of_a_crash_spoils_no_other(own: OwnPi) -> None:
    """What follows it begins on a line of its own."""
    own.stub.set_script(script(work=[bash("true"), {"text": "done"}]))
    spool = own.home / "spool"
    spool.mkdir(parents=True)
    (spool / "chosen.jsonl").write_text('{"v":1,"kind":"tra')

    await own.print("work", "--session-id", "chosen")

    lines = (spool / "chosen.jsonl").read_text().splitlines()
    assert [json.loads(each)["kind"] for each in lines[1:]] == ["trace", "run"]


async def test_what_nobody_takes_in_is_dropped_in_the_end(own: OwnPi) -> None:
    """Retention: 30 days, and 64 MiB in all."""
    spool = own.home / "spool"
    spool.mkdir(parents=True)
    for name, days, size in (("old", 31, 10), ("new", 1, 10), ("big", 2, 65 << 20), ("bigger", 3, 1)):
        path = spool / f"{name}.jsonl"
        with path.open("wb") as file:
            file.truncate(size)
        age = path.stat().st_mtime - days * 86_400
        os.utime(path, (age, age))

    async with own.rpc() as pi:
        await pi.say("hi")
        await asyncio.sleep(0.3)

    left = {path.stem for path in spool.iterdir()}
    assert "new" in left
    assert not left & {"old", "big", "bigger"}


# ---- hosted by a bot and installed at once


async def test_hosted_and_installed_at_once_there_is_one_of_each(own: OwnPi) -> None:
    """One block, one set of commands, and no spool: a bot keeps its runs itself."""
    write_block(own, "of the terminal\n")
    told = own.folder / "session.md"
    told.write_text(BLOCK)
    own.env |= {"AUTO_IMPROVE_HOSTED": str(EXTENSION), "AUTO_IMPROVE_CONTEXT_FILE": str(told)}
    own.stub.set_script(script(work=[bash("true"), {"text": "done"}]))

    async with own.rpc("-e", str(EXTENSION)) as pi:
        commands = await pi.commands()
        await pi.say("work")

    ours = ["good", "bad", "lessons", "lesson-add", "lesson-remove", "evolver", "evolver-lessons"]
    assert [each for each in commands if each.partition(":")[0] in ours] == ours
    assert systems(own)[0].count("<auto_improve>") == 1
    assert block_in(systems(own)[0]) == BLOCK[:-1]
    assert not (own.home / "spool").exists()


# ---- whatever is broken, Pi works


async def test_without_python_and_command_line_pi_works_as_before(own: OwnPi) -> None:
    """The command says so in one line; runs, block and spool do not need it."""
    installing.install(own.agent, Filled("0.0.0", own.home, ("/gone",)))
    own.env["PATH"] = str(Path(shutil.which("sh") or "/bin/sh").parent)
    write_block(own, BLOCK)
    own.stub.set_script(script(work=[bash("true"), {"text": "done"}]))

    async with own.rpc() as pi:
        told = (await pi.say("/good")).told
        await pi.say("work")

    assert (len(told), "/gone" in told[0]) == (1, True)
    assert block_in(systems(own)[0]) == BLOCK[:-1]
    assert len(calls(own)) == 1


async def test_a_corrupt_store_disturbs_no_run(own: OwnPi) -> None:
    """A command says what is wrong; the store is left as it is."""
    own.home.mkdir(exist_ok=True)
    (own.home / "store.db").write_bytes(b"garbage" * 1000)
    own.stub.set_script(script(work=[bash("true"), {"text": "done"}]))

    async with own.rpc() as pi:
        await pi.say("work")
        told = (await pi.say("/lessons")).told

    assert own.stub.requests[-1]["last_user"] == "work"
    assert (len(told), "store.db" in told[0]) == (1, True)
    assert len(calls(own)) == 1


@pytest.mark.parametrize("kind", ["file", "pipe", "link"])
async def test_a_spool_that_cannot_be_written_is_one_quiet_notice(own: OwnPi, kind: str) -> None:
    """The runs complete."""
    spool = own.home / "spool"
    own.home.mkdir(exist_ok=True)
    if kind == "file":
        spool.write_text("in the way")
    else:
        spool.mkdir()
        path = spool / "chosen.jsonl"
        if kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(own.folder / "elsewhere")
    own.stub.set_script(script(work=[bash("true", "false"), {"text": "done"}]))

    async with own.rpc("--session-id", "chosen") as pi:
        told = [notice for _ in range(2) for notice in (await pi.say("work")).told]

    assert len(told) == 1
    assert "cannot keep" in told[0]
    assert not (own.folder / "elsewhere").exists()


FULL = """
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const { Spool } = await import(process.argv[2]);
const spool = new Spool("chosen");
spool.append({ kind: "before" });
const write = fs.writeSync;
const full = () => { throw Object.assign(new Error("no space"), { code: "ENOSPC" }); };
for (const broken of [full, (file, data) => write(file, data.subarray(0, 9))]) {
  fs.writeSync = broken;
  syncBuiltinESMExports();
  try { spool.append({ kind: "lost" }); } catch (error) { console.log(error.message); }
}
fs.writeSync = write;
syncBuiltinESMExports();
spool.append({ kind: "after" });
"""


def test_a_disk_that_fills_up_leaves_no_half_line(tmp_path: Path) -> None:
    """D6: what a short write left is cut back."""
    program = tmp_path / "full.mjs"
    program.write_text(FULL)
    command = (node(), "--experimental-strip-types", "--no-warnings", program, EXTENSION)

    done = subprocess.run(
        command,
        env={"AUTO_IMPROVE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )

    lines = (tmp_path / "spool" / "chosen.jsonl").read_text().splitlines()
    assert done.stdout.split("\n")[:2] == ["no space", "short write"]
    assert [json.loads(each)["kind"] for each in lines] == ["before", "after"]


async def test_a_copy_without_its_table_writes_nothing(own: OwnPi) -> None:
    """Rather no trace than an unmasked one."""
    source = own.extension.read_text()
    own.extension.write_text(source.replace('rules\\": [{', 'ruins\\": [{'))
    own.stub.set_script(script(work=[bash("true"), {"text": "done"}]))

    async with own.rpc() as pi:
        told = (await pi.say("work")).told

    assert told == []
    assert not (own.home / "spool").exists()
