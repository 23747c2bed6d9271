"""The human gate as rules without I/O: what a decision does to a proposal, a tap to a vote.

1. Only a pending proposal can be decided or changed, and only at the version that was shown.
2. Every change of what a proposal shows raises its version; so does coming back by an undo.
3. Approved and rejected ones can be undone for 10 minutes; withdrawn and expired ones stay so.
4. A lesson that changes under a pending proposal makes a new version of it, or takes its ground away.
5. The same vote again has no effect; another one first takes back what the old one counted.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar

from core.errors import Refused, Stale
from core.model.feedback import Vote
from core.model.ids import LessonId
from core.model.lesson import Domain, Lesson, Scope
from core.model.proposal import Proposal, State, Verdict
from core.rules import safety

UNDO_S = 600.0
REMIND_S = 2 * 86_400.0
EXPIRE_S = 14 * 86_400.0
SHARPEN_FROM = 3  # violations from which on sharpening is offered unasked


class Step(StrEnum):
    """What may happen to a proposal."""

    APPROVE = "approve"
    REJECT = "reject"
    WITHDRAW = "withdraw"
    EXPIRE = "expire"
    UNDO = "undo"


_AFTER = {
    (State.PENDING, Step.APPROVE): State.APPROVED,
    (State.PENDING, Step.REJECT): State.REJECTED,
    (State.PENDING, Step.WITHDRAW): State.WITHDRAWN,
    (State.PENDING, Step.EXPIRE): State.EXPIRED,
    (State.APPROVED, Step.UNDO): State.PENDING,
    (State.REJECTED, Step.UNDO): State.PENDING,
}


def step(proposal: Proposal, what: Step) -> State:
    """Give the state after that step. Raises Stale where the step does not exist (rules 1 and 3)."""
    after = _AFTER.get((proposal.state, what))
    if after is None:
        key = "undo.nothing" if what is Step.UNDO else "proposal.decided"
        raise Stale(key, proposal=proposal)
    return after


def require(proposal: Proposal, version: int) -> None:
    """Refuse what is about something else than what stands there now (rule 1). Raises Stale."""
    if proposal.state is not State.PENDING:
        raise Stale("proposal.decided", proposal=proposal)
    if proposal.version != version:
        raise Stale("proposal.changed", proposal=proposal)


def decided(proposal: Proposal, what: Step, who: str, now: float) -> Proposal:
    """Give the proposal after a person's decision."""
    return replace(proposal, state=step(proposal, what), decided_by=who, decided_at=now, asks="")


def undone(proposal: Proposal, now: float) -> Proposal:
    """Give the proposal as it waits again. Raises Stale, Refused after 10 minutes (rule 3)."""
    state = step(proposal, Step.UNDO)
    if now - (proposal.decided_at or 0.0) > UNDO_S:
        raise Refused("undo.late", proposal=proposal)
    return replace(proposal, state=state, version=proposal.version + 1, decided_by=None, decided_at=None)


def reworded(proposal: Proposal, rule: str, flags: tuple[str, ...]) -> Proposal:
    """Give the next version, with another wording (rule 2)."""
    return replace(proposal, rule=rule, flags=flags, version=proposal.version + 1, asks="", remark="")


def separated(proposal: Proposal) -> Proposal:
    """Make a merge a lesson of its own (rule 2)."""
    return replace(
        proposal,
        verdict=Verdict.NEW,
        version=proposal.version + 1,
        lesson=None,
        lesson_revision=0,
        old_rule="",
        relation=None,
        absorbs=(),
    )


def grounded(proposal: Proposal, lesson: Lesson) -> Proposal:
    """Let a proposal stand on the current wording of its lesson."""
    return replace(proposal, lesson=lesson.id, lesson_revision=lesson.revision, old_rule=lesson.rule)


def follow(proposal: Proposal, lesson: Lesson) -> Proposal:
    """Give what a pending proposal becomes when a lesson it names has changed (rule 4)."""
    bumped = replace(proposal, version=proposal.version + 1)
    is_usable = lesson.active and lesson.reaches(proposal.project)
    if proposal.lesson != lesson.id:
        return bumped if is_usable else _without(bumped, lesson.id)
    if is_usable:
        return grounded(bumped, lesson)
    if proposal.verdict is Verdict.MERGE and proposal.feedback is not None:
        return separated(proposal)
    return replace(bumped, state=State.WITHDRAWN)


def _without(proposal: Proposal, lesson: LessonId) -> Proposal:
    """Leave a lesson out of a merge; one with nothing left to merge and no vote behind it is over."""
    kept = tuple(each for each in proposal.absorbs if each != lesson)
    is_over = not kept and proposal.feedback is None
    return replace(proposal, absorbs=kept, state=State.WITHDRAWN if is_over else proposal.state)


def names(proposal: Proposal, lesson: LessonId) -> bool:
    """Say whether a proposal changes or takes over that lesson."""
    return lesson == proposal.lesson or lesson in proposal.absorbs


Member = TypeVar("Member", bound=StrEnum)


def _next(values: list[Member], current: Member) -> Member:
    return values[(values.index(current) + 1) % len(values)] if current in values else values[0]


def next_scope(current: Scope, project: str | None) -> Scope:
    """Give the next scope of the cycle; `project` is left out where there is none."""
    return _next([each for each in Scope if project is not None or each is not Scope.PROJECT], current)


def next_domain(current: Domain) -> Domain:
    """Give the next domain of the cycle."""
    return _next(list(Domain), current)


def is_expired(proposal: Proposal, now: float) -> bool:
    """Say whether nobody decided for 14 days."""
    return proposal.state is State.PENDING and now - proposal.created >= EXPIRE_S


def is_to_be_reminded(proposal: Proposal, now: float) -> bool:
    """Say whether it waits for 2 days and nobody was reminded yet."""
    return proposal.state is State.PENDING and not proposal.reminded and now - proposal.created >= REMIND_S


@lru_cache(maxsize=16_384)
def folded(rule: str) -> str:
    """Give what two equal rules share: no case, spacing, accents or final punctuation (learning.md 3.4)."""
    return safety.fold(rule)


def is_same_place(lesson: Lesson, scope: Scope, project: str | None, domain: Domain) -> bool:
    """Say whether whoever would be told a rule of that scope is told this lesson already."""
    if lesson.scope is Scope.GLOBAL:
        return True
    if lesson.scope is not scope:
        return False
    return lesson.project == project if scope is Scope.PROJECT else lesson.domain is domain


@dataclass(frozen=True, slots=True)
class Turn:
    """What a vote does, given the one before it (rule 5)."""

    is_changed: bool
    takes_back: bool = False
    praises: bool = False
    analyses: bool = False


def turn(previous: Vote | None, vote: Vote) -> Turn:
    """Say what a vote does; taking back what was never given has no effect."""
    before = None if previous is Vote.WITHDRAWN else previous
    after = None if vote is Vote.WITHDRAWN else vote
    if before is after:
        return Turn(is_changed=False)
    return Turn(
        is_changed=True,
        takes_back=before is not None,
        praises=after is Vote.POSITIVE,
        analyses=after is Vote.NEGATIVE,
    )
