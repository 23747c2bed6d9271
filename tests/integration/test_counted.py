"""What was counted once is known for ever, however the store keeps it (learning.md 5.3)."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.store import traces as tables
from core.store.traces import open_traces


async def test_calls_counted_lately_move_among_all_others_and_stay_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is new once, before and after it was put in its place."""
    monkeypatch.setattr(tables, "LATELY_ROWS", 10)
    batches = [[7, 3, 9], [*range(100, 108)], [3, 105, 200], [*range(50, 70)], [55, 9, 201]]
    path = tmp_path / "traces.db"

    async with open_traces(path) as store:
        fresh = [await store.write(lambda tx, each=each: tx.traces.claim(each)) for each in batches]  # type: ignore[misc]

    assert fresh == [{3, 7, 9}, {*range(100, 108)}, {200}, {*range(50, 70)}, {201}]
    with closing(sqlite3.connect(path)) as connection:
        kept = {name: _count(connection, name) for name in ("counted", "counted_lately")}
    assert kept == {"counted": 32, "counted_lately": 1}


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


async def test_a_store_of_before_goes_on_knowing_what_it_counted(tmp_path: Path) -> None:
    """Made by an older version, it has all in one table."""
    path = tmp_path / "traces.db"
    async with open_traces(path) as store:
        await store.write(lambda tx: tx.traces.claim([1]))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "INSERT INTO counted SELECT * FROM counted_lately;"
            "DROP TABLE counted_lately; PRAGMA user_version = 1;"
        )

    async with open_traces(path) as store:
        assert await store.write(lambda tx: tx.traces.claim([1, 2])) == {2}
