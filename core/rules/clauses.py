"""Read a rule as segments: which terms it wants, which it refuses, and what comes before what.

No grammar, only the few words that carry polarity in imperative rules of both languages. A term is wanted
(+1), refused (-1) or neither (0: conditions, and what is allowed only after something else).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from core.rules.lexicon import concept
from core.rules.stemming import fold
from core.rules.wording import IMPERATIVES, NEGATIONS, PREFERENCES, is_content, is_refusal, respell


class Link(StrEnum):
    """How a segment hangs on its clause."""

    MAIN = "main"
    FOR = "for"  # purpose
    PLACE = "place"  # where, into what, in which form
    INSTEAD = "instead"
    WITHOUT = "without"
    BEFORE = "before"
    AFTER = "after"
    UNTIL = "until"
    IF = "if"


_PHRASES: dict[Link, str] = {
    Link.INSTEAD: "instead of,rather than,in place of,in lieu of,plutot que,plutot qu,plutot,au lieu de,"
    "au lieu d,au lieu des,au lieu du,a la place de,a la place du,a la place des,a la place d",
    Link.UNTIL: "until,unless,tant que,tant qu,jusqu a,a moins,sauf,sauf si,except,excepte",
    Link.WITHOUT: "without,sans",
    Link.BEFORE: "before,prior to,ahead of,avant,avant de,avant d,avant que",
    Link.AFTER: "after,once the,once you,once it,once all,apres,apres que,une fois que,une fois,only after",
    Link.IF: "if,when,whenever,while,in case,si,quand,lorsque,lorsqu,en cas de,en cas d,only if,only when",
    Link.FOR: "for,pour,when the,as,comme",
    Link.PLACE: "to,in,into,inside,outside,within,under,on,at,beside,dans,sur,sous,en,au,aux",
}
_LINKS = {tuple(phrase.split()): link for link, phrases in _PHRASES.items() for phrase in phrases.split(",")}
_LONGEST = max(map(len, _LINKS))
_TOKEN = re.compile(r"[a-z]+|[0-9]+|[,;!?\n()–—]|[.:](?=\s|$)")
_ENDS = frozenset(".;:!?\n()–—") | {"but", "mais"}
_JOINS = frozenset({",", "and", "et", "then", "puis", "or", "ou"})
_JOINING_MORE = frozenset({"ou", "ni", "et", "or", "nor", "and", ","})
_ASIDE_WORDS = 4  # "why, not what, in comments": the negation ends with its comma
_IT = ("·",)  # "before doing so"
_FIRST, _THEN = concept("first"), concept("then")
_SUBORDINATE = frozenset({Link.BEFORE, Link.AFTER, Link.UNTIL, Link.IF, Link.INSTEAD, Link.WITHOUT})


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a clause after one link: its terms in order, and what the rule says of them."""

    link: Link
    terms: tuple[str, ...]
    sign: int  # 1 wanted, 0 neither, -1 refused
    is_negated: bool = False  # by a word of grammar: "never", "ne … pas"
    is_use: bool = False  # it says which thing to use: "use", "prefer", "utiliser"


@dataclass(frozen=True, slots=True)
class Reading:
    """A rule as read; `orders` are pairs of what comes first and what comes then."""

    segments: tuple[Segment, ...]
    orders: tuple[tuple[frozenset[str], frozenset[str]], ...]


@lru_cache(maxsize=4096)
def read(text: str) -> Reading:
    """Read one rule."""
    clauses = [list(_segments(clause)) for clause in _clauses(_tokens(text))]
    signed = [_sign(clause) for clause in clauses if any(segment.terms for segment in clause)]
    return Reading(
        tuple(segment for clause in signed for segment in clause if segment.terms),
        (*(order for clause in signed for order in _orders(clause)), *_sequence(signed)),
    )


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(respell(fold(text)))


def _clauses(tokens: list[str]) -> Iterator[list[str]]:
    """Cut at punctuation, at "but", and where a joined part brings its own verb or negation."""
    clause: list[str] = []
    for index, word in enumerate(tokens):
        if word in _ENDS or (word in _JOINS and _opens_clause(word, tokens[index + 1 :], clause)):
            yield clause
            clause = [word] if word == "then" else []  # says what comes first
        else:
            clause.append(word)
    yield clause


