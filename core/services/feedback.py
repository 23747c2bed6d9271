"""Votes: one a run and person, a mind may change, the words may come later (product.md 1.2, 1.3)."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from core.errors import Invalid, NotFound, Refused
from core.model.feedback import CreditKind, Feedback, Source, Vote
from core.model.ids import FeedbackId, LessonId, ProposalId, RunId, SessionId
from core.model.lesson import Domain, Lesson
from core.model.proposal import Analysis, AnalysisState, Proposal, State
from core.model.run import Run
from core.ports import Ids
from core.rules import approval
from core.rules.approval import Turn
from core.rules.redact import redact
from core.services import counting, proposals
from core.services.changes import By, iso, log
from core.tables import CoreTx

REASONS: Final = ("wrong_result", "too_much_changed", "ignored_me", "too_slow")
COMMENT_S = 300.0  # how long `Other…` waits, and how long the next message counts as a correction
CONTEXT_CHARS = 200
RECENT_RUNS = 20  # a correction is about one of the session's newest runs

_UNDER_WAY = (AnalysisState.OPEN, AnalysisState.READY, AnalysisState.RUNNING)


@dataclass(frozen=True, slots=True)
class Ballot:
    """A vote as it comes in. `project` and `session` are read only where there is no run."""

    run: RunId | None
    user: str
    type: Vote
    source: Source
    comment: str = ""
    reasons: tuple[str, ...] = ()
    project: str | None = None
    session: SessionId | None = None


@dataclass(frozen=True, slots=True)
class Cast:
    """What a vote did. `feedback` is the record that stands now (a withdrawal is one too)."""

    feedback: Feedback
    previous: Feedback | None
    is_changed: bool
    analysis: Analysis | None = None
    withdrawn: tuple[ProposalId, ...] = ()


@dataclass(frozen=True, slots=True)
class Remark:
    """Where a correction went: into the analysis, or onto the card that now offers `Reword with this`."""

    feedback: Feedback
    analysis: Analysis | None = None
    proposal: Proposal | None = None


def vote(tx: CoreTx, ids: Ids, ballot: Ballot, now: float, delay_s: float) -> Cast:
    """Count a vote; the same again has no effect but may add words.

    Raises NotFound (no such run), Refused (nothing to take back), Invalid (unknown reason).
    """
    _require_known(ballot.reasons)
    run = _voted(tx, ballot.run)
    previous = tx.feedback.current(run.id, ballot.user) if run is not None else None
    turn = approval.turn(previous.type if previous else None, ballot.type)
    if not turn.is_changed:
        return _repeat(tx, previous, ballot, now)
    feedback = _recorded(FeedbackId(ids.new()), run, ballot, previous, now)
    tx.feedback.add(feedback)
    by = By(ballot.user, now, ballot.source.value)
    log(tx, by, ballot.type.value, feedback.id)
    withdrawn = _taken_back(tx, previous, by) if previous is not None and turn.takes_back else ()
    return Cast(feedback, previous, True, _effects(tx, turn, feedback, run, now, delay_s), withdrawn)


def _require_known(reasons: tuple[str, ...]) -> None:
    unknown = [each for each in reasons if each not in REASONS]
    if unknown:
        raise Invalid("vote.reason", reason=unknown[0])


def _voted(tx: CoreTx, id: RunId | None) -> Run | None:
    run = tx.runs.get(id) if id is not None else None
    if id is not None and run is None:
        raise NotFound("run.not_found", id=id)
    return run


def _recorded(
    id: FeedbackId, run: Run | None, ballot: Ballot, previous: Feedback | None, now: float
) -> Feedback:
    return Feedback(
        id=id,
        timestamp=iso(now),
        type=ballot.type,
        source=ballot.source,
        session=run.session if run else ballot.session,
        project=run.project if run else ballot.project,
        domain=run.domain if run else Domain.GENERAL,
        context=" ".join(run.prompt.split())[:CONTEXT_CHARS] if run else "",
        user_comment=redact(ballot.comment.strip()),
        run=run.id if run else None,
        user=ballot.user,
        reasons=tuple(dict.fromkeys(ballot.reasons)),
        supersedes=previous.id if previous else None,
    )


def _repeat(tx: CoreTx, previous: Feedback | None, ballot: Ballot, now: float) -> Cast:
    if previous is None:
        raise Refused("vote.nothing")
    if previous.type is Vote.WITHDRAWN or not (ballot.comment.strip() or ballot.reasons):
        return Cast(previous, previous, False, _analysis_of(tx, previous))
    added = _amended(tx, previous, ballot.comment, ballot.reasons)
    return Cast(added, previous, False, _started(tx, added, now, is_new=added != previous))


def _taken_back(tx: CoreTx, previous: Feedback, by: By) -> tuple[ProposalId, ...]:
    """Take back all that a vote did, but for what a person approved since."""
    counting.reverse(tx, previous.id)
    _cancel(tx, previous)
    return proposals.withdraw(tx, previous.id, by)


def _cancel(tx: CoreTx, feedback: Feedback) -> Analysis | None:
    analysis = _analysis_of(tx, feedback)
    if analysis is None or analysis.state not in (*_UNDER_WAY, AnalysisState.FAILED):
        return analysis
    cancelled = replace(analysis, state=AnalysisState.CANCELLED)
    tx.proposals.put_analysis(cancelled)
    return cancelled


def _effects(
    tx: CoreTx, turn: Turn, feedback: Feedback, run: Run | None, now: float, delay_s: float
) -> Analysis | None:
    if turn.praises and run is not None:
        counting.credit(tx, feedback.id, _praised(tx, run), CreditKind.POSITIVE)
    if not turn.analyses:
        return None
    is_said = bool(feedback.user_comment or feedback.reasons)
    state = AnalysisState.READY if is_said else AnalysisState.OPEN
    due = now if is_said else now + delay_s
    analysis = Analysis(str(feedback.id), feedback.id, feedback.run, state, due)
    tx.proposals.put_analysis(analysis)
    return analysis


def _praised(tx: CoreTx, run: Run) -> list[Lesson]:
    """Give the told lessons of the run's domain, active or not."""
    told = [tx.lessons.get(LessonId(each)) for each in run.told]
    return [lesson for lesson in told if lesson is not None and lesson.domain is run.domain]


