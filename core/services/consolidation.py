"""The pass over the whole store: near-duplicates and contradictions become proposals (learning.md 3).

No score decides: it only chooses what is put before the person. `survey` reads, however long the store;
`propose` writes what it found, after a look at the lessons as they are by then.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from core.model.lesson import Lesson, Scope
from core.model.proposal import Finding, Proposal, Verdict
from core.rules.consolidation import Neighbours
from core.services import proposals
from core.services.proposals import Basis
from core.services.similarity import may_contradict
from core.services.wording import is_usable
from core.tables import CoreTx

NEAREST = 8
SHARED_TERMS = 0.6  # of all terms of both, from which on two rules are offered as one
SHARED_TERMS_OF_OPPOSITES = 0.3  # the guard itself looks for the same subject
MOST_IN_GROUP = 6
MOST_PROPOSALS = 20  # one pass asks a person for no more


@dataclass(frozen=True, slots=True)
class Group:
    """Active lessons of one place that say nearly the same, or two that may contradict each other."""

    lessons: tuple[Lesson, ...]
    is_contradiction: bool

    @property
    def key(self) -> str:
        """Name the group by its wordings: what was rejected comes again only when one of them changes."""
        said = "\0".join(f"{each.id} {each.rule}" for each in self.lessons)
        return "pass:" + hashlib.sha256(said.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def survey(
    tx: CoreTx,
    seen: Callable[[int, int], None] = lambda _done, _of: None,
    most: int = MOST_PROPOSALS,
    among: Sequence[Lesson] | None = None,
) -> list[Group]:
    """Find what is worth a person's look, each lesson in one group at most; `seen` is told of progress.

    All active lessons are looked at, or those given, in id order. Each is compared with younger ones of the
    same place; the time grows with the number of lessons, not with its square.
    """
    active = tx.lessons.all(active=True) if among is None else among
    places = _places(active)
    taken: set[str] = set()
    groups: list[Group] = []
    for number, lesson in enumerate(active, 1):
        if len(groups) >= most:
            break
        if lesson.id not in taken:
            near = places[_place(lesson)].near(lesson, taken)
            for group in _groups(lesson, near):
                if tx.proposals.by_key(group.key) is None:
                    groups.append(group)
                    taken.update(each.id for each in group.lessons)
                    break
        seen(number, len(active))
    return groups


class _Neighbourhood:
    """The lessons of one place, and which of them have enough words in common."""

    def __init__(self, lessons: Sequence[Lesson]) -> None:
        self._lessons = lessons
        self._number = {each.id: number for number, each in enumerate(lessons)}
        self._neighbours = Neighbours([each.rule for each in lessons], SHARED_TERMS_OF_OPPOSITES)

    def near(self, lesson: Lesson, taken: Collection[str]) -> list[tuple[Lesson, float]]:
        """Give the nearest younger lessons that are in no group yet, and what they share."""
        found = self._neighbours.later(self._number[lesson.id])
        near = ((self._lessons[number], share) for number, share in found)
        return list(islice((each for each in near if each[0].id not in taken), NEAREST))


def _place(lesson: Lesson) -> tuple[str, ...]:
    """Name who is told a lesson: only those of one place can become one."""
    home = lesson.domain if lesson.scope is Scope.DOMAIN else lesson.project or ""
    return (lesson.scope, home)


def _places(lessons: Iterable[Lesson]) -> dict[tuple[str, ...], _Neighbourhood]:
    found: defaultdict[tuple[str, ...], list[Lesson]] = defaultdict(list)
    for lesson in lessons:
        found[_place(lesson)].append(lesson)
    return {place: _Neighbourhood(each) for place, each in found.items()}


def _groups(lesson: Lesson, near: Sequence[tuple[Lesson, float]]) -> Iterator[Group]:
    """Give the pair that contradicts, then the group that says the same."""
    opposite = [each for each, _ in near if may_contradict(lesson.rule, each.rule)]
    for each in opposite[:1]:
        yield Group((lesson, each), is_contradiction=True)
    alike = [each for each, share in near if share >= SHARED_TERMS and each not in opposite]
    agreeing = _agreeing(lesson, alike)[: MOST_IN_GROUP - 1]
    if agreeing:
        yield Group((lesson, *agreeing), is_contradiction=False)


def _agreeing(first: Lesson, others: Iterable[Lesson]) -> list[Lesson]:
    """Leave out what may contradict a member: no opposites are ever offered as one."""
    members = [first]
    for each in others:
        if not any(may_contradict(member.rule, each.rule) for member in members):
            members.append(each)
    return members[1:]


def propose(
    tx: CoreTx, groups: Sequence[Group], now: float, who: str, surface: str = "telegram"
) -> list[Proposal]:
    """Put those groups before the people; one of which a lesson has changed meanwhile is left out."""
    return [
        _proposal(tx, group, now, who, surface)
        for group in groups
        if all(tx.lessons.get(each.id) == each for each in group.lessons) and _is_worded(group)
    ]


def _is_worded(group: Group) -> bool:
    return is_usable(_kept(group).rule)


def _kept(group: Group) -> Lesson:
    """Give the wording that would stay: the one a person decided last."""
    return max(group.lessons, key=lambda each: each.decided)


def _proposal(tx: CoreTx, group: Group, now: float, who: str, surface: str) -> Proposal:
    first, *rest = group.lessons
    kept = _kept(group)
    finding = Finding(
        Verdict.MERGE,
        rule=kept.rule,
        rationale=kept.rationale,
        domain=first.domain,
        scope=first.scope,
        lesson=first.id,
        relation="contradicts" if group.is_contradiction else "duplicate",
        is_by_rules=True,
    )
    evidence = "\n".join(f"{each.id}: {each.rule}" for each in group.lessons)
    absorbs = tuple(each.id for each in rest)
    basis = Basis(group.key, first.project, evidence=evidence, absorbs=absorbs)
    return proposals.propose(tx, finding, basis, now, who, surface)


def consolidate(tx: CoreTx, now: float, who: str, surface: str = "telegram") -> list[Proposal]:
    """Survey and propose in one transaction; for stores where the survey is short."""
    return propose(tx, survey(tx), now, who, surface)
