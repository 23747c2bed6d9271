"""Lines that need no grammar: plain words and quotes, joined by `&&`, `||`, `;`, `|` and line ends.

Most lines of agents are such, here-documents and output into files included. They are read here in a tenth of
the time, to the very same result: whatever is not surely plain is left to the grammar (`core.rules.grammar`),
and a test compares both on real lines.
"""

import re
from typing import NamedTuple

from core.rules.programs import word_set

MAX_CHARS = 2_000
_MAX_DOCUMENT_CHARS = 8_000  # with here-documents: no more than the grammar reads, however wide its letters
_MAX_COMMANDS = 40  # the grammar goes no deeper than this either

_WORD = r"[A-Za-z0-9_./:,@%+^-][A-Za-z0-9_./:,@%+=^-]*+"
_ENDS = r"(?=[ ;|&\n]|\Z)"
_COMMAND = re.compile(
    rf"[A-Za-z_./:][A-Za-z0-9_./:-]*+{_ENDS}"
    rf"""(?:\ ++(?:{_WORD}|'[^']*+'|"[^"\\$`!]*+"){_ENDS})*+"""
)
_NAME = re.compile(r"[A-Za-z_./][A-Za-z0-9_./-]*|:")
_PARTS = re.compile(r"""'([^']*)'|"([^"]*)"|([^ ]+)""")
_OUTPUT = re.compile(rf" *+(?:2>&1|2?> ?/dev/null|>>? ?(?P<file>[A-Za-z_./][A-Za-z0-9_./-]*+)){_ENDS}")
_DOCUMENT = re.compile(
    r" *+<< ?(?P<quote>['\"]?)(?P<end>[A-Za-z_]\w*+)(?P=quote)"
    r"(?: >>? ?(?P<file>[A-Za-z_./][A-Za-z0-9_./-]*+))? *+\n",
    re.ASCII,
)
_JOINT = re.compile(r" *+(?P<joint>&&|\|\||[;|])|(?: ++#[^\n]*+| *+)(?:\n|\Z)")
_BLANK = re.compile(r"(?:[ \n]*+(?:#[^\n]*+(?:\n|\Z))?)*+")
_EXPANDS = re.compile(r"[$`\\]")
_HALF = re.compile("[\ud800-\udfff]")
_SPOKEN = word_set(
    "if then else elif fi for while until do done case esac in select function coproc time declare typeset"
    " export readonly local unset unsetenv let"
)
"""First words that make more of a line than a simple command."""


class Pipeline(NamedTuple):
    """The words of the commands of a pipeline. `written`: the file that what was said so far writes.

    `ends` says that the next one begins a statement of its own.
    """

    commands: list[list[str]]
    written: str | None = None
    ends: bool = False


def split(text: str) -> list[Pipeline] | None:
    """Give the pipelines of a plain line; None where the grammar is needed."""
    limit = MAX_CHARS if "<<" not in text else _MAX_DOCUMENT_CHARS
    if len(text) > limit or "\0" in text or (not text.isascii() and _HALF.search(text)):
        return None
    pipelines: list[Pipeline] = []
    position, size, commands = _skip_blank(text, 0), len(text), 0
    while position < size:
        found = _read_pipeline(text, position)
        if found is None:
            return None
        pipeline, position, is_open = found
        commands += len(pipeline.commands)
        pipelines.append(pipeline)
        position = _skip_blank(text, position)
        if commands > _MAX_COMMANDS or (is_open and position >= size):
            return None
    return pipelines or None


def _read_pipeline(text: str, position: int) -> tuple[Pipeline, int, bool] | None:
    """Read one pipeline; give it, where the next begins, and whether one has to follow."""
    commands: list[list[str]] = []
    while len(commands) <= _MAX_COMMANDS:
        command = _COMMAND.match(text, position)
        if command is None:
            return None
        words = _words(command[0])
        if words[0] in _SPOKEN or _NAME.fullmatch(words[0]) is None:
            return None
        commands.append(words)
        position, written = command.end(), None
        while output := _OUTPUT.match(text, position):
            position, written = output.end(), _kept(output["file"]) or written
        if words[-1] == "-" and position > command.end():
            return None  # the grammar makes it part of the redirection
        joint = _JOINT.match(text, position)
        if joint is None:
            return _read_document(text, position, Pipeline(commands, written))
        position = joint.end()
        if joint["joint"] != "|":
            ends = joint["joint"] in (None, ";")
            return Pipeline(commands, written, ends), position, not ends
        if written:
            return None
        position = _skip_blank(text, position)
    return None


def _kept(file: str | None) -> str | None:
    return None if file is None or file.startswith("/dev/") else file


def _words(command: str) -> list[str]:
    if "'" in command or '"' in command:
        return [raw or quoted or word for raw, quoted, word in _PARTS.findall(command)]
    return command.split()


def _skip_blank(text: str, position: int) -> int:
    """Skip space, line ends and comments."""
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _read_document(text: str, position: int, pipeline: Pipeline) -> tuple[Pipeline, int, bool] | None:
    """Skip a here-document in which nothing is expanded and that no shell reads."""
    opened = _DOCUMENT.match(text, position)
    if opened is None or "sh" in text[:position] or pipeline.commands[-1][-1] == "-":
        return None  # no document, a shell's, or a `-` that the grammar makes part of `<<`
    body, end = opened.end(), opened["end"]
    closing = _find_line(text, body, end)
    if closing is None or (not opened["quote"] and _EXPANDS.search(text, body, closing)):
        return None
    written = _kept(opened["file"]) or pipeline.written
    return Pipeline(pipeline.commands, written, ends=True), min(closing + len(end), len(text)), False


def _find_line(text: str, position: int, end: str) -> int | None:
    """Find the line that is `end`, or the text's end where it was cut off; None where it is not sure."""
    while (place := text.find(end, position)) >= 0:
        before = text[text.rfind("\n", 0, place) + 1 : place]
        if not before:
            return place if text[place + len(end) : place + len(end) + 1] in ("", "\n") else None
        if before.isspace():
            return None
        position = place + len(end)
    return len(text)