def _opens_clause(join: str, rest: Sequence[str], clause: Sequence[str]) -> bool:
    """Tell whether what follows a comma or "and" is a clause of its own."""
    if not rest or not clause or _link_at(clause, 0)[0] in _SUBORDINATE:
        return False
    is_aside = join == "," and clause[0] in NEGATIONS and len(clause) < _ASIDE_WORDS
    if is_aside or rest[0] in NEGATIONS or is_refusal(rest[0]):
        return True
    if join == "," and len(rest[0]) > 4 and rest[0].endswith("er") and not _JOINING_MORE.intersection(rest):
        return True  # "ne pas A, faire B"
    if concept(rest[0]) not in IMPERATIVES:
        return False
    # "never commit and push" refuses both; "remove X and run Y" wants the second
    return join in {",", "then", "puis"} or not any(word in NEGATIONS for word in clause)


def _link_at(tokens: Sequence[str], index: int) -> tuple[Link | None, int]:
    """Return the link phrase that starts at `index`, and its length."""
    for length in range(_LONGEST, 0, -1):
        link = _LINKS.get(tuple(tokens[index : index + length]))
        if link is not None:
            return link, length
    return None, 1


@dataclass(slots=True)
class _Draft:
    """A segment being read."""

    link: Link
    words: list[str]


def _segments(clause: list[str]) -> Iterator[Segment]:
    """Cut a clause at its links; the sign counts only the segment's own negations."""
    draft = _Draft(Link.MAIN, [])
    index = 0
    while index < len(clause):
        link, length = _link_at(clause, index)
        if link is None and _is_preference(clause[index], draft):
            link = Link.INSTEAD
        if link is None and clause[index] == "," and draft.link in _SUBORDINATE:
            link = Link.MAIN  # "before X, do Y"
        if link is None:
            draft.words.append(clause[index])
        else:
            yield _close(draft)
            draft = _Draft(link, [])
        index += length
    yield _close(draft)


def _is_preference(word: str, draft: _Draft) -> bool:
    """See "prefer A over B", "préférer A à B" in a segment that prefers and already names A."""
    if word not in {"over", "a", "au", "aux", "than"} or not draft.words:
        return False
    named = [each for each in draft.words if is_content(each) and concept(each) not in PREFERENCES]
    return bool(named) and any(concept(each) in PREFERENCES for each in draft.words)


def _close(draft: _Draft) -> Segment:
    words = draft.words
    is_negated = any(word in NEGATIONS for word in words)
    refused = sum(is_refusal(word) for word in words) + is_negated
    return Segment(
        draft.link,
        tuple(concept(word) for word in words if is_content(word)),
        -1 if refused % 2 else 1,
        is_negated,
        any(concept(word) in PREFERENCES or word.startswith(("use", "utilis")) for word in words),
    )


def _sign(clause: list[Segment]) -> list[Segment]:
    """Give each segment the sign that the clause as a whole says."""
    main = min((segment.sign for segment in clause if segment.link is Link.MAIN and segment.terms), default=1)
    is_negated = any(segment.is_negated for segment in clause if segment.link is Link.MAIN)
    waits = is_negated and any(segment.link in {Link.WITHOUT, Link.UNTIL} for segment in clause)
    signed: list[Segment] = []
    for segment in clause:
        before = signed[-1].sign if signed else main
        signed.append(replace(segment, sign=_sign_of(segment, main, before, waits)))
    return signed


def _sign_of(segment: Segment, main: int, before: int, waits: bool) -> int:
    match segment.link:
        case Link.MAIN:
            return 0 if waits else segment.sign
        case Link.FOR | Link.PLACE:
            return max(before * segment.sign, 0)  # "no emojis in answers" refuses no answers
        case Link.INSTEAD:
            return -main
        case Link.WITHOUT:
            return 1 if waits else -1
        case _:
            return 0


def _orders(clause: list[Segment]) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Say what comes first: "A before B", "B after A", "no B before, without or until A"."""
    main = [segment for segment in clause if segment.link in {Link.MAIN, Link.FOR, Link.PLACE}]
    said = frozenset(term for segment in main for term in segment.terms)
    is_refused = any(segment.sign < 0 for segment in main)
    is_waiting = bool(main) and all(segment.sign == 0 for segment in main)
    for segment in clause:
        other = frozenset(segment.terms or _IT)
        if not said:
            continue
        if segment.link is Link.BEFORE:
            yield (other, said) if is_refused else (said, other)
        elif segment.link is Link.AFTER or (segment.link in {Link.WITHOUT, Link.UNTIL} and is_waiting):
            yield other, said


def _sequence(clauses: list[list[Segment]]) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Say what comes first: "A first, then B"."""
    for clause, following in pairwise(clauses):
        first = frozenset(term for segment in clause for term in segment.terms)
        then = frozenset(term for segment in following for term in segment.terms)
        if _FIRST in first or _THEN in then:
            yield first - {_FIRST}, then - {_THEN}
