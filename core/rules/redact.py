"""Mask secrets, before disk, log, model or chat (reliability.md S6, S7).

What the table of patterns finds, and the given values of our own in any form, become `MASK`; a text
without secrets is returned as it is, and masking twice is masking once.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

from core.rules import secret_table, terminal
from core.rules.secret_table import Span

MASK: Final = secret_table.MASK
SNIPPET_CHARS: Final = 300
_WINDOW_CHARS: Final = 1024  # learning.md 5: what is masked before the cut, at either end
_MIN_OWN_CHARS: Final = 6  # shorter values of our own would blank ordinary words
_PASSES: Final = 6
_MASK_BYTES: Final = MASK.encode()
_CONTINUES: Final = 0xC0  # the bits that tell a later byte of a UTF-8 character

# What splits a token for the eye of a pattern but not for who copies it.
_SPLITTER: Final = re.compile(
    rb"\x1b\[[0-?]*+[ -/]*+[@-~]|\x1b\][^\x07\x1b\n]*+(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*+\x1b\\"
    rb"|\x1b[ -/]++[0-~]|\x1b[0-Z\\-~]|[\x00-\x08\x0e-\x1f\x7f]|\\\r?\n[ \t]*+"
    rb"|\xc2[\x80-\x9f\xad]|\xcd\x8f|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf"
    rb"|\xef\xb8[\x80-\x8f]|\xf3\xa0[\x80-\x87][\x80-\xbf]"
)
_TOKEN_END: Final = re.compile(r"[^\s\"'`<>]+\Z")
_TOKEN_START: Final = re.compile(r"\A[^\s\"'`<>]+")


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
        found, is_split = secret_table.table().spans(raw)
        if is_split and _SPLITTER.search(raw):
            whole, starts = _joined(raw)
            inside = [*secret_table.table().spans(whole)[0], *self._own_spans(whole)]
            found += [(starts[start], starts[end - 1] + 1) for start, end in inside]
        if self._own:
            found += self._own_spans(raw)
        if not found:
            return found
        whole_characters = [_widened(raw, span) for span in found]
        return [span for span in _merged(whole_characters) if raw[slice(*span)] != _MASK_BYTES]

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


def _joined(raw: bytes) -> tuple[bytes, list[int]]:
    """Return the text without what splits tokens, and where each of its bytes stood."""
    starts: list[int] = []
    at = 0
    for match in _SPLITTER.finditer(raw):
        starts.extend(range(at, match.start()))
        at = match.end()
    starts.extend(range(at, len(raw)))
    return _SPLITTER.sub(b"", raw), starts


def _widened(raw: bytes, span: Span) -> Span:
    """Return a span that cuts no character: a bounded repeat may end inside one."""
    start, end = span
    while start and raw[start] & _CONTINUES == 0x80:
        start -= 1
    while end < len(raw) and raw[end] & _CONTINUES == 0x80:
        end += 1
    return start, end


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
