"""Read fields of foreign records: whatever is missing or of another kind is none."""

from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from core.services.importing.lines import Record
from core.settings import project_of

MOST = 2**62  # what SQLite can hold, and more than anything counts to
_MILLISECONDS = 1e11  # seconds would be the year 5138


def text(record: Record, name: str, *others: str) -> str | None:
    """Give the first of those fields that is a text with something in it."""
    value = record.get(name)
    if value and isinstance(value, str):
        return value
    return text(record, *others) if others else None


def flag(record: Record, *names: str) -> bool | None:
    """Give the first of those fields that says yes or no."""
    for name in names:
        value = record.get(name)
        if isinstance(value, bool):
            return value
    return None


def number(record: Record, *names: str) -> int | None:
    """Give the first of those fields that is a whole number SQLite can hold."""
    for name in names:
        value = record.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < MOST:
            return value
    return None


def time(record: Record, *names: str) -> float | None:
    """Give the first of those fields that is a time (ISO, s or ms), in seconds since the epoch."""
    for name in names:
        value = record.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e14:
            return value / 1000 if value > _MILLISECONDS else float(value)
        if isinstance(value, str):
            try:
                when = datetime.fromisoformat(value)
                return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
            except (ValueError, OverflowError):
                continue
    return None


def content(value: object) -> str:
    """Give the text of a message's content: a text, or a list of parts."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    parts = [part.get("text") for part in value if isinstance(part, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


@lru_cache(maxsize=1024)
def project(folder: str) -> str:
    """Give the project of a folder, which may be of another machine."""
    try:
        return project_of(Path(folder))
    except (OSError, ValueError, RuntimeError):
        return folder
