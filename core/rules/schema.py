"""What each field of the exchange files may hold (learning.md 1, 2, 9)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from core.model.feedback import Source, Vote
from core.model.ids import number_of
from core.model.lesson import MAX_RULE_CHARS, Domain

MAX_NUMBER: Final = 9_999_999  # of a lesson's id
MAX_COUNT: Final = 1_000_000_000
MAX_SOURCES: Final = 10_000
MAX_TEXT_CHARS: Final = 10_000
MAX_COMMENT_CHARS: Final = 1_000_000  # votes at the command line may be long
_MAX_NAME_CHARS: Final = 200
_MAX_PATH_CHARS: Final = 4_096
_LESSON_ID: Final = re.compile(r"l-(?:\d{3}|[1-9]\d{3,6})", re.ASCII)
_NAME: Final = re.compile(r"[\w.:@+-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Field:
    """How a value is read, and what it must be in words; `read` raises ValueError or TypeError."""

    read: Callable[[object], object]
    wanted: str


def _text(most: int, *, least: int = 0) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not isinstance(value, str) or not least <= len(value) <= most:
            raise ValueError
        value.encode()  # half a character cannot be stored
        return value

    return read


def _optional(read: Callable[[object], str]) -> Callable[[object], str | None]:
    return lambda value: None if value is None else read(value)


def _lesson_id(value: object) -> str:
    text = _text(_MAX_NAME_CHARS)(value)
    if not _LESSON_ID.fullmatch(text) or number_of(text) == 0:
        raise ValueError
    return text


def _name(value: object) -> str:
    text = _text(_MAX_NAME_CHARS)(value)
    if not _NAME.fullmatch(text):
        raise ValueError
    return text


def _names(value: object) -> list[str]:
    if not isinstance(value, list) or len(value) > MAX_SOURCES:
        raise ValueError
    names = [_name(each) for each in value]
    if len(set(names)) < len(names):
        raise ValueError
    return names


def _time(value: object) -> str:
    text = _text(40)(value)
    datetime.fromisoformat(text)
    return text


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
        raise ValueError
    return value


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError
    return value


def _one_of(kind: type[StrEnum], *but: StrEnum) -> Field:
    def read(value: object) -> StrEnum:
        if not isinstance(value, str) or kind(value) in but:
            raise ValueError
        return kind(value)

    return Field(read, " | ".join(each.value for each in kind if each not in but))


_TIME: Final = Field(_time, "ISO 8601")
_COUNT: Final = Field(_count, f"0 … {MAX_COUNT}")

HEAD: Final = {
    "project": Field(_text(_MAX_PATH_CHARS, least=1), '"global" | domain | path'),
    "updated": _TIME,
    "lessons": Field(_list, "[ … ]"),
}
LESSON: Final = {
    "id": Field(_lesson_id, "l-001"),
    "created": _TIME,
    "domain": _one_of(Domain),
    "rule": Field(_text(MAX_RULE_CHARS, least=1), f"1 … {MAX_RULE_CHARS} chars"),
    "rationale": Field(_text(MAX_TEXT_CHARS), f"≤ {MAX_TEXT_CHARS} chars"),
    "source_feedback": Field(_names, '["id", …]'),
    "positive_examples": _COUNT,
    "violations": _COUNT,
    "active": Field(_switch, "true | false"),
}
FEEDBACK: Final = {
    "id": Field(_name, "id"),
    "timestamp": _TIME,
    "type": _one_of(Vote, Vote.WITHDRAWN),
    "source": _one_of(Source),
    "session": Field(_optional(_name), "id | null"),
    "project": Field(_optional(_text(_MAX_PATH_CHARS, least=1)), "path | null"),
    "domain": _one_of(Domain),
    "context": Field(_text(_MAX_NAME_CHARS), f"≤ {_MAX_NAME_CHARS} chars"),
    "user_comment": Field(_text(MAX_COMMENT_CHARS), f"≤ {MAX_COMMENT_CHARS} chars"),
}
