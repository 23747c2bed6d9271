"""The block moves only when a person decides: provider caches depend on it (learning.md 6)."""

import json

import pytest

from core.clock import SystemIds
from core.model.feedback import Source, Vote
from core.model.run import RunState
from core.services import feedback
from core.services.feedback import Ballot
from core.store.sqlite import open_store
from core.tables import Tx
from tests.e2e.conftest import Build
from tests.e2e.house import House
from tests.e2e.scenes import rule, script

pytestmark = pytest.mark.pi

VOTES, CALLS = 200, 10_000
SCRIPT = script(rule("first|second|third", "Done."))


async def test_votes_and_recorded_calls_leave_a_running_sessions_block_unchanged(build: Build) -> None:
    """200 votes and 10,000 tool calls between two prompts: the same bytes; then a decision, and others."""
    house = await build(SCRIPT)
    await house.cli("lessons", "add", "Reproduce a bug before fixing it.")
    await house.ask("first")
    before = house.told()

    await _vote(house)
    await _record_calls(house)
    await house.ask("second")
    assert house.told() == before
    assert "Reproduce a bug" in before

    await house.cli("lessons", "add", "Run the tests after every change.")
    await house.ask("third")
    assert "Run the tests after every change." in house.told()


async def _vote(house: House) -> None:
    """Let 200 people vote on the run that was told the lesson, every other one 👎."""
    ids = SystemIds()

    def vote(tx: Tx) -> None:
        run = tx.runs.newest()
        assert run is not None and run.state is RunState.DONE
        for number in range(VOTES):
            kind = Vote.NEGATIVE if number % 2 else Vote.POSITIVE
            cast = feedback.vote(tx, ids, Ballot(run.id, f"u{number}", kind, Source.CLI), run.started, 1e6)
            if cast.analysis is not None:
                feedback.just_note(tx, cast.feedback.id, f"u{number}", run.started)

    async with open_store(house.home / "store.db") as store:
        await store.write(vote)


async def _record_calls(house: House) -> None:
    """Import 10,000 calls of other sessions, a third of them failing alike."""
    file = house.folder / "events.jsonl"
    with file.open("w") as out:
        for number in range(CALLS):
            event = {
                "ts": 1_790_000_000 + number,
                "session": f"s{number // 50}",
                "run": f"r{number // 25}",
                "turn": number % 25,
                "project": str(house.project),
                "agent": "pi",
                "tool": "bash",
                "is_error": number % 3 == 0,
                "exit_code": 1 if number % 3 == 0 else 0,
                "cmd": "npm test",
                "snippet": 'npm error Missing script: "test"' if number % 3 == 0 else "ok",
            }
            out.write(json.dumps(event) + "\n")
    code, _, err = await house.cli("traces", "import", str(file), "--format", "events")
    assert (code, err) == (0, "")
