"""The words of a shell's syntax tree, as the program would get them (learning.md 5.2)."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_WINDOWS_PATH = re.compile(r"[A-Za-z]:\\|\.{1,2}\\|\\\\\w|.*\\[\w.-]+\.(?:exe|cmd|bat|ps1)$")


def source_of(node: "Node") -> str:
    """Give what stands in the line."""
    return (node.text or b"").decode("utf-8", "replace")


def word_of(node: "Node", kind: str) -> str:
    """Give a word as the shell hands it on: without quotes and escapes, expansions as they stand."""
    text = source_of(node)
    if kind == "command_name":
        inner = node.named_children
        return _program_word(inner[0], inner[0].type) if len(inner) == 1 else text
    if kind == "raw_string":
        return text[1:-1]
    if kind == "string":
        return _unquote(text)
    if kind == "concatenation":
        return "".join(word_of(child, child.type) for child in node.children)
    if kind == "ansi_c_string":
        return text[2:-1]
    return _unescape(text) if "\\" in text else text


def _program_word(node: "Node", kind: str) -> str:
    """Read the word that names the program; `$(which python)` is python."""
    if (
        kind == "command_substitution"
        and len(inner := node.named_children) == 1
        and inner[0].type == "command"
    ):
        words = [word_of(child, child.type) for child in inner[0].named_children]
        if words[0] in ("which", "command") and len(words) > 1:
            return words[-1]
    return word_of(node, kind)


def _unquote(text: str) -> str:
    inner = text[1:-1] if len(text) > 1 and text.endswith('"') else text[1:]
    return (
        re.sub(r'\\(["\\$`\n])', r"\1", inner) if "\\" in inner and not _WINDOWS_PATH.match(inner) else inner
    )


def _unescape(text: str) -> str:
    return text if _WINDOWS_PATH.match(text) else _ESCAPE.sub(r"\1", text.replace("\\\n", ""))
