"""Erase what should never have been written (a leaked secret): only a person does, and the log says so.

The files beside the store (mirror, context, backups) are the caller's: `publishing`, `core.store.backup`.
"""

from dataclasses import replace

from core.errors import NotFound
from core.model.feedback import Feedback
from core.model.ids import FeedbackId
from core.model.lesson import Lesson
from core.model.proposal import Proposal, State
from core.rules import approval
from core.services import opposition
from core.services.changes import By, log, need
from core.services.proposals import need_proposal
from core.tables import CoreTx

VERB = "purge"


def lesson(tx: CoreTx, id: str, by: By) -> Lesson:
    """Erase a lesson with every wording, and the texts of the proposals about it. Raises NotFound."""
    gone = need(tx, id)
    tx.lessons.erase(gone.id)
    for each in tx.proposals.all():
        if approval.names(each, gone.id) or each.result == gone.id:
            _blank(tx, each, by)
    opposition.forget(tx, gone.id)
    log(tx, by, VERB, gone.id)
    return gone


def proposal(tx: CoreTx, id: str, by: By) -> Proposal:
    """Erase the texts of a proposal; one that waited is withdrawn, its lesson stays. Raises NotFound."""
    blank = _blank(tx, need_proposal(tx, id), by)
    log(tx, by, VERB, blank.id)
    return blank


def vote(tx: CoreTx, id: str, by: By) -> Feedback:
    """Erase the words of a vote, its run's texts and what was proposed of it; the vote still counts.

    Raises NotFound.
    """
    held = tx.feedback.get(FeedbackId(id))
    if held is None:
        raise NotFound("vote.not_found", id=id)
    tx.feedback.erase(held.id)
    _blank_run(tx, held)
    for each in tx.proposals.by_feedback(held.id):
        _blank(tx, each, by)
    for analysis in tx.proposals.analyses_of(held.id):
        tx.proposals.put_analysis(replace(analysis, remark="", note="", error=""))
    log(tx, by, VERB, held.id)
    return held


def _blank_run(tx: CoreTx, vote: Feedback) -> None:
    run = tx.runs.get(vote.run) if vote.run else None
    if run is None:
        return
    tx.runs.put(replace(run, prompt="", answer="", error="", calls=()))
    session = tx.runs.session(run.session) if run.session else None
    if session is not None and session.first_prompt == run.prompt:
        tx.runs.put_session(replace(session, first_prompt=""))


def _blank(tx: CoreTx, held: Proposal, by: By) -> Proposal:
    is_pending = held.state is State.PENDING
    blank = replace(
        held,
        rule="",
        rationale="",
        evidence="",
        cause="",
        old_rule="",
        original_rule="",
        remark="",
        conflicts=(),
        version=held.version + 1,
        state=State.WITHDRAWN if is_pending else held.state,
        decided_at=by.now if is_pending else held.decided_at,
    )
    tx.proposals.put(blank)
    return blank
