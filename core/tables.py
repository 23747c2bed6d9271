"""What a transaction offers: one small Protocol a table; both stores implement them, one suite tests them.

A use case is a function of `Tx`; nothing in it waits, so nothing can come between its reads and its writes.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from core.model.agent import Agent, Assignment
from core.model.feedback import Credit, Feedback
from core.model.ids import FeedbackId, LessonId, ProposalId, RunId, SessionId
from core.model.lesson import Choice, Domain, Lesson, Revision
from core.model.mail import Button, Incoming, Outgoing, Receipt
from core.model.proposal import Analysis, Proposal
from core.model.ruling import Ruling
from core.model.run import Activity, Prompt, Run, Session, VotedRun


class FeedbackTable(Protocol):
    """Votes, append-only."""

    def add(self, feedback: Feedback) -> None:
        """Append a record; the one it supersedes stops being current."""
        ...

    def amend(self, id: FeedbackId, comment: str, reasons: tuple[str, ...]) -> None:
        """Give a vote its words, which may come after the tap; nothing else of a record ever changes."""
        ...

    def get(self, id: FeedbackId) -> Feedback | None: ...
    def current(self, run: RunId, user: str | None) -> Feedback | None:
        """Give the vote that stands for that run and person, withdrawn or not."""
        ...

    def newest(self, limit: int, project: str | None = None) -> list[Feedback]:
        """Give the newest current votes first."""
        ...

    def voted(self) -> list[VotedRun]:
        """Give the runs that votes stand on, oldest first."""
        ...

    def erase(self, id: FeedbackId) -> None:
        """Blank the words of a vote and what it was about (a purge); the vote still counts."""
        ...

    def credit(self, earned: Iterable[Credit]) -> None:
        """Remember what a vote counted; the same (feedback, origin, kind) counts once."""
        ...

    def credits(self, feedback: FeedbackId) -> list[Credit]: ...
    def drop_credits(self, feedback: FeedbackId) -> None: ...
    def move_credits(self, source: LessonId, target: LessonId) -> None:
        """Let later reversals of what was counted for `source` count against `target` (a merge)."""
        ...

    def return_credits(self, origin: LessonId) -> None:
        """Undo `move_credits`: what was counted for `origin` counts for it again."""
        ...


class LessonTable(Protocol):
    """Lessons with every wording they had."""

    def next_id(self) -> LessonId: ...
    def reserve(self, number: int) -> None:
        """Never give that number or a lower one again (an import brought it)."""
        ...

    def next_decision(self) -> int:
        """Give the next number in the order of decisions."""
        ...

    def get(self, id: LessonId) -> Lesson | None: ...
    def put(self, lesson: Lesson) -> None:
        """Insert or replace the current state; history is written by `record`."""
        ...

    def record(self, revision: Revision) -> None: ...
    def history(self, id: LessonId) -> list[Revision]:
        """Give every wording, oldest first."""
        ...

    def active(self, project: str | None) -> list[Lesson]:
        """Give the active lessons that reach runs of that project, in id order."""
        ...

    def all(self, *, active: bool | None = None) -> list[Lesson]:
        """Give lessons of every project, in id order."""
        ...

    def page(self, choice: Choice, limit: int, offset: int = 0) -> list[Lesson]:
        """Give a part of the lessons that are chosen: by scope, then domain, then id."""
        ...

    def count(self, choice: Choice) -> int:
        """Give how many lessons are chosen."""
        ...

    def saying(self, folded: str) -> list[Lesson]:
        """Give the active lessons with that folded wording (`core.rules.approval.folded`), in id order."""
        ...

    def nearest(self, text: str, project: str | None, limit: int) -> list[tuple[Lesson, float]]:
        """Give the active lessons that reach that project and share words with a text, best first.

        The score is bm25 over `core.rules.consolidation.terms`, above 0, higher is nearer.
        """
        ...

    def told_sizes(self, project: str | None) -> list[tuple[LessonId, int]]:
        """Give the active lessons every run of that project is told, newest decision first.

        With each the characters of domain and rule: enough to choose what the block has room for.
        """
        ...

    def projects(self) -> list[str]:
        """Give the projects that have active lessons of their own."""
        ...

    def domains(self) -> list[Domain]:
        """Give the domains with active lessons of scope `domain`, in the order of `Domain`."""
        ...

    def on_demand(self) -> list[Lesson]:
        """Give the active lessons of scope `domain`, in id order."""
        ...

    def merged_into(self, id: LessonId) -> list[Lesson]:
        """Give the lessons that one took over, in id order."""
        ...

    def erase(self, id: LessonId) -> None:
        """Forget a lesson and every wording it had (a purge); its number is not given again."""
        ...


class ProposalTable(Protocol):
    """Proposals and the analyses they come from."""

    def next_id(self) -> ProposalId: ...
    def get(self, id: ProposalId) -> Proposal | None: ...
    def by_key(self, key: str) -> Proposal | None: ...
    def by_feedback(self, feedback: FeedbackId) -> list[Proposal]: ...
    def put(self, proposal: Proposal) -> None: ...
    def swap(self, proposal: Proposal, version: int) -> bool:
        """Replace it only while it is pending at that version; say whether it was (S2)."""
        ...

    def all(self, *, pending_only: bool = False) -> list[Proposal]:
        """Give proposals in id order."""
        ...

    def put_analysis(self, analysis: Analysis) -> None: ...
    def analysis(self, id: str) -> Analysis | None: ...
    def analyses_of(self, feedback: FeedbackId) -> list[Analysis]: ...
    def analyses(self, states: Sequence[str]) -> list[Analysis]:
        """Give the analyses in one of those states, earliest due first."""
        ...


class RunTable(Protocol):
    """Sessions, their queues, runs, and the audit log."""

    def get(self, id: RunId) -> Run | None: ...
    def put(self, run: Run) -> None: ...
    def of_session(self, session: SessionId, limit: int) -> list[Run]:
        """Give the newest runs of a session, newest first."""
        ...

    def newest(self, project: str | None = None) -> Run | None:
        """Give the newest run (of that project)."""
        ...

    def running(self) -> list[Run]: ...
    def blank(self, before: float) -> int:
        """Forget prompt, answer and calls of the runs that ended before that; give how many had any."""
        ...

    def session(self, id: SessionId) -> Session | None: ...
    def current_session(self, lane: str) -> Session | None: ...
    def put_session(self, session: Session) -> None: ...
    def sessions(self, lane: str) -> list[Session]:
        """Give the sessions of a lane, newest first."""
        ...

    def prompt(self, id: str) -> Prompt | None: ...
    def put_prompt(self, prompt: Prompt) -> None: ...
    def queued(self, session: SessionId) -> list[Prompt]:
        """Give what waits in a session, oldest first."""
        ...

    def prompts(self, state: str) -> list[Prompt]:
        """Give the prompts in that state, oldest first."""
        ...

    def log(self, activity: Activity) -> None: ...
    def activities(self, after: int, limit: int = 1000) -> list[Activity]:
        """Give what happened after that sequence number, oldest first."""
        ...


class RulingTable(Protocol):
    """What people decided about patterns (learning.md 5.3)."""

    def get(self, project: str, tool: str, verb: str, error_class: str) -> Ruling | None: ...
    def put(self, ruling: Ruling) -> None:
        """Insert or replace the decision about that pattern."""
        ...

    def drop(self, ruling: Ruling) -> None:
        """Take a decision back: the pattern is open again."""
        ...

    def of(self, project: str | None = None) -> list[Ruling]:
        """Give the decisions that hold in a project (its own, global ones), or all; in their order."""
        ...

    def next_decision(self) -> int:
        """Give the next number in the order of decisions, which lessons share."""
        ...


class SettingTable(Protocol):
    """Small named values that outlive a process."""

    def get(self, name: str) -> str | None: ...
    def put(self, name: str, value: str) -> None: ...
    def drop(self, name: str) -> None: ...


class Inbox(Protocol):
    """Nothing in is lost: updates are stored before they are acknowledged."""

    def add(self, id: int, lane: str, raw: str, at: float) -> bool:
        """Store an update; say whether it is new."""
        ...

    def waiting(self) -> list[Incoming]:
        """Give what is not done, in order of arrival."""
        ...

    def finish(self, id: int) -> None:
        """Mark it done and blank its text."""
        ...

    def fail(self, id: int, error: str, *, is_dead: bool) -> None:
        """Count a failed attempt; a dead one is not tried again."""
        ...

    def dead(self) -> list[Incoming]: ...
    def prune(self, before: float) -> int:
        """Forget what was done before that time; give how many."""
        ...


class Outbox(Protocol):
    """Nothing out is lost: calls are stored with the effect that causes them."""

    def put(self, outgoing: Outgoing) -> int:
        """Store a call; waiting rows of the same key are replaced. Gives its sequence number."""
        ...

    def waiting(self, lane: str | None = None) -> list[Outgoing]:
        """Give what waits or was being sent, by rank, then in order."""
        ...

    def lanes(self) -> list[str]:
        """Give the lanes in which something waits."""
        ...

    def start(self, seq: int, body: str) -> None:
        """Mark a call as handed to the network, as it is sent."""
        ...

    def delay(self, seq: int, body: str, not_before: float, error: str) -> None:
        """Put it back to wait, to be sent as `body`."""
        ...

    def finish(self, seq: int, receipt: Receipt | None = None) -> None:
        """Mark it done, blank its text, and remember what the other side calls it."""
        ...

    def fail(self, seq: int, error: str) -> None: ...
    def move(self, lane: str, target: str) -> None:
        """Let everything of a lane follow to another one (a group that became a supergroup)."""
        ...

    def drop(self, lane: str) -> None:
        """Give up what waits in a lane (a chat that is gone)."""
        ...

    def dead(self) -> list[Outgoing]: ...
    def receipts(self, ref: str) -> list[Receipt]:
        """Give the messages known by that ref, first sent first."""
        ...

    def newest(self, lane: str) -> Receipt | None:
        """Give the message sent last in a lane."""
        ...

    def ref_of(self, lane: str, external: str) -> str | None:
        """Give what a message in that lane is about."""
        ...

    def bind(self, receipt: Receipt) -> None:
        """Remember what a message is about."""
        ...

    def prune(self, before: float) -> int:
        """Forget what was done before that time; give how many."""
        ...


class ButtonTable(Protocol):
    """What stands behind inline buttons."""

    def put(self, button: Button) -> None: ...
    def get(self, id: str) -> Button | None: ...
    def of(self, ref: str, kind: str) -> Button | None:
        """Give the newest button of that kind about that thing."""
        ...

    def prune(self, before: float) -> int:
        """Forget what expired before that time; give how many."""
        ...


class AgentTable(Protocol):
    """The registry of agents, and which skills people gave to each."""

    def get(self, id: str) -> Agent | None: ...
    def all(self) -> list[Agent]:
        """Give the registered agents, by id."""
        ...

    def put(self, agent: Agent) -> None: ...
    def drop(self, id: str) -> None:
        """Forget an agent and what it was given."""
        ...

    def assign(self, assignment: Assignment) -> None:
        """Give a skill to an agent, or give it anew as it is now."""
        ...

    def assignment(self, agent: str, skill: str) -> Assignment | None: ...
    def assigned_to(self, agent: str) -> list[Assignment]:
        """Give what an agent has, by the skill's name."""
        ...

    def assignments(self) -> list[Assignment]:
        """Give what every agent has, by agent, then by the skill's name."""
        ...

    def unassign(self, agent: str, skill: str) -> bool:
        """Take a skill from an agent; say whether it had it."""
        ...

    def count_read(self, agent: str, skill: str, at: float) -> None: ...


class CoreTx(Protocol):
    """What the use cases of `core` need; embedders may stop here."""

    @property
    def feedback(self) -> FeedbackTable: ...
    @property
    def lessons(self) -> LessonTable: ...
    @property
    def proposals(self) -> ProposalTable: ...
    @property
    def runs(self) -> RunTable: ...
    @property
    def settings(self) -> SettingTable: ...
    @property
    def rulings(self) -> RulingTable: ...
    @property
    def agents(self) -> AgentTable: ...


class Tx(CoreTx, Protocol):
    """One transaction: all of it happens, or none."""

    @property
    def inbox(self) -> Inbox: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def buttons(self) -> ButtonTable: ...
