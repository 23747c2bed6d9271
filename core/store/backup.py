"""Backups that were checked, and what happens to a damaged store (reliability.md 2, D8, D9).

A copy of the file alone loses what is still in the -wal: copies are made by SQLite. The copy would hide
damage (it builds its indexes anew), so the original is checked first. A checksum beside each copy sees a
flipped byte.
"""

import hashlib
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from core.errors import Refused, StoreCorrupt, StoreError
from core.store.schema import MAIN, migrations, require_content

KEPT_DAYS = 7
_NAME = re.compile(r"store-\d{8}\.db")
_ASIDE = re.compile(r"\.before-\d+\.db$|\.(?:damaged|replaced)-\d+")
_BESIDE = ("-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Recovery:
    """What became of a damaged store: where it lies now, and the backup that took its place."""

    aside: Path
    backup: Path


def check(path: Path, *, is_quick: bool = False) -> None:
    """Look through a whole database file of ours. Raises StoreCorrupt, StoreError (busy, unreadable)."""
    kind = "quick_check" if is_quick else "integrity_check"
    try:
        require_content(path)
        with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as connection:
            is_ours = connection.execute("PRAGMA application_id").fetchone()[0] == MAIN.application_id
            found = connection.execute(f"PRAGMA {kind}(1)").fetchone()[0] if is_ours else "not ours"
    except sqlite3.OperationalError as error:
        raise StoreError("store.failed", reason=str(error)) from error
    except (sqlite3.DatabaseError, OSError) as error:
        raise StoreCorrupt("store.corrupt", path=path) from error
    if found != "ok":
        raise StoreCorrupt("store.corrupt", path=path)


def back_up(store: Path, target: Path) -> Path:
    """Write a verified copy of a store that may be in use. Raises StoreCorrupt, StoreError, OSError."""
    check(store)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        with closing(sqlite3.connect(store, timeout=10, isolation_level=None)) as connection:
            connection.execute("VACUUM INTO ?", (str(draft),))
        draft.chmod(0o600)
        check(draft)
        _sync(draft)
        _checksum_file(target).write_text(_checksum(draft) + "\n", encoding="ascii")
        draft.replace(target)
        _sync(target.parent)
    except sqlite3.Error as error:
        raise StoreError("store.failed", reason=str(error)) from error
    finally:
        draft.unlink(missing_ok=True)
    return target


def verify(backup: Path) -> None:
    """Make sure that a backup can take the place of a store. Raises StoreCorrupt, StoreError."""
    noted = _checksum_file(backup)
    if noted.exists() and noted.read_text(encoding="ascii", errors="replace").strip() != _checksum(backup):
        raise StoreCorrupt("store.corrupt", path=backup)
    check(backup)
    with closing(sqlite3.connect(backup)) as connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] > len(migrations()):
            raise Refused("backup.newer", path=backup)


def daily(store: Path, folder: Path, now: float) -> Path | None:
    """Make today's backup where there is none yet, keep the newest seven; give the new one.

    The check that comes first looks through the whole store. Raises StoreCorrupt, StoreError, OSError.
    """
    today = folder / f"store-{datetime.fromtimestamp(now, UTC):%Y%m%d}.db"
    made = None if today.exists() else back_up(store, today)
    for old in sorted(each for each in _kept(folder))[:-KEPT_DAYS]:
        _remove(old)
    return made


def restore(backup: Path, store: Path) -> Path | None:
    """Put a backup in the place of the store, which is kept beside; give where. Hold the store's lock.

    Raises StoreCorrupt (the backup), Refused (newer, or another process has the store open), OSError.
    """
    verify(backup)
    if not store.exists():
        _put(backup, store)
        return None
    _require_unused(store)
    aside = _keep(store, "replaced")
    _put(backup, store)
    return aside


def recover(store: Path, folder: Path) -> Recovery | None:
    """Set a damaged store aside and put the newest verified backup in its place; None where there is none.

    Hold the store's lock. The store's name is never free in between: nobody starts with an empty one.
    """
    for backup in (
        *sorted(_kept(folder), reverse=True),
        *sorted(store.parent.glob("store.before-*.db"), reverse=True),
    ):
        with suppress(StoreError, Refused, OSError):
            verify(backup)
            aside = _keep(store, "damaged")
            _put(backup, store)
            return Recovery(aside, backup)
    return None


def forget(store: Path, folder: Path) -> int:
    """Remove every copy we know of (a purge: what was erased is in them); give how many."""
    beside = [
        each
        for each in store.parent.glob("store.*")
        if re.search(r"\.before-|\.(damaged|replaced)-", each.name)
    ]
    known = [*_kept(folder), *beside]
    for each in known:
        _remove(each)
    return len(known)


def _kept(folder: Path) -> Iterator[Path]:
    return (each for each in folder.glob("store-*.db") if _NAME.fullmatch(each.name))


def _remove(copy: Path) -> None:
    for each in (copy, _checksum_file(copy)):
        each.unlink(missing_ok=True)


def _checksum_file(copy: Path) -> Path:
    return copy.with_name(copy.name + ".sha256")


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _require_unused(store: Path) -> None:
    """Refuse to pull a store from under a process; it leaves the whole of it in one file."""
    try:
        with closing(sqlite3.connect(store, timeout=2, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE").fetchall()
    except sqlite3.OperationalError as error:
        raise Refused("backup.in_use", path=store) from error
    except sqlite3.DatabaseError:
        return  # damaged: what it was is kept as it is


def _keep(store: Path, why: str) -> Path:
    """Keep the store under another name, with its -wal and -shm; its own name stays until it is replaced."""
    number = 1
    while (aside := store.with_name(f"{store.name}.{why}-{number}")).exists():
        number += 1
    for suffix in _BESIDE:
        part = store.with_name(store.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    os.link(store, aside)
    return aside


def _put(backup: Path, store: Path) -> None:
    draft = store.with_name(store.name + ".restored")
    draft.unlink(missing_ok=True)
    shutil.copyfile(backup, draft)
    draft.chmod(0o600)
    _sync(draft)
    draft.replace(store)
    _sync(store.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
