"""Turn a rule into search terms, and terms into a safe FTS5 question (learning.md 3.1)."""

import re
from collections.abc import Callable, Iterable

from core.rules.lexicon import STOP_WORDS, concept
from core.rules.stemming import fold

MOST_TERMS = 64
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
