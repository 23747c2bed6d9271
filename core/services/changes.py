"""The one way in which a lesson changes: with its history, the audit log, and what waits on it."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from core.errors import NotFound, Stale
from core.model.ids import LessonId
from core.model.lesson import Domain, Lesson, Revision, Scope
from core.model.run import Activity
from core.rules import approval
from core.services import counting, opposition
from core.tables import CoreTx

_UNDO = "undo "


@dataclass(frozen=True, slots=True)
class By:
    """Who does it, on which surface and when; `batch` ties what one command does together."""

    who: str
    now: float
    surface: str = "telegram"
    batch: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A rule and its place, before it is a lesson."""

    rule: str
    rationale: str
    domain: Domain
    scope: Scope
    project: str | None
    source_feedback: tuple[str, ...] = ()


def iso(now: float) -> str:
    """Say a time as the exchange files do: ISO 8601, UTC."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def log(tx: CoreTx, by: By, verb: str, subject: str, detail: str = "") -> None:
    """Add a line to the audit log; `detail` never holds a person's text (a purge could not find it)."""
    tx.runs.log(Activity(by.now, by.who, by.surface, verb, subject, detail, by.batch))


def need(tx: CoreTx, id: str) -> Lesson:
    """Give that lesson. Raises NotFound."""
    lesson = tx.lessons.get(LessonId(id))
    if lesson is None:
        raise NotFound("lesson.not_found", id=id)
    return lesson


def create(tx: CoreTx, draft: Draft, by: By, why: str = "") -> Lesson:
    """Store a rule that a person approved as a lesson of its own."""
    lesson = Lesson(
        id=tx.lessons.next_id(),
        created=iso(by.now),
        domain=draft.domain,
        rule=draft.rule,
        rationale=draft.rationale,
        source_feedback=draft.source_feedback,
        scope=draft.scope,
        project=draft.project if draft.scope is Scope.PROJECT else None,
        decided=tx.lessons.next_decision(),
        updated=iso(by.now),
    )
    record(tx, lesson, by, why)
    log(tx, by, "add", lesson.id, why)
    _carry_on(tx, lesson, by)
    return lesson


def change(tx: CoreTx, lesson: Lesson, by: By, verb: str, why: str = "") -> Lesson:
    """Store what a person decided about a lesson as its next revision."""
    decided = tx.lessons.next_decision()
    changed = replace(lesson, decided=decided, revision=lesson.revision + 1, updated=iso(by.now))
    record(tx, changed, by, why)
    log(tx, by, verb, changed.id, why)
    _carry_on(tx, changed, by)
    return changed


def record(tx: CoreTx, lesson: Lesson, by: By, why: str) -> None:
    """Store a lesson as it is now, and that wording in its history."""
    tx.lessons.put(lesson)
    tx.lessons.record(
        Revision(
            lesson=lesson.id,
            revision=lesson.revision,
            rule=lesson.rule,
            rationale=lesson.rationale,
            domain=lesson.domain,
            scope=lesson.scope,
            project=lesson.project,
            active=lesson.active,
            who=by.who,
            at=iso(by.now),
            why=why,
            decided=lesson.decided,
            source_feedback=lesson.source_feedback,
        )
    )


def _carry_on(tx: CoreTx, lesson: Lesson, by: By) -> None:
    """Make a new version of every pending proposal that shows the lesson (approval rule 4)."""
    for proposal in tx.proposals.all(pending_only=True):
        after = approval.follow(proposal, lesson) if approval.names(proposal, lesson.id) else proposal
        after = opposition.followed(after, lesson)
        if after is not proposal:
            tx.proposals.put(after)
            log(tx, by, "refresh", proposal.id, lesson.id)


def absorb(tx: CoreTx, source: Lesson, target: LessonId, by: By, why: str) -> None:
    """Let `target` take a lesson over: it keeps its history, its counters are added (learning.md 3)."""
    counting.merge(tx, source, target)
    merged = replace(need(tx, source.id), active=False, merged_into=target)
    change(tx, merged, by, "merge", why)


def _standing(history: list[Revision]) -> list[Revision]:
    """Give the revisions that were not undone, oldest first."""
    stack: list[Revision] = []
    for revision in history:
        if revision.why.startswith(_UNDO):
            stack.pop()
        else:
            stack.append(revision)
    return stack


def is_newest(tx: CoreTx, lesson: LessonId, why: str) -> bool:
    """Say whether what stands of the lesson is what that decision made of it."""
    standing = _standing(tx.lessons.history(lesson))
    return bool(standing) and standing[-1].why == why


def take_back(tx: CoreTx, lesson: Lesson, by: By, why: str) -> Lesson:
    """Give a lesson the wording, place and state it had before that decision; counted votes stay counted.

    A lesson that the decision made is disabled. Raises Stale if somebody changed it since.
    """
    if not is_newest(tx, lesson.id, why):
        raise Stale("undo.changed", lesson=lesson)
    standing = _standing(tx.lessons.history(lesson.id))
    counting.part(tx, lesson)
    back = _before(need(tx, lesson.id), standing)
    back = replace(back, revision=lesson.revision + 1, updated=iso(by.now), merged_into=None)
    record(tx, back, by, _UNDO + why)
    log(tx, by, "undo", lesson.id, why)
    _carry_on(tx, back, by)
    return back


def _before(lesson: Lesson, standing: list[Revision]) -> Lesson:
    if len(standing) == 1:
        return replace(lesson, active=False)
    old = standing[-2]
    return replace(
        lesson,
        rule=old.rule,
        rationale=old.rationale,
        domain=old.domain,
        scope=old.scope,
        project=old.project,
        active=old.active,
        decided=old.decided,
        source_feedback=old.source_feedback,
    )
