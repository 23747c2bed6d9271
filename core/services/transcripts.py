"""Read what a person asked and what Pi answered in one run, out of Pi's session file (learning.md 5)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

_MAX_BYTES: Final = 256 * 1024**2
_MAX_LINE_BYTES: Final = 32 * 1024**2
_MAX_TEXT_CHARS: Final = 20_000
_MAX_STEPS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Exchange:
    """One run in words, unmasked; `stop` is the reason the last message ended, empty where none is known."""

    prompt: str = ""
    answer: str = ""
    stop: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    parent: str | None
    role: str = ""
    text: str = ""
    stop: str = ""


@dataclass(slots=True)
class Transcript:
    """One session file: a tree of entries. A file that is none, or of another session, is an empty one."""

    _entries: dict[str, _Entry] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, session: str) -> "Transcript":
        """Read the file of that session; whatever is wrong with it leaves entries out and raises nothing."""
        made = cls()
        try:
            if not path.is_file() or path.stat().st_size > _MAX_BYTES:
                return made
            with path.open("rb") as file:
                lines = _records(file)
                header = next(lines, {})
                if (header.get("type"), header.get("id")) == ("session", session):
                    made._take(lines)
        except OSError:
            return made
        return made

    def _take(self, lines: Iterator[dict[str, object]]) -> None:
        for record in lines:
            name, parent, message = record.get("id"), record.get("parentId"), record.get("message")
            if isinstance(name, str):
                self._entries[name] = _entry(parent if isinstance(parent, str) else None, message)

    def exchange(self, before: str | None, last: str | None) -> Exchange:
        """Give the words between two entries, on the branch that leads to the last."""
        prompt = answer = stop = ""
        for entry in self._branch(before, last):
            if entry.role == "user" and entry.text:
                prompt = entry.text  # the walk goes back in time: the first one is met last
            elif entry.role == "assistant":
                answer, stop = answer or entry.text, stop or entry.stop
        return Exchange(prompt, answer, stop)

    def _branch(self, before: str | None, last: str | None) -> Iterator[_Entry]:
        at = last
        for _ in range(_MAX_STEPS):
            if at is None or at == before or (found := self._entries.get(at)) is None:
                return
            yield found
            at = found.parent


def _records(file: IO[bytes]) -> Iterator[dict[str, object]]:
    while raw := file.readline(_MAX_LINE_BYTES):
        try:
            value = json.loads(raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _entry(parent: str | None, message: object) -> _Entry:
    if not isinstance(message, dict):
        return _Entry(parent)
    role, stop = message.get("role"), message.get("stopReason")
    return _Entry(
        parent,
        role if isinstance(role, str) else "",
        _text(message.get("content")),
        stop if isinstance(stop, str) else "",
    )


def _text(content: object) -> str:
    if isinstance(content, str):
        return content[:_MAX_TEXT_CHARS]
    blocks = content if isinstance(content, list) else []
    texts = [each.get("text") for each in blocks if isinstance(each, dict) and each.get("type") == "text"]
    return "".join(each for each in texts if isinstance(each, str))[:_MAX_TEXT_CHARS]
