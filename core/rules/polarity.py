"""Guess whether two rules may contradict each other (learning.md 3.2).

The guess only adds a warning and makes the person choose; it merges nothing and blocks nothing. It sees five
things: a term wanted here and refused there, words that exclude each other, a reversed order, another number,
another thing to use for the same purpose. Each counts only where the rules otherwise speak of the same.
"""

from collections.abc import Iterable

from core.rules.antonyms import exclusions
from core.rules.clauses import Link, Reading, Segment, read
from core.rules.wording import ACTING_REFUSALS, ASKING, LIGHT

_SAME_SUBJECT = 0.5
_SHORT_NAME = 3


def contradiction(a: str, b: str) -> bool:
    """Tell whether the rules may contradict each other; symmetric."""
    one, two = read(a), read(b)
    if not one.segments or not two.segments:
        return False
    return (
        _is_refused(one, two)
        or _is_refused(two, one)
        or _is_unasked(one, two)
        or _is_unasked(two, one)
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
    own, shunned = _terms(one.segments, 1), _terms(two.segments, -1)
    wanted, spoken = _terms(two.segments, 1) - shunned, _terms(two.segments, -1, 0, 1)
    for segment in one.segments:
        if segment.sign >= 0:
            continue
        said = frozenset(segment.terms)
        refused = said - ACTING_REFUSALS
        conflict = (said & wanted) - own - (LIGHT if refused - LIGHT else frozenset())
        if not conflict or (refused & shunned) - LIGHT:
            continue  # what both refuse, they agree on
        is_same_act = len(conflict) > 1 and bool(conflict & ACTING_REFUSALS)
        is_about_same = _share(refused, spoken) > _SAME_SUBJECT or is_same_act
        if is_about_same and not _has_excluded(refused - spoken, wanted - own):
            return True
    return False


def _has_excluded(some: frozenset[str], others: frozenset[str]) -> bool:
    """Tell whether a term excludes one of the others: to refuse "large" agrees with wanting "small"."""
    return any(exclusions().get(term, frozenset()) & others for term in some)


def _is_unasked(one: Reading, two: Reading) -> bool:
    """See a rule that does at once what the other does only when asked: "push", "ask before pushing"."""
    wanted, spoken = _terms(two.segments, 1), _terms(two.segments, -1, 0, 1)
    return any(
        first & ASKING and not spoken & ASKING and bool(then - LIGHT) and _share(then, wanted) == 1
        for first, then in one.orders
    )


def _is_excluded(one: Reading, two: Reading) -> bool:
    """See words that exclude each other said of the same thing: "with tabs", "with spaces"."""
    all_one, all_two = _terms(one.segments, -1, 0, 1), _terms(two.segments, -1, 0, 1)
    return any(
        wish + other_wish > 0
        and term not in all_two
        and other not in all_one
        and _same_rest(all_one, all_two, term, other)
        for term, wish in _wishes(one)
        for other, other_wish in _wishes(two)
        if other in exclusions().get(term, frozenset())
    )


def _wishes(reading: Reading) -> list[tuple[str, int]]:
    """Return each term with its sign; to stop or to skip is itself wanted where its object is refused."""
    return [
        (term, -segment.sign if term in ACTING_REFUSALS else segment.sign)
        for segment in reading.segments
        for term in segment.terms
    ]


def _same_rest(one: frozenset[str], two: frozenset[str], term: str, other: str) -> bool:
    """Tell whether the rules speak of the same beside the words that exclude each other."""
    table = exclusions()
    rest_one = frozenset(t for t in one - {term} - LIGHT if not table.get(t, frozenset()) & two)
    rest_two = frozenset(t for t in two - {other} - LIGHT if not table.get(t, frozenset()) & one)
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
    if not one or not two:
        return False
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
    """See another choice for the same: "jest for tests", "vitest for tests"; "log to a file", "to stdout"."""
    own, other = _choices(one), _choices(two)
    return any(
        _is_other_means(x, y) or _is_other_place(x, y) or _is_other_kind(x[0], y[0])
        for x in own
        for y in other
        if x not in other and y not in own  # what both choose is no matter
    )


Choice = tuple[Segment, Segment | None]


def _choices(reading: Reading) -> list[Choice]:
    """Return each wanted main segment with the purpose or place that follows it."""
    following = (*reading.segments[1:], None)
    return [
        (main, aim if aim is not None and aim.link in {Link.FOR, Link.PLACE} else None)
        for main, aim in zip(reading.segments, following, strict=True)
        if main.link is Link.MAIN and main.sign > 0
    ]


def _is_other_means(x: Choice, y: Choice) -> bool:
    if x[1] is None or y[1] is None or not (x[0].is_use and y[0].is_use):
        return False
    means, other = _heavy(x[0]), _heavy(y[0])
    return bool(means and other) and not means & other and _alike(_heavy(x[1]), _heavy(y[1]))


def _is_other_place(x: Choice, y: Choice) -> bool:
    if x[1] is None or y[1] is None or {x[1].link, y[1].link} != {Link.PLACE}:
        return False
    place, other = _heavy(x[1]), _heavy(y[1])
    return bool(place - other and other - place) and set(x[0].terms) == set(y[0].terms)


def _is_other_kind(x: Segment, y: Segment) -> bool:
    """See one head with another attribute: "default exports", "named exports"; French puts the head first."""
    if not (x.is_use and y.is_use) or not 2 <= max(len(x.terms), len(y.terms)) <= _SHORT_NAME:
        return False
    kind, other = _heavy(x), _heavy(y)
    has_head = bool(x.terms) and bool(y.terms) and (x.terms[-1] == y.terms[-1] or x.terms[0] == y.terms[0])
    return has_head and bool(kind - other) and bool(other - kind)


def _heavy(segment: Segment) -> frozenset[str]:
    terms = frozenset(segment.terms)
    return terms - LIGHT or terms
