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
_DEEPER = 3  # commands that a pipe behind a redirection counts for: it nests all before it

# No group is repeated possessively: before Python 3.11.5 such a match may fail (cpython gh-106052).
_WORD = r"[A-Za-z0-9_./:,@%+^-][A-Za-z0-9_./:,@%+=^-]*+"
_ENDS = r"(?=[ ;|&\n]|\Z)"
_COMMAND = (
    rf"[A-Za-z_./:][A-Za-z0-9_./:-]*+{_ENDS}"
    rf"""(?:\ ++(?:{_WORD}|'[^']*+'|"[^"\\$`!]*+"){_ENDS})*"""
)
_FIRST = re.compile(rf"({_COMMAND})(?: *+(&&|\|\||[;|]) *+| *+\Z)?")
_PARTS = re.compile(r"""'([^']*)'|"([^"]*)"|([^ ]+)""")
_OUTPUT = re.compile(rf" *+(?:2>&1|2?> ?/dev/null|>>? ?(?P<file>[A-Za-z_./][A-Za-z0-9_./-]*+)){_ENDS}")
_DOCUMENT = re.compile(
    r" *+<< ?(?P<quote>['\"]?)(?P<end>[A-Za-z_]\w*+)(?P=quote)"
    r"(?: >>? ?(?P<file>[A-Za-z_./][A-Za-z0-9_./-]*+))? *+\n",
    re.ASCII,
)
_JOINT = re.compile(r" *+(?P<joint>&&|\|\||[;|])|(?: ++#[^\n]*+| *+)(?:\n|\Z)")
_BLANK = re.compile(r"(?:[ \n]++|#[^\n]*+(?:\n|\Z))*")
_EXPANDS = re.compile(r"[$`\\]")
_BLANKS = frozenset(" \n#")
_HALF = re.compile("[\ud800-\udfff]")
_SPOKEN = word_set(
    "if then else elif fi for while until do done case esac in select function coproc time declare typeset"
    " export readonly local unset unsetenv let"
)
"""First words that make more of a line than a simple command."""


class Pipeline(NamedTuple):
    """The words of the commands of a pipeline. `written`: the file that what was said so far writes.

    `ends` says that the next one begins a statement of its own, `is_piped` that it reads what all of the
    statement so far prints: behind `2>&1` the grammar has it so.
    """

    commands: list[list[str]]
    written: str | None = None
    ends: bool = False
    is_piped: bool = False


_Read = tuple[Pipeline, int, bool]
"""A pipeline, where the next begins, and whether one has to follow."""


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
        commands += len(pipeline.commands) + _DEEPER * pipeline.is_piped
        pipelines.append(pipeline)
        position = _skip_blank(text, position)
        if commands > _MAX_COMMANDS or (is_open and position >= size):
            return None
    return pipelines or None


def _read_pipeline(text: str, position: int) -> _Read | None:
    commands: list[list[str]] = []
    while len(commands) <= _MAX_COMMANDS:
        command = _FIRST.match(text, position)
        if command is None:
            return None
        words, joint = _words(command[1]), command[2]
        if words[0] in _SPOKEN or (":" in words[0] and words[0] != ":"):
            return None
        commands.append(words)
        position = command.end()
        if joint is None and position < len(text):
            return _read_rest(text, command.end(1), commands)
        if joint != "|":
            ends = joint is None or joint == ";"
            return Pipeline(commands, None, ends), position, not ends
    return None


def _read_rest(text: str, start: int, commands: list[list[str]]) -> _Read | None:
    """Read what follows a command and is no mere joint: output, the line's end, a here-document."""
    position, written = start, None
    while output := _OUTPUT.match(text, position):
        position, written = output.end(), _kept(output["file"]) or written
    if commands[-1][-1] == "-" and position > start:
        return None  # the grammar makes it part of the redirection
    joint = _JOINT.match(text, position)
    if joint is None:
        return _read_document(text, position, Pipeline(commands, written))
    if joint["joint"] == "|":
        if written or text[joint.end() : joint.end() + 1] == "\n":
            return None  # what a pipe's other line belongs to, the grammar sees otherwise
        return Pipeline(commands, is_piped=True), joint.end(), True
    if "#" in joint[0] and "=" in text[:position]:
        return None  # the grammar takes a comment behind `a=b=` for words
    ends = joint["joint"] in (None, ";")
    return Pipeline(commands, written, ends), joint.end(), not ends


def _kept(file: str | None) -> str | None:
    return None if file is None or file.startswith("/dev/") else file


def _words(command: str) -> list[str]:
    if "'" in command or '"' in command:
        return [raw or quoted or word for raw, quoted, word in _PARTS.findall(command)]
    return command.split()


def _skip_blank(text: str, position: int) -> int:
    """Skip space, line ends and comments."""
    if text[position : position + 1] not in _BLANKS:
        return position
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _read_document(text: str, position: int, pipeline: Pipeline) -> _Read | None:
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
