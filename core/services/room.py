"""What an approval would push out of the block, and how to make room (product.md 1.4, learning.md 3, 6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.errors import Refused
from core.model.ids import LessonId, number_of
from core.model.lesson import Lesson, Scope
from core.model.proposal import Proposal, State, Verdict
from core.rules import approval
from core.rules import context as rules
from core.rules.consolidation import shared, terms
from core.services import choices, consolidation, context, proposals
from core.services.changes import By
from core.services.similarity import similar
from core.settings import CoreSettings
from core.tables import CoreTx

MOST_MERGES: Final = 3  # cards that one tap brings


@dataclass(frozen=True, slots=True)
class Merging:
    """What can be merged: `proposal` onto `lesson`, else `others`, merges of lessons that are told."""

    proposal: Proposal
    lesson: Lesson | None = None
    others: tuple[Proposal, ...] = ()


def pushed_out(tx: CoreTx, proposal: Proposal, settings: CoreSettings) -> tuple[Lesson, ...]:
    """Give the lessons told today that would wait once the proposal is approved, oldest decision last."""
    if proposal.verdict is Verdict.HARMFUL or proposal.scope is Scope.DOMAIN:
        return ()
    taken = {proposal.lesson, *proposal.absorbs}
    sizes = tx.lessons.told_sizes(proposal.project)
    new: tuple[str, int] = (proposal.id, len(proposal.rule) + len(proposal.domain))
    after = [new, *((id, size) for id, size in sizes if id not in taken)]
    told, _ = _choice(tx, sizes, settings)
    _, waiting = _choice(tx, after, settings)
    known = frozenset(told)
    lost = [tx.lessons.get(LessonId(id)) for id in waiting if id in known]
    return tuple(lesson for lesson in lost if lesson is not None)


def merge(tx: CoreTx, id: str, version: int, settings: CoreSettings, by: By) -> Merging:
    """Make room by merging: the proposal with the told lesson that is most like it, else told ones that are.

    Nothing is decided by it: what comes of it are proposals. Raises NotFound, Stale, Refused (nothing is
    alike).
    """
    proposal = proposals.need_proposal(tx, id)
    approval.require(proposal, version)
    told = _told(tx, proposal, settings)
    target = _most_alike(tx, proposal, told)
    if target is not None:
        turned = choices.merge_into(tx, id, version, target.id, by)
        return Merging(turned, target)
    others = _merges(tx, told, by)
    if not others:
        raise Refused("proposal.nothing_alike", id=id)
    return Merging(proposal, None, others)


def _told(tx: CoreTx, proposal: Proposal, settings: CoreSettings) -> list[Lesson]:
    """Give the lessons that runs of that project are told now, in id order."""
    told, _ = _choice(tx, tx.lessons.told_sizes(proposal.project), settings)
    found = (tx.lessons.get(LessonId(each)) for each in sorted(told, key=number_of))
    return [lesson for lesson in found if lesson is not None]


def _most_alike(tx: CoreTx, proposal: Proposal, told: Sequence[Lesson]) -> Lesson | None:
    """Give the told lesson of the same place that shares most words with a new one; no opposite."""
    if proposal.verdict is not Verdict.NEW:
        return None
    home = proposal.project if proposal.scope is Scope.PROJECT else None
    ids = {each.id for each in told if (each.scope, each.project) == (proposal.scope, home)}
    words = frozenset(terms(proposal.rule))
    near = (each for each in similar(tx, proposal.rule, proposal.project, consolidation.NEAREST))
    fit = [each.lesson for each in near if each.lesson.id in ids and not each.may_contradict]
    shares = [(shared(words, frozenset(terms(each.rule))), each) for each in fit]
    share, best = max(shares, key=lambda each: each[0], default=(0.0, None))
    return best if share >= consolidation.SHARED_TERMS_OF_OPPOSITES else None


def _merges(tx: CoreTx, told: Sequence[Lesson], by: By) -> tuple[Proposal, ...]:
    """Propose the told lessons that say nearly the same as one each; what waits already comes first."""
    ids = {each.id for each in told}
    waiting = [
        each for each in tx.proposals.all(pending_only=True) if each.absorbs and ids.issuperset(each.absorbs)
    ]
    groups = consolidation.survey(tx, among=told)
    alike = [each for each in groups if not each.is_contradiction][: max(MOST_MERGES - len(waiting), 0)]
    made = consolidation.propose(tx, alike, by.now, by.who, by.surface)
    return tuple(each for each in (*waiting, *made) if each.state is State.PENDING)[:MOST_MERGES]


def _choice(
    tx: CoreTx, sizes: Sequence[tuple[str, int]], settings: CoreSettings
) -> tuple[list[str], list[str]]:
    files = context.pointers(tx, context.shown(settings.context_folder))
    return rules.choose(sizes, files, language=context.language(tx), chars=settings.max_lesson_chars)
