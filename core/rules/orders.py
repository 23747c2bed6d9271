"""Recognise text that orders an agent to harm, to hide, to leak, or to change its own rules (S3).

A flag for the person who decides, never a gate: no detector is enough. The patterns are data
(`order_patterns.json`), English and French, tried with RE2 on `characters.plain` text (S7).
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol

from core.rules import characters

_REVERSED_CHARS: Final = 24
_SENTENCE_CHARS: Final = 240  # how far before a danger its prohibition may stand
_TAGS: Final = 0xE0000  # tag characters are ASCII, moved up here
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}+={0,2}")
_SINGLE: Final = ("prohibited", "resumed", "condemned", "renamed", "packages", "reversed", "contrasted")
_NAME_CHARS_MIN: Final = 5  # npm and pnpm are two programs
_NAME_EDITS: Final = 2  # letters by which a look-alike package name differs


class _Match(Protocol):
    def start(self) -> int: ...
    def end(self) -> int: ...
    def group(self, number: int = 0) -> str: ...


class _Pattern(Protocol):
    def search(self, text: str) -> _Match | None: ...
    def finditer(self, text: str) -> Iterator[_Match]: ...


@dataclass(frozen=True, slots=True)
class _Patterns:
    takeovers: tuple[_Pattern, ...]
    dangers: tuple[_Pattern, ...]
    prohibited: _Pattern
    resumed: _Pattern
    condemned: _Pattern
    renamed: _Pattern
    packages: _Pattern
    reversed: _Pattern
    contrasted: _Pattern


@cache
def _patterns() -> _Patterns:
    from importlib import resources  # noqa: PLC0415 - both lazily: start-up time counts (architecture.md 2)

    import re2  # noqa: PLC0415

    data = json.loads(resources.files("core.rules").joinpath("order_patterns.json").read_text("utf-8"))
    return _Patterns(
        takeovers=tuple(re2.compile(pattern) for pattern in data["takeovers"]),
        dangers=tuple(re2.compile(pattern) for pattern in data["dangers"]),
        **{name: re2.compile(data[name]) for name in _SINGLE},
    )


def found(text: str) -> bool:
    """Tell whether the text gives an order that a person should look at twice."""
    return _orders(characters.plain(text)) or any(_orders(plain) for plain in _hidden(text))


def _orders(plain: str) -> bool:
    patterns = _patterns()
    if any(_is_meant(plain, match) for takeover in patterns.takeovers for match in takeover.finditer(plain)):
        return True
    if any(_is_told(plain, match) for danger in patterns.dangers for match in danger.finditer(plain)):
        return True
    return bool(patterns.packages.search(plain)) and _renames(plain)


def _is_meant(plain: str, match: _Match) -> bool:
    """Tell a takeover from "do not ignore the person's instructions"."""
    return not _patterns().reversed.search(plain[max(0, match.start() - _REVERSED_CHARS) : match.start()])


def _is_told(plain: str, match: _Match) -> bool:
    """Tell a danger that is asked for from one that the same sentence forbids."""
    patterns = _patterns()
    if patterns.contrasted.search(match.group()):
        return False
    before = plain[max(0, match.start() - _SENTENCE_CHARS) : match.start()]
    prohibitions = list(patterns.prohibited.finditer(before))
    if prohibitions and not patterns.resumed.search(before[prohibitions[-1].end() :]):
        return False
    return not patterns.condemned.search(plain[match.end() : match.end() + _SENTENCE_CHARS])


def _renames(plain: str) -> bool:
    """Tell whether a package is to be replaced by one whose name is almost its own."""
    for match in _patterns().renamed.finditer(plain):
        one, other = match.group(1).rstrip("."), match.group(2).rstrip(".")
        is_short = min(len(one), len(other)) < _NAME_CHARS_MIN
        if not is_short and not _is_affixed(one, other) and _distance(one, other) <= _NAME_EDITS:
            return True
    return False


def _is_affixed(one: str, other: str) -> bool:
    """Tell whether one name is the other with something before or after it, as in react and preact."""
    short, long = sorted((one, other), key=len)
    return long.startswith(short) or long.endswith(short)


def _distance(one: str, other: str) -> int:
    """Count edits between two names (optimal string alignment: a swap of neighbours is one)."""
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, against in enumerate(other, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def _hidden(text: str) -> Iterator[str]:
    """Yield what tag characters and base64 runs in the text say."""
    yield characters.plain(
        "".join(chr(ord(char) - _TAGS) for char in text if "\U000e0020" <= char <= "\U000e007e")
    )
    for match in _ENCODED.finditer(text):
        digits = match[0].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            decoded = base64.b64decode(digits + "=" * (-len(digits) % 4))
        except binascii.Error:
            continue
        if decoded.isascii() and len(decoded) >= 10:
            yield characters.plain(decoded.decode("ascii"))
