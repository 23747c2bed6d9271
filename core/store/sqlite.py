"""The store of what people do and decide: its tables in SQL, in one file (reliability.md 2)."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from core.store.agents import SqlAgents
from core.store.database import Database, open_database
from core.store.lessons import SqlLessons
from core.store.mail import SqlButtons, SqlInbox, SqlOutbox
from core.store.rulings import SqlRulings
from core.store.schema import MAIN
from core.store.tables import SqlFeedback, SqlProposals, SqlRuns, SqlSettings
from core.tables import Tx


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


@asynccontextmanager
async def open_store(path: Path) -> AsyncIterator[Database[Tx]]:
    """Open the store at that path, making or migrating it first.

    Raises StoreCorrupt, StoreNewer, StoreReadOnly, StoreFull, StoreUnsuitable.
    """
    async with open_database(path, MAIN, _tables) as store:
        yield store
