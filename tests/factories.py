"""Small complete records, and the world of the unit tests: a memory transaction with ids that count."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from core.errors import AutoImproveError
from core.model.feedback import Source, Vote
from core.model.ids import PromptId, RunId, SessionId
from core.model.lesson import Domain, Lesson, Scope
from core.model.proposal import Finding, Proposal, Verdict
from core.model.run import Call, Prompt, PromptState, Run, RunState, Session
from core.services import analysis, feedback, lessons, proposals
from core.services.analysis import Conclusion
from core.services.feedback import Ballot, Cast
from core.services.proposals import Basis, Decision
from core.store.memory import MemoryTx
from core.tables import CoreTx

T = TypeVar("T")

NOW = 1_900_000_000.0
PROJECT = "/srv/shop"
OTHER_PROJECT = "/srv/blog"
ANN, BOB = "1001", "1002"


class CountingIds:
    """Ids that are unique, in order, and the same in every test run."""

    def __init__(self) -> None:
        self._count = 0

    def new(self) -> str:
        self._count += 1
        return f"id-{self._count:06d}"

    def token(self) -> str:
        return f"token-{self.new()}"


class World:
    """A memory transaction and its ids; each act is all or nothing, as in a store."""

    def __init__(self) -> None:
        self.tx = MemoryTx()
        self.ids = CountingIds()
        self.now = NOW

    def act(self, fn: Callable[[MemoryTx], T]) -> T:
        """Do something in a transaction; an exception undoes it."""
        draft = self.tx.copy()
        value = fn(draft)
        self.tx = draft
        return value

    def refused(self, fn: Callable[[MemoryTx], object]) -> AutoImproveError | None:
        """Try something; give the error that refused it."""
        try:
            self.act(fn)
        except AutoImproveError as error:
            return error
        return None


def a_session(tx: CoreTx, id: str = "s-1", lane: str = "chat", project: str = PROJECT) -> Session:
    """Store a session."""
    session = Session(SessionId(id), lane, project, "pi", NOW)
    tx.runs.put_session(session)
    return session


def a_run(
    tx: CoreTx,
    id: str = "r-1",
    told: Iterable[str] = (),
    domain: Domain = Domain.GENERAL,
    project: str | None = PROJECT,
    session: str | None = "s-1",
    prompt: str = "Add a discount field",
    calls: tuple[Call, ...] = (),
) -> Run:
    """Store a run that ended well."""
    run = Run(
        id=RunId(id),
        session=SessionId(session) if session else None,
        agent="pi",
        project=project,
        prompt=prompt,
        state=RunState.DONE,
        started=NOW,
        answer="Done.",
        told=tuple(told),
        domain=domain,
        calls=calls,
        lane="chat",
    )
    tx.runs.put(run)
    return run


def a_prompt(session: Session, id: str = "m-1", text: str = "Add a discount field") -> Prompt:
    """Build a queued prompt."""
    return Prompt(PromptId(id), session.id, text, ANN, PromptState.QUEUED, NOW)


def a_lesson(
    tx: CoreTx,
    rule: str = "Run the tests before committing",
    domain: Domain = Domain.GENERAL,
    scope: Scope = Scope.GLOBAL,
    project: str | None = None,
) -> Lesson:
    """Store an active lesson."""
    return lessons.add(tx, rule, domain, scope, project, ANN, "cli", NOW)


def a_finding(
    rule: str = "Keep refactors in small steps",
    verdict: Verdict = Verdict.NEW,
    lesson: Lesson | None = None,
    scope: Scope = Scope.GLOBAL,
    rationale: str = "A large diff cannot be reviewed",
) -> Finding:
    """Build what an analyst answers."""
    return Finding(verdict, rule, rationale, scope=scope, lesson=lesson.id if lesson else None, cause="why")


def a_proposal(
    tx: CoreTx, finding: Finding | None = None, key: str = "k-1", absorbs: tuple[str, ...] = ()
) -> Proposal:
    """Put a finding that no vote is behind before the people."""
    return proposals.propose(tx, finding or a_finding(), Basis(key, PROJECT, absorbs=absorbs), NOW)


def cast(
    world: World, type: Vote, run: str = "r-1", user: str = ANN, comment: str = "", delay_s: float = 20.0
) -> Cast:
    """Vote on a run."""
    ballot = Ballot(RunId(run), user, type, Source.TELEGRAM, comment)
    return world.act(lambda tx: feedback.vote(tx, world.ids, ballot, world.now, delay_s))


def good(world: World, run: str = "r-1", user: str = ANN) -> Cast:
    """Tap 👍."""
    return cast(world, Vote.POSITIVE, run, user)


def bad(world: World, run: str = "r-1", user: str = ANN, comment: str = "") -> Cast:
    """Tap 👎; its analysis may start at once."""
    return cast(world, Vote.NEGATIVE, run, user, comment, delay_s=0.0)


def analysed(world: World, finding: Finding) -> Conclusion:
    """Claim the analysis that is due, let the analyst answer, and conclude."""

    def act(tx: CoreTx) -> Conclusion:
        claimed = analysis.claim(tx, world.now)
        assert claimed is not None
        seen = analysis.evidence(tx, claimed)
        return analysis.conclude(tx, claimed.id, finding, world.now, seen)

    return world.act(act)


def approved(world: World, proposal: Proposal, who: str = ANN) -> Decision:
    """Approve a proposal as it stands."""
    return world.act(lambda tx: proposals.approve(tx, proposal.id, proposal.version, who, world.now))
