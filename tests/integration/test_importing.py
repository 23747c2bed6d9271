"""Traces from files: incremental, idempotent, resumable, in constant memory (learning.md 5)."""

import gzip
import json
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.errors import Invalid
from core.model.trace import ErrorClass, Trace
from core.rules.mining import State
from core.rules.redact import Redactor
from core.services.importing import lines
from core.services.importing.files import Progress, Watch, import_file
from core.services.pattern_gate import Gate
from core.services.traces import prepare_all
from tests.calls import MISSING, NOW, PROJECT, call, open_gate, take_in, write_lines
from tests.shared import DATA, needs_shared

Json = dict[str, object]


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Gate]:
    """Both stores, empty."""
    async with open_gate(tmp_path / "home") as opened:
        yield opened


def pi_lines(session: str = "p1", folder: str = PROJECT) -> list[Json]:
    """Write a Pi session of version 3: a run with a failure and its recovery, in two turns."""

    def said(role: str, **more: object) -> Json:
        return {"type": "message", "id": "x", "timestamp": "2026-01-02T03:04:05.000Z",
                "message": {"role": role, "timestamp": 1_767_323_045_000, **more}}  # fmt: skip

    def asked(call: str, command: str) -> Json:
        part = {"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": command}}
        return said("assistant", content=[{"type": "text", "text": "…"}, part])

    def answered(call: str, output: str, is_error: bool) -> Json:
        content = [{"type": "text", "text": output}]
        return said("toolResult", toolCallId=call, toolName="bash", content=content, isError=is_error)

    return [
        {"type": "session", "version": 3, "id": session, "cwd": folder},
        said("user", content=[{"type": "text", "text": "run the tests"}]),
        asked(f"call_{session}_0000000000000001", "npm test"),
        answered(
            f"call_{session}_0000000000000001", f"{MISSING}\n\n\nCommand exited with code 1", is_error=True
        ),
        asked(f"call_{session}_0000000000000002", "npm run test:unit"),
        answered(f"call_{session}_0000000000000002", "ok", is_error=False),
    ]


def claude_lines() -> list[Json]:
    """Write a Claude Code session of one failed command."""
    base = {"sessionId": "c1", "cwd": PROJECT, "timestamp": "2026-01-02T03:04:05.000Z", "version": "2.0.0"}
    use = {"type": "tool_use", "id": "toolu_01AAAAAAAAAAAAAAAAAA", "name": "Bash",
           "input": {"command": "make deploy"}}  # fmt: skip
    result = {"type": "tool_result", "tool_use_id": use["id"], "is_error": True,
              "content": "Exit code 2\nmake: *** No rule to make target 'deploy'.  Stop."}  # fmt: skip
    return [
        {"type": "summary", "summary": "Deploy", "leafUuid": "u"},
        {"type": "user", **base, "message": {"role": "user", "content": "deploy it"}},
        {"type": "assistant", **base, "message": {"id": "m1", "role": "assistant", "content": [use]}},
        {"type": "user", **base, "message": {"role": "user", "content": [result]}},
    ]


def events(count: int, first: int = 0) -> list[Json]:
    """Write plain events, one failure in ten."""
    return [
        {"ts": NOW + n, "session": f"s{n // 10}", "turn": n % 10, "tool": "bash", "project": PROJECT,
         "is_error": n % 10 == 0, "exit_code": int(n % 10 == 0), "cmd": f"make t{n}",
         "snippet": "make: *** No rule to make target" if n % 10 == 0 else ""}
        for n in range(first, first + count)
    ]  # fmt: skip


async def take(gate: Gate, path: Path, **more: object) -> Progress:
    """Import a file."""
    return await import_file(gate.traces, path, PROJECT, NOW, **more)  # type: ignore[arg-type]


async def kept(gate: Gate) -> list[Trace]:
    """Give what is kept, oldest first."""
    return (await gate.traces.read(lambda tx: tx.traces.newest(100_000)))[::-1]


async def test_a_pi_session_gives_calls_with_run_turn_and_error_class(gate: Gate, tmp_path: Path) -> None:
    """Runs are a person's prompts, turns what the model said."""
    done = await take(gate, write_lines(tmp_path / "pi.jsonl", pi_lines()))
    first, second = await kept(gate)

    assert (done.format, done.new, done.failures) == ("pi", 2, 1)
    assert (first.verb, first.error_class, first.exit_code) == ("npm:test", ErrorClass.USAGE, 1)
    assert (first.run, first.turn, second.turn, first.project) == ("p1:1", 1, 2, PROJECT)
    assert first.snippet == MISSING


async def test_a_fork_that_copies_a_session_counts_its_calls_once(gate: Gate, tmp_path: Path) -> None:
    """A forked file repeats entries under another session id."""
    lines = pi_lines()
    await take(gate, write_lines(tmp_path / "a.jsonl", lines))
    forked = await take(gate, write_lines(tmp_path / "b.jsonl", [{**lines[0], "id": "fork"}, *lines[1:]]))

    assert (forked.calls, forked.new) == (2, 0)


