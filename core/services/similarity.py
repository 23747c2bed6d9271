"""Which lessons are near a text, and which of them it may contradict (learning.md 3)."""

from dataclasses import dataclass

from core.model.ids import LessonId
from core.model.lesson import Lesson
from core.rules.approval import folded
from core.tables import CoreTx

COMPARED = 12  # the nearest that the polarity guard reads for a warning


@dataclass(frozen=True, slots=True)
class Similar:
    """A lesson near a text: bm25's score (above 0, higher is nearer) and what the polarity guard guesses."""

    lesson: Lesson
    score: float
    may_contradict: bool


def may_contradict(one: str, other: str) -> bool:
    """Say whether two rules may contradict each other; the guard's tables load when it is first asked."""
    from core.rules.polarity import contradiction  # noqa: PLC0415

    return contradiction(one, other)


def similar(tx: CoreTx, text: str, project: str | None, limit: int = 5) -> list[Similar]:
    """Give the nearest active lessons that reach that project, best first.

    One that says the same word for word is not among them: it is the same (`same`), not near.
    """
    equal = {each.id for each in same(tx, text, project)}
    found = tx.lessons.nearest(text, project, limit + len(equal))
    near = [(each, score) for each, score in found if each.id not in equal][:limit]
    return [Similar(each, score, may_contradict(text, each.rule)) for each, score in near]


def same(tx: CoreTx, text: str, project: str | None) -> list[Lesson]:
    """Give the active lessons of that project that say a text but for case, spacing, accents, full stop."""
    return [each for each in tx.lessons.saying(folded(text)) if each.reaches(project)]


def conflicts(tx: CoreTx, rule: str, project: str | None) -> tuple[LessonId, ...]:
    """Give the active lessons of that project that a rule may contradict, nearest first."""
    near = similar(tx, rule, project, COMPARED)
    return tuple(each.lesson.id for each in near if each.may_contradict)
