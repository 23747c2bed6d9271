"""Turn a rule into search terms, a safe FTS5 question, and many of them into neighbours (learning.md 3)."""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import ceil

from core.rules.lexicon import STOP_WORDS, concept
from core.rules.stemming import fold

MOST_TERMS = 64
MOST_COMPARED = 500  # later rules with one of the rarest terms: bounds the whole search in very large stores
_ROUNDING = 1e-9
_WORD = re.compile(r"[^\W\d_]+|[0-9]+")  # letters of any script
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def terms(text: str) -> tuple[str, ...]:
    """Return the index terms of a rule in reading order, repeats kept: they count in bm25."""
    words = _WORD.findall(fold(_CAMEL.sub(" ", text)))
    return tuple(
        concept(word) for word in words if word not in STOP_WORDS and (len(word) > 1 or word.isdigit())
    )


def query(text: str, frequency: Callable[[str], int] | None = None) -> str:
    """Build the MATCH expression: each term quoted, the rarest `MOST_TERMS` kept, joined by OR.

    `frequency` gives the number of rules with a term; without it the reading order decides. Empty when the
    text has no term: the caller then has nothing to ask.
    """
    found: Iterable[str] = dict.fromkeys(terms(text))
    if frequency is not None:
        found = sorted(found, key=frequency)
    return " OR ".join(f'"{term}"' for term in list(found)[:MOST_TERMS])


def shared(one: frozenset[str], other: frozenset[str]) -> float:
    """Give which share of the terms of both they have in common."""
    common = len(one & other)
    return common / (len(one) + len(other) - common) if common else 0.0


class Neighbours:
    """Which later rules share at least that much of their terms with a rule, without comparing all with all.

    Two sets that share `least` of their terms have one of their rarest `n - ceil(least * n) + 1` in common
    (n terms each; the order must be the same for both): only those are indexed and looked up. What two rules
    share beyond those lies in the rest of one of them: few common ones leave too little to reach `least`.
    """

    def __init__(self, rules: Sequence[str], least: float) -> None:
        self._terms = [frozenset(terms(rule)) for rule in rules]
        self._least = least
        self._frequency = Counter(term for each in self._terms for term in each)
        self._holders: defaultdict[str, list[int]] = defaultdict(list)
        self._rest = [max(ceil(least * len(each) - _ROUNDING) - 1, 0) for each in self._terms]
        for number in range(len(rules)):
            for term in self._rarest(number):
                self._holders[term].append(number)

    def _rarest(self, number: int) -> list[str]:
        in_order = sorted(self._terms[number], key=lambda term: (self._frequency[term], term))
        return in_order[: len(in_order) - self._rest[number]]

    def later(self, number: int) -> list[tuple[int, float]]:
        """Give the later rules and what they share, those that share most first, then by their number."""
        own = self._terms[number]
        common: Counter[int] = Counter()
        for term in self._rarest(number):
            holders = self._holders[term]
            start = bisect_right(holders, number)
            common.update(holders[start : start + MOST_COMPARED])
        near = [each for each, count in common.items() if self._may_reach(number, each, count)]
        found = [(each, shared(own, self._terms[each])) for each in near]
        return sorted(
            (each for each in found if each[1] >= self._least), key=lambda each: (-each[1], each[0])
        )

    def _may_reach(self, one: int, other: int, count: int) -> bool:
        most = count + max(self._rest[one], self._rest[other])
        both = len(self._terms[one]) + len(self._terms[other])
        return most * (1 + self._least) >= self._least * both - _ROUNDING
