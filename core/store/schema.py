"""Open the file: is it ours, whole, and of this version (reliability.md 2, D7, D8, D13)."""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from core.errors import StoreCorrupt, StoreNewer, StoreReadOnly, StoreUnsuitable
from core.rules.approval import folded
from core.rules.consolidation import terms

APPLICATION_ID = 0x41496D70  # "AImp"
SMALLEST_BYTES = 512
_NETWORK_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph"})


@dataclass(frozen=True, slots=True)
class Schema:
    """What tells the two files apart: the folder of their migrations, their mark, and how durable they are.

    `FULL`: what people did and what is owed. `NORMAL`: traces; the last moments may go with the power
    (reliability.md 2), and ranges are written at once, so the cache is larger.
    """

    folder: str
    application_id: int
    synchronous: Literal["FULL", "NORMAL"]
    cache_kib: int = 2_000


MAIN = Schema("migrations", APPLICATION_ID, "FULL")
TRACES = Schema("trace_migrations", 0x41497472, "NORMAL", 32_000)  # "AItr"


@cache
def migrations(schema: Schema = MAIN) -> tuple[str, ...]:
    """Read the numbered migrations in order; the store's version is how many there are."""
    folder = Path(__file__).with_name(schema.folder)
    return tuple(path.read_text(encoding="utf-8") for path in sorted(folder.glob("[0-9]*.sql")))


def connect(
    path: Path, *, is_writer: bool, is_checkpointer: bool = False, schema: Schema = MAIN
) -> sqlite3.Connection:
    """Connect with every setting the store relies on. Runs in the connection's own thread."""
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    for pragma in (
        "journal_mode=WAL",
        f"synchronous={schema.synchronous}",
        f"cache_size=-{schema.cache_kib}",
        "busy_timeout=10000",
        "foreign_keys=ON",
        "trusted_schema=OFF",
        "cell_size_check=ON",
        "mmap_size=0",
        "secure_delete=ON",
        f"wal_autocheckpoint={1000 if is_checkpointer else 0}",
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    if not is_writer:
        connection.execute("PRAGMA query_only=ON")
    return connection


def prepare(path: Path, schema: Schema = MAIN) -> None:
    """Create, check or migrate the file so that it can be used.

    Called with the store's lock held. Raises StoreCorrupt, StoreNewer, StoreReadOnly, StoreUnsuitable.
    """
    _refuse_network(path)
    if not path.exists():
        _create(path, schema)
        return
    require_content(path)
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        raise StoreReadOnly("store.read_only", path=path)
    _check(path, schema)


def require_content(path: Path) -> None:
    """Raise StoreCorrupt for a file too short to be a database: it would open as an empty one.

    The file is not opened here: closing it would drop every lock that SQLite has on it in this process, and
    the next process to leave would then remove the -wal under us (sqlite.org, "How to corrupt", 2.2).
    """
    if path.stat().st_size < SMALLEST_BYTES:
        raise StoreCorrupt("store.corrupt", path=path)


def _create(path: Path, schema: Schema) -> None:
    """Build the file aside and move it into place: a half-made store never has the store's name."""
    aside = path.with_name(path.name + ".new")
    for leftover in (aside, aside.with_name(aside.name + "-wal"), aside.with_name(aside.name + "-shm")):
        leftover.unlink(missing_ok=True)
    with closing(sqlite3.connect(aside, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id={schema.application_id}")
        _migrate(connection, schema, 0)
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
    aside.chmod(0o600)
    aside.rename(path)


def _check(path: Path, schema: Schema) -> None:
    try:
        with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as connection:
            owner = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if owner != schema.application_id:
                raise StoreUnsuitable("store.not_ours", path=path)
            if version > len(migrations(schema)):
                raise StoreNewer("store.newer", path=path, found=version, known=len(migrations(schema)))
            if version < len(migrations(schema)):
                _back_up(
                    connection, path.with_name(f"{path.stem}.before-{len(migrations(schema))}{path.suffix}")
                )
                _migrate(connection, schema, version)
    except sqlite3.OperationalError:  # busy, full, not to be opened: no damage, `open_database` says which
        raise
    except sqlite3.DatabaseError as error:
        raise StoreCorrupt("store.corrupt", path=path) from error


def _back_up(connection: sqlite3.Connection, target: Path) -> None:
    target.unlink(missing_ok=True)
    connection.execute("VACUUM INTO ?", (str(target),))
    target.chmod(0o600)


def _migrate(connection: sqlite3.Connection, schema: Schema, version: int) -> None:
    """Apply what is missing, each step in one transaction with its record."""
    connection.create_function("folded", 1, folded, deterministic=True)
    connection.create_function("terms", 1, lambda rule: " ".join(terms(rule)), deterministic=True)
    for number, script in enumerate(migrations(schema)[version:], version + 1):
        connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version={number};\nCOMMIT;")


def _refuse_network(path: Path) -> None:
    """Refuse file systems on which flock lies."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return  # not Linux: nothing to read it from
    folder, best = path.parent.resolve(), ("", "")
    for line in mounts:
        _, point, kind, *_ = line.split(" ")
        if folder.is_relative_to(point) and len(point) >= len(best[0]):
            best = (point, kind)
    if best[1] in _NETWORK_FILE_SYSTEMS:
        raise StoreUnsuitable("store.network", path=path, kind=best[1])
