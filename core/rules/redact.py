"""Mask secrets, before disk, log, model or chat (reliability.md S6, S7).

The patterns are data (`secret_patterns.json`), shared with Pi's extension. Time is linear: every
pattern is RE2's, and the repeats that could be tried from each match again are bounded.
"""

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol, TypeAlias
from urllib.parse import quote, quote_plus

from core.rules import terminal

MASK: Final = "[masked]"
SNIPPET_CHARS: Final = 300
_WINDOW_CHARS: Final = 1024  # learning.md 5: what is masked before the cut, at either end
_MIN_OWN_CHARS: Final = 6  # shorter values of our own would blank ordinary words
_PASSES: Final = 6
_MAX_ENCODED_CHARS: Final = 4096
_NAME_BYTES: Final = 40
_WORD_BYTES: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_MASK_BYTES: Final = MASK.encode()

Span: TypeAlias = tuple[int, int]

# What splits a token for the eye of a pattern but not for who copies it.
_SPLITTER: Final = re.compile(
    rb"\x1b\[[0-?]*+[ -/]*+[@-~]|\x1b\][^\x07\x1b\n]*+(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*+\x1b\\"
    rb"|\x1b[ -/]++[0-~]|\x1b[0-Z\\-~]|[\x00-\x08\x0e-\x1f\x7f]|\\\r?\n[ \t]*+"
    rb"|\xc2[\x80-\x9f\xad]|\xcd\x8f|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf"
    rb"|\xef\xb8[\x80-\x8f]|\xf3\xa0[\x80-\x87][\x80-\xbf]"
)
_ENCODED: Final = re.compile(rb"[A-Za-z0-9+/_-]{24,}+={0,2}")
# Hints for the two above, in the one pass that finds the rules' hints too.
_SPLITTER_HINT: Final = rb"[\x00-\x08\x0e-\x1f\x7f-\x9f]|\\\r?\n|\xc2\xad|\xcd\x8f|\xef\xbb\xbf"
_ENCODED_HINT: Final = rb"[A-Za-z0-9+/_-]{24}"
_TOKEN_END: Final = re.compile(r"[^\s\"'`<>]+\Z")
_TOKEN_START: Final = re.compile(r"\A[^\s\"'`<>]+")


class _Match(Protocol):
    def span(self, group: int = 0) -> Span: ...


class _Pattern(Protocol):
    groups: int

    def search(self, text: bytes) -> _Match | None: ...
    def finditer(self, text: bytes) -> Iterator[_Match]: ...


class _Set(Protocol):
    def Match(self, text: bytes) -> list[int] | None: ...  # noqa: N802 - google-re2's own name


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
class _Table:
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
def _table() -> _Table:
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
    hints = re2.Set.SearchSet(options)
    rules = []
    for entry in data["rules"]:
        flags = entry.get("flags", "")
        hints.Add(_flagged(entry["hint"], flags))
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
    hints.Add(_SPLITTER_HINT)
    hints.Add(_ENCODED_HINT)
    hints.Compile()
    tokens = tuple(rule for rule, entry in zip(rules, data["rules"], strict=True) if entry.get("token"))
    return _Table(hints, tuple(rules), tokens)


def _grouped(pattern: str, flags: str) -> str:
    return f"(?{flags}:{pattern})"


def _name(text: bytes, start: int, end: int) -> bytes:
    """Return what stands before a value in its match, from the beginning of the word it starts in."""
    before = text[max(0, start - _NAME_BYTES) : start]
    return before[len(before.rstrip(_WORD_BYTES)) :] + text[start:end]


def _flagged(pattern: str, flags: str) -> bytes:
    return (f"(?{flags})" if flags else "").encode() + pattern.encode("latin-1")


def _entropy(value: bytes) -> float:
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


