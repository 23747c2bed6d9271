"""What votes count for lessons, so that any of it can be taken back exactly (learning.md 1, 2).

A lesson's counters are what it earned itself and what the lessons merged into it earned. Each keeps its own
share also after a merge: undoing one takes exactly that share away again, later votes included.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from core.model.feedback import Credit, CreditKind
from core.model.ids import FeedbackId, LessonId
from core.model.lesson import Lesson
from core.tables import CoreTx


def lineage(tx: CoreTx, id: LessonId) -> Iterator[Lesson]:
    """Give a lesson, the one it was merged into, the one that was merged into, and so on."""
    lesson = tx.lessons.get(id)
    while lesson is not None:
        yield lesson
        lesson = tx.lessons.get(lesson.merged_into) if lesson.merged_into else None


def _add(lesson: Lesson, positive: int, violations: int) -> Lesson:
    return replace(
        lesson,
        positive_examples=lesson.positive_examples + positive,
        violations=lesson.violations + violations,
    )


class _Tally:
    """Counts in hand: each lesson is read once and written once, however many origins lead to it."""

    def __init__(self, tx: CoreTx, known: Iterable[Lesson] = ()) -> None:
        self._tx = tx
        self._held: dict[str, Lesson | None] = {each.id: each for each in known}
        self._changed: set[str] = set()

    def count(self, origin: str, kind: CreditKind, by: int) -> str:
        """Count for a lesson and all it was merged into; give the last of these."""
        positive, violations = (by, 0) if kind is CreditKind.POSITIVE else (0, by)
        id, root = LessonId(origin), origin
        while (lesson := self._get(id)) is not None:
            self._held[id] = _add(lesson, positive, violations)
            self._changed.add(id)
            root = id
            if lesson.merged_into is None:
                break
            id = lesson.merged_into
        return root

    def _get(self, id: LessonId) -> Lesson | None:
        if id not in self._held:
            self._held[id] = self._tx.lessons.get(id)
        return self._held[id]

    def put(self) -> None:
        """Store what changed."""
        for lesson in self._held.values():
            if lesson is not None and lesson.id in self._changed:
                self._tx.lessons.put(lesson)


def credit(tx: CoreTx, feedback: FeedbackId, origins: Iterable[Lesson], kind: CreditKind) -> int:
    """Count a vote for those lessons as just read, once each; give how many it newly counted for."""
    counted = {(each.origin, each.kind) for each in tx.feedback.credits(feedback)}
    known = {each.id: each for each in origins}
    tally = _Tally(tx, known.values())
    new = [each for each in known if (each, kind) not in counted]
    tx.feedback.credit([Credit(feedback, each, kind, LessonId(tally.count(each, kind, 1))) for each in new])
    tally.put()
    return len(new)


def reverse(tx: CoreTx, feedback: FeedbackId) -> None:
    """Take back all that a vote counted."""
    tally = _Tally(tx)
    for each in tx.feedback.credits(feedback):
        tally.count(each.origin, each.kind, -1)
    tally.put()
    tx.feedback.drop_credits(feedback)


def merge(tx: CoreTx, source: Lesson, target: LessonId) -> None:
    """Add a lesson's counters to the one that takes it over; later reversals count against that one."""
    for lesson in lineage(tx, target):
        tx.lessons.put(_add(lesson, source.positive_examples, source.violations))
    tx.feedback.move_credits(source.id, target)


def part(tx: CoreTx, source: Lesson) -> None:
    """Undo `merge` for a lesson that was taken over, with what was counted for it since."""
    if source.merged_into is None:
        return
    for lesson in lineage(tx, source.merged_into):
        tx.lessons.put(_add(lesson, -source.positive_examples, -source.violations))
    held = tx.lessons.get(source.id)
    tx.lessons.put(replace(held or source, merged_into=None))
    for member in _below(tx, source.id):
        tx.feedback.return_credits(member)
        tx.feedback.move_credits(member, source.id)


def _below(tx: CoreTx, root: LessonId) -> list[LessonId]:
    """Give a lesson and all that were merged into it."""
    members = [root]
    for each in members:  # grows while it is read
        members.extend(merged.id for merged in tx.lessons.merged_into(each))
    return members
