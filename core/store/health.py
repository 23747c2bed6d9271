"""How a store is, looked at from outside: nothing is created, migrated or repaired."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from core.errors import StoreError
from core.store import backup
from core.store.schema import migrations

WAL_RESET_MENDED = (3, 51, 3)


@dataclass(frozen=True, slots=True)
class Health:
    """Schema versions, and what was given up since a time: updates that failed, calls that were refused."""

    version: int
    known: int
    size_bytes: int
    dead_updates: int
    dead_calls: int
    last_error: str


def examine(path: Path, since: float) -> Health:
    """Check the file quickly and count its dead letters. Raises StoreCorrupt, StoreError."""
    backup.check(path, is_quick=True)
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", timeout=10, uri=True)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            updates = _dead(connection, "inbox", "received", since)
            calls = _dead(connection, "outbox", "created", since)
    except sqlite3.Error as error:
        raise StoreError("store.failed", reason=str(error)) from error
    last_error = max(updates[1:], calls[1:])[1]
    return Health(version, len(migrations()), path.stat().st_size, updates[0], calls[0], last_error)


def is_current(path: Path) -> bool:
    """Say whether opening the store would neither make nor migrate it."""
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", timeout=10, uri=True)) as connection:
            return bool(connection.execute("PRAGMA user_version").fetchone()[0] == len(migrations()))
    except sqlite3.Error:
        return False


def sqlite_version() -> tuple[int, ...]:
    """Give the version of the SQLite we run on."""
    return sqlite3.sqlite_version_info


def _dead(connection: sqlite3.Connection, table: str, column: str, since: float) -> tuple[int, float, str]:
    """Count the dead letters of a table; give also the newest one's time and error."""
    where = f"FROM {table} WHERE state = 'dead' AND {column} >= ?"
    count = connection.execute(f"SELECT count(*) {where}", (since,)).fetchone()[0]
    newest = connection.execute(
        f"SELECT {column}, error {where} ORDER BY seq DESC LIMIT 1", (since,)
    ).fetchone()
    return (count, *(newest or (0.0, "")))
