"""What the terminal did is taken in: nothing lost, nothing twice, nothing unmasked (product.md 7)."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.model.ids import RunId, SessionId
from core.model.lesson import Domain, Scope
from core.model.run import Run, RunState
from core.model.trace import Trace
from core.services import context, lessons, spool
from core.services.spooled import Desk, Taken
from core.settings import CoreSettings
from core.store.sqlite import open_store
from core.store.traces import open_traces

NOW = 1_800_000_000.0
SESSION = "01a22e60-ba17-701a-babc-8e421c3f917f"
RUN = "01a22e60-bd70-7bad-8322-e55e5f883eef"
PROJECT = "/home/ada/shop"
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
Json = dict[str, Any]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """Both stores and a spool folder."""
    settings = CoreSettings(home=tmp_path)
    (tmp_path / "spool").mkdir()
    async with open_store(settings.store_path) as store, open_traces(settings.traces_path) as traces:
        yield Desk(store, traces, settings)


def trace(**values: object) -> Json:
    """A line about a finished call, as the extension writes it."""
    usual = {
        "v": 1, "kind": "trace", "ts": NOW, "session": SESSION, "run": RUN, "turn": 1, "project": PROJECT,
        "cwd": PROJECT, "agent": "pi", "call": "call_1_0", "tool": "bash", "is_error": True, "exit_code": 1,
        "aborted": False, "file": None, "cmd": "npm tset", "snippet": "npm error Missing script: \"tset\"",
    }  # fmt: skip
    return {**usual, **values}


def run(**values: object) -> Json:
    """A line about a finished run."""
    usual = {
        "v": 1, "kind": "run", "ts": NOW, "ended": NOW + 2, "session": SESSION, "run": RUN,
        "project": PROJECT, "cwd": PROJECT, "agent": "pi", "session_file": None, "from": None, "to": None,
        "told": EMPTY, "aborted": False,
    }  # fmt: skip
    return {**usual, **values}


def write(desk: Desk, *records: object, name: str = SESSION, end: str = "\n") -> Path:
    """Append lines as Pi's extension does."""
    path = desk.settings.home / "spool" / f"{name}.jsonl"
    lines = [each if isinstance(each, str) else json.dumps(each) for each in records]
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + end)
    return path


async def kept(desk: Desk, id: str = RUN) -> Run:
    """The run as it is stored."""
    found = await desk.store.read(lambda tx: tx.runs.get(RunId(id)))
    assert found is not None
    return found


async def traces(desk: Desk) -> list[Trace]:
    """All traces, newest first."""
    return await desk.traces.read(lambda tx: tx.traces.newest(100))


async def test_a_run_is_kept_with_its_calls(desk: Desk) -> None:
    """Both kinds of lines; verb and class are computed here."""
    read = trace(
        call="call_1_1", tool="read", cmd=None, file="a.py", is_error=False, exit_code=None, snippet=""
    )
    write(desk, trace(), read, run())

    done = await spool.take_in(desk, NOW)

    found = await kept(desk)
    assert (done, found.state, len(found.calls)) == (Taken(runs=1, calls=2), RunState.DONE, 2)
    assert {(each.verb, each.error_class) for each in await traces(desk)} == {
        ("npm:tset", "usage"),
        ("read", None),
    }
    assert (found.calls[0].command, found.calls[0].is_error) == ("npm tset", True)


async def test_the_words_of_a_run_come_from_pis_session_file(desk: Desk, tmp_path: Path) -> None:
    """Those of its branch and of no other; masked."""
    file = tmp_path / "session.jsonl"
    entries = [
        {"type": "session", "version": 3, "id": SESSION, "cwd": PROJECT},
        message("a", None, "user", "before"),
        message("b", "a", "user", "deploy with --password hunter2secret"),
        message("x", "a", "assistant", "of another branch"),
        message("c", "b", "assistant", "working"),
        message("d", "c", "assistant", "deployed"),
        {"type": "custom", "id": "e", "parentId": "d"},
    ]
    file.write_text("\n".join(json.dumps(each) for each in entries) + "\nhalf a li")
    write(desk, run(session_file=str(file), **{"from": "a", "to": "e"}))

    await spool.take_in(desk, NOW)

    found = await kept(desk)
    assert (found.prompt, found.answer) == ("deploy with --password [masked]", "deployed")
    session = await desk.store.read(lambda tx: tx.runs.session(SessionId(SESSION)))
    assert session is not None
    assert (session.project, session.first_prompt) == (PROJECT, found.prompt)


def message(id: str, parent: str | None, role: str, text: str, **more: object) -> Json:
    """An entry of Pi's session file."""
    content = [{"type": "text", "text": text}]
    return {
        "type": "message", "id": id, "parentId": parent,
        "message": {"role": role, "content": content, **more},
    }  # fmt: skip


@pytest.mark.parametrize("header", [{"type": "session", "id": "another"}, {"some": "json"}, [1]])
async def test_a_file_that_is_not_that_sessions_is_not_read(
    desk: Desk, tmp_path: Path, header: object
) -> None:
    """A line of the spool may name any file of the user's."""
    file = tmp_path / "other.jsonl"
    file.write_text(json.dumps(header) + "\n" + json.dumps(message("a", None, "user", "private")) + "\n")
    write(desk, run(session_file=str(file), to="a"))

    await spool.take_in(desk, NOW)

    assert (await kept(desk)).prompt == ""


@pytest.mark.parametrize(
    ("more", "state"),
    [({"aborted": True}, RunState.STOPPED), ({"aborted": False}, RunState.DONE)],
)
async def test_a_run_the_person_stopped_is_kept_as_stopped(desk: Desk, more: Json, state: RunState) -> None:
    """As the extension tells it."""
    write(desk, run(**more))

    await spool.take_in(desk, NOW)

    assert (await kept(desk)).state is state


