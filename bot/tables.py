"""Draw a table as text, its columns aligned by what a monospaced font shows."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_GAP = " │ "
_CROSSING = "─┼─"
# A longer cell sticks out instead of padding every row to its width.
_MAX_PADDING = 40
_INVISIBLE = frozenset({"Mn", "Me", "Cf"})


def draw_table(rows: Sequence[Sequence[str]], delimiters: Sequence[str]) -> str:
    """Draw rows of plain cells, the first one as header; `delimiters` are the cells of the line below it."""
    columns = max(len(row) for row in rows)
    widths = [_column_width(rows, column) for column in range(columns)]
    lines = [_draw_row(row, widths, delimiters) for row in rows]
    lines.insert(1, _CROSSING.join("─" * width for width in widths))
    return "\n".join(lines)


def measure_width(text: str) -> int:
    """Count the columns a text takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(_character_width(text, position) for position in range(len(text)))


def _character_width(text: str, position: int) -> int:
    character = text[position]
    if unicodedata.category(character) in _INVISIBLE:
        return 0
    is_emoji = text[position + 1 : position + 2] == "\ufe0f"
    return 2 if is_emoji or unicodedata.east_asian_width(character) in "WF" else 1


def _column_width(rows: Sequence[Sequence[str]], column: int) -> int:
    widths = (measure_width(row[column]) for row in rows if column < len(row))
    return max(1, *(min(width, _MAX_PADDING) for width in widths), 0)


def _draw_row(row: Sequence[str], widths: Sequence[int], delimiters: Sequence[str]) -> str:
    cells = [
        _pad(cell, width, delimiters[column] if column < len(delimiters) else "")
        for column, (cell, width) in enumerate(zip(row, widths, strict=False))
    ]
    return _GAP.join(cells).rstrip()


def _pad(cell: str, width: int, delimiter: str) -> str:
    missing = max(0, width - measure_width(cell))
    if not delimiter.endswith(":"):
        return cell + " " * missing
    before = missing // 2 if delimiter.startswith(":") else missing
    return " " * before + cell + " " * (missing - before)
