"""Write text with marked stretches, line by line; know lists, quotes and indentation, but no Markdown."""

from __future__ import annotations

import re

from bot.entities import Span, order_spans

_BLOCKS = frozenset({"pre", "blockquote", "expandable_blockquote"})
_INK = re.compile(r"\S")


class Writer:
    """Collect text and spans; positions are those of the Python string written so far."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._parts: list[str] = []
        self._size = 0
        self._newlines = 0
        self._lead = ""
        self._is_fresh = False  # right behind the mark of an item or quote, where no break belongs
        self._prefixes: list[str] = []
        self._open: list[tuple[str, int | None]] = []

    def finish(self) -> tuple[str, list[Span]]:
        """Give the text and its spans, each one trimmed to what is visible of it."""
        text = "".join(self._parts).rstrip()
        spans = [trimmed for span in self.spans if (trimmed := trim_span(text, span))]
        return text, order_spans(spans)

    def write(self, text: str) -> None:
        """Write text; its lines get the indentation of the place."""
        if text:
            self.begin()
            self._put(text.replace("\n", "\n" + "".join(self._prefixes)))

    def write_block(self, text: str, span_type: str, language: str | None = None) -> None:
        """Write lines that keep their own indentation, marked as one stretch."""
        if self._lead:
            self.begin()
            self._newlines = 1
        self.begin(indent=False)
        start = self._size
        self._put(text)
        self.spans.append(Span(span_type, start, self._size, language=language))

    def write_code(self, text: str) -> None:
        """Write inline code: no other stretch may cover it."""
        self.begin()
        opened = self._open
        self._close_all()
        start = self._size
        self._put(text)
        self.spans.append(Span("code", start, self._size))
        self._open = [(name, None if begun is None else self._size) for name, begun in opened]

    def begin(self, *, indent: bool = True) -> int:
        """Write the line breaks, indentation and list mark that are due; give the position reached."""
        is_new_line = bool(self._newlines) or not self._size
        if self._newlines and self._size:
            self._put("\n" * self._newlines)
        self._newlines = 0
        if self._lead or (is_new_line and indent):
            self._put(self._lead or "".join(self._prefixes))
        self._lead = ""
        self._is_fresh = False
        return self._size

    def break_line(self, newlines: int) -> None:
        """Ask for line breaks before whatever comes next."""
        if not self._is_fresh:
            self._newlines = max(self._newlines, newlines)

    def open(self, span_type: str) -> None:
        """Begin a stretch; one inside another of its type adds nothing."""
        is_doubled = any(name == span_type for name, _ in self._open)
        self._open.append((span_type, None if is_doubled else self.begin()))

    def close(self) -> None:
        """End the stretch begun last."""
        name, start = self._open.pop()
        self.mark(name, start)

    def mark(self, span_type: str, start: int | None, url: str | None = None) -> None:
        """Mark everything since a position."""
        if start is not None and self._size > start:
            self.spans.append(Span(span_type, start, self._size, url))

    def enter_item(self, lead: str, prefix: str) -> None:
        """Begin a list item: `lead` stands before its first line, `prefix` before the others."""
        self._lead = (self._lead or "".join(self._prefixes)) + lead
        self._prefixes.append(prefix)
        self._is_fresh = True

    def tick_item(self, box: str, *, is_numbered: bool) -> bool:
        """Put a task's box behind the number or in place of the bullet; only right behind the mark."""
        if self._lead:
            self._lead = (self._lead if is_numbered else self._lead[:-2]) + box
            return True
        return False

    def leave_item(self) -> None:
        """End a list item; one without content keeps its mark."""
        if self._lead:
            self.begin()
        self._is_fresh = False
        self._prefixes.pop()

    def enter_quote(self) -> tuple[list[str], int]:
        """Begin an outer quote at the start of a line; give what leave_quote needs."""
        if self._lead:
            self.begin()
            self._newlines = 1
        prefixes, self._prefixes = self._prefixes, []
        start = self.begin(indent=False)
        self._is_fresh = True
        return prefixes, start

    def leave_quote(self, prefixes: list[str]) -> None:
        """Come back to the indentation around the quote."""
        self._is_fresh = False
        self._prefixes = prefixes

    def text_since(self, start: int) -> str:
        """Give what was written since a position."""
        taken: list[str] = []
        missing = self._size - start
        for part in reversed(self._parts):
            if missing <= 0:
                break
            taken.append(part[-missing:])
            missing -= len(part)
        return "".join(reversed(taken))

    def _close_all(self) -> None:
        for name, start in self._open:
            self.mark(name, start)

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._size += len(text)


def trim_span(text: str, span: Span) -> Span | None:
    """Leave out the white space at both ends, of blocks only at the end; None if nothing is left."""
    start, end = span.start, min(span.end, len(text))
    stretch = text[start:end]
    if not _INK.search(stretch):
        return None
    if span.type not in _BLOCKS:
        start += len(stretch) - len(stretch.lstrip())
    end -= len(stretch) - len(stretch.rstrip())
    return Span(span.type, start, end, span.url, span.language)
