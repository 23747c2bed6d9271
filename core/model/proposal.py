"""A proposal: what an analysis suggests and a person decides (product.md 1.3, 1.4)."""

from dataclasses import dataclass
from enum import StrEnum

from core.model.ids import FeedbackId, LessonId, ProposalId, RunId
from core.model.lesson import Domain, Scope


class Verdict(StrEnum):
    """What an analysis found."""

    NEW = "new"
    MERGE = "merge"
    VIOLATED = "violated"
    HARMFUL = "harmful"
    NONE = "none"


class State(StrEnum):
    """Where a proposal stands; only `pending` can be decided."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"  # its vote was taken back, or another proposal took its place
    EXPIRED = "expired"  # 14 days undecided


class Origin(StrEnum):
    """Who said it: the provenance that the card shows (reliability.md S3)."""

    PERSON = "person"
    AGENT = "agent"
    TOOL_OUTPUT = "tool output"


@dataclass(frozen=True, slots=True)
class Finding:
    """What an analyst answers (product.md 6), checked and typed but not yet before the gate.

    Where its scope was not named (`is_placed`), a new lesson goes where the evidence says (learning.md 2).
    """

    verdict: Verdict
    rule: str = ""
    rationale: str = ""
    domain: Domain = Domain.GENERAL
    scope: Scope = Scope.GLOBAL
    lesson: LessonId | None = None
    relation: str | None = None
    cause: str = ""
    origin: Origin = Origin.AGENT
    is_by_rules: bool = False
    is_placed: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """One suggestion before the human gate; what it shows is exactly what would be told.

    `version` goes up with every edit: a decision names the version it was shown. `lesson` is the lesson it
    changes (merge, violated, harmful), `lesson_revision` the revision the analysis saw. `old_rule` is that
    lesson's wording then. `flags` are the findings of `core.rules.safety`. `key` makes it unique: a vote, or
    what else asked for it. `absorbs` are the further lessons that a merge takes over. `asks` says which text
    the card waits for as a reply: "wording", "remark" or "". `conflicts` are the lessons it may contradict: a
    guess that makes the person choose (learning.md 3.2), never a verdict.
    """

    id: ProposalId
    key: str
    state: State
    version: int
    verdict: Verdict
    rule: str
    rationale: str
    domain: Domain
    scope: Scope
    project: str | None
    origin: Origin
    created: float
    lesson: LessonId | None = None
    lesson_revision: int = 0
    old_rule: str = ""
    relation: str | None = None
    evidence: str = ""
    cause: str = ""
    flags: tuple[str, ...] = ()
    feedback: FeedbackId | None = None
    run: RunId | None = None
    is_by_rules: bool = False
    asks: str = ""
    remark: str = ""
    decided_by: str | None = None
    decided_at: float | None = None
    result: LessonId | None = None
    reminded: bool = False
    original_rule: str = ""
    absorbs: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


class AnalysisState(StrEnum):
    """Where the analysis of one vote stands."""

    OPEN = "open"  # waits for a reason, a comment or its time
    READY = "ready"  # to be claimed
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"  # the card with Retry, Use my words, Write it myself
    CANCELLED = "cancelled"  # vote withdrawn, or "just note it"


@dataclass(frozen=True, slots=True)
class Analysis:
    """The one analysis of a vote (or of a remark on its card).

    `due` is when an open one starts by itself (seconds since the epoch). `tries` counts starts that a restart
    cut off. `remark` is what the person asked to be reworded with. `proposal` is what came of it; `lesson`
    the one that says it already; `note` the one line why there is nothing to learn.
    """

    id: str
    feedback: FeedbackId
    run: RunId | None
    state: AnalysisState
    due: float
    tries: int = 0
    remark: str = ""
    sharpen: LessonId | None = None
    proposal: ProposalId | None = None
    lesson: LessonId | None = None
    note: str = ""
    error: str = ""
