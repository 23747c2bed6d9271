"""Read the table of secret patterns, and say where in a text they match (reliability.md S6, S7).

The patterns are data (`secret_patterns.json`), shared with Pi's extension: a rule is tried only where
its hint was seen, and all hints are looked for in one pass. Time is linear: every pattern is RE2's.
"""

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol, TypeAlias

MASK: Final = "[masked]"
_MAX_ENCODED_CHARS: Final = 4096
_SETS: Final = 2
_NAME_BYTES: Final = 40
_WORD_BYTES: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_MASK_BYTES: Final = MASK.encode()

Span: TypeAlias = tuple[int, int]

_ENCODED: Final = re.compile(rb"[A-Za-z0-9+/_-]{24,}+={0,2}")
# Hints for runs that hide a token and for what splits one, in the pass that finds the rules' hints.
_SPLITTER_HINT: Final = rb"[\x00-\x08\x0e-\x1f\x7f-\x9f]|\\\r?\n|\xc2\xad|\xcd\x8f|\xef\xbb\xbf"
_ENCODED_HINT: Final = rb"[A-Za-z0-9+/_-]{24}"
# How base64 of ASCII begins: groups of which no byte has its highest bit. Paths, most runs, stop here.
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_ENCODES_ASCII: Final = re.compile(
    rb"(?:[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){4}"
)


class _Match(Protocol):
    def span(self, group: int = 0) -> Span: ...


class _Pattern(Protocol):
    groups: int

    def search(self, text: bytes) -> _Match | None: ...
    def finditer(self, text: bytes) -> Iterator[_Match]: ...


class _Set(Protocol):
    def Match(self, text: bytes) -> list[int] | None: ...  # noqa: N802 - google-re2's own name


@dataclass(frozen=True, slots=True)
class _Halves:
    """Hints dealt to several sets: small automata are built sooner than a large one, for the same search."""

    sets: tuple[_Set, ...]

    def Match(self, text: bytes) -> list[int]:  # noqa: N802 - as the sets themselves
        found: list[int] = []
        for place, one in enumerate(self.sets):
            if hits := one.Match(text):
                found += [index * len(self.sets) + place for index in hits]
        return found


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: _Pattern
    exceptions: _Pattern | None
    name_not: _Pattern | None
    value_must: _Pattern | None
    min_entropy: float

    def spans(self, text: bytes) -> Iterator[Span]:
        groups = range(1, self.pattern.groups + 1)
        for match in self.pattern.finditer(text):
            taken = (match.span(group) for group in groups)
            start, end = next((span for span in taken if span[0] >= 0), match.span())
            if self._accepts(_name(text, match.span()[0], start), text[start:end]):
                yield start, end

    def _accepts(self, name: bytes, value: bytes) -> bool:
        if value == _MASK_BYTES or not value:
            return False
        if self.value_must and not self.value_must.search(value):
            return False
        if self.min_entropy and _entropy(value) < self.min_entropy:
            return False
        if self.name_not and self.name_not.search(name):
            return False
        return not (self.exceptions and self.exceptions.search(value))


@dataclass(frozen=True, slots=True)
class Table:
    hints: _Set
    rules: tuple[_Rule, ...]
    tokens: tuple[_Rule, ...]  # those that need no name beside them: looked for in decoded text too

    def spans(self, text: bytes) -> tuple[list[Span], bool]:
        """Return what the rules find, and whether something may split a token."""
        found: list[Span] = []
        is_split = False
        for index in self.hints.Match(text) or ():
            if index < len(self.rules):
                found.extend(self.rules[index].spans(text))
            elif index == len(self.rules):
                is_split = True
            else:
                found.extend(_encoded_spans(text))
        return found, is_split


@cache
def table() -> Table:
    """Compile the table once, at first use: `run` does not pay for it at start."""
    from importlib import resources  # noqa: PLC0415 - both lazily: start-up time counts (architecture.md 2)

    import re2  # noqa: PLC0415

    data = json.loads(resources.files("core.rules").joinpath("secret_patterns.json").read_text("utf-8"))
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes in, byte offsets out, any byte allowed
    options.max_mem = 32 << 20

    def compiled(pattern: str, flags: str = "") -> _Pattern:
        built: _Pattern = re2.compile(_flagged(pattern, flags), options)
        return built

    exceptions = {name: _grouped(**value) for name, value in data["exceptions"].items()}
    hints = tuple(re2.Set.SearchSet(options) for _ in range(_SETS))
    asked = [_flagged(entry["hint"], entry.get("flags", "")) for entry in data["rules"]]
    for place, hint in enumerate([*asked, _SPLITTER_HINT, _ENCODED_HINT]):
        hints[place % _SETS].Add(hint)
    for each in hints:
        each.Compile()
    rules = []
    for entry in data["rules"]:
        flags = entry.get("flags", "")
        rules.append(
            _Rule(
                pattern=compiled(entry["pattern"], flags),
                exceptions=compiled("|".join(exceptions[name] for name in entry["except"]))
                if entry.get("except")
                else None,
                name_not=compiled(entry["name_not"], "i") if "name_not" in entry else None,
                value_must=compiled(entry["value_must"]) if "value_must" in entry else None,
                min_entropy=entry.get("min_entropy", 0.0),
            )
        )
    tokens = tuple(rule for rule, entry in zip(rules, data["rules"], strict=True) if entry.get("token"))
    return Table(_Halves(hints), tuple(rules), tokens)


def _grouped(pattern: str, flags: str) -> str:
    return f"(?{flags}:{pattern})"


def _name(text: bytes, start: int, end: int) -> bytes:
    """Return what stands before a value in its match, from the beginning of the word it starts in."""
    before = text[max(0, start - _NAME_BYTES) : start]
    return before[len(before.rstrip(_WORD_BYTES)) :] + text[start:end]


def _flagged(pattern: str, flags: str) -> bytes:
    return (f"(?{flags})" if flags else "").encode() + pattern.encode()


def _entropy(value: bytes) -> float:
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


def _encoded_spans(raw: bytes) -> list[Span]:
    """Return the base64 and hexadecimal runs in which a token hides."""
    return [match.span() for match in _ENCODED.finditer(raw) if _hides_token(match[0])]


def _hides_token(run: bytes, depth: int = 2) -> bool:
    for plain in _decoded(run[:_MAX_ENCODED_CHARS]):
        if any(next(rule.spans(plain), None) for rule in table().tokens):
            return True
        inner = _ENCODED.search(plain) if depth > 1 else None
        if inner and _hides_token(inner[0], depth - 1):
            return True
    return False


def _decoded(run: bytes) -> Iterator[bytes]:
    if _ENCODES_ASCII.match(run):
        digits = run.rstrip(b"=").translate(_STANDARD)
        try:
            plain = base64.b64decode(digits[: len(digits) // 4 * 4] + _rest(digits))
        except binascii.Error:
            plain = b""
        if plain.isascii() and len(plain) >= 16:
            yield plain
    if len(run) >= 32 and len(run) % 2 == 0 and run.isalnum():
        try:
            yield bytes.fromhex(run.decode())
        except ValueError:
            return


def _rest(digits: bytes) -> bytes:
    rest = digits[len(digits) // 4 * 4 :]
    return rest + b"=" * (4 - len(rest)) if len(rest) > 1 else b""
