"""What people do with lessons by hand: add, edit, switch, move; every change has its history and its log."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from core.errors import Invalid, Refused
from core.model.feedback import Feedback, Vote
from core.model.ids import FeedbackId
from core.model.lesson import Choice, Domain, Lesson, Revision, Scope
from core.rules import approval
from core.services import counting
from core.services.changes import By, Draft, change, create, is_newest, need, take_back
from core.services.wording import reason, typed
from core.tables import CoreTx

PAGE = 8  # lessons a page (product.md 1.5)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which lessons a list shows. `project` is the reader's: another project's lessons are never listed.

    `is_everywhere` lifts that for the owner's own tools (export, command line `--all`).
    """

    project: str | None = None
    scope: Scope | None = None
    domain: Domain | None = None
    is_active: bool = True
    is_everywhere: bool = False
    words: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """All that one lesson's card shows. `withdrawn` are votes behind it that were taken back since."""

    lesson: Lesson
    history: tuple[Revision, ...]
    sources: tuple[Feedback, ...]
    withdrawn: tuple[Feedback, ...]


def listing(tx: CoreTx, filters: Filters) -> list[Lesson]:
    """Give the lessons that match, grouped by scope and domain, in id order within."""
    words = approval.folded(filters.words).split()
    found = [
        lesson
        for lesson in tx.lessons.all(active=filters.is_active)
        if (filters.is_everywhere or lesson.reaches(filters.project))
        and filters.scope in (None, lesson.scope)
        and filters.domain in (None, lesson.domain)
        and all(word in approval.folded(f"{lesson.id} {lesson.rule} {lesson.rationale}") for word in words)
    ]
    scopes, domains = list(Scope), list(Domain)
    return sorted(found, key=lambda each: (scopes.index(each.scope), domains.index(each.domain)))


def page(tx: CoreTx, choice: Choice, number: int, size: int = PAGE) -> tuple[list[Lesson], int]:
    """Give that page of the lessons chosen, the first being 0, and how many pages there are.

    In the order of `listing`; neither reads more than the page, however many lessons there are.
    """
    pages = -(-tx.lessons.count(choice) // size)
    return tx.lessons.page(choice, size, max(number, 0) * size), pages


def card(tx: CoreTx, id: str) -> Card:
    """Give a lesson with its history and the votes behind it. Raises NotFound."""
    lesson = need(tx, id)
    votes = [tx.feedback.get(FeedbackId(each)) for each in lesson.source_feedback]
    sources = tuple(vote for vote in votes if vote is not None)
    withdrawn = tuple(v for v in sources if not v.is_current or v.type is not Vote.NEGATIVE)
    return Card(lesson, tuple(tx.lessons.history(lesson.id)), sources, withdrawn)


def equal(
    tx: CoreTx, rule: str, scope: Scope, project: str | None, domain: Domain, *, but: str = ""
) -> Lesson | None:
    """Give the active lesson that says the same, word for word but for case, accents and the like.

    Only one that whoever would be told the rule is told already (learning.md 3.4, scope is strict).
    """
    for lesson in tx.lessons.saying(approval.folded(rule)):
        is_known = lesson.id != but and lesson.reaches(project)
        if is_known and approval.is_same_place(lesson, scope, project, domain):
            return lesson
    return None


def add(  # noqa: PLR0913 -- the fields a person types, and who typed them
    tx: CoreTx,
    rule: str,
    domain: Domain,
    scope: Scope,
    project: str | None,
    who: str,
    surface: str,
    now: float,
    *,
    rationale: str = "",
    batch: str = "",
) -> Lesson:
    """Add a lesson in a person's own words; gives the one that says the same already, if any.

    Raises Invalid (empty, too long, no project), Refused (invisible text, a section of the block).
    """
    text = typed(rule)
    home = _home(scope, project)
    known = equal(tx, text, scope, home, domain)
    if known is not None:
        return known
    draft = Draft(text, reason(rationale), domain, scope, home)
    return create(tx, draft, By(who, now, surface, batch), batch)


def _home(scope: Scope, project: str | None) -> str | None:
    if scope is not Scope.PROJECT:
        return None
    if not project:
        raise Invalid("lesson.no_project")
    return project


def edit(
    tx: CoreTx, id: str, rule: str, who: str, now: float, surface: str = "telegram", batch: str = ""
) -> Lesson:
    """Give a lesson another wording. Raises NotFound, Invalid, Refused (also if another one says it)."""
    lesson = need(tx, id)
    text = typed(rule)
    if text == lesson.rule:
        return lesson
    known = equal(tx, text, lesson.scope, lesson.project, lesson.domain, but=lesson.id)
    if known is not None and lesson.active:
        raise Refused("lesson.said_already", id=known.id)
    return change(tx, replace(lesson, rule=text), By(who, now, surface, batch), "edit", batch)


def disable(tx: CoreTx, id: str, who: str, now: float, surface: str = "telegram", batch: str = "") -> Lesson:
    """Let agents no longer be told a lesson; it is kept with its history."""
    lesson = need(tx, id)
    if not lesson.active:
        return lesson
    return change(tx, replace(lesson, active=False), By(who, now, surface, batch), "disable", batch)


remove = disable


def enable(tx: CoreTx, id: str, who: str, now: float, surface: str = "telegram", batch: str = "") -> Lesson:
    """Let agents be told a lesson again; one that was merged stands on its own again, with its counts.

    Raises Refused if an active lesson says the same.
    """
    lesson = need(tx, id)
    if lesson.active:
        return lesson
    known = equal(tx, lesson.rule, lesson.scope, lesson.project, lesson.domain)
    if known is not None:
        raise Refused("lesson.said_already", id=known.id)
    counting.part(tx, lesson)
    lesson = replace(need(tx, id), active=True)
    return change(tx, lesson, By(who, now, surface, batch), "enable", batch)


def set_scope(
    tx: CoreTx,
    id: str,
    scope: Scope | None,
    project: str | None,
    who: str,
    now: float,
    surface: str = "telegram",
    batch: str = "",
) -> Lesson:
    """Move a lesson; None takes the next scope. `project` is where scope `project` would be.

    A lesson that belongs to a project stays with that one. Raises NotFound, Invalid (no project).
    """
    lesson = need(tx, id)
    home = lesson.project or project
    target = scope or approval.next_scope(lesson.scope, home)
    if target is lesson.scope:
        return lesson
    moved = replace(lesson, scope=target, project=_home(target, home))
    return change(tx, moved, By(who, now, surface, batch), "scope", batch)


def set_domain(
    tx: CoreTx,
    id: str,
    domain: Domain | None,
    who: str,
    now: float,
    surface: str = "telegram",
    batch: str = "",
) -> Lesson:
    """Give a lesson another domain; None takes the next one."""
    lesson = need(tx, id)
    target = domain or approval.next_domain(lesson.domain)
    if target is lesson.domain:
        return lesson
    return change(tx, replace(lesson, domain=target), By(who, now, surface, batch), "domain", batch)


def undo(tx: CoreTx, ids: Iterable[str], batch: str, who: str, now: float, surface: str = "telegram") -> int:
    """Take back what one command did to those lessons, where nobody changed them since; give how many."""
    if not batch:
        raise Invalid("undo.nothing")
    done = 0
    for lesson in [need(tx, each) for each in ids]:
        if is_newest(tx, lesson.id, batch):
            take_back(tx, lesson, By(who, now, surface), batch)
            done += 1
    return done
