"""The store in memory: a twin of the SQLite store for tests and for embedders."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import TypeVar

from core.model.feedback import Credit, CreditKind, Feedback, Vote
from core.model.ids import FeedbackId, LessonId, ProposalId, RunId, SessionId, number_of, proposal_id
from core.model.proposal import Analysis, Proposal, State
from core.model.run import Activity, Prompt, PromptState, Run, RunState, Session, VotedRun
from core.store.memory_agents import MemoryAgents
from core.store.memory_lessons import MemoryLessons
from core.store.memory_mail import MemoryButtons, MemoryInbox, MemoryOutbox, Table
from core.store.memory_rulings import MemoryRulings
from core.tables import Tx

T = TypeVar("T")


class MemoryFeedback(Table):
    """Votes, append-only."""

    def __init__(self, runs: "MemoryRuns | None" = None) -> None:
        self._runs = runs
        self._feedback: dict[FeedbackId, Feedback] = {}
        self._credits: dict[tuple[str, str, CreditKind], Credit] = {}

    def add(self, feedback: Feedback) -> None:
        old = self._feedback.get(feedback.supersedes) if feedback.supersedes else None
        if old is not None:
            self._feedback[old.id] = replace(old, is_current=False)
        self._feedback[feedback.id] = feedback

    def amend(self, id: FeedbackId, comment: str, reasons: tuple[str, ...]) -> None:
        if id in self._feedback:
            self._feedback[id] = replace(self._feedback[id], user_comment=comment, reasons=reasons)

    def get(self, id: FeedbackId) -> Feedback | None:
        return self._feedback.get(id)

    def current(self, run: RunId, user: str | None) -> Feedback | None:
        found = (f for f in self._feedback.values() if f.is_current and (f.run, f.user) == (run, user))
        return next(found, None)

    def newest(self, limit: int, project: str | None = None) -> list[Feedback]:
        found = [
            each
            for each in reversed(self._feedback.values())
            if each.is_current and each.type is not Vote.WITHDRAWN and project in (None, each.project)
        ]
        return found[:limit]

    def erase(self, id: FeedbackId) -> None:
        if id in self._feedback:
            self._feedback[id] = replace(self._feedback[id], user_comment="", context="")

    def voted(self) -> list[VotedRun]:
        votes: dict[RunId, bool] = {}
        for each in self._feedback.values():
            if each.is_current and each.type is not Vote.WITHDRAWN and each.run is not None:
                votes[each.run] = votes.get(each.run, False) or each.type is Vote.NEGATIVE
        runs = [run for run in (self._runs.every() if self._runs else ()) if run.id in votes]
        return [
            VotedRun(run.id, run.project, run.started, run.told, run.is_lessons_off, votes[run.id])
            for run in runs
        ]

    def beside(self, runs: "MemoryRuns") -> None:
        """Count votes on the runs of that table: those of the same transaction."""
        self._runs = runs

    def credit(self, earned: Iterable[Credit]) -> None:
        for each in earned:
            self._credits.setdefault((each.feedback, each.origin, each.kind), each)

    def credits(self, feedback: FeedbackId) -> list[Credit]:
        found = [each for each in self._credits.values() if each.feedback == feedback]
        return sorted(found, key=lambda each: (each.origin, each.kind))

    def drop_credits(self, feedback: FeedbackId) -> None:
        self._credits = {key: each for key, each in self._credits.items() if each.feedback != feedback}

    def move_credits(self, source: LessonId, target: LessonId) -> None:
        self._point(lambda each: each.lesson == source, target)

    def return_credits(self, origin: LessonId) -> None:
        self._point(lambda each: each.origin == origin, origin)

    def _point(self, chosen: Callable[[Credit], bool], lesson: LessonId) -> None:
        for key, each in self._credits.items():
            if chosen(each):
                self._credits[key] = replace(each, lesson=lesson)


class MemoryProposals(Table):
    """Proposals and the analyses they come from."""

    def __init__(self) -> None:
        self._proposals: dict[ProposalId, Proposal] = {}
        self._analyses: dict[str, Analysis] = {}
        self._named = 0

    def next_id(self) -> ProposalId:
        self._named += 1
        return proposal_id(self._named)

    def get(self, id: ProposalId) -> Proposal | None:
        return self._proposals.get(id)

    def by_key(self, key: str) -> Proposal | None:
        return next((each for each in self._proposals.values() if each.key == key), None)

    def by_feedback(self, feedback: FeedbackId) -> list[Proposal]:
        return [each for each in self.all() if each.feedback == feedback]

    def put(self, proposal: Proposal) -> None:
        self._proposals[proposal.id] = proposal

    def swap(self, proposal: Proposal, version: int) -> bool:
        held = self._proposals.get(proposal.id)
        if held is None or held.state is not State.PENDING or held.version != version:
            return False
        self.put(proposal)
        return True

    def all(self, *, pending_only: bool = False) -> list[Proposal]:
        found = [p for p in self._proposals.values() if not pending_only or p.state is State.PENDING]
        return sorted(found, key=lambda each: number_of(each.id))

    def put_analysis(self, analysis: Analysis) -> None:
        self._analyses[analysis.id] = analysis

    def analysis(self, id: str) -> Analysis | None:
        return self._analyses.get(id)

    def analyses_of(self, feedback: FeedbackId) -> list[Analysis]:
        found = [each for each in self._analyses.values() if each.feedback == feedback]
        return sorted(found, key=lambda each: each.id)

    def analyses(self, states: Sequence[str]) -> list[Analysis]:
        found = [each for each in self._analyses.values() if each.state in states]
        return sorted(found, key=lambda each: (each.due, each.id))


class MemoryRuns(Table):
    """Sessions, their queues, runs, and the audit log."""

    def __init__(self) -> None:
        self._runs: dict[RunId, Run] = {}
        self._sessions: dict[SessionId, Session] = {}
        self._prompts: dict[str, Prompt] = {}
        self._activities: list[Activity] = []

    def get(self, id: RunId) -> Run | None:
        return self._runs.get(id)

    def every(self) -> Iterable[Run]:
        """Give all runs, oldest first."""
        return self._runs.values()

    def put(self, run: Run) -> None:
        self._runs[run.id] = run

    def of_session(self, session: SessionId, limit: int) -> list[Run]:
        return [each for each in reversed(self._runs.values()) if each.session == session][:limit]

    def newest(self, project: str | None = None) -> Run | None:
        found = (each for each in reversed(self._runs.values()) if project in (None, each.project))
        return next(found, None)

    def blank(self, before: float) -> int:
        old = [
            each
            for each in self._runs.values()
            if each.ended is not None and each.ended < before and (each.prompt or each.answer)
        ]
        for run in old:
            self._runs[run.id] = replace(run, prompt="", answer="", error="", calls=())
        return len(old)

    def running(self) -> list[Run]:
        return [each for each in self._runs.values() if each.state is RunState.RUNNING]

    def session(self, id: SessionId) -> Session | None:
        return self._sessions.get(id)

    def current_session(self, lane: str) -> Session | None:
        return next((each for each in self.sessions(lane) if each.is_current), None)

    def put_session(self, session: Session) -> None:
        self._sessions[session.id] = session

    def sessions(self, lane: str) -> list[Session]:
        found = [each for each in self._sessions.values() if each.lane == lane]
        return sorted(found, key=lambda each: (each.created, each.id), reverse=True)

    def prompt(self, id: str) -> Prompt | None:
        return self._prompts.get(id)

    def put_prompt(self, prompt: Prompt) -> None:
        self._prompts[prompt.id] = prompt

    def queued(self, session: SessionId) -> list[Prompt]:
        return [each for each in self.prompts(PromptState.QUEUED) if each.session == session]

    def prompts(self, state: str) -> list[Prompt]:
        return [each for each in self._prompts.values() if each.state == state]

    def log(self, activity: Activity) -> None:
        self._activities.append(replace(activity, seq=len(self._activities) + 1))

    def activities(self, after: int, limit: int = 1000) -> list[Activity]:
        return self._activities[max(after, 0) :][:limit]


class MemorySettings(Table):
    """Small named values that outlive a process."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        return self._values.get(name)

    def put(self, name: str, value: str) -> None:
        self._values[name] = value

    def drop(self, name: str) -> None:
        self._values.pop(name, None)


