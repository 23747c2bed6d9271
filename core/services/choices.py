"""What a person chooses where a proposal may contradict a lesson: replace, keep both, reject."""

from dataclasses import replace

from core.errors import Refused, Stale
from core.model.lesson import Lesson, Scope
from core.model.proposal import Proposal, Verdict
from core.rules import approval
from core.services import opposition, proposals
from core.services.changes import By, log, need
from core.services.proposals import Decision
from core.tables import CoreTx

CONTRADICTS, DUPLICATE = "contradicts", "duplicate"


def replace_lesson(
    tx: CoreTx,
    id: str,
    version: int,
    lesson: str,
    who: str,
    now: float,
    surface: str = "telegram",
    batch: str = "",
) -> Decision:
    """Approve a proposal in the place of a lesson it may contradict, which keeps its id and its history.

    Raises NotFound, Stale (decided, changed), Refused (no such conflict).
    """
    proposal = proposals.need_proposal(tx, id)
    approval.require(proposal, version)
    about = proposal.conflicts
    if lesson not in [each.id for each in opposition.standing(tx, proposal)]:
        raise Refused("proposal.no_conflict", id=id, lesson=lesson)
    if proposal.lesson != lesson and lesson not in proposal.absorbs:
        by = By(who, now, surface, batch)
        proposal = _onto(tx, proposal, need(tx, lesson), by, "replace", CONTRADICTS)
    return proposals.approve(tx, id, proposal.version, who, now, surface, batch, chosen=about)


def _onto(tx: CoreTx, proposal: Proposal, lesson: Lesson, by: By, verb: str, relation: str) -> Proposal:
    """Make a proposal one that rewords that lesson, which stays where it is told."""
    turned = replace(
        approval.grounded(proposal, lesson),
        verdict=Verdict.MERGE,
        relation=relation,
        scope=lesson.scope,
        project=lesson.project or proposal.project,
        absorbs=(),
        version=proposal.version + 1,
    )
    if not tx.proposals.swap(turned, proposal.version):
        raise Stale("proposal.changed", proposal=proposals.need_proposal(tx, proposal.id))
    log(tx, by, verb, proposal.id, lesson.id)
    return turned


def merge_into(tx: CoreTx, id: str, version: int, lesson: str, by: By) -> Proposal:
    """Make a new lesson one that rewords a lesson of the same place: a new version, still to be approved.

    Raises NotFound, Stale (decided, changed), Refused (no new lesson, or that one is told elsewhere).
    """
    proposal, target = proposals.need_proposal(tx, id), need(tx, lesson)
    approval.require(proposal, version)
    home = proposal.project if proposal.scope is Scope.PROJECT else None
    is_fit = target.active and (target.scope, target.project) == (proposal.scope, home)
    if proposal.verdict is not Verdict.NEW or not is_fit:
        raise Refused("proposal.no_merge", id=id)
    return _onto(tx, proposal, target, by, "merge", DUPLICATE)


def keep_both(
    tx: CoreTx, id: str, version: int, who: str, now: float, surface: str = "telegram", batch: str = ""
) -> Decision:
    """Let the proposal stand beside what it may contradict: two lessons that exist already stay as they are.

    Raises NotFound, Stale.
    """
    proposal = proposals.need_proposal(tx, id)
    approval.require(proposal, version)
    about = proposal.conflicts
    if proposal.absorbs:
        return proposals.reject(tx, id, version, who, now, surface, batch)
    if proposal.verdict is Verdict.MERGE and proposal.lesson in proposal.conflicts:
        proposal = proposals.keep_separate(tx, id, version, who, now, surface, batch)
        about = (*about, *proposal.conflicts)
    return proposals.approve(tx, id, proposal.version, who, now, surface, batch, chosen=about)
