"""What people decided about patterns, in SQL (see `core.tables.RulingTable`)."""

import sqlite3

from core.model.ruling import Ruling
from core.store.rows import Rows, run, scalar

_KEY = "project, tool, verb, error_class"


class SqlRulings:
    """Decisions about patterns, one a pattern."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rulings = Rows(connection, "ruling", Ruling)

    def get(self, project: str, tool: str, verb: str, error_class: str) -> Ruling | None:
        return self._rulings.one("ruling_get", project=project, tool=tool, verb=verb, error_class=error_class)

    def put(self, ruling: Ruling) -> None:
        self._rulings.put(ruling, key=_KEY)

    def drop(self, ruling: Ruling) -> None:
        key = {name: getattr(ruling, name) for name in _KEY.split(", ")}
        run(self._connection, "ruling_drop", **key)

    def of(self, project: str | None = None) -> list[Ruling]:
        return self._rulings.many("ruling_of", project=project)

    def next_decision(self) -> int:
        return int(scalar(self._connection, "next_in_sequence", name="decision"))
