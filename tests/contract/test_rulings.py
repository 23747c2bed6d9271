"""What every store keeps of decisions about patterns (see `core.tables.RulingTable`)."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.model.ids import RunId
from core.model.ruling import Decision, Ruling
from core.model.run import Run, RunState
from core.ports import Store
from core.store.memory import MemoryStore
from core.store.sqlite import open_store
from tests.factories import NOW, OTHER_PROJECT, PROJECT


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store of each kind."""
    if request.param == "memory":
        yield MemoryStore()
        return
    async with open_store(tmp_path / "store.db") as opened:
        yield opened


def a_ruling(verb: str = "npm:test", project: str = PROJECT, decided: int = 1) -> Ruling:
    """Build an accepted pattern, every field set."""
    return Ruling(
        project, "bash", verb, "usage", Decision.ACCEPTED, decided, NOW, "ann", "Use é", "npm test",
        "missing", "npm run x", is_global=False, failures=3, calls=5, skill="npm-test-usage",
    )  # fmt: skip


async def test_a_ruling_is_kept_as_it_is(store: Store) -> None:
    """Every field, both ways."""
    ruling = a_ruling()
    await store.write(lambda tx: tx.rulings.put(ruling))

    assert await store.read(lambda tx: tx.rulings.get(PROJECT, "bash", "npm:test", "usage")) == ruling
    assert await store.read(lambda tx: tx.rulings.get(PROJECT, "bash", "npm:test", "")) is None


async def test_a_later_ruling_takes_the_place_of_the_earlier(store: Store) -> None:
    """One decision a pattern."""
    await store.write(lambda tx: tx.rulings.put(a_ruling()))
    rejected = replace(a_ruling(), decision=Decision.REJECTED, decided=2)
    await store.write(lambda tx: tx.rulings.put(rejected))

    assert await store.read(lambda tx: tx.rulings.of(PROJECT)) == [rejected]


async def test_a_project_has_its_own_rulings_and_the_global_ones_in_order(store: Store) -> None:
    """Others' are never given."""
    mine, theirs = a_ruling("a", decided=3), a_ruling("b", OTHER_PROJECT, decided=2)
    everywhere = replace(a_ruling("c", OTHER_PROJECT, decided=1), is_global=True)
    for each in (mine, theirs, everywhere):
        await store.write(lambda tx, each=each: tx.rulings.put(each))  # type: ignore[misc]

    assert await store.read(lambda tx: tx.rulings.of(PROJECT)) == [everywhere, mine]
    assert await store.read(lambda tx: tx.rulings.of()) == [everywhere, theirs, mine]


async def test_a_dropped_ruling_is_gone(store: Store) -> None:
    """The pattern is open again."""
    await store.write(lambda tx: tx.rulings.put(a_ruling()))
    await store.write(lambda tx: tx.rulings.drop(a_ruling()))

    assert await store.read(lambda tx: tx.rulings.of()) == []


async def test_decisions_about_patterns_and_lessons_share_one_order(store: Store) -> None:
    """The block takes the newest decision first, whatever it was about."""
    numbers = [
        await store.write(lambda tx: tx.lessons.next_decision()),
        await store.write(lambda tx: tx.rulings.next_decision()),
        await store.write(lambda tx: tx.lessons.next_decision()),
    ]

    assert numbers == sorted(set(numbers))


async def test_a_refused_transaction_leaves_no_ruling(store: Store) -> None:
    """All of it happens, or none."""

    def fail(tx: object) -> None:
        tx.rulings.put(a_ruling())  # type: ignore[attr-defined]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await store.write(fail)

    assert await store.read(lambda tx: tx.rulings.of()) == []


async def test_texts_of_runs_that_ended_long_ago_are_blanked(store: Store) -> None:
    """Those that go on, and newer ones, keep theirs."""
    old = Run(RunId("old"), None, "pi", PROJECT, "words", RunState.DONE, NOW, answer="a", ended=NOW)
    runs = [old, replace(old, id=RunId("new"), ended=NOW + 9), replace(old, id=RunId("on"), ended=None)]
    for each in runs:
        await store.write(lambda tx, each=each: tx.runs.put(each))  # type: ignore[misc]

    assert await store.write(lambda tx: tx.runs.blank(NOW + 5)) == 1
    kept = [await store.read(lambda tx, each=each: tx.runs.get(each.id)) for each in runs]  # type: ignore[misc]
    assert [each.prompt for each in kept if each is not None] == ["", "words", "words"]
