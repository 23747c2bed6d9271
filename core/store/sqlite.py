"""The store of what people do and decide: its tables in SQL, in one file (reliability.md 2)."""

import json
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from core.errors import StoreCorrupt
from core.model.run import Activity
from core.store import backup
from core.store.agents import SqlAgents
from core.store.backup import Recovery
from core.store.database import Database, open_database
from core.store.lessons import SqlLessons
from core.store.mail import SqlButtons, SqlInbox, SqlOutbox
from core.store.rulings import SqlRulings
from core.store.schema import MAIN, Schema, prepare
from core.store.tables import SqlFeedback, SqlProposals, SqlRuns, SqlSettings
from core.tables import Tx

BACKUPS = "backups"
RECOVERED = "recovered"  # the setting that tells the owner of a damaged store


class SqlTx:
    """The tables of one connection, inside whatever transaction it is in."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.feedback = SqlFeedback(connection)
        self.lessons = SqlLessons(connection)
        self.proposals = SqlProposals(connection)
        self.runs = SqlRuns(connection)
        self.settings = SqlSettings(connection)
        self.rulings = SqlRulings(connection)
        self.agents = SqlAgents(connection)
        self.inbox = SqlInbox(connection)
        self.outbox = SqlOutbox(connection)
        self.buttons = SqlButtons(connection)


def _tables(connection: sqlite3.Connection) -> Tx:
    return SqlTx(connection)


@dataclass(slots=True)
class _Readiness:
    """Makes the file ready; a damaged one is set aside for the newest backup that is whole (D8)."""

    folder: Path
    is_checked: bool
    recovery: Recovery | None = None

    def __call__(self, path: Path, schema: Schema) -> None:
        try:
            prepare(path, schema)
            if self.is_checked:
                backup.check(path, is_quick=True)
        except StoreCorrupt:
            self.recovery = backup.recover(path, self.folder)
            if self.recovery is None:  # left as it is: better no start than an empty one
                raise
            prepare(path, schema)

    def tell(self, tx: Tx) -> None:
        """Leave word for the owner."""
        if self.recovery is not None:
            told = {"aside": str(self.recovery.aside), "backup": str(self.recovery.backup)}
            tx.settings.put(RECOVERED, json.dumps(told))
            tx.runs.log(Activity(time.time(), "store", "store", "recover", self.recovery.backup.name))


@asynccontextmanager
async def open_store(path: Path, *, is_checked: bool = False) -> AsyncIterator[Database[Tx]]:
    """Open the store at that path, making or migrating it first; `is_checked` looks through all of it.

    A damaged one is set aside and the newest verified backup restored, if there is one: the setting
    `RECOVERED` says so until the owner was told. Raises StoreCorrupt, StoreNewer, StoreReadOnly, StoreFull,
    StoreUnsuitable.
    """
    ready = _Readiness(path.parent / BACKUPS, is_checked)
    async with open_database(path, MAIN, _tables, ready) as store:
        if ready.recovery is not None:
            store.recovered_from = ready.recovery.backup
            await store.write(ready.tell)
        yield store
