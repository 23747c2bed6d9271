"""A file of SQLite: one writer, one function a transaction, commits shared by all who wait.

Several processes may use one file. Each takes `flock` on a side file around its transactions (BEGIN IMMEDIATE
alone starves, reliability.md 2); since checkpoints happen inside commits, they are serialised by it too.
"""

import asyncio
import errno
import fcntl
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar, cast

import aiosqlite

from core.errors import StoreCorrupt, StoreError, StoreFull, StoreReadOnly
from core.store.schema import Schema, connect, prepare

T = TypeVar("T")
X = TypeVar("X")
"""What a transaction of that file offers."""

Result = tuple[object, BaseException | None]

MAX_GROUP = 64  # transactions that share one commit


class _Connection(aiosqlite.Connection):
    """An aiosqlite connection that can run a whole function in its thread: one hop a transaction."""

    async def run(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        result: T = await self._execute(fn, self._conn)  # type: ignore[no-untyped-call]  # aiosqlite's own
        return result


class Database(Generic[X]):
    """See `core.ports.Store` and `core.ports.TraceStore`; `tables` makes a transaction of a connection."""

    def __init__(
        self,
        writer: _Connection,
        reader: _Connection,
        lock_fd: int,
        tables: Callable[[sqlite3.Connection], X],
    ) -> None:
        self._writer, self._reader, self._lock_fd, self._tables = writer, reader, lock_fd, tables
        self.recovered_from: Path | None = None  # the backup that took a damaged file's place at this opening
        self._waiting: list[tuple[Callable[[X], object], asyncio.Future[object]]] = []
        self._drainer: asyncio.Task[None] | None = None

    async def write(self, fn: Callable[[X], T]) -> T:
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_retrieve)
        self._waiting.append((fn, future))
        if self._drainer is None or self._drainer.done():
            self._drainer = asyncio.create_task(self._drain(), name="store writer")
        return cast(T, await asyncio.shield(future))

    async def read(self, fn: Callable[[X], T]) -> T:
        return await self._reader.run(partial(_look, self._tables, fn))

    async def _drain(self) -> None:
        while self._waiting:
            jobs, self._waiting = self._waiting[:MAX_GROUP], self._waiting[MAX_GROUP:]
            results = await self._writer.run(
                partial(_commit, self._lock_fd, self._tables, [fn for fn, _ in jobs])
            )
            for (_, future), (value, error) in zip(jobs, results, strict=True):
                if error is not None:
                    future.set_exception(error)
                else:
                    future.set_result(value)

    async def scrub(self) -> bool:
        """Write the file anew, so that nothing erased is left in it; say whether the -wal is empty too."""
        return await self._writer.run(partial(_scrub, self._lock_fd))

    async def settle(self) -> None:
        """Wait until everything handed in is written."""
        while self._drainer is not None and not self._drainer.done():
            await asyncio.shield(self._drainer)


def _scrub(fd: int, connection: sqlite3.Connection) -> bool:
    with locked(fd):
        found = connection.execute("SELECT name FROM sqlite_schema WHERE sql LIKE '%USING fts5(%'").fetchall()
        for (name,) in found:  # deleted terms stay in the index until it is built anew
            connection.execute(f"INSERT INTO {name} ({name}) VALUES ('rebuild')")  # noqa: S608 -- our own schema
        connection.execute("VACUUM")
        return bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)


def _retrieve(future: asyncio.Future[object]) -> None:
    """Look at the outcome even if who asked for it is gone, so that asyncio does not complain."""
    if not future.cancelled():
        future.exception()


@contextmanager
def locked(fd: int) -> Iterator[None]:
    """Hold the lock of a store against all other processes."""
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)


def _look(
    tables: Callable[[sqlite3.Connection], X], fn: Callable[[X], T], connection: sqlite3.Connection
) -> T:
    try:
        connection.execute("BEGIN")
        try:
            return fn(tables(connection))
        finally:
            connection.execute("ROLLBACK")
    except sqlite3.DatabaseError as error:
        raise _told(error) from error


def _commit(
    fd: int,
    tables: Callable[[sqlite3.Connection], X],
    fns: list[Callable[[X], object]],
    connection: sqlite3.Connection,
) -> list[Result]:
    """Run each function in its own savepoint and commit once; a failed commit fails all of them."""
    try:
        with locked(fd):
            connection.execute("BEGIN IMMEDIATE")
            try:
                tx = tables(connection)
                results = [_attempt(fn, tx, connection) for fn in fns]
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
    except (sqlite3.Error, OSError) as error:
        return [(None, _told(error))] * len(fns)
    return results


def _attempt(fn: Callable[[X], object], tx: X, connection: sqlite3.Connection) -> Result:
    connection.execute("SAVEPOINT one")
    try:
        value = fn(tx)
    except Exception as error:  # a border: whatever the use case raises goes back to who handed it in
        if not connection.in_transaction:  # SQLite gave up the whole transaction: a full disk does that
            raise
        connection.execute("ROLLBACK TO one")
        connection.execute("RELEASE one")
        return None, _told(error) if isinstance(error, sqlite3.OperationalError) else error
    connection.execute("RELEASE one")
    return value, None


def _told(error: Exception, path: Path | str = "") -> StoreError:
    """Say in our own terms what SQLite or the system refused."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_FULL") or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull("store.full")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StoreReadOnly("store.read_only", path=path)
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StoreCorrupt("store.corrupt", path=path)
    return StoreError("store.failed", reason=str(error))


def open_lock(path: Path) -> int:
    """Open the side file that is locked. Raises StoreFull, StoreReadOnly."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise (StoreFull("store.full") if full else StoreReadOnly("store.read_only", path=path)) from error


@asynccontextmanager
async def open_database(
    path: Path,
    schema: Schema,
    tables: Callable[[sqlite3.Connection], X],
    ready: Callable[[Path, Schema], None] = prepare,
) -> AsyncIterator[Database[X]]:
    """Open the file at that path, making or migrating it first: `ready` does, with the lock held.

    Raises StoreCorrupt, StoreNewer, StoreReadOnly, StoreFull, StoreUnsuitable.
    """
    fd = open_lock(path)
    try:
        try:
            with locked(fd):
                ready(path, schema)
        except (sqlite3.OperationalError, OSError) as error:
            raise _told(error, path) from error
        writer = _Connection(partial(connect, path, is_writer=True, is_checkpointer=True, schema=schema), 64)
        reader = _Connection(partial(connect, path, is_writer=False, schema=schema), 64)
        async with writer, reader:
            store = Database(writer, reader, fd, tables)
            try:
                yield store
            finally:
                await store.settle()
    finally:
        os.close(fd)
