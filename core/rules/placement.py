"""Say where a lesson belongs by default: in its project when the evidence names it (learning.md 2)."""

import re
from collections.abc import Iterable, Iterator

from core.model.lesson import Scope
from core.model.run import Call
from core.rules.shell import parse
from core.rules.stemming import fold
from core.rules.toolbox import Act, act_of

# Programs of every project say nothing about this one; nor do those that are words: "make small steps".
_EVERYWHERE_NAMES = """
    awk bash cat cd chmod cp curl cut date diff echo env export false find git go grep head just kill less ls
    make mkdir mv printf ps pwd read rg rm sed sh sleep sort sudo tail task tee test time touch true uniq
    watch wc wget which xargs
"""
_EVERYWHERE = frozenset(_EVERYWHERE_NAMES.split())
_HERE = re.compile(
    r"\b(?:(?:this|our|the current) (?:project|repo(?:sitory)?|code ?base|package|app)"
    r"|(?:ce|notre|cette) (?:projet|depot|repo|code|application|appli|paquet)|ici|(?:in|around) here|here)\b"
)
_WORD = re.compile(r"[\w@./+-]*[\w]")
_FILE = re.compile(r"(?:^|/)[\w@+-][\w@.+-]*\.[A-Za-z]\w{0,7}$|/")
_SITE = re.compile(r"^(?:https?|www\.)|^\w+/\w+$")  # an address; "and/or"
_SHORTEST_NAME = 3


def default_scope(texts: Iterable[str], calls: Iterable[Call], project: str | None) -> Scope:
    """Give `project` where the texts name its files or tools or say "here", else `global`.

    `texts` are the person's words and the rule; what the project has is known from the run's calls.
    """
    if project is None:
        return Scope.GLOBAL
    text = " ".join(texts)
    if _HERE.search(fold(text)):
        return Scope.PROJECT
    known = frozenset(_names(calls))
    named = (word.strip(".").casefold() for word in _WORD.findall(text))
    return Scope.PROJECT if any(_is_ours(word, known) for word in named) else Scope.GLOBAL


def _is_ours(word: str, known: frozenset[str]) -> bool:
    if len(word) < _SHORTEST_NAME:
        return False
    if word in known or word.rpartition("/")[2] in known:
        return True
    return word.startswith(("./", "src/", "tests/")) and bool(_FILE.search(word)) and not _SITE.match(word)


def _names(calls: Iterable[Call]) -> Iterator[str]:
    """Give the programs, scripts and files that a run touched, as the last part of their path."""
    for call in calls:
        if act_of(call.tool, call.command) is not Act.SHELL:
            yield from _files((call.command,))
            continue
        for segment in parse(call.command).segments:
            program = _last(segment.program or "")
            if program and program not in _EVERYWHERE:
                yield program
            yield from _files(segment.args)


def _files(words: Iterable[str]) -> Iterator[str]:
    return (name for word in words if _FILE.search(word.strip("'\"")) and (name := _last(word)))


def _last(word: str) -> str:
    """Give a program's or a file's own name; options are none."""
    name = word.strip("'\"").rstrip("/").rpartition("/")[2].casefold()
    return "" if name.startswith("-") or len(name) < _SHORTEST_NAME else name