async def test_a_claude_session_gives_calls_under_the_usual_tool_names(gate: Gate, tmp_path: Path) -> None:
    """So that its patterns join those of other agents."""
    done = await take(gate, write_lines(tmp_path / "claude.jsonl", claude_lines()))
    (only,) = await kept(gate)

    assert (done.format, only.agent, only.tool, only.verb) == ("claude", "claude", "bash", "make:deploy")
    assert (only.exit_code, only.error_class) == (2, ErrorClass.USAGE)


async def test_evolver_lines_get_sessions_from_silence(gate: Gate, tmp_path: Path) -> None:
    """They name none: half an hour of silence begins another."""
    records = [
        {
            "ts": 1_767_323_045_000 + ms,
            "tool": "bash",
            "isError": True,
            "file": None,
            "cmd": "foo x",
            "verb": "x",
        }
        for ms in (0, 1_000, 4_000_000)
    ]
    done = await take(gate, write_lines(tmp_path / "traces.jsonl", records))

    assert (done.format, done.new) == ("evolver", 3)
    assert len({each.session for each in await kept(gate)}) == 2
    assert {each.verb for each in await kept(gate)} == {"foo"}


async def test_missing_fields_of_an_event_are_computed(gate: Gate, tmp_path: Path) -> None:
    """A tool's name is enough."""
    await take(gate, write_lines(tmp_path / "few.jsonl", [{"tool": "read"}, {"tool": "bash", "cmd": "ls"}]))

    assert [(each.verb, each.project, each.turn) for each in await kept(gate)] == [
        ("read", PROJECT, 1),
        ("ls", PROJECT, 2),
    ]


async def test_a_broken_line_is_told_with_its_number_and_skipped(gate: Gate, tmp_path: Path) -> None:
    """Nothing else of the file is lost."""
    told: list[tuple[str, int]] = []
    path = write_lines(tmp_path / "e.jsonl", [events(1)[0], "{broken", "[1]", events(1, 1)[0]])
    done = await take(
        gate, path, watch=Watch(broken=lambda file, number, _: told.append((file.name, number)))
    )

    assert (done.new, done.broken) == (2, 2)
    assert told == [("e.jsonl", 2), ("e.jsonl", 3)]


async def test_a_second_import_takes_only_what_was_added(gate: Gate, tmp_path: Path) -> None:
    """It goes on where the first ended, without reading the rest again."""
    path = write_lines(tmp_path / "e.jsonl", events(30))
    await take(gate, path)
    with path.open("a") as file:
        file.write(json.dumps(events(1, 30)[0]) + "\n")
    again = await take(gate, path)

    assert (again.calls, again.new) == (1, 1)


async def test_a_result_that_comes_with_the_next_import_finds_its_call(gate: Gate, tmp_path: Path) -> None:
    """What the reader remembers is kept with how far it read."""
    lines = pi_lines()
    path = write_lines(tmp_path / "pi.jsonl", lines[:3])
    await take(gate, path)
    write_lines(path, lines)
    await take(gate, path)

    assert [each.verb for each in await kept(gate)] == ["npm:test", "npm:test:unit"]


async def test_a_copy_of_a_file_adds_nothing(gate: Gate, tmp_path: Path) -> None:
    """Calls are known by themselves, not by where they were read."""
    await take(gate, write_lines(tmp_path / "a.jsonl", events(50)))
    copy = await take(gate, write_lines(tmp_path / "b.jsonl", events(50)))

    assert (copy.calls, copy.new) == (50, 0)


async def test_equal_lines_of_one_file_are_calls_of_their_own(gate: Gate, tmp_path: Path) -> None:
    """Two parallel calls may look alike; a second import still adds none."""
    same = [events(1)[0]] * 3
    first = await take(gate, write_lines(tmp_path / "a.jsonl", same))
    copy = await take(gate, write_lines(tmp_path / "b.jsonl", same))

    assert (first.new, copy.new) == (3, 0)


