"""The pass over the whole store: near-duplicates and contradictions become proposals (learning.md 3).

No score decides: it only chooses what is put before the person. `survey` reads, however long the store;
`propose` writes what it found, after a look at the lessons as they are by then.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.model.lesson import Lesson, Scope
from core.model.proposal import Finding, Proposal, Verdict
from core.rules.consolidation import terms
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
    tx: CoreTx, seen: Callable[[int, int], None] = lambda _done, _of: None, most: int = MOST_PROPOSALS
) -> list[Group]:
    """Find what is worth a person's look, each lesson in one group at most; `seen` is told of progress."""
    active = tx.lessons.all(active=True)
    taken: set[str] = set()
    groups: list[Group] = []
    for number, lesson in enumerate(active, 1):
        if len(groups) >= most:
            break
        if lesson.id not in taken:
            for group in _groups(tx, lesson, taken):
                if tx.proposals.by_key(group.key) is None:
                    groups.append(group)
                    taken.update(each.id for each in group.lessons)
                    break
        seen(number, len(active))
    return groups


def _groups(tx: CoreTx, lesson: Lesson, taken: set[str]) -> Iterator[Group]:
    """Give the pair that contradicts, then the group that says the same."""
    near = [each for each in _near(tx, lesson) if each.id not in taken]
    opposite = [each for each in near if may_contradict(lesson.rule, each.rule)]
    for each in opposite[:1]:
        yield Group((lesson, each), is_contradiction=True)
    alike = [
        each for each in near if each not in opposite and _shared(lesson.rule, each.rule) >= SHARED_TERMS
    ]
    agreeing = _agreeing(lesson, alike)[: MOST_IN_GROUP - 1]
    if agreeing:
        yield Group((lesson, *agreeing), is_contradiction=False)


def _near(tx: CoreTx, lesson: Lesson) -> list[Lesson]:
    """Give younger lessons of the same place with enough words in common."""
    found = (each for each, _ in tx.lessons.nearest(lesson.rule, lesson.project, NEAREST))
    return [
        each
        for each in found
        if (len(each.id), each.id) > (len(lesson.id), lesson.id)
        and _is_one_place(each, lesson)
        and _shared(lesson.rule, each.rule) >= SHARED_TERMS_OF_OPPOSITES
    ]


def _is_one_place(one: Lesson, other: Lesson) -> bool:
    is_place = (one.scope, one.project) == (other.scope, other.project)
    return is_place and (one.scope is not Scope.DOMAIN or one.domain is other.domain)


def _agreeing(first: Lesson, others: Iterable[Lesson]) -> list[Lesson]:
    """Leave out what may contradict a member: no opposites are ever offered as one."""
    members = [first]
    for each in others:
        if not any(may_contradict(member.rule, each.rule) for member in members):
            members.append(each)
    return members[1:]


def _shared(one: str, other: str) -> float:
    first, second = set(terms(one)), set(terms(other))
    return len(first & second) / len(first | second) if first | second else 0.0


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
