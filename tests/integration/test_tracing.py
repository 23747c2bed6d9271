"""What the bot's runs leave behind, what is forgotten, and that nothing of it disturbs (learning.md 5)."""

import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.app import open_core
from core.errors import StoreError
from core.events import Text, ToolEnded, ToolStarted, Usage
from core.model.ids import RunId, SessionId
from core.model.run import Run, RunState
from core.rules.mining import State
from core.services import retention
from core.services.journal import journal
from core.services.pattern_gate import Gate
from core.services.traces import RunRecorder, TraceSink
from core.settings import CoreSettings
from core.store.traces import open_traces
from tests.bench import effectiveness
from tests.calls import DAY_S, ID, MISSING, NOW, PROJECT, by, call, open_gate, story, take_in
from tests.shared import needs_shared


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Gate]:
    """Both stores, empty."""
    async with open_gate(tmp_path) as opened:
        yield opened


def a_run(id: str = "r1", folder: str = PROJECT) -> RunRecorder:
    """Begin to record a run."""
    run = Run(RunId(id), SessionId("s1"), "pi", PROJECT, "go", RunState.RUNNING, NOW)
    return RunRecorder(run, folder)


def ended(id: str, command: str, output: str = "", exit_code: int = 0) -> ToolEnded:
    """End a shell call."""
    return ToolEnded(id, "bash", exit_code != 0, output, {"command": command}, exit_code)


async def test_a_run_of_the_bot_leaves_its_calls(gate: Gate) -> None:
    """Each tool call is traced with its verb and its class, told as it ends."""
    recorder = a_run()
    recorder.take(ToolStarted("c1", "bash"), NOW)
    finished = recorder.take(ended("c1", "cd web && npm test", MISSING, 1), NOW)
    assert finished is not None
    mined = await TraceSink(gate.traces, gate.store).record([finished])

    (trace,) = mined.traces
    assert (trace.verb, trace.run, trace.session, trace.is_failure) == ("npm:test", "r1", "s1", True)


def test_calls_that_the_model_made_at_once_share_a_turn() -> None:
    """Parallel calls cannot be reactions to each other."""
    recorder = a_run()
    turns = []
    for event in (
        Usage(1, 1), ToolStarted("a", "bash"), ToolStarted("b", "bash"), ended("a", "x"), ended("b", "y"),
        Text("now"), Usage(1, 1), ToolStarted("c", "bash"), ended("c", "z"),
    ):  # fmt: skip
        finished = recorder.take(event, NOW)
        turns += [finished.trace.turn] if finished else []

    assert turns == [1, 1, 2]


def test_a_file_is_named_from_the_project_where_the_agent_works_below_it() -> None:
    """So that the same file is the same, wherever the agent stands."""
    recorder = a_run(folder=f"{PROJECT}/web")
    finished = recorder.take(ToolEnded("c", "read", False, "", {"path": "src/a.ts"}), NOW)

    assert finished is not None
    assert finished.trace.file == f"{PROJECT}/web/src/a.ts"


async def test_a_store_that_fails_does_not_disturb_the_run(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and nothing is raised."""

    class Broken:
        async def write(self, fn: object) -> object:
            raise StoreError("store.failed", reason="disk")

        read = write

    mined = await TraceSink(Broken(), gate.store).record([call()])  # type: ignore[arg-type]

    assert mined.traces == ()


async def test_a_broken_file_of_traces_does_not_stop_the_bot(tmp_path: Path) -> None:
    """People are answered without it; the file is left as it is for whoever looks into it."""
    (tmp_path / "traces.db").write_bytes(b"no database at all" * 50)

    async with open_core(CoreSettings(home=tmp_path, agent="scripted")) as core:
        mined = await core.sink().record([call(output=MISSING)])
        assert await core.store.read(lambda tx: tx.runs.running()) == []

    assert mined.traces == ()
    assert (tmp_path / "traces.db").read_bytes().startswith(b"no database")


async def test_traces_are_in_a_file_of_their_own_that_is_synced_less(gate: Gate, tmp_path: Path) -> None:
    """Two durability classes, two files (reliability.md 2)."""
    await take_in(gate, story())
    modes = await gate.traces.read(
        lambda tx: tx.traces._connection.execute("PRAGMA synchronous").fetchone()[0]
    )  # type: ignore[attr-defined]

    assert {"store.db", "traces.db"} <= {each.name for each in tmp_path.iterdir()}
    assert modes == 1


async def test_the_file_of_traces_is_not_taken_for_the_store(tmp_path: Path) -> None:
    """Each knows its own by its mark."""
    async with open_traces(tmp_path / "traces.db"):
        pass
    with sqlite3.connect(tmp_path / "traces.db") as connection:
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
    connection.close()

    assert mark == 0x41497472
    assert oct((tmp_path / "traces.db").stat().st_mode & 0o777) == "0o600"


async def test_old_traces_and_undecided_evidence_are_forgotten_decisions_are_not(gate: Gate) -> None:
    """30 days for traces, 90 for evidence nobody accepted; a second time forgets nothing."""
    await take_in(gate, story(["a", "b"]))
    await take_in(gate, [call("make x", each, 1, "make: *** No rule to make target") for each in ("c", "d")])
    await gate.accept(ID, PROJECT, by())
    early = await retention.prune(gate.store, gate.traces, gate.settings, NOW + 29 * DAY_S)
    late = await retention.prune(gate.store, gate.traces, gate.settings, NOW + 91 * DAY_S)
    again = await retention.prune(gate.store, gate.traces, gate.settings, NOW + 91 * DAY_S)

    assert (early.traces, early.patterns) == (0, 0)
    assert (late.traces, late.patterns) == (6, 1)
    assert again == retention.Pruned()
    assert [each.id for each in await gate.listing(PROJECT, NOW + 91 * DAY_S, tuple(State))] == [ID]


async def test_texts_of_old_runs_are_forgotten(gate: Gate) -> None:
    """Prompt and answer are kept 30 days."""
    run = Run(RunId("r"), None, "pi", PROJECT, "secret plan", RunState.DONE, NOW, answer="done", ended=NOW)
    await gate.store.write(lambda tx: tx.runs.put(run))
    done = await retention.prune(gate.store, gate.traces, gate.settings, NOW + 31 * DAY_S)
    held = await gate.store.read(lambda tx: tx.runs.get(RunId("r")))

    assert done.runs == 1
    assert held is not None
    assert (held.prompt, held.answer, held.state) == ("", "", RunState.DONE)


async def test_pruned_calls_are_not_counted_again(gate: Gate) -> None:
    """What was counted is remembered longer than the calls themselves."""
    await take_in(gate, story())
    await retention.prune(gate.store, gate.traces, gate.settings, NOW + 31 * DAY_S)

    assert (await take_in(gate, story())).traces == ()


def test_a_debug_file_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    """Watching must never disturb what is watched."""
    (tmp_path / "file").write_text("")

    journal(tmp_path / "file" / "debug.jsonl")("trace", cmd="ls")


@needs_shared
def test_all_eight_metrics_of_the_frozen_scenarios_are_full() -> None:
    """The original reports 100/100/100/100/60/20/100/100."""
    scenarios = json.loads(effectiveness.SCENARIOS.read_text(encoding="utf-8"))

    assert set(effectiveness.measure(scenarios).values()) == {100.0}
    assert len(effectiveness.METRICS) == 8