async def test_a_run_knows_the_lessons_it_was_told(desk: Desk) -> None:
    """By the hash of the block it was given."""
    told = await desk.store.write(
        lambda tx: lessons.add(tx, "Run it.", Domain.DEBUG, Scope.GLOBAL, None, "ada", "cli", NOW)
    )
    block = await desk.store.read(lambda tx: context.current(tx, PROJECT, desk.settings))
    write(desk, run(told=block.sha256), run(run="01a22e60-bd71-7bad-8322-e55e5f883eef", told="0" * 64))

    await spool.take_in(desk, NOW)

    assert (await kept(desk)).told == (told.id,)
    assert (await kept(desk, "01a22e60-bd71-7bad-8322-e55e5f883eef")).told == ()


async def test_nothing_counts_twice(desk: Desk) -> None:
    """The same lines again, in another file, as after a crash before the file was removed."""
    write(desk, trace(), run())
    write(desk, trace(), run(), name="copy")

    first = await spool.take_in(desk, NOW)
    write(desk, trace(), run())
    second = await spool.take_in(desk, NOW)

    assert (first.calls, first.runs) == (1, 1)
    assert (second.calls, second.runs) == (0, 0)
    assert len(await traces(desk)) == 1


async def test_what_an_interrupted_taking_left_is_taken(desk: Desk) -> None:
    """The file was moved aside and then the power went."""
    write(desk, trace(), run()).rename(desk.settings.home / "spool" / f"{SESSION}.taking")

    done = await spool.take_in(desk, NOW)

    assert done == Taken(runs=1, calls=1)


async def test_a_line_that_was_written_while_the_file_was_moved_is_not_lost(desk: Desk) -> None:
    """Pi had it open; the next look sees that it has grown."""
    write(desk, trace())
    await spool.take_in(desk, NOW)
    (taken,) = (desk.settings.home / "spool").glob("*.taken")
    with taken.open("a") as file:
        file.write(json.dumps(trace(call="call_late")) + "\n")

    done = await spool.take_in(desk, NOW)

    assert done.calls == 1


async def test_a_file_is_removed_once_it_has_settled(desk: Desk) -> None:
    """Not before, in case it still grows."""
    folder = desk.settings.home / "spool"
    written = write(desk, trace())
    os.utime(written, (NOW, NOW))
    await spool.take_in(desk, NOW)

    await spool.take_in(desk, NOW + 30)
    assert len(list(folder.glob("*.taken"))) == 1
    await spool.take_in(desk, NOW + 61)
    assert [each.name for each in folder.iterdir()] == [".lock"]


@pytest.mark.parametrize(
    "line",
    [
        '{"v":1,"kind":"trace","ts":1800000000,"ses',
        "\x00\x00",
        "[1, 2]",
        '"text"',
        json.dumps(trace(v=2)),
        json.dumps(trace(session=None)),
        json.dumps(trace(ts="yesterday")),
        json.dumps(trace(call=7)),
        json.dumps(run(run="../../etc")),
        json.dumps(run(session="a b")),
        "[" * 100_000,
    ],
)
async def test_a_line_that_is_no_record_of_ours_harms_no_other(desk: Desk, line: str) -> None:
    """Half lines, rubbish, foreign versions."""
    write(desk, trace(call="before"), line, trace(call="after"))

    done = await spool.take_in(desk, NOW)

    assert done == Taken(calls=2, broken=1)


async def test_what_another_program_wrote_unmasked_is_masked_here(desk: Desk) -> None:
    """S6: whoever wrote the line, no secret reaches the store."""
    secret = "ghp_" + "q7Zp2LmX9vBt4KdR8sWn3CyG6hJf5TaE1uQo"
    write(desk, trace(cmd=f"git push https://x:{secret}@host/r", snippet=f"fatal: {secret}"), run())

    await spool.take_in(desk, NOW)

    assert secret not in repr(await traces(desk)) + repr(await kept(desk))


async def test_a_link_is_not_followed(desk: Desk, tmp_path: Path) -> None:
    """S10: only plain files are ours."""
    outside = tmp_path / "outside.jsonl"
    outside.write_text(json.dumps(trace()) + "\n")
    (desk.settings.home / "spool" / "link.jsonl").symlink_to(outside)

    done = await spool.take_in(desk, NOW)

    assert done == Taken()
    assert outside.exists()


async def test_two_that_take_in_at_once_lose_nothing_and_double_nothing(desk: Desk) -> None:
    """The bot and a command."""
    for number in range(20):
        write(desk, *(trace(call=f"call_{number}_{each}") for each in range(5)), name=f"s{number}")

    first, second = await asyncio.gather(spool.take_in(desk, NOW), spool.take_in(desk, NOW))

    assert first.calls + second.calls == 100
    assert len(await traces(desk)) == 100


async def test_a_file_in_a_folder_below_the_project_is_told_from_its_top(desk: Desk) -> None:
    """Recoveries compare files of different folders."""
    write(desk, trace(tool="read", cmd=None, file="a.py", cwd=f"{PROJECT}/web", is_error=False))

    await spool.take_in(desk, NOW)

    assert (await traces(desk))[0].file == f"{PROJECT}/web/a.py"


async def test_without_a_spool_nothing_happens(desk: Desk) -> None:
    """The usual case of a bot without terminals."""
    absent = replace(desk, settings=CoreSettings(home=desk.settings.home / "absent"))

    assert await spool.take_in(absent, NOW) == Taken()
    assert not absent.settings.home.exists()
