"""Parse CommonMark with tables and strikethrough so that no text of the agent's gets lost on the way.

Differences from markdown-it's own: every link target is a link, as it was written; HTML blocks are paragraphs
and HTML tags literal; link definitions, table cells beyond the header's and what is nested too deeply stay in
the tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock
from markdown_it.rules_block import StateBlock, reference
from markdown_it.token import Token

# Up to this length, 8 messages, all of a text is parsed, however much its marks cost; beyond it as much as
# the budget allows, in microseconds as measured on two slow cores. The rest is shown as it stands.
SURE_LENGTH = 32_768
_BUDGET = 300_000
_STEP = 4096
_SPECIAL = re.compile(r"[\[\]*_`<>!\\&~|#+:=@^{}$%-]")
_MAX_NESTING = 30

_DELIMITERS = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*\Z")
_PIPE = re.compile(r"(?<!\\)\|")
_SAFE_CUT = re.compile(r"\n[ \t]*\n(?=\S)")
_FENCE = re.compile(r"^ {0,3}(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)


class _Blocks(ParserBlock):
    """Keep what is nested too deeply as a paragraph; markdown-it drops it."""

    def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:  # noqa: N803
        if state.level < state.md.options.maxNesting:
            super().tokenize(state, startLine, endLine)
            return
        line = startLine
        while line < endLine and (state.isEmpty(line) or state.sCount[line] >= state.blkIndent):
            line += 1
        content = state.getLines(startLine, line, state.blkIndent, False).strip()
        _push_inline(state, "paragraph", content, (startLine, line))
        state.line = line


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: ARG002, N802
        return True  # what Telegram refuses is shown as code with its target

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return url  # shown as the agent wrote it

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link


def parse(text: str) -> list[Token]:
    """Parse a text; beyond SURE_LENGTH and the budget only paragraphs and fenced code are recognised."""
    cut = _find_cut(text)
    tokens = _FULL.parse(text[:cut])
    _drop_used_definitions(tokens)
    if cut == len(text):
        return tokens
    return tokens + list(_parse_plainly(text, cut))


def parse_inline(text: str) -> list[Token]:
    """Parse the inside of a table cell."""
    if not _SPECIAL.search(text):
        return [Token("text", "", 0, content=text)]
    tokens = _FULL.parseInline(text, {})
    return tokens[0].children or []


def _find_cut(text: str) -> int:
    """Find where full parsing stops: between two blocks outside fences where there is such a place."""
    if len(text) <= SURE_LENGTH:
        return len(text)
    cost, position = 0.0, 0
    while position < len(text):
        end = min(position + _STEP, len(text))
        fence = _FENCE.search(text, position, end)
        end = fence.start() if fence else end
        cost += _estimate_cost(text[position:end])
        if cost > _BUDGET:
            return _find_block_end(text, position, end)
        position = _find_code_end(text, fence) if fence else end
    return len(text)


def _estimate_cost(text: str) -> float:
    marks = 10 * len(_SPECIAL.findall(text)) + 25 * (text.count("\n") + text.count("["))
    return 0.3 * len(text) + marks


def _find_block_end(text: str, start: int, end: int) -> int:
    cuts = [match.start() for match in _SAFE_CUT.finditer(text, start, end)]
    return cuts[-1] if cuts else text.rfind("\n", 0, end) + 1


def _find_code_end(text: str, fence: re.Match[str]) -> int:
    closing = _closing(fence[1]).search(text, fence.end())
    return _find_line_end(text, closing.start()) if closing else len(text)


def _parse_plainly(text: str, position: int) -> Iterator[Token]:
    """Give the rest of a text as it stands, in `plain` tokens, with its fenced code as code."""
    while fence := _FENCE.search(text, position):
        yield Token("plain", "", 0, content=text[position : fence.start()])
        info_end = _find_line_end(text, fence.end())
        closing = _closing(fence[1]).search(text, info_end)
        end = closing.start() if closing else len(text)
        position = _find_line_end(text, end)
        yield Token("fence", "", 0, info=text[fence.end() : info_end], content=text[info_end + 1 : end])
    yield Token("plain", "", 0, content=text[position:])


def _find_line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


@cache
def _closing(fence: str) -> re.Pattern[str]:
    return re.compile(rf"^ {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*$", re.MULTILINE)


def _reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Keep a link definition as a token: one that no link uses is shown as it stands."""
    count = len(state.env.get("references", ()))
    if not reference(state, start, end, silent):
        return False
    references = state.env["references"]
    is_new = len(references) > count
    added = references[next(reversed(references))] if is_new else state.env["duplicate_refs"][-1]
    token = state.push("definition", "", 0)
    token.map = [start, state.line]
    token.content = state.getLines(start, state.line, state.blkIndent, False).strip()
    token.attrs = {"href": added["href"]}
    return True


def _drop_used_definitions(tokens: list[Token]) -> None:
    """Empty the definitions whose target some link carries; the others keep their text."""
    used = {
        child.attrs.get("href") or child.attrs.get("src")
        for token in tokens
        for child in token.children or ()
        if child.type in ("link_open", "image")
    }
    for token in tokens:
        if token.type == "definition" and token.attrs["href"] in used:
            token.content = ""


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a table into one token whose meta holds all cells of all rows."""
    if start + 2 > end or state.is_code_block(start) or not _is_row(state, start + 1):
        return False
    header, delimiters = _line(state, start), _line(state, start + 1)
    if "|" not in header + delimiters or not _DELIMITERS.match(delimiters):
        return False
    if len(_split_cells(header)) != len(_split_cells(delimiters)):
        return False
    if not silent:
        _push_table(state, start, end)
    return True


def _push_table(state: StateBlock, start: int, end: int) -> None:
    line = start + 2
    terminators = state.md.block.ruler.getRules("blockquote")
    while (
        line < end and _is_row(state, line) and not any(rule(state, line, end, True) for rule in terminators)
    ):
        line += 1
    token = state.push("table", "", 0)
    token.map = [start, line]
    rows = [_split_cells(_line(state, row)) for row in (start, *range(start + 2, line))]
    token.meta = {"rows": rows, "delimiters": _split_cells(_line(state, start + 1))}
    state.line = line


def _is_row(state: StateBlock, line: int) -> bool:
    return not (state.isEmpty(line) or state.sCount[line] < state.blkIndent or state.is_code_block(line))


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()


def _split_cells(line: str) -> list[str]:
    cells = _PIPE.split(line)
    if len(cells) > 1 and not cells[0].strip():
        del cells[0]
    if len(cells) > 1 and not cells[-1].strip():
        del cells[-1]
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _push_inline(state: StateBlock, name: str, content: str, lines: tuple[int, int]) -> None:
    opening = state.push(f"{name}_open", "p", 1)
    opening.map = list(lines)
    token = state.push("inline", "", 0)
    token.content, token.map, token.children = content, list(lines), []
    state.push(f"{name}_close", "p", -1)


def _make_full() -> MarkdownIt:
    parser = _Parser("commonmark", {"maxNesting": _MAX_NESTING})
    blocks = _Blocks()
    blocks.ruler.at("reference", _reference)
    blocks.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.block = blocks
    parser.configure("commonmark", {"maxNesting": _MAX_NESTING})
    return parser.enable(["strikethrough", "table"]).disable("html_block")


_FULL = _make_full()