class MemoryTx:
    """All tables; itself a transaction that nothing ends, for tests that need no store."""

    def __init__(self) -> None:
        self.runs = MemoryRuns()
        self.feedback = MemoryFeedback(self.runs)
        self.lessons = MemoryLessons()
        self.proposals = MemoryProposals()
        self.settings = MemorySettings()
        self.rulings = MemoryRulings(self.lessons.next_decision)
        self.agents = MemoryAgents()
        self.inbox = MemoryInbox()
        self.outbox = MemoryOutbox()
        self.buttons = MemoryButtons()

    def copy(self) -> "MemoryTx":
        """Give a transaction whose changes are its own."""
        twin = copy(self)
        for name, table in vars(self).items():
            setattr(twin, name, table.copy())
        twin.feedback.beside(twin.runs)
        twin.rulings.beside(twin.lessons.next_decision)
        return twin


class MemoryStore:
    """See `core.ports.Store`: a function works on a copy that then replaces the original, or is dropped."""

    def __init__(self) -> None:
        self._tx = MemoryTx()

    async def write(self, fn: Callable[[Tx], T]) -> T:
        draft = self._tx.copy()
        value = fn(draft)
        self._tx = draft
        return value

    async def read(self, fn: Callable[[Tx], T]) -> T:
        return fn(self._tx.copy())