def _analysis_of(tx: CoreTx, feedback: Feedback) -> Analysis | None:
    found = tx.proposals.analyses_of(feedback.id)
    return found[-1] if found else None


def _amended(tx: CoreTx, feedback: Feedback, comment: str = "", reasons: tuple[str, ...] = ()) -> Feedback:
    """Add words to a vote, each once."""
    lines = [line for line in (feedback.user_comment, redact(comment.strip())) if line]
    words = "\n".join(dict.fromkeys(lines))
    merged = tuple(dict.fromkeys((*feedback.reasons, *reasons)))
    tx.feedback.amend(feedback.id, words, merged)
    return replace(feedback, user_comment=words, reasons=merged)


def _started(tx: CoreTx, feedback: Feedback, now: float, *, is_new: bool) -> Analysis | None:
    """Let an open analysis begin, and one that ended without a proposal begin again if words were added.

    A running one notices the new words when it comes back.
    """
    analysis = _analysis_of(tx, feedback)
    if analysis is None:
        return None
    is_over = analysis.state not in _UNDER_WAY and analysis.proposal is None
    if analysis.state is AnalysisState.OPEN or (is_new and is_over):
        analysis = replace(analysis, state=AnalysisState.READY, due=now, tries=0, error="")
        tx.proposals.put_analysis(analysis)
    return analysis


