"""Find where a text may be cut without tearing what a person sees as one character.

A small rule instead of a Unicode table: it never cuts where UAX 29 forbids it for emoji, flags, combining
marks, Hangul and Indic conjuncts, and may refuse a few cuts that UAX 29 would allow.
"""

from __future__ import annotations

import unicodedata

_ZWJ = "\u200d"
_EXTENDING = frozenset("\u200c\u200d\u0e33\u0eb3\uff9e\uff9f")
_PREPENDED = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
_MARKS = frozenset({"Mn", "Mc", "Me"})
_VIRAMA_CLASS = 9


def is_boundary(text: str, position: int, low: int = 0) -> bool:
    """Say whether a text may be cut before the character at this position; `low` is a cut already made."""
    if position <= low or position >= len(text):
        return True
    before, after = text[position - 1], text[position]
    if before < "\u0300" and after < "\u0300":
        return not (before == "\r" and after == "\n")
    return not (
        _is_extending(after)
        or before == _ZWJ
        or before in _PREPENDED
        or _is_conjunct(text, position)
        or _is_hangul_joined(before, after)
        or _is_inside_flag(text, position, low)
    )


def find_boundary(text: str, low: int, high: int) -> int:
    """Give the last boundary in (low, high], or high if a single grapheme fills all of it."""
    position = high
    while position > low and not is_boundary(text, position, low):
        position -= 1
    return position if position > low else high


def _is_extending(character: str) -> bool:
    return (
        character in _EXTENDING
        or unicodedata.category(character) in _MARKS
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _is_conjunct(text: str, position: int) -> bool:
    virama = position - 1
    while virama > 0 and text[virama] in "\u200c\u200d":
        virama -= 1
    return (
        unicodedata.combining(text[virama]) == _VIRAMA_CLASS and unicodedata.category(text[position]) == "Lo"
    )


def _is_hangul_joined(before: str, after: str) -> bool:
    first, second = _hangul_kind(before), _hangul_kind(after)
    return (first, second) in {
        ("L", "L"), ("L", "V"), ("L", "LV"), ("L", "LVT"),
        ("V", "V"), ("V", "T"), ("LV", "V"), ("LV", "T"), ("T", "T"), ("LVT", "T"),
    }  # fmt: skip


def _hangul_kind(character: str) -> str:
    if "\uac00" <= character <= "\ud7a3":
        return "LV" if (ord(character) - 0xAC00) % 28 == 0 else "LVT"
    if "\u1100" <= character <= "\u115f" or "\ua960" <= character <= "\ua97c":
        return "L"
    if "\u1160" <= character <= "\u11a7" or "\ud7b0" <= character <= "\ud7c6":
        return "V"
    return "T" if "\u11a8" <= character <= "\u11ff" or "\ud7cb" <= character <= "\ud7fb" else ""


def _is_inside_flag(text: str, position: int, low: int) -> bool:
    if not (_is_regional(text[position]) and _is_regional(text[position - 1])):
        return False
    first = position
    while first > low and _is_regional(text[first - 1]):
        first -= 1
    return (position - first) % 2 == 1


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
