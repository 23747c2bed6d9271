"""One analysis and the vote it is about: what its steps share."""

from dataclasses import replace

from core.errors import NotFound, Refused
from core.model.feedback import Feedback, Vote
from core.model.ids import FeedbackId, LessonId
from core.model.lesson import Lesson
from core.model.proposal import Analysis, AnalysisState, Proposal
from core.rules.redact import redact
from core.services.changes import By, log
from core.services.evidence import project_of
from core.services.proposals import Basis
from core.tables import CoreTx

MAX_TRIES = 3
ERROR_CHARS = 300


def need_analysis(tx: CoreTx, id: str) -> Analysis:
    """Give that analysis. Raises NotFound."""
    analysis = tx.proposals.analysis(id)
    if analysis is None:
        raise NotFound("analysis.not_found", id=id)
    return analysis


def of_vote(tx: CoreTx, feedback: FeedbackId) -> Analysis:
    """Give the analysis of that vote. Raises NotFound."""
    found = tx.proposals.analyses_of(feedback)
    if not found:
        raise NotFound("analysis.not_found", id=feedback)
    return found[-1]


def vote_of(tx: CoreTx, analysis: Analysis) -> Feedback:
    """Give the vote, standing or not. Raises NotFound."""
    vote = tx.feedback.get(analysis.feedback)
    if vote is None:
        raise NotFound("vote.not_found", id=analysis.feedback)
    return vote


def standing_vote(tx: CoreTx, analysis: Analysis) -> Feedback:
    """Give the analysis's 👎. Raises NotFound, Refused where it was taken back."""
    vote = vote_of(tx, analysis)
    if not vote.is_current or vote.type is not Vote.NEGATIVE:
        raise Refused("vote.taken_back")
    return vote


def key_of(analysis: Analysis) -> str:
    """Give the key of the one proposal that may come of a vote."""
    return f"vote:{analysis.feedback}"


def basis_of(tx: CoreTx, analysis: Analysis, vote: Feedback) -> Basis:
    """Say where a proposal of that analysis comes from."""
    run = tx.runs.get(analysis.run) if analysis.run else None
    return Basis(key_of(analysis), project_of(run, vote), vote.id, analysis.run, vote.user_comment)


def end(
    tx: CoreTx,
    analysis: Analysis,
    proposal: Proposal | None = None,
    lesson: Lesson | None = None,
    note: str = "",
) -> Analysis:
    """Store what came of an analysis: a proposal, the lesson that says it, or one line why nothing."""
    ended = replace(
        analysis,
        state=AnalysisState.DONE,
        proposal=proposal.id if proposal else analysis.proposal,
        lesson=lesson.id if lesson else analysis.lesson,
        note=note,
    )
    tx.proposals.put_analysis(ended)
    return ended


def fail(tx: CoreTx, id: str, error: str, now: float) -> Analysis:
    """End a running analysis without a verdict; the vote stays. Others are left as they are."""
    analysis = need_analysis(tx, id)
    if analysis.state is not AnalysisState.RUNNING:
        return analysis
    failed = replace(analysis, state=AnalysisState.FAILED, error=redact(error)[:ERROR_CHARS])
    tx.proposals.put_analysis(failed)
    log(tx, By("analyst", now, "analysis"), "fail", failed.feedback)
    return failed


def again(tx: CoreTx, analysis: Analysis, now: float) -> Analysis:
    """Let an analysis that came to nothing be made again, three times at most, then fail."""
    if analysis.tries >= MAX_TRIES:
        next_one = replace(analysis, state=AnalysisState.FAILED, error="analysis.tries")
    else:
        next_one = replace(analysis, state=AnalysisState.READY, due=now)
    tx.proposals.put_analysis(next_one)
    return next_one


def restart(
    tx: CoreTx, analysis: Analysis, now: float, *, remark: str = "", sharpen: LessonId | None = None
) -> Analysis:
    """Let an analysis begin anew because a person (or a third violation) asked for it."""
    ready = replace(
        analysis,
        state=AnalysisState.READY,
        due=now,
        tries=0,
        error="",
        remark=remark or analysis.remark,
        sharpen=sharpen or analysis.sharpen,
    )
    tx.proposals.put_analysis(ready)
    return ready
