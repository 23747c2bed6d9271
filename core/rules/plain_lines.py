"""Lines that need no grammar: plain words and quotes, joined by `&&`, `||`, `;` and `|`.

Most lines of agents are such. They are read here in a tenth of the time, to the very same result: whatever is
not surely plain is left to the grammar (`core.rules.grammar`), and a test compares both on real lines.
"""

import re

from core.rules.programs import word_set

MAX_CHARS = 2_000

_TOKEN = re.compile(
    r"""\ *(?:
      (?P<joint>&&|\|\||[;|])
    | (?P<silence>2>&1|2?>\ ?/dev/null)(?=\ *(?:&&|[|;]|$))
    | '(?P<raw>[^'\n]*)'(?=[ ;|&]|$)
    | "(?P<quoted>[^"\\$`!\n]*)"(?=[ ;|&]|$)
    | (?P<word>[A-Za-z0-9_./:,@%+^-][A-Za-z0-9_./:,@%+=^-]*)(?=[ ;|&]|$)
    )""",
    re.VERBOSE,
)
_NAME = re.compile(r"[A-Za-z_./][A-Za-z0-9_./-]*|:")
_SPOKEN = word_set(
    "if then else elif fi for while until do done case esac in select function coproc time declare typeset"
    " export readonly local unset unsetenv let"
)
"""First words that make more of a line than a simple command."""

Pipeline = list[list[str]]


def split(text: str) -> list[Pipeline] | None:
    """Give the pipelines of a plain line, each as its commands' words; None where the grammar is needed."""
    if len(text) > MAX_CHARS:
        return None
    pipelines: list[Pipeline] = [[[]]]
    position, match = 0, _TOKEN.match
    while token := match(text, position):
        position = token.end()
        if (kind := token.lastgroup) == "joint":
            if not pipelines[-1][-1]:
                return None
            if token["joint"] == "|":
                pipelines[-1].append([])
            else:
                pipelines.append([[]])
        elif kind != "silence":
            if kind != "word" and not pipelines[-1][-1]:
                return None  # a quoted program
            pipelines[-1][-1].append(token[kind or 0])
        elif not pipelines[-1][-1]:
            return None
    return pipelines if not text[position:].strip(" ") and _are_plain(pipelines, text) else None


def _are_plain(pipelines: list[Pipeline], text: str) -> bool:
    if pipelines[-1] == [[]] and len(pipelines) > 1 and text.rstrip(" ").endswith(";"):
        pipelines.pop()
    return all(words and _is_plain_name(words[0]) for line in pipelines for words in line)


def _is_plain_name(word: str) -> bool:
    return word not in _SPOKEN and _NAME.fullmatch(word) is not None
