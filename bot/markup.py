"""Take the hidden comments out of an answer and read their buttons (telegram.md 1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from bot.buttons import InvalidPayloadError, Row, parse_payload, parse_structure
from bot.entities import clean_text

_OPEN, _CLOSE = "<!--", "-->"
_MAX_PAYLOAD = (
    32_768  # characters read by grammar, so that a broken payload costs no second pass over the rest
)
_NAME = re.compile(r"\s*telegram_buttons?(?=[\s:]|-->|\Z)(:?)\s*")
_BLANKS = re.compile(r"[ \t]*")
_END = re.compile(r"\s*-->")
_CLOSE_OR_NEXT = re.compile(r"-->|\n<!--")
_QUOTED = re.compile(r"""\s*[A-Za-z_][\w-]*[ \t]*=[ \t]*(?:"[^"\n]*"|'[^'\n]*')(?=\s|-->)""")
# Strings hide what is in them; a quote that is not closed on its line is no string.
_STRING_OR_MARK = re.compile(r'"(?:[^"\\\n]|\\.)*"|-->|<!--|\n')
_REST_BEFORE_OPEN = re.compile(r"[^`\n<]*(?:<(?!!--)[^`\n<]*)*(?=<!--)")
_PARTIAL_OPEN = re.compile(r"[^`\n<]*(?:<(?!!?-?\Z)[^`\n<]*)*(<!?-?)\Z")
# A fence may be opened inside a list item or a quote; then it ends with them at the latest.
_CONTAINER = r"(?:[ ]{0,3}(?:[-*+]|\d{1,9}[.)])[ ]++|[ ]{0,3}>[ ]?+)*"
_FENCE = rf"(?P<container>{_CONTAINER})[ ]{{0,3}}(?P<fence>`{{3,}}(?=[^`\n]*$)|~{{3,}})"
_FENCE_OPEN = re.compile(f"^{_FENCE}", re.MULTILINE)
_EVENT = re.compile(f"^(?:<!--|<!?-?\\Z|{_FENCE})", re.MULTILINE)
_LINE = re.compile(r".*\n?")


@dataclass(frozen=True, slots=True)
class Markup:
    """Hold an answer without its hidden comments, and the rows of buttons they made, in order."""

    text: str
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class _Comment:
    start: int
    end: int
    rows: list[Row]
    is_open: bool = False  # it may still become a comment, or a longer one


def extract_buttons(answer: str) -> Markup:
    """Read the buttons of an answer and remove every column-0 comment from it."""
    text = clean_text(answer)
    comments = [comment for comment in _find_comments(text) if comment.end > comment.start]
    ends = [0, *(comment.end for comment in comments)]
    starts = [*(comment.start for comment in comments), len(text)]
    pieces = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    kept = _join_pieces(pieces) if comments else text
    return Markup(kept, [row for comment in comments for row in comment.rows])


def withhold_tail(text: str) -> str:
    """Hold back the end of a running text as long as it may still become a hidden comment."""
    text = clean_text(text)
    for comment in _find_comments(text):
        if comment.is_open and "\n" not in text[comment.end :]:
            return text[: comment.start]
        if comment.is_open and comment.end == comment.start:
            return text[: comment.start]
    return text


def _join_pieces(pieces: list[str]) -> str:
    """Put together what stood around the comments; no more than one blank line stays where one was."""
    kept: list[str] = []
    newlines = 2
    for piece in pieces:
        leading = len(piece) - len(piece.lstrip("\n"))
        part = piece[max(0, leading + newlines - 2) :] if leading else piece
        trailing = len(part) - len(part.rstrip("\n"))
        newlines = newlines + trailing if trailing == len(part) else trailing
        kept.append(part)
    return "".join(kept)


def _find_comments(text: str) -> Iterator[_Comment]:
    """Give the comments that count, and last an empty one where an unfinished one begins."""
    position = 0
    while event := _EVENT.search(text, position):
        if event["fence"]:
            position = _find_fence_end(text, event)
            continue
        start: int | None = event.start()
        position = event.end()
        while start is not None:
            comment = _read_comment(text, start)
            if comment is None:
                break
            yield comment
            position = max(position, comment.end)
            start = _find_next_on_line(text, comment.end) if comment.end > comment.start else None
        position = _skip_line(text, position)