class Redactor:
    """Mask what looks like a secret, and the given values in any of their forms."""

    __slots__ = ("_own",)

    def __init__(self, own_secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in own_secrets for form in _forms(secret)}
        self._own = tuple(sorted(forms, key=lambda form: (-len(form), form)))

    def redact(self, text: str) -> str:
        """Return the text with each secret replaced by `MASK`; the very same text where there is none."""
        raw = text.encode("utf-8", "surrogatepass")
        for _ in range(_PASSES):  # a mask may bring a name and a value together: until nothing is found
            spans = self._spans(raw)
            if not spans:
                break
            raw = _replaced(raw, spans)
            text = raw.decode("utf-8", "surrogatepass")
        return text

    def own_only(self, text: str) -> str:
        """Mask our own secrets alone, as in an agent's answer, which is the person's to read (S6)."""
        raw = text.encode("utf-8", "surrogatepass")
        spans = _merged(self._own_spans(raw))
        return _replaced(raw, spans).decode("utf-8", "surrogatepass") if spans else text

    def snippet(self, text: str, limit: int = SNIPPET_CHARS) -> str:
        """Return head and tail in at most `limit` characters, masked before the cut."""
        if len(text) <= 2 * _WINDOW_CHARS:
            return _cut(terminal.strip(self.redact(text)), limit)
        # A token that the window cuts in two would not be known by its half: its half goes.
        head = _TOKEN_END.sub("", text[:_WINDOW_CHARS]) or text[: limit // 2]
        tail = _TOKEN_START.sub("", text[-_WINDOW_CHARS:])
        return _cut(terminal.strip(self.redact(head + "\n…\n" + tail)), limit)

    def _spans(self, raw: bytes) -> list[Span]:
        found, is_split = _table().spans(raw)
        if is_split and _SPLITTER.search(raw):
            whole, starts = _joined(raw)
            inside = [*_table().spans(whole)[0], *self._own_spans(whole)]
            found += [(starts[start], starts[end - 1] + 1) for start, end in inside]
        found += self._own_spans(raw)
        return [span for span in _merged(found) if raw[slice(*span)] != _MASK_BYTES]

    def _own_spans(self, raw: bytes) -> list[Span]:
        spans = []
        for form in self._own:
            at = raw.find(form)
            while at >= 0:
                spans.append((at, at + len(form)))
                at = raw.find(form, at + len(form))
        return spans


def redact(text: str, own_secrets: Iterable[str] = ()) -> str:
    """Return the text with its secrets, and the given ones, replaced by `MASK`."""
    return Redactor(own_secrets).redact(text)


def snippet(text: str, limit: int = SNIPPET_CHARS, own_secrets: Iterable[str] = ()) -> str:
    """Return head and tail in at most `limit` characters, masked before the cut (learning.md 5)."""
    return Redactor(own_secrets).snippet(text, limit)


def _forms(secret: str) -> Iterator[bytes]:
    """Yield a value as itself, in base64 at each alignment, and as URLs and JSON write it."""
    if len(secret) < _MIN_OWN_CHARS or secret in MASK:
        return
    raw = secret.encode("utf-8", "surrogatepass")
    yield raw
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + raw)
        # First and last characters hold bits of the neighbours too.
        core = coded[(0, 2, 3)[shift] : len(coded) - (0, 3, 2)[(shift + len(raw)) % 3]]
        if len(core) >= _MIN_OWN_CHARS:
            yield core
            yield core.translate(bytes.maketrans(b"+/", b"-_"))
    for coded_text in (quote(raw, safe=""), quote_plus(raw), json.dumps(secret)[1:-1]):
        yield coded_text.encode()
        yield re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), coded_text).encode()
    _, _, after = secret.partition(":")
    if len(after) > 20:  # of a bot token the half after the colon is the secret
        yield from _forms(after)


def _encoded_spans(raw: bytes) -> list[Span]:
    """Return the base64 and hexadecimal runs in which a token hides."""
    return [match.span() for match in _ENCODED.finditer(raw) if _hides_token(match[0])]


def _hides_token(run: bytes, depth: int = 2) -> bool:
    for plain in _decoded(run[:_MAX_ENCODED_CHARS]):
        if any(next(rule.spans(plain), None) for rule in _table().tokens):
            return True
        inner = _ENCODED.search(plain) if depth > 1 else None
        if inner and _hides_token(inner[0], depth - 1):
            return True
    return False


def _decoded(run: bytes) -> Iterator[bytes]:
    digits = run.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
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


def _joined(raw: bytes) -> tuple[bytes, list[int]]:
    """Return the text without what splits tokens, and where each of its bytes stood."""
    starts: list[int] = []
    at = 0
    for match in _SPLITTER.finditer(raw):
        starts.extend(range(at, match.start()))
        at = match.end()
    starts.extend(range(at, len(raw)))
    return _SPLITTER.sub(b"", raw), starts


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _replaced(raw: bytes, spans: list[Span]) -> bytes:
    pieces, at = [], 0
    for start, end in spans:
        pieces += [raw[at:start], _MASK_BYTES]
        at = end
    return b"".join([*pieces, raw[at:]])


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = (limit - 1) // 2
    return text[:head] + "…" + text[len(text) - (limit - 1 - head) :]