def need_vote(tx: CoreTx, id: str, user: str) -> Feedback:
    """Give a 👎 that stands and is that person's. Raises NotFound, Refused."""
    feedback = tx.feedback.get(FeedbackId(id))
    if feedback is None:
        raise NotFound("vote.not_found", id=id)
    if feedback.user != user:
        raise Refused("vote.not_yours")
    if not feedback.is_current or feedback.type is not Vote.NEGATIVE:
        raise Refused("vote.taken_back")
    return feedback


def add_reason(tx: CoreTx, id: str, user: str, reason: str, now: float) -> Cast:
    """Store why; it starts a waiting analysis. Raises NotFound, Refused, Invalid."""
    _require_known((reason,))
    feedback = need_vote(tx, id, user)
    added = _amended(tx, feedback, reasons=(reason,))
    is_new = added != feedback
    return Cast(added, feedback, is_new, _started(tx, added, now, is_new=is_new))


def await_comment(tx: CoreTx, id: str, user: str, now: float) -> Cast:
    """Let a waiting analysis wait for the comment that `Other…` asks for, 5 minutes at most."""
    feedback = need_vote(tx, id, user)
    analysis = _analysis_of(tx, feedback)
    if analysis is not None and analysis.state is AnalysisState.OPEN:
        analysis = replace(analysis, due=now + COMMENT_S)
        tx.proposals.put_analysis(analysis)
    return Cast(feedback, feedback, False, analysis)


def add_comment(tx: CoreTx, id: str, user: str, comment: str, now: float) -> Cast:
    """Store what the person says about it; it starts a waiting analysis. Raises NotFound, Refused."""
    feedback = need_vote(tx, id, user)
    added = _amended(tx, feedback, comment)
    is_new = added != feedback
    return Cast(added, feedback, is_new, _started(tx, added, now, is_new=is_new))


def just_note(tx: CoreTx, id: str, user: str, now: float) -> Cast:
    """Keep the vote and analyse nothing. Raises NotFound, Refused."""
    feedback = need_vote(tx, id, user)
    log(tx, By(user, now), "note", feedback.id)
    return Cast(feedback, feedback, False, _cancel(tx, feedback))


def remark(tx: CoreTx, user: str, place: str, text: str, now: float) -> Remark | None:
    """Take the voter's first plain message within 5 minutes of a 👎 as a correction (product.md 1.3.2).

    `place` is a session or a lane. The caller leaves out commands, replies and a bare yes or no. None where
    the message is no correction, or nothing is left that it could change.
    """
    feedback = _corrected(tx, user, place, now)
    marker = f"corrected:{user}"
    if feedback is None or tx.settings.get(marker) == feedback.id:
        return None
    tx.settings.put(marker, feedback.id)
    analysis = _analysis_of(tx, feedback)
    if analysis is not None and analysis.state in (*_UNDER_WAY, AnalysisState.FAILED):
        return Remark(_amended(tx, feedback, text), analysis)
    pending = [each for each in tx.proposals.by_feedback(feedback.id) if each.state is State.PENDING]
    if not pending:
        return None
    noted = replace(pending[-1], remark=redact(text.strip()))
    tx.proposals.put(noted)
    return Remark(feedback, analysis, noted)


def _corrected(tx: CoreTx, user: str, place: str, now: float) -> Feedback | None:
    """Give the person's newest 👎 of the last 5 minutes in that session or lane."""
    session = tx.runs.session(SessionId(place)) or tx.runs.current_session(place)
    if session is None:
        return None
    runs = tx.runs.of_session(session.id, RECENT_RUNS)
    votes = [vote for vote in (tx.feedback.current(run.id, user) for run in runs) if vote is not None]
    recent = [each for each in votes if 0 <= now - _time(each) <= COMMENT_S]
    newest = max(recent, key=lambda each: each.id, default=None)
    return newest if newest is not None and newest.type is Vote.NEGATIVE else None


def _time(feedback: Feedback) -> float:
    return datetime.fromisoformat(feedback.timestamp).timestamp()
