"""What an approval does to the lessons, and how it is taken back (learning.md 3)."""

from dataclasses import replace

from core.errors import Stale
from core.model.lesson import Lesson, Scope
from core.model.proposal import Proposal, Verdict
from core.services import lessons
from core.services.changes import By, Draft, absorb, change, create, need, take_back
from core.tables import CoreTx


def put_in_force(tx: CoreTx, proposal: Proposal, by: By) -> Lesson:
    """Do to the lessons what an approved proposal says. Raises Stale where its lesson is another by now."""
    match proposal.verdict:
        case Verdict.MERGE:
            return _merged(tx, proposal, by)
        case Verdict.HARMFUL:
            return change(tx, replace(_ground(tx, proposal), active=False), by, "disable", proposal.id)
        case _:
            return _added(tx, proposal, by)


def _ground(tx: CoreTx, proposal: Proposal) -> Lesson:
    """Give the lesson a proposal changes, as it was shown. Raises Stale where it is another by now."""
    lesson = need(tx, proposal.lesson or "")
    if not lesson.active or lesson.revision != proposal.lesson_revision:
        raise Stale("proposal.lesson_changed", proposal=proposal)
    return lesson


def _united(lesson: Lesson, more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*lesson.source_feedback, *more)))


def _sources(proposal: Proposal) -> tuple[str, ...]:
    return (proposal.feedback,) if proposal.feedback else ()


def _merged(tx: CoreTx, proposal: Proposal, by: By) -> Lesson:
    target = _ground(tx, proposal)
    sources = _sources(proposal)
    for each in (need(tx, id_) for id_ in proposal.absorbs):
        if each.active:
            absorb(tx, each, target.id, by, proposal.id)
            sources = (*each.source_feedback, *sources)
    lesson = replace(
        need(tx, target.id),
        rule=proposal.rule,
        rationale=proposal.rationale or target.rationale,
        domain=proposal.domain,
        scope=proposal.scope,
        project=_home(proposal),
        source_feedback=_united(target, sources),
    )
    return change(tx, lesson, by, "reword", proposal.id)


def _home(proposal: Proposal) -> str | None:
    return proposal.project if proposal.scope is Scope.PROJECT else None


def _added(tx: CoreTx, proposal: Proposal, by: By) -> Lesson:
    """Add the lesson; one that says the same takes its vote in; one that an undo disabled comes back."""
    home = _home(proposal)
    known = lessons.equal(tx, proposal.rule, proposal.scope, home, proposal.domain)
    if known is not None:
        united = replace(known, source_feedback=_united(known, _sources(proposal)))
        return change(tx, united, by, "confirm", proposal.id)
    draft = Draft(
        proposal.rule, proposal.rationale, proposal.domain, proposal.scope, home, _sources(proposal)
    )
    before = _made_before(tx, proposal)
    if before is None:
        return create(tx, draft, by, proposal.id)
    again = replace(
        before,
        rule=draft.rule,
        rationale=draft.rationale,
        domain=draft.domain,
        scope=draft.scope,
        project=draft.project,
        active=True,
    )
    return change(tx, again, by, "enable", proposal.id)


def _made_before(tx: CoreTx, proposal: Proposal) -> Lesson | None:
    """Give the lesson this proposal itself made before an undo, if nobody uses it otherwise."""
    lesson = tx.lessons.get(proposal.result) if proposal.result else None
    if lesson is None or lesson.active or lesson.merged_into:
        return None
    return lesson if tx.lessons.history(lesson.id)[0].why == proposal.id else None


def take_out(tx: CoreTx, proposal: Proposal, by: By) -> Lesson | None:
    """Give the lessons back the state they had before an approval. Raises Stale if one changed since."""
    if proposal.result is None:
        return None
    for each in (need(tx, id_) for id_ in proposal.absorbs):
        if each.merged_into == proposal.result:  # a person may have set it free again since
            take_back(tx, each, by, proposal.id)
    return take_back(tx, need(tx, proposal.result), by, proposal.id)
