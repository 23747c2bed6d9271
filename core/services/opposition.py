"""Which lessons a proposal may contradict: kept right while it waits, and asked of whoever approves it.

A guess of the polarity guard (learning.md 3.2): it never blocks a choice and never makes one.
"""

from collections.abc import Collection
from dataclasses import replace

from core.errors import Refused
from core.model.ids import LessonId
from core.model.lesson import Lesson
from core.model.proposal import Proposal, Verdict
from core.rules.approval import folded
from core.services.similarity import conflicts, may_contradict
from core.tables import CoreTx


def compared(tx: CoreTx, proposal: Proposal) -> Proposal:
    """Note which lessons it may contradict, as it is worded and placed now."""
    if proposal.verdict is Verdict.HARMFUL:
        return replace(proposal, conflicts=())
    named = (tx.lessons.get(LessonId(each)) for each in (proposal.lesson, *proposal.absorbs) if each)
    opposed = [each.id for each in named if each is not None and may_contradict(proposal.rule, each.rule)]
    beside = conflicts(tx, proposal.rule, proposal.project)
    return replace(proposal, conflicts=tuple(dict.fromkeys((*opposed, *beside))))


def followed(proposal: Proposal, lesson: Lesson) -> Proposal:
    """Judge a proposal anew by the wording that one lesson has now; the same proposal if nothing is new.

    One that names the lesson, before or after, showed another wording of it: that is a new version.
    """
    is_opposed = _is_opposed(proposal, lesson)
    if not is_opposed and lesson.id not in proposal.conflicts:
        return proposal
    others = tuple(each for each in proposal.conflicts if each != lesson.id)
    found = (*others, lesson.id) if is_opposed else others
    return replace(proposal, conflicts=found, version=proposal.version + 1)


def _is_opposed(proposal: Proposal, lesson: Lesson) -> bool:
    is_near = proposal.verdict is not Verdict.HARMFUL and lesson.active and lesson.reaches(proposal.project)
    if not is_near or folded(proposal.rule) == folded(lesson.rule):
        return False
    return may_contradict(proposal.rule, lesson.rule)


def compare_all(tx: CoreTx) -> None:
    """Judge everything that waits anew, after many lessons came at once."""
    for proposal in tx.proposals.all(pending_only=True):
        found = compared(tx, proposal)
        if set(found.conflicts) != set(proposal.conflicts):
            tx.proposals.put(replace(found, version=proposal.version + 1))


def forget(tx: CoreTx, lesson: LessonId) -> None:
    """Leave a lesson that was erased out of what waits: its words stood on those cards."""
    for proposal in tx.proposals.all(pending_only=True):
        if lesson in proposal.conflicts:
            others = tuple(each for each in proposal.conflicts if each != lesson)
            tx.proposals.put(replace(proposal, conflicts=others, version=proposal.version + 1))


def standing(tx: CoreTx, proposal: Proposal) -> list[Lesson]:
    """Give the lessons a proposal may contradict that are active; while there are any, one chooses."""
    found = [tx.lessons.get(LessonId(each)) for each in proposal.conflicts]
    return [each for each in found if each is not None and each.active]


def require_choice(tx: CoreTx, proposal: Proposal, chosen: Collection[str]) -> None:
    """Refuse a bare yes to what may contradict a lesson that no choice was made about. Raises Refused."""
    for lesson in standing(tx, proposal):
        if lesson.id not in chosen:
            raise Refused("proposal.choose", id=proposal.id, lesson=lesson.id, rule=lesson.rule)
