"""Read the payload of one hidden-button comment, in every form agents write (telegram.md 1)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bot.entities import clean_text, is_visible
from bot.graphemes import find_boundary

Style = Literal["primary", "success", "danger"]
Fields = Mapping[str, object]

MAX_BUTTONS = 90
MAX_ROW = 8
MAX_LABEL = 64

_STYLES: dict[str, Style] = {"primary": "primary", "success": "success", "danger": "danger"}
_SPACES = " \t\n"
_SPACE = re.compile(r"\s*")
_ATTRIBUTE = re.compile(
    r"""([A-Za-z_][\w-]*)[ \t]*=[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"']\S*))(?=\s|\Z)"""
)
_KNOWN = frozenset({"label", "prompt", "value", "selected_style"})
_OBJECT_START = re.compile(r"\{\s*(?:[\"'}]|\w+\s*:)")
# A cell that is meant as an object and is broken must not become a button labelled with its own source.
_OBJECT_LIKE = re.compile(r"""\{\s*(?:"(?:[^"\\\n]|\\.)*"|'?(?:label|prompt|value|selected_style)'?)\s*:""")


@dataclass(frozen=True, slots=True)
class Button:
    """Offer one prompt under a label; the style is how it looks once tapped."""

    text: str
    prompt: str
    style: Style | None = None


Row = tuple[Button, ...]


class InvalidPayloadError(ValueError):
    """Say that a payload makes no button; the comment is removed all the same."""


def parse_payload(payload: str, *, colon: bool = False) -> list[Row]:
    """Read a whole payload into rows; raise InvalidPayloadError unless all of it is valid.

    `colon`: the name was followed by a colon, which makes plain text a value too.
    """
    payload = payload.strip()
    if payload[:1] in ("{", "["):
        rows, end = parse_structure(payload, 0)
        if payload[end:].strip():
            raise InvalidPayloadError
        return rows
    return [(_parse_attributes(payload) or _parse_older(payload, colon=colon),)]


def parse_structure(text: str, start: int) -> tuple[list[Row], int]:
    """Read one JSON object, compact cell or matrix at a position; give its rows and where it ends."""
    cells = _Cells(text, start)
    rows: list[Row] = [(cells.cell(),)] if text[start] == "{" else cells.matrix()
    return rows, cells.position


class _Cells:
    """Walk over cells and rows; JSON and compact cells may mix."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.position = start

    def matrix(self) -> list[Row]:
        rows: list[Row] = []
        self.position += 1
        while not self._at_end(is_first=not rows):
            rows.append(self._row() if self._peek() == "[" else (self.cell(),))
        return [part for row in rows for part in _wrap(row)]

    def _row(self) -> Row:
        row: list[Button] = []
        self.position += 1
        while not self._at_end(is_first=not row):
            row.append(self.cell())
        return tuple(row)

    def _at_end(self, *, is_first: bool) -> bool:
        """Step over what separates two cells, or over the closing bracket."""
        self._skip()
        if self._peek() == "]" and not is_first:
            self.position += 1
            return True
        if self._peek() == "," and not is_first:
            self.position += 1
            self._skip()
        return False

    def cell(self) -> Button:
        if self._peek() != "{":
            raise InvalidPayloadError
        if not _OBJECT_START.match(self.text, self.position):
            return self._compact()
        try:
            value, self.position = _DECODER.raw_decode(self.text, self.position)
        except (ValueError, RecursionError):
            if _OBJECT_LIKE.match(self.text, self.position):
                raise InvalidPayloadError from None
            return self._compact()
        return _make_button(value)

    def _compact(self) -> Button:
        atoms: list[list[str]] = [[]]
        self.position += 1
        while (character := self._take()) != "}":
            if character == "|":
                atoms.append([])
            elif character == "\\":
                atoms[-1].append(self._escaped())
            elif character < " " or self.text.startswith("<!--", self.position - 1):
                raise InvalidPayloadError
            else:
                atoms[-1].append(character)
        return _make_compact(["".join(atom) for atom in atoms])

    def _escaped(self) -> str:
        character = self._take()
        if character not in "|}\\":
            raise InvalidPayloadError
        return character

    def _take(self) -> str:
        if self.position >= len(self.text):
            raise InvalidPayloadError
        self.position += 1
        return self.text[self.position - 1]

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _skip(self) -> None:
        while self._peek() and self._peek() in _SPACES:
            self.position += 1


def _refuse_constant(name: str) -> object:
    raise ValueError(name)  # NaN and Infinity are no JSON


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _make_compact(atoms: list[str]) -> Button:
    if len(atoms) == 1:
        return _make_button({"value": atoms[0]})
    label, prompt, *style = atoms
    if style and (len(style) > 1 or style[0].strip() not in _STYLES):
        raise InvalidPayloadError
    return _make_button({"label": label, "prompt": prompt, "selected_style": "".join(style).strip()})


def _parse_attributes(payload: str) -> Button | None:
    """Read attributes with an optional body below them; None if the payload starts with none."""
    fields: dict[str, str] = {}
    end = 0
    while match := _ATTRIBUTE.match(payload, _skip_space(payload, end)):
        is_below = "\n" in payload[end : match.start()]
        if is_below and match[1] not in _KNOWN:
            break  # a body that happens to begin with `name=`
        fields[match[1]] = match[2] or match[3] or match[4] or ""
        end = match.end()
    body = payload[end:]
    if not fields:
        return None
    if body.strip():
        if not body.lstrip(" \t").startswith("\n") or "prompt" in fields:
            raise InvalidPayloadError
        fields["prompt"] = body
    return _make_button(fields)


def _skip_space(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start


def _parse_older(payload: str, *, colon: bool) -> Button:
    """Read `telegram_button: Done`, the label alone or with the prompt on the lines below."""
    if not colon:
        raise InvalidPayloadError
    label, _, body = payload.partition("\n")
    return _make_button({"label": label, "prompt": body.strip() or label})


def _make_button(fields: Fields) -> Button:
    value = _text(fields, "value")
    label = _text(fields, "label") or value
    prompt = _text(fields, "prompt") or value
    if not (label and prompt):
        raise InvalidPayloadError
    return Button(_shorten(" ".join(label.split())), prompt, _style(fields))


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    text = clean_text(value).strip() if isinstance(value, str) else ""
    return text if is_visible(text) else ""


def _style(fields: Fields) -> Style | None:
    style = fields.get("selected_style")
    return _STYLES.get(style) if isinstance(style, str) else None


def _shorten(label: str) -> str:
    if len(label) <= MAX_LABEL:
        return label
    return label[: find_boundary(label, 0, MAX_LABEL - 1)].rstrip() + "…"


def _wrap(row: Row) -> list[Row]:
    return [row[start : start + MAX_ROW] for start in range(0, len(row), MAX_ROW)]