async def test_an_import_cut_off_in_the_middle_goes_on(gate: Gate, tmp_path: Path) -> None:
    """Each batch is kept with how far it was read."""
    path = write_lines(tmp_path / "e.jsonl", events(2_500))

    def stop(done: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await take(gate, path, watch=Watch(progress=stop))
    rest = await take(gate, path)

    assert (rest.new, len(await kept(gate))) == (1_500, 2_500)


async def test_a_file_that_was_replaced_is_read_from_its_beginning(gate: Gate, tmp_path: Path) -> None:
    """Its first line tells."""
    path = write_lines(tmp_path / "e.jsonl", events(5))
    await take(gate, path)
    write_lines(path, events(20, 100))

    assert (await take(gate, path)).new == 20


async def test_a_line_being_written_is_read_whole_next_time(gate: Gate, tmp_path: Path) -> None:
    """Half a line at the end is no loss."""
    whole = json.dumps(events(1, 1)[0])
    path = write_lines(tmp_path / "e.jsonl", events(1))
    with path.open("a") as file:
        file.write(whole[:40])
    await take(gate, path)
    with path.open("a") as file:
        file.write(whole[40:] + "\n")

    assert (await take(gate, path)).new == 1


async def test_compressed_files_are_read_as_they_are(gate: Gate, tmp_path: Path) -> None:
    """Archives of sessions are often packed."""
    plain = write_lines(tmp_path / "e.jsonl", events(5))
    packed = tmp_path / "e.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    assert (await take(gate, packed)).new == 5


async def test_a_file_of_no_known_format_is_refused(gate: Gate, tmp_path: Path) -> None:
    """One clear line, nothing imported."""
    with pytest.raises(Invalid, match="unknown_format"):
        await take(gate, write_lines(tmp_path / "x.jsonl", [{"hello": 1}]))
    with pytest.raises(Invalid, match="unreadable"):
        await take(gate, tmp_path / "nowhere.jsonl")


async def test_a_line_too_long_for_us_is_skipped(
    gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory stays bounded whatever a line holds (S13)."""
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1_000)
    path = write_lines(
        tmp_path / "e.jsonl", [events(1)[0], {"tool": "x", "cmd": "y" * 9_000}, events(1, 1)[0]]
    )
    done = await take(gate, path)

    assert (done.new, done.broken) == (2, 1)


async def test_memory_does_not_grow_with_the_file(gate: Gate, tmp_path: Path) -> None:
    """A file of 12 MB passes through a window far smaller."""
    path = tmp_path / "e.jsonl"
    more = {"padding": "x" * 2_000, "cmd": "ls", "snippet": ""}
    write_lines(path, ({**each, **more} for each in events(6_000)))
    tracemalloc.start()
    await take(gate, path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < path.stat().st_size / 4


async def test_half_characters_and_odd_values_do_not_stop_an_import(gate: Gate, tmp_path: Path) -> None:
    """Files are written by other programs."""
    odd = [
        '{"tool": "bash", "cmd": "echo \\ud800", "ts": "not a time", "turn": 1e400}',
        '{"tool": "bash", "cmd": 7, "exit_code": 99999999999999999999, "is_error": "yes"}',
        '{"tool": "\\ud800", "session": "\\udfff", "project": "/x\\ud800"}',
        '{"tool": "bash", "cmd": "a\\u0000b", "file": []}',
    ]
    done = await take(gate, write_lines(tmp_path / "odd.jsonl", odd))

    assert (done.calls, done.new, done.broken) == (4, 4, 0)


async def test_a_secret_is_masked_before_it_is_cut_and_before_the_disk(gate: Gate, tmp_path: Path) -> None:
    """Neither the middle nor the edge of a long text shows one (S6)."""
    token = "ghp_" + "x7Kq2Rm9Tz4Wv8Yb3Nc6Pd1Fg5Hj0LsAeUi2"
    output = "make: *** No rule to make target\n" + "x" * 250 + f" {token} " + "y" * 9_000 + token
    record = {**events(1)[0], "cmd": "make " + "z" * 130 + f" TOKEN={token}", "snippet": output}
    await take(gate, write_lines(tmp_path / "e.jsonl", [record]))
    folder = gate.settings.home

    assert all(token[:12].encode() not in each.read_bytes() for each in folder.glob("traces.db*"))
    assert all(len(each.cmd or "") <= 300 and len(each.snippet) <= 300 for each in await kept(gate))


async def test_the_bots_own_run_and_its_session_file_count_a_call_once(gate: Gate, tmp_path: Path) -> None:
    """A person may import the folder of sessions that the bot traced live."""
    live = call("npm test", "p1", 1, MISSING, key="call:call_p1_0000000000000001")
    await take_in(gate, [live])
    done = await take(gate, write_lines(tmp_path / "pi.jsonl", pi_lines()))

    assert (done.calls, done.new) == (2, 1)


def test_a_call_that_cannot_be_read_does_not_take_the_others_with_it() -> None:
    """One odd record is logged, the rest is kept."""
    broken = call("npm test", key="odd")._replace(trace=None)  # type: ignore[arg-type]  # no reader gives it

    assert len(prepare_all([broken, call("ls")], Redactor())) == 1


@needs_shared
async def test_real_pi_sessions_have_no_candidate_of_answers_or_aborts(gate: Gate) -> None:
    """Of 31 flagged calls 16 are no failures; none of them may count."""
    for path in sorted((DATA / "traces").glob("pi_session_v1_*.gz")):
        await take(gate, path)
    failures = [each for each in await kept(gate) if each.is_failure]

    assert len(await kept(gate)) == 821
    assert len(failures) == 15
    assert not any(each.aborted for each in failures)
    (project,) = {each.project for each in failures}
    found = await gate.listing(project, NOW, tuple(State))
    assert {each.state for each in found} == {State.OBSERVED} or found


@needs_shared
@pytest.mark.parametrize("name", ["session-tool-fail.pi16.jsonl", "session-tool-fail.pi073.jsonl"])
async def test_sessions_of_both_versions_of_pi_are_read(gate: Gate, name: str) -> None:
    """Files written by the real programs."""
    done = await take(gate, DATA / "pi-transcripts" / name)

    assert (done.format, done.broken) == ("pi", 0)
    assert done.new >= 4