def _find_next_on_line(text: str, position: int) -> int | None:
    """Find where another comment of the same line begins, or may begin; not behind code."""
    if match := _REST_BEFORE_OPEN.match(text, position):
        return match.end()
    partial = _PARTIAL_OPEN.match(text, position) if len(text) - position < len(_OPEN) * 2 else None
    return partial.start(1) if partial else None


def _skip_line(text: str, position: int) -> int:
    if text[position - 1 : position] == "\n":
        return position
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _read_comment(text: str, start: int) -> _Comment | None:
    """Read the comment that begins here; None if it is never closed, open if more text could close it."""
    if not text.startswith(_OPEN, start):
        return _Comment(start, start, [], is_open=True)
    for empty in ("<!-->", "<!--->"):
        if text.startswith(empty, start):
            return _finish(text, start, start + len(empty), [])
    name = _NAME.match(text, start + len(_OPEN))
    if name and (comment := _read_exactly(text, start, name)):
        return comment
    close = _find_close(text, start + len(_OPEN))
    if close is None:
        is_last = text.find("\n<!--", start) < 0
        return _Comment(start, start, [], is_open=True) if is_last else None
    if name is None:
        return _finish(text, start, close + len(_CLOSE), [])
    rows = _parse(text[name.end() : close], colon=bool(name[1]))
    end = close if rows else _find_unquoted_close(text, name.end(), close)
    return _finish(text, start, end + len(_CLOSE), rows, is_open=not rows)


def _finish(text: str, start: int, end: int, rows: list[Row], *, is_open: bool = False) -> _Comment:
    blanks = _BLANKS.match(text, end)
    return _Comment(start, blanks.end() if blanks else end, rows, is_open)


def _read_exactly(text: str, start: int, name: re.Match[str]) -> _Comment | None:
    """Read a payload that ends by its own grammar, so that `-->` inside a string does not end the comment."""
    position = name.end()
    if text[position : position + 1] in ("{", "["):
        try:
            rows, length = parse_structure(text[position : position + _MAX_PAYLOAD], 0)
        except InvalidPayloadError:
            return None
        end = _END.match(text, position + length)
        return _finish(text, start, end.end(), rows) if end else None
    while match := _QUOTED.match(text, position):
        position = match.end()
    end = _END.match(text, position) if position > name.end() else None
    return _finish(text, start, end.end(), _parse(text[name.end() : position])) if end else None


def _parse(payload: str, *, colon: bool = False) -> list[Row]:
    try:
        return parse_payload(payload, colon=colon)
    except InvalidPayloadError:
        return []


def _find_close(text: str, start: int) -> int | None:
    """Find the first `-->` before the next comment, outside fenced code that is itself closed before it."""
    position = start
    limit: int | None = None
    while (mark := _CLOSE_OR_NEXT.search(text, position)) and mark[0] == _CLOSE:
        fence = (
            _FENCE_OPEN.search(text, position, mark.start())
            if "\n" in text[position : mark.start()]
            else None
        )
        if fence is None:
            return mark.start()
        limit = _find_next_comment(text, mark.start()) if limit is None else limit
        closing = _fence_closing(fence["fence"]).search(text, fence.end(), limit)
        if closing is None:
            return mark.start()
        position = closing.end()
    return None


def _find_next_comment(text: str, position: int) -> int:
    start = text.find("\n<!--", position)
    return len(text) if start < 0 else start


def _find_unquoted_close(text: str, start: int, close: int) -> int:
    """Find the `-->` that ends an invalid payload: outside strings, on the line of the first one."""
    for mark in _STRING_OR_MARK.finditer(text, start):
        if mark[0] == _CLOSE:
            return mark.start()
        if mark[0] == _OPEN or (mark[0] == "\n" and mark.start() > close):
            break
    return close


@cache
def _fence_closing(fence: str) -> re.Pattern[str]:
    return re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE)


def _find_fence_end(text: str, opening: re.Match[str]) -> int:
    """Give where the line after a fenced block begins; an unclosed one runs to the end of the text."""
    closing = _fence_closing(opening["fence"])
    start = _skip_line(text, opening.end())
    if not opening["container"]:
        match = closing.search(text, start)
        return _skip_line(text, match.end()) if match else len(text)
    while start < len(text):
        line = _LINE.match(text, start)
        content = line[0] if line else ""
        if content.strip() and content[0] not in " \t>":
            return start
        start += len(content)
        if closing.match(content.lstrip(" >").rstrip("\n")):
            return start
    return len(text)
