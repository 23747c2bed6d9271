"""What the guide beside the chat shows: where the visitor is in the loop, and what the agent is told."""

from dataclasses import asdict, dataclass
from enum import StrEnum

from bot import chats
from bot.demo.project import Suite
from bot.demo.script import LESSON
from bot.settings import BotSettings
from core.model.feedback import Feedback, Vote
from core.model.proposal import AnalysisState, State
from core.model.run import Run, RunState
from core.tables import Tx


class Step(StrEnum):
    """The steps of the loop, in their order."""

    ASK = "ask"
    VOTE = "vote"
    REASON = "reason"
    DECIDE = "decide"
    BETTER = "better"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Guide:
    """The step that comes next, what is special about it, and the block of the next run."""

    step: Step = Step.ASK
    hint: str = ""
    told: str = ""
    suites: tuple[Suite, ...] = ()

    def wire(self) -> dict[str, object]:
        """Give it as JSON."""
        return asdict(self)


def look(tx: Tx, settings: BotSettings, lane: str, suites: tuple[Suite, ...]) -> Guide:
    """Say where the visitor is."""
    session = tx.runs.current_session(lane)
    if session is None:
        return Guide(suites=suites)
    told = chats.block_for(tx, settings, session).text
    run = tx.runs.newest(session.project)
    step, hint = _taught(run, told) if told else _untaught(tx, run)
    return Guide(step, hint, told, suites)


def _taught(run: Run | None, told: str) -> tuple[Step, str]:
    """A lesson is told: what is left is to see the difference."""
    if run is not None and run.told and run.state is RunState.DONE:
        return Step.DONE, ""
    return Step.BETTER, "" if LESSON.search(told) else "other"


def _untaught(tx: Tx, run: Run | None) -> tuple[Step, str]:
    if run is None or run.state is RunState.RUNNING:
        return Step.ASK, ""
    if any(each.state is State.PENDING for each in tx.proposals.all(pending_only=True)):
        return Step.DECIDE, ""
    vote = tx.feedback.current(run.id, run.user)
    if vote is None or vote.type is not Vote.NEGATIVE:
        return Step.VOTE, ""
    return _complained(tx, vote)


def _complained(tx: Tx, vote: Feedback) -> tuple[Step, str]:
    analyses = tx.proposals.analyses_of(vote.id)
    match analyses[-1].state if analyses else None:
        case AnalysisState.OPEN:
            return Step.REASON, ""
        case AnalysisState.READY | AnalysisState.RUNNING:
            return Step.REASON, "wait"
        case _:
            return Step.ASK, "rejected" if tx.proposals.by_feedback(vote.id) else ""
