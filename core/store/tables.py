"""The tables of feedback, proposals and runs, in SQL (see `core.tables` for what each promises)."""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from core.model.feedback import Credit, Feedback
from core.model.ids import FeedbackId, LessonId, ProposalId, RunId, SessionId, number_of, proposal_id
from core.model.proposal import Analysis, Proposal
from core.model.run import Activity, Prompt, Run, Session, VotedRun
from core.store.rows import Rows, encode, run, scalar


class SqlFeedback:
    """Votes, append-only."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._feedback = Rows(connection, "feedback", Feedback)
        self._credits = Rows(connection, "credit", Credit)
        self._voted = Rows(connection, "feedback", VotedRun)

    def add(self, feedback: Feedback) -> None:
        if feedback.supersedes is not None:
            run(self._connection, "feedback_supersede", id=feedback.supersedes)
        self._feedback.add(feedback)

    def amend(self, id: FeedbackId, comment: str, reasons: tuple[str, ...]) -> None:
        run(self._connection, "feedback_amend", id=id, comment=comment, reasons=json.dumps(reasons))

    def get(self, id: FeedbackId) -> Feedback | None:
        return self._feedback.one("feedback_get", id=id)

    def current(self, run: RunId, user: str | None) -> Feedback | None:
        return self._feedback.one("feedback_current", run=run, user=user)

    def newest(self, limit: int, project: str | None = None) -> list[Feedback]:
        return self._feedback.many("feedback_newest", limit=limit, project=project)

    def voted(self) -> list[VotedRun]:
        return self._voted.many("feedback_voted")

    def erase(self, id: FeedbackId) -> None:
        run(self._connection, "feedback_erase", id=id)

    def credit(self, earned: Iterable[Credit]) -> None:
        for credit in earned:
            run(self._connection, "credit_add", **encode(credit))

    def credits(self, feedback: FeedbackId) -> list[Credit]:
        return self._credits.many("credit_of", feedback=feedback)

    def drop_credits(self, feedback: FeedbackId) -> None:
        run(self._connection, "credit_drop", feedback=feedback)

    def move_credits(self, source: LessonId, target: LessonId) -> None:
        run(self._connection, "credit_move", source=source, target=target)

    def return_credits(self, origin: LessonId) -> None:
        run(self._connection, "credit_return", origin=origin)


class SqlProposals:
    """Proposals and the analyses they come from."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._proposals = Rows(connection, "proposal", Proposal)
        self._analyses = Rows(connection, "analysis", Analysis)

    def next_id(self) -> ProposalId:
        return proposal_id(scalar(self._connection, "next_in_sequence", name="proposal"))

    def get(self, id: ProposalId) -> Proposal | None:
        return self._proposals.one("proposal_get", id=id)

    def by_key(self, key: str) -> Proposal | None:
        return self._proposals.one("proposal_by_key", key=key)

    def by_feedback(self, feedback: FeedbackId) -> list[Proposal]:
        return self._proposals.many("proposal_by_feedback", feedback=feedback)

    def put(self, proposal: Proposal) -> None:
        self._proposals.put(proposal, number=number_of(proposal.id))

    def swap(self, proposal: Proposal, version: int) -> bool:
        if scalar(self._connection, "proposal_is_pending_at", id=proposal.id, version=version) is None:
            return False
        self.put(proposal)
        return True

    def all(self, *, pending_only: bool = False) -> list[Proposal]:
        return self._proposals.many("proposal_pending" if pending_only else "proposal_all")

    def put_analysis(self, analysis: Analysis) -> None:
        self._analyses.put(analysis)

    def analysis(self, id: str) -> Analysis | None:
        return self._analyses.one("analysis_get", id=id)

    def analyses_of(self, feedback: FeedbackId) -> list[Analysis]:
        return self._analyses.many("analysis_of", feedback=feedback)

    def analyses(self, states: Sequence[str]) -> list[Analysis]:
        return self._analyses.many("analysis_in", states=json.dumps(list(states)))


class SqlRuns:
    """Sessions, their queues, runs, and the audit log."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._runs = Rows(connection, "run", Run)
        self._sessions = Rows(connection, "session", Session)
        self._prompts = Rows(connection, "prompt", Prompt)
        self._activities = Rows(connection, "activity", Activity)

    def get(self, id: RunId) -> Run | None:
        return self._runs.one("run_get", id=id)

    def put(self, run: Run) -> None:
        self._runs.put(run)

    def of_session(self, session: SessionId, limit: int) -> list[Run]:
        return self._runs.many("run_of_session", session=session, limit=limit)

    def newest(self, project: str | None = None) -> Run | None:
        return self._runs.one("run_newest", project=project)

    def blank(self, before: float) -> int:
        return run(self._connection, "run_blank", before=before)

    def running(self) -> list[Run]:
        return self._runs.many("run_running")

    def session(self, id: SessionId) -> Session | None:
        return self._sessions.one("session_get", id=id)

    def current_session(self, lane: str) -> Session | None:
        return self._sessions.one("session_current", lane=lane)

    def put_session(self, session: Session) -> None:
        self._sessions.put(session)

    def sessions(self, lane: str) -> list[Session]:
        return self._sessions.many("session_of_lane", lane=lane)

    def prompt(self, id: str) -> Prompt | None:
        return self._prompts.one("prompt_get", id=id)

    def put_prompt(self, prompt: Prompt) -> None:
        self._prompts.put(prompt)

    def queued(self, session: SessionId) -> list[Prompt]:
        return self._prompts.many("prompt_queued", session=session)

    def prompts(self, state: str) -> list[Prompt]:
        return self._prompts.many("prompt_in", state=state)

    def log(self, activity: Activity) -> None:
        self._activities.add(activity, without=("seq",))

    def activities(self, after: int, limit: int = 1000) -> list[Activity]:
        return self._activities.many("activity_after", after=after, limit=limit)


class SqlSettings:
    """Small named values that outlive a process."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def get(self, name: str) -> str | None:
        value: str | None = scalar(self._connection, "setting_get", name=name)
        return value

    def put(self, name: str, value: str) -> None:
        run(self._connection, "setting_put", name=name, value=value)

    def drop(self, name: str) -> None:
        run(self._connection, "setting_drop", name=name)
