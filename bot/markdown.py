"""Turn the agent's Markdown into text and entities; nothing it wrote may vanish (telegram.md 2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from markdown_it.token import Token

from bot.commonmark import parse, parse_inline
from bot.entities import Span, clean_text, count_units
from bot.links import encode_url
from bot.tables import draw_table
from bot.writing import Writer

_STYLES = {"strong": "bold", "em": "italic", "s": "strikethrough"}
_IMAGE = "🖼 "
_RULE = "———"
_TASK = re.compile(r"\[([ xX])\](?=\s)\s*")
_LANGUAGE = re.compile(r"[\w.+#-]{1,32}\Z")
# `__init__.py` and `__init__()` are names, not bold text.
_AFTER_NAME = re.compile(r"\.\w|\(")
_LONG_QUOTE_UNITS = 500
_LONG_QUOTE_LINES = 6
_TAB_SIZE = 4
_BLANK_LINES = re.compile(r"\n{3,}")


@dataclass(slots=True)
class _Link:
    start: int
    target: str
    title: str
    url: str | None
    images: list[str] = field(default_factory=list)


def render_markdown(markdown: str) -> tuple[str, list[Span]]:
    """Render a whole text; the spans are nested as Telegram allows, and ordered."""
    renderer = _Renderer()
    for token in parse(clean_text(markdown)):
        renderer.add(token)
    return renderer.writer.finish()


class _Renderer:
    def __init__(self) -> None:
        self.writer = Writer()
        self._last_line = 0
        self._ordinals: list[int | None] = []
        self._quotes: list[tuple[list[str], int] | None] = []
        self._blocks: dict[str, Callable[[Token], None]] = {
            "heading_open": lambda _: self.writer.open("bold"),
            "heading_close": lambda _: self.writer.close(),
            "inline": self._add_inline,
            "definition": lambda token: self.writer.write(token.content),
            "fence": self._add_code,
            "code_block": self._add_code,
            "plain": self._add_plain,
            "hr": lambda _: self.writer.write(_RULE),
            "table": self._add_table,
            "bullet_list_open": lambda _: self._ordinals.append(None),
            "ordered_list_open": lambda _: self._ordinals.append(-1),
            "bullet_list_close": lambda _: self._leave_list(),
            "ordered_list_close": lambda _: self._leave_list(),
            "list_item_open": self._enter_item,
            "list_item_close": lambda _: self.writer.leave_item(),
            "blockquote_open": lambda _: self._enter_quote(),
            "blockquote_close": lambda _: self._leave_quote(),
        }

    def add(self, token: Token) -> None:
        """Write one block token; blocks keep the blank lines the agent put between them."""
        if token.map and token.type != "inline":
            self.writer.break_line(2 if token.map[0] > self._last_line else 1)
        handle = self._blocks.get(token.type)
        if handle:
            handle(token)
        if token.map and token.nesting <= 0:
            self._last_line = token.map[1]
        elif token.map and token.type in ("list_item_open", "blockquote_open"):
            self._last_line = token.map[0] + 1

    def _enter_item(self, token: Token) -> None:
        ordinal = self._ordinals[-1]
        if ordinal is None:
            self.writer.enter_item("• ", "  ")
            return
        # The agent's own numbers, except where it left the counting to us.
        written = int(token.info or 0)
        self._ordinals[-1] = written if written > ordinal else ordinal + 1
        self.writer.enter_item(f"{self._ordinals[-1]}{token.markup} ", "   ")

    def _leave_list(self) -> None:
        self._ordinals.pop()

    def _add_inline(self, token: Token) -> None:
        children = token.children or []
        if self._ordinals and children and (task := _TASK.match(children[0].content)):
            box = "☐ " if task[1] == " " else "☑ "
            if self.writer.tick_item(box, is_numbered=self._ordinals[-1] is not None):
                children[0].content = children[0].content[task.end() :]
        _Inline(self.writer).add_all(children)

    def _enter_quote(self) -> None:
        if any(self._quotes):
            self._quotes.append(None)
            self.writer.enter_item("> ", "> ")
        else:
            self._quotes.append(self.writer.enter_quote())

    def _leave_quote(self) -> None:
        quote = self._quotes.pop()
        if quote is None:
            self.writer.leave_item()
            return
        prefixes, start = quote
        self.writer.leave_quote(prefixes)
        text = self.writer.text_since(start)
        is_long = text.count("\n") >= _LONG_QUOTE_LINES or count_units(text) > _LONG_QUOTE_UNITS
        self.writer.mark("expandable_blockquote" if is_long else "blockquote", start)

    def _add_code(self, token: Token) -> None:
        language, _, rest = token.info.strip().partition(" ")
        body = token.content.rstrip("\n").expandtabs(_TAB_SIZE)
        if not _LANGUAGE.match(language) or not body.strip():
            language, rest = "", token.info
        if rest.strip():
            self.writer.write(rest.strip())
            self.writer.break_line(1)
        if body.strip():
            self.writer.write_block(body, "pre", language or None)

    def _add_plain(self, token: Token) -> None:
        """Write what is beyond full parsing; its blank lines are its own."""
        if token.content.strip():
            self.writer.break_line(2 if token.content.startswith("\n\n") else 1)
            self.writer.write(_BLANK_LINES.sub("\n\n", token.content.strip("\n")))
        self.writer.break_line(2 if token.content.endswith("\n\n") else 1)

    def _add_table(self, token: Token) -> None:
        rows = [[_flatten(parse_inline(cell)) for cell in row] for row in token.meta["rows"]]
        self.writer.write_block(draw_table(rows, token.meta["delimiters"]), "pre")


class _Inline:
    """Write the inside of one paragraph, heading or cell."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self._link: _Link | None = None
        self._names: list[bool] = []

    def add_all(self, tokens: Sequence[Token]) -> None:
        for position, token in enumerate(tokens):
            self._add(token, tokens, position)

    def _add(self, token: Token, tokens: Sequence[Token], position: int) -> None:
        match token.type:
            case "softbreak" | "hardbreak":
                self.writer.write("\n")
            case "code_inline":
                self._add_code(token.content)
            case "image":
                self._add_image(token)
            case "link_open":
                self._open_link(token, tokens[position + 1 : position + 3])
            case "link_close":
                self._close_link()
            case "strong_open" | "em_open" | "s_open":
                self._open_style(token, tokens, position)
            case "strong_close" | "em_close" | "s_close":
                self._close_style()
            case _:
                self.writer.write(token.content)

    def _add_code(self, code: str) -> None:
        if self._link and self._link.url:
            self.writer.write(code)
        else:
            self.writer.write_code(code)

    def _open_style(self, token: Token, tokens: Sequence[Token], position: int) -> None:
        is_name = token.markup == "__" and _is_name(tokens, position)
        self._names.append(is_name)
        if is_name:
            self.writer.write("__")
        else:
            self.writer.open(_STYLES[token.type.removesuffix("_open")])

    def _close_style(self) -> None:
        if self._names.pop():
            self.writer.write("__")
        else:
            self.writer.close()

    def _open_link(self, token: Token, following: Sequence[Token]) -> None:
        target, title = str(token.attrGet("href") or ""), str(token.attrGet("title") or "")
        self._link = _Link(self.writer.begin(), target, title, encode_url(target))
        is_bare = len(following) == 2 and following[0].content == target and following[1].nesting < 0
        if is_bare and not self._link.url:  # label and target are one: the code below says both
            following[0].content = ""

    def _close_link(self) -> None:
        link, self._link = self._link, None
        if link is None:
            return
        label = self.writer.text_since(link.start).strip()
        self._finish_link(link, label)
        for source in link.images:
            self.writer.write(" ")
            image = _Link(self.writer.begin(), source, "", encode_url(source))
            self.writer.write(_IMAGE.strip() if image.url else "")
            self._finish_link(image, _IMAGE.strip() if image.url else "")

    def _finish_link(self, link: _Link, label: str) -> None:
        """Mark what was written as a link, or add the target as code where Telegram would refuse it."""
        if link.url:
            if not label:
                self.writer.write(link.target)
            self.writer.mark("text_link", link.start, link.url)
        elif link.target:
            self._add_target(label, link.target)
        if link.title.strip():
            self.writer.write(f" ({link.title})")

    def _add_target(self, label: str, target: str) -> None:
        if not label:
            self.writer.write_code(target)
            return
        self.writer.write(" (")
        self.writer.write_code(target)
        self.writer.write(")")

    def _add_image(self, token: Token) -> None:
        source, title = str(token.attrGet("src") or ""), str(token.attrGet("title") or "")
        label = _flatten(token.children or [])
        if self._link:
            self.writer.write(_IMAGE + label)
            self._link.images.append(source)
            return
        image = _Link(self.writer.begin(), source, title, encode_url(source))
        self.writer.write(_IMAGE + (label or (source if image.url else "")))
        self._finish_link(image, label)


def _is_name(tokens: Sequence[Token], position: int) -> bool:
    following = tokens[position + 1 : position + 4]
    types = [token.type for token in following]
    if types != ["text", "strong_close", "text"] or not following[0].content.isidentifier():
        return False
    return bool(_AFTER_NAME.match(following[2].content))


def _flatten(tokens: Sequence[Token]) -> str:
    """Give the text of inline tokens on one line, link targets included, for places without entities."""
    renderer = _Inline(writer := Writer())
    renderer.add_all(tokens)
    text, spans = writer.finish()
    ends = sorted(((span.end, span.url) for span in spans if span.url), reverse=True)
    for end, url in ends:
        if not text[:end].endswith(url):
            text = f"{text[:end]} ({url}){text[end:]}"
    return " ".join(text.split())
