"""Records as rows and back: a record's fields are its table's columns."""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

R = TypeVar("R")

Value = str | int | float | None


@cache
def queries() -> dict[str, str]:
    """Read the named queries of every file: a line `-- name: x` opens each."""
    files = sorted(Path(__file__).parent.glob("*.sql"))
    text = "".join(path.read_text(encoding="utf-8") + "\n" for path in files)
    parts = text.split("-- name: ")[1:]
    return {part.split("\n", 1)[0].strip(): part.split("\n", 1)[1].strip().rstrip(";") for part in parts}


def _encode_value(value: object) -> Value:
    if isinstance(value, tuple):
        return json.dumps([_jsonable(item) for item in value], ensure_ascii=False)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, StrEnum):
        return value.value
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise TypeError(f"no column holds a {type(value).__name__}")


def _jsonable(item: object) -> object:
    if isinstance(item, str):
        return item
    return {field.name: getattr(item, field.name) for field in fields(item)}  # type: ignore[arg-type]


def encode(record: object) -> dict[str, Value]:
    """Give the columns of a record: tuples as JSON, booleans as 0 and 1."""
    return {f.name: _encode_value(getattr(record, f.name)) for f in fields(record)}  # type: ignore[arg-type]


def _decoder_of(hint: Any) -> Callable[[Any], Any] | None:
    """Give what turns a column into a field of that type, None where nothing has to be done."""
    if get_origin(hint) is tuple:
        item = get_args(hint)[0]
        if item is str:
            return lambda text: tuple(json.loads(text))
        return lambda text: tuple(item(**parts) for parts in json.loads(text))
    if hint is bool:
        return bool
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint
    return None


@cache
def _decoders(record: type) -> tuple[tuple[str, Callable[[Any], Any] | None], ...]:
    hints = get_type_hints(record)
    return tuple((field.name, _decoder_of(hints[field.name])) for field in fields(record))


def decode(record: type[R], row: sqlite3.Row) -> R:
    """Build a record from a row that has its fields among its columns."""
    values = {}
    for name, turn in _decoders(record):  # type: ignore[arg-type]  # a class is hashable
        value = row[name]
        values[name] = turn(value) if turn is not None and value is not None else value
    return record(**values)


@cache
def _upsert(table: str, columns: tuple[str, ...], key: str) -> str:
    names, marks = ", ".join(columns), ", ".join(f":{name}" for name in columns)
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name != key)
    return f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT ({key}) DO UPDATE SET {changes}"  # noqa: S608 -- names come from our own dataclasses


@cache
def _insert(table: str, columns: tuple[str, ...]) -> str:
    names, marks = ", ".join(columns), ", ".join(f":{name}" for name in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 -- names come from our own dataclasses


class Rows(Generic[R]):
    """The rows of one table on one connection."""

    def __init__(self, connection: sqlite3.Connection, table: str, record: type[R]) -> None:
        self._connection, self._table, self._record = connection, table, record

    def one(self, query: str, **values: object) -> R | None:
        """Give the first record that a named query finds."""
        row = self._connection.execute(queries()[query], values).fetchone()
        return decode(self._record, row) if row is not None else None

    def many(self, query: str, **values: object) -> list[R]:
        """Give all records that a named query finds, in its order."""
        return [decode(self._record, row) for row in self._connection.execute(queries()[query], values)]

    def put(self, record: R, key: str = "id", **more: Value) -> None:
        """Insert the record, or replace the one with the same key. `more` are columns beside its fields."""
        columns = {**encode(record), **more}
        self._connection.execute(_upsert(self._table, tuple(columns), key), columns)

    def add(self, record: R, *, without: tuple[str, ...] = ()) -> int:
        """Insert a new record; give its row number. `without` are fields that the table numbers itself."""
        columns = {name: value for name, value in encode(record).items() if name not in without}
        return self._connection.execute(_insert(self._table, tuple(columns)), columns).lastrowid or 0


def run(connection: sqlite3.Connection, query: str, **values: object) -> int:
    """Run a named query that changes something; give how many rows it changed."""
    return connection.execute(queries()[query], values).rowcount


def scalar(connection: sqlite3.Connection, query: str, **values: object) -> Any:
    """Give the first column of the first row of a named query, None where there is none."""
    row = connection.execute(queries()[query], values).fetchone()
    return row[0] if row is not None else None
