"""Split a rendered text into messages Telegram takes whole (telegram.md 2)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.entities import Entity, Span, UnitIndex, order_spans
from bot.graphemes import find_boundary
from bot.writing import trim_span

MESSAGE_UNITS = 4096
MAX_ENTITIES = 100

Message = tuple[str, tuple[Entity, ...]]

_URL = re.compile(r"(?:https?|tg|mailto):\S+", re.IGNORECASE)
_SPACES = " \t\n"
_TRIMMED = re.compile(r"[ \t\n]*")


def split_message(
    text: str, spans: Sequence[Span], *, units: int = MESSAGE_UNITS, entities: int = MAX_ENTITIES
) -> list[Message]:
    """Cut a text at paragraphs, lines or words, in that order, into messages of at most so many units.

    A block cut in two is closed and opened again; white space at a cut outside code is left out.
    """
    splitter = _Splitter(text, spans, units, entities)
    return [message for start, end in splitter.cuts() if (message := splitter.take(start, end))]


class _Splitter:
    def __init__(self, text: str, spans: Sequence[Span], units: int, entities: int) -> None:
        self.text = text
        self.spans = order_spans(replace(span, end=min(span.end, len(text))) for span in spans)
        self.units = units
        self.entities = entities
        self.index = UnitIndex(text)
        self.blocks = _Stretches([(span.start, span.end) for span in self.spans if span.type == "pre"])
        self.whole = _Stretches(_find_whole(text, self.spans))
        self._next = 0
        self._active: list[Span] = []

    def cuts(self) -> Iterator[tuple[int, int]]:
        """Give where each message starts and ends; each is taken before the next one is asked for."""
        start = self._skip_space(0)
        while start < len(self.text):
            end = self._find_end(start)
            yield start, end
            start = self._skip_space(end)

    def take(self, start: int, end: int) -> Message | None:
        """Make the message of a piece, its entities clipped to it; None if only white space is there."""
        piece = self.text[start:end].rstrip()
        if not piece:
            return None
        index = UnitIndex(piece)
        return piece, tuple(
            _make_entity(span, index)
            for span in self._clip(piece, start, start + len(piece))[: self.entities]
        )

    def _clip(self, piece: str, start: int, end: int) -> list[Span]:
        clipped: list[Span] = []
        for span in self._spans_in(start, end):
            local = Span(
                span.type, max(span.start, start) - start, min(span.end, end) - start, span.url, span.language
            )
            if trimmed := trim_span(piece, local):
                clipped.append(trimmed)
        return order_spans(clipped)

    def _spans_in(self, start: int, end: int) -> list[Span]:
        """Give the spans that touch a piece; asked for in order, so that each span is seen once."""
        while self._next < len(self.spans) and self.spans[self._next].start < end:
            self._active.append(self.spans[self._next])
            self._next += 1
        self._active = [span for span in self._active if span.end > start]
        return self._active

    def _find_end(self, start: int) -> int:
        limit = self.index.position(self.index.offset(start) + self.units)
        limit = self._limit_entities(start, min(limit, len(self.text)))
        if limit >= len(self.text):
            return limit
        return self._find_break(start, limit) or self._find_cut(start, limit)

    def _limit_entities(self, start: int, limit: int) -> int:
        """Move the limit before the entity that would be one too many."""
        running = sum(1 for span in self._active if span.end > start and span.start < start)
        first = bisect_left(self.spans, start, key=lambda span: span.start)
        surplus = first + self.entities - running
        if surplus < len(self.spans) and start < self.spans[surplus].start < limit:
            return self.spans[surplus].start
        return limit

    def _find_break(self, start: int, limit: int) -> int | None:
        """Find the best white space to end at, before or at the limit."""
        for mark in ("\n\n", "\n"):
            end = self._find_last(mark, start, limit)
            if end is not None and self._is_good(end, mark, start, limit):
                return end
        words = [self._find_last(mark, start, limit) for mark in (" ", "\t", "\n")]
        return max((end for end in words if end is not None), default=None)

    def _is_good(self, end: int, mark: str, start: int, limit: int) -> bool:
        """A break is worth it if the message is filled well or the next stretch then stays whole."""
        if (end - start) * 4 >= limit - start:
            return True
        following = self._skip_space(end)
        furthest = min(following + self.units + 1, len(self.text))
        stop = self.text.find(mark, following, furthest)
        stop = furthest if stop < 0 else stop
        return self.index.offset(stop) - self.index.offset(following) <= self.units

    def _find_last(self, mark: str, start: int, limit: int) -> int | None:
        """Find where text ends before the last such mark, outside links and code words."""
        high = min(limit + len(mark), len(self.text))
        while (found := self.text.rfind(mark, start, high)) > start:
            stretch = self.whole.around(found)
            if stretch and (stretch[0] > start or stretch[1] <= limit):
                high = stretch[0]  # a stretch from before the start is divided only if it cannot fit
                continue
            end = self._skip_space_back(found, start)
            if end > start:
                return end
            high = found
        return None

    def _find_cut(self, start: int, limit: int) -> int:
        """Cut where there is no white space: before a link, else between two graphemes."""
        stretch = self.whole.around(limit)
        if stretch and stretch[0] > start:
            limit = stretch[0]
        return find_boundary(self.text, start, limit)

    def _skip_space(self, position: int) -> int:
        """Step over the white space at a cut; in a block of code only over one line break."""
        block = self.blocks.around(position)
        if block:
            return position + 1 if self.text[position] == "\n" else position
        match = _TRIMMED.match(self.text, position)
        end = match.end() if match else position
        following = self.blocks.first_from(position)
        return min(end, following) if following is not None else end

    def _skip_space_back(self, position: int, start: int) -> int:
        """Step back to the end of what stands before white space; code keeps its blank lines."""
        while position > start and self.text[position - 1] in _SPACES and not self._is_in_line(position):
            position -= 1
        return position

    def _is_in_line(self, position: int) -> bool:
        return self.text[position - 1] != "\n" and self.blocks.around(position) is not None


class _Stretches:
    """Answer which of some stretches, none of which overlap, a position lies inside."""

    def __init__(self, stretches: Sequence[tuple[int, int]]) -> None:
        self._stretches = sorted(stretches)
        self._starts = [start for start, _ in self._stretches]

    def around(self, position: int) -> tuple[int, int] | None:
        """Give the stretch that a cut at this position would divide."""
        rank = bisect_left(self._starts, position) - 1
        if rank >= 0 and position < self._stretches[rank][1]:
            return self._stretches[rank]
        return None

    def first_from(self, position: int) -> int | None:
        """Give where the first stretch from this position on begins."""
        rank = bisect_left(self._starts, position)
        return self._starts[rank] if rank < len(self._starts) else None


def _find_whole(text: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Find what is kept in one piece where it fits: links, web addresses, code words."""
    named = sorted((span.start, span.end) for span in spans if span.type in ("text_link", "code"))
    starts = [start for start, _ in named]
    bare: list[tuple[int, int]] = []
    for match in _URL.finditer(text):
        rank = bisect_right(starts, match.end() - 1) - 1
        if rank < 0 or named[rank][1] <= match.start():
            bare.append(match.span())
    return named + bare


def _make_entity(span: Span, index: UnitIndex) -> Entity:
    offset = index.offset(span.start)
    return Entity(span.type, offset, index.offset(span.end) - offset, span.url, span.language)
