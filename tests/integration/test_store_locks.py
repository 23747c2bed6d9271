"""A store that is looked at stays whole: nothing of ours drops the locks SQLite holds in this process."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import StoreCorrupt
from core.store import backup, health
from core.store.schema import prepare
from core.store.sqlite import open_store

VISIT = """
import asyncio, sys
from pathlib import Path
from core.store.sqlite import open_store
async def visit():
    async with open_store(Path(sys.argv[1])) as store:
        print(await store.read(lambda tx: tx.settings.get("later")))
asyncio.run(visit())
"""


def visit(path: Path) -> str:
    """Open and close the store in another process; give what it sees."""
    return subprocess.run(
        [sys.executable, "-c", VISIT, str(path)], capture_output=True, text=True, check=True
    ).stdout.strip()


def copy(path: Path) -> None:
    """Make today's backup."""
    backup.daily(path, path.parent / "backups", 1_900_000_000.0)


def examine(path: Path) -> None:
    """Look at it as `doctor` does."""
    health.examine(path, 0.0)


@pytest.mark.parametrize("look", [prepare, backup.check, copy, examine, health.is_current])
async def test_what_is_written_after_a_look_is_there_for_others(
    tmp_path: Path, look: Callable[[Path], object]
) -> None:
    """The next process to leave does not take the -wal away from under us."""
    path = tmp_path / "store.db"
    async with open_store(path) as store:
        look(path)
        visit(path)
        await store.write(lambda tx: tx.settings.put("later", "kept"))

        seen = visit(path)

    assert seen == "kept"


@pytest.mark.parametrize("content", [b"", b"short", b"garbage" * 1000, b"\0" * 8192])
def test_what_is_no_database_is_refused_unopened(tmp_path: Path, content: bytes) -> None:
    """A length of zero would open as an empty store."""
    path = tmp_path / "store.db"
    path.write_bytes(content)

    for look in (prepare, backup.check):
        with pytest.raises(StoreCorrupt):
            look(path)
