"""Say what Telegram calls an entity, and count text as Telegram counts it."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_BREAK = re.compile("\r\n?|[\u0085\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
# Letters and symbols by category, yet drawn as nothing.
_BLANK_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufffc")
_BLANK_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Mn", "Me"})


@dataclass(frozen=True, slots=True)
class Entity:
    """Mark a stretch of a message; offset and length are UTF-16 code units."""

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None

    def as_dict(self) -> dict[str, str | int]:
        """Give the fields the Bot API wants, without the empty ones."""
        fields: dict[str, str | int | None] = {
            "type": self.type,
            "offset": self.offset,
            "length": self.length,
            "url": self.url,
            "language": self.language,
        }
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Span:
    """Mark a stretch of a text; start and end are positions in a Python string."""

    type: str
    start: int
    end: int
    url: str | None = None
    language: str | None = None


def order_spans(spans: Iterable[Span]) -> list[Span]:
    """Sort spans so that each one stands before those inside it, a quote before the block it is made of."""
    return sorted(spans, key=lambda span: (span.start, -span.end, not span.type.endswith("blockquote")))


class UnitIndex:
    """Turn positions in a Python string into UTF-16 offsets and back."""

    def __init__(self, text: str) -> None:
        self._astral = [match.start() for match in _ASTRAL.finditer(text)]
        self._astral_units = [position + rank for rank, position in enumerate(self._astral)]

    def offset(self, position: int) -> int:
        """Give the UTF-16 offset at which the character at this position begins."""
        return position + bisect_left(self._astral, position)

    def position(self, offset: int) -> int:
        """Give the last position whose UTF-16 offset is not above this one."""
        rank = bisect_left(self._astral_units, offset)
        if rank and offset == self._astral_units[rank - 1] + 1:
            return self._astral[rank - 1]  # in the middle of a surrogate pair
        return offset - rank


def count_units(text: str) -> int:
    """Count UTF-16 code units, Telegram's measure of a text."""
    return len(text) + len(_ASTRAL.findall(text))


def clean_text(text: str) -> str:
    """Make a text that can be sent: no lone surrogates, no control characters, one kind of line break.

    What cannot be sent becomes U+FFFD, so that a person sees that something was there.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = _LINE_BREAK.sub("\n", text)
    return _CONTROL.sub("\ufffd", text.replace("\v", " ").replace("\f", " "))


def is_visible(text: str) -> bool:
    """Say whether a person sees anything of this text."""
    return any(_is_drawn(character) for character in text)


def _is_drawn(character: str) -> bool:
    return character not in _BLANK_FILLERS and unicodedata.category(character) not in _BLANK_CATEGORIES
