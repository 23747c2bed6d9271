"""Builds a message of our own from plain and marked pieces; entities only, never markup in text."""

from dataclasses import replace
from typing import Self

from bot.entities import Entity, clean_text, count_units
from bot.outbox import Keyboard, Message

MAX_UNITS = 4096
_ELLIPSIS = "…"


class Draft:
    """A message under construction. Whatever would not fit is cut with an ellipsis, at a character."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._units = 0
        self._entities: list[Entity] = []

    def plain(self, text: str) -> Self:
        """Add text as it is."""
        self._add(text)
        return self

    def bold(self, text: str) -> Self:
        """Add a heading or a name."""
        return self._marked("bold", text)

    def italic(self, text: str) -> Self:
        """Add a remark."""
        return self._marked("italic", text)

    def code(self, text: str) -> Self:
        """Add something to be read letter by letter."""
        return self._marked("code", text)

    def pre(self, text: str) -> Self:
        """Add a block of such text."""
        return self._marked("pre", text)

    def quote(self, text: str) -> Self:
        """Add somebody's words."""
        return self._marked("blockquote", text)

    def line(self, text: str = "") -> Self:
        """Begin a new line, unless nothing stands before it, and add text."""
        return self.plain("\n" + text if self._units else text)

    def join(self, other: "Draft") -> Self:
        """Add another draft below."""
        start = self._units
        added = self._add("".join(other._parts))
        for entity in other._entities:
            if (fitting := _clipped(entity, added)) is not None:
                self._entities.append(replace(fitting, offset=start + fitting.offset))
        return self

    def message(self, keyboard: Keyboard = ()) -> Message:
        """Give what was built; trailing white space goes, as Telegram would take it away."""
        text = "".join(self._parts)
        end = count_units(text.rstrip())
        fitting = (_clipped(entity, end) for entity in self._entities)
        return Message(text.rstrip(), tuple(entity for entity in fitting if entity), keyboard)

    def _add(self, text: str) -> int:
        """Add text as far as it fits; give its length in UTF-16 units."""
        text = clean_text(text)
        room = MAX_UNITS - self._units
        if count_units(text) > room:
            text = clip(text, room)
        self._parts.append(text)
        added = count_units(text)
        self._units += added
        return added

    def _marked(self, kind: str, text: str) -> Self:
        start, stripped = self._units, text.strip()
        if not stripped:
            return self.plain(text)
        added = self._add(stripped)
        if added:
            self._entities.append(Entity(kind, start, added))
        return self


def clip(text: str, units: int) -> str:
    """Cut a text to so many UTF-16 units, the last of them an ellipsis."""
    if count_units(text) <= units:
        return text
    if units <= 0:
        return ""
    kept = text.encode("utf-16-le", "replace")[: 2 * (units - 1)].decode("utf-16-le", "ignore")
    return kept + _ELLIPSIS


def _clipped(entity: Entity, end: int) -> Entity | None:
    length = min(entity.length, end - entity.offset)
    if length <= 0:
        return None
    return Entity(entity.type, entity.offset, length, entity.url, entity.language)
