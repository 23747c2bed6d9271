"""From a 👎 to a proposal: one analysis a vote, run again after a restart, late verdicts never overwrite.

`claim` → `evidence` → (the analyst, outside any transaction) → `conclude` or `fail`.
"""

from dataclasses import replace

from core.errors import Invalid, Refused
from core.model.evidence import Evidence
from core.model.ids import FeedbackId, LessonId
from core.model.proposal import Analysis, AnalysisState, Finding, Origin, Proposal, Verdict
from core.rules import approval
from core.rules.placement import default_scope
from core.rules.redact import redact
from core.services import proposals
from core.services.cases import (
    again,
    basis_of,
    end,
    fail,
    key_of,
    need_analysis,
    of_vote,
    restart,
    standing_vote,
)
from core.services.changes import need
from core.services.evidence import gather, project_of
from core.services.verdicts import Conclusion, conclude
from core.tables import CoreTx

__all__ = [
    "Conclusion",
    "claim",
    "conclude",
    "evidence",
    "fail",
    "need_analysis",
    "next_due",
    "recover",
    "retry",
    "reword",
    "sharpen",
    "use_my_words",
    "write_myself",
]

_WAITING = (AnalysisState.READY.value, AnalysisState.OPEN.value)


def claim(tx: CoreTx, now: float) -> Analysis | None:
    """Start the analysis that is due first; None where none is."""
    for waiting in tx.proposals.analyses(_WAITING):
        if waiting.state is AnalysisState.OPEN and waiting.due > now:
            continue
        running = replace(waiting, state=AnalysisState.RUNNING, tries=waiting.tries + 1, error="")
        tx.proposals.put_analysis(running)
        return running
    return None


def next_due(tx: CoreTx) -> float | None:
    """Give when the next analysis is to start, 0 for at once, None where none waits."""
    waiting = tx.proposals.analyses(_WAITING)
    times = [each.due if each.state is AnalysisState.OPEN else 0.0 for each in waiting]
    return min(times, default=None)


def recover(tx: CoreTx, now: float) -> list[Analysis]:
    """Let what a restart cut off run again, three times at most; give the analyses that failed by it."""
    failed = []
    for cut in tx.proposals.analyses((AnalysisState.RUNNING.value,)):
        next_one = again(tx, cut, now)
        if next_one.state is AnalysisState.FAILED:
            failed.append(next_one)
    return failed


def evidence(tx: CoreTx, analysis: Analysis) -> Evidence:
    """Give what the analyst reads."""
    return gather(tx, analysis)


def retry(tx: CoreTx, id: str, now: float) -> Analysis:
    """Start a failed analysis once more; others are left as they are. Raises NotFound."""
    analysis = need_analysis(tx, id)
    if analysis.state is not AnalysisState.FAILED:
        return analysis
    return restart(tx, analysis, now)


def reword(tx: CoreTx, id: str, remark: str, now: float) -> Analysis:
    """Let the analyst reword a pending proposal with a person's remark.

    Raises NotFound, Stale (decided), Refused (no vote behind it), Invalid (empty remark).
    """
    proposal = proposals.need_proposal(tx, id)
    approval.require(proposal, proposal.version)
    if not remark.strip():
        raise Invalid("remark.empty")
    if proposal.feedback is None:
        raise Refused("reword.no_vote")
    tx.proposals.put(replace(proposal, asks="", remark=""))
    analysis = of_vote(tx, proposal.feedback)
    return restart(tx, replace(analysis, proposal=proposal.id), now, remark=redact(remark.strip()))


def sharpen(tx: CoreTx, lesson: str, feedback: str, now: float) -> Analysis:
    """Let the analyst sharpen a lesson that was broken again; the vote has had its verdict.

    Raises NotFound, Refused (vote taken back, lesson no longer active, a proposal of that vote exists).
    """
    analysis = of_vote(tx, FeedbackId(feedback))
    standing_vote(tx, analysis)
    if not need(tx, lesson).active:
        raise Refused("lesson.inactive", id=lesson)
    if analysis.state in (AnalysisState.READY, AnalysisState.RUNNING):
        return analysis
    if tx.proposals.by_key(key_of(analysis)) is not None:
        raise Refused("sharpen.proposed")
    return restart(tx, analysis, now, sharpen=LessonId(lesson))


def use_my_words(tx: CoreTx, id: str, now: float) -> Proposal:
    """Make the proposal of what the person said. Raises Invalid (nothing said, too long), Refused."""
    words = standing_vote(tx, need_analysis(tx, id)).user_comment
    if not words.strip():
        raise Invalid("words.none")
    return write_myself(tx, id, words, now)


def write_myself(tx: CoreTx, id: str, text: str, now: float) -> Proposal:
    """Make the proposal of the person's own wording, in place of an analyst's that still waits.

    Raises NotFound, Invalid (empty, too long), Refused (vote taken back), Stale (decided already).
    """
    analysis = need_analysis(tx, id)
    vote = standing_vote(tx, analysis)
    run = tx.runs.get(analysis.run) if analysis.run else None
    scope = default_scope((vote.user_comment, text), run.calls if run else (), project_of(run, vote))
    finding = Finding(Verdict.NEW, rule=text, domain=vote.domain, scope=scope, origin=Origin.PERSON)
    known = tx.proposals.by_key(key_of(analysis))
    if known is not None:
        approval.require(known, known.version)
        made = proposals.reword(tx, known, finding, now)
    else:
        made = proposals.propose(tx, finding, basis_of(tx, analysis, vote), now, vote.user or "")
    end(tx, analysis, made)
    return made
