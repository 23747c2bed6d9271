"""Guess whether two rules may contradict each other (learning.md 3.2).

The guess only adds a warning and makes the person choose; it merges nothing and blocks nothing. It sees five
things: a term wanted here and refused there, words that exclude each other, a reversed order, another number,
another thing to use for the same purpose. Each counts only where the rules otherwise speak of the same.
"""

from collections.abc import Iterable

from core.rules.antonyms import LIGHT, exclusions
from core.rules.clauses import Link, Reading, Segment, read

_SAME_SUBJECT = 0.5


def contradiction(a: str, b: str) -> bool:
    """Tell whether the rules may contradict each other; symmetric."""
    one, two = read(a), read(b)
    if not one.segments or not two.segments:
        return False
    return (
        _is_refused(one, two)
        or _is_refused(two, one)
        or _is_excluded(one, two)
        or _is_reversed(one, two)
        or _is_other_number(one, two)
        or _is_other_choice(one, two)
    )


def _terms(segments: Iterable[Segment], *signs: int) -> frozenset[str]:
    return frozenset(term for segment in segments for term in segment.terms if segment.sign in signs)


def _share(some: frozenset[str], of: frozenset[str]) -> float:
    """Return the share of `some` that is in `of`, light words aside; 0 when nothing is left."""
    heavy = (some - LIGHT) or some
    return len(heavy & of) / len(heavy) if heavy else 0.0


def _is_refused(one: Reading, two: Reading) -> bool:
    """See a clause of `one` that refuses what `two` wants: "never use pnpm", "use pnpm"."""
    wanted = _terms(two.segments, 1) - _terms(two.segments, -1)
    spoken = _terms(two.segments, -1, 0, 1)
    own = _terms(one.segments, 1)
    for segment in one.segments:
        refused = frozenset(segment.terms)
        conflict = (refused & wanted) - own - LIGHT
        if segment.sign < 0 and conflict and _share(refused, spoken) > _SAME_SUBJECT:
            return True
    return False


def _is_excluded(one: Reading, two: Reading) -> bool:
    """See words that exclude each other said of the same thing: "with tabs", "with spaces"."""
    table = exclusions()
    pairs = [(x, y) for x in one.segments for y in two.segments if x.sign * y.sign >= 0 and x.sign + y.sign > 0]
    all_one, all_two = _terms(one.segments, -1, 0, 1), _terms(two.segments, -1, 0, 1)
    for x, y in pairs:
        for term in x.terms:
            others = table.get(term, frozenset()) & frozenset(y.terms)
            if others and term not in all_two and not others & all_one and _same_rest(all_one, all_two, term, others):
                return True
    return False


def _same_rest(one: frozenset[str], two: frozenset[str], term: str, others: frozenset[str]) -> bool:
    """Tell whether the rules speak of the same beside the words that exclude each other."""
    table = exclusions()
    rest_one = frozenset(t for t in one - {term} - LIGHT if not table.get(t, frozenset()) & two)
    rest_two = frozenset(t for t in two - others - LIGHT if not table.get(t, frozenset()) & one)
    fewer, more = sorted((rest_one, rest_two), key=len)
    return not fewer or _share(fewer, more) >= _SAME_SUBJECT


def _is_reversed(one: Reading, two: Reading) -> bool:
    """See the same two things in the other order."""
    return any(
        _alike(first, other_then) and _alike(then, other_first)
        for first, then in one.orders
        for other_first, other_then in two.orders
    )


def _alike(one: frozenset[str], two: frozenset[str]) -> bool:
    more = max((one - LIGHT) or one, (two - LIGHT) or two, key=len)
    return len(one & two & more) / len(more) >= _SAME_SUBJECT


def _is_other_number(one: Reading, two: Reading) -> bool:
    """See another number said of the same: 80 and 120 characters a line."""
    all_one, all_two = _terms(one.segments, 0, 1), _terms(two.segments, 0, 1)
    numbers_one, numbers_two = (frozenset(filter(str.isdigit, each)) for each in (all_one, all_two))
    if not numbers_one or not numbers_two or numbers_one & numbers_two:
        return False
    return _alike(all_one - numbers_one, all_two - numbers_two)


def _is_other_choice(one: Reading, two: Reading) -> bool:
    """See another thing to use for the same purpose: "jest for unit tests", "vitest for unit tests"."""
    return any(
        _alike(purpose, other_purpose) and not (choice & other_choice)
        for choice, purpose in _choices(one)
        for other_choice, other_purpose in _choices(two)
    )


def _choices(reading: Reading) -> Iterable[tuple[frozenset[str], frozenset[str]]]:
    for main, aim in zip(reading.segments, reading.segments[1:], strict=False):
        choice, purpose = frozenset(main.terms) - LIGHT, frozenset(aim.terms) - LIGHT
        if main.is_use and main.sign > 0 and aim.link is Link.FOR and choice and purpose:
            yield choice, purpose
