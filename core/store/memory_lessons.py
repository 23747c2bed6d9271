"""Lessons in memory (see `core.tables.LessonTable` for what each promises)."""

from collections import Counter
from math import log

from core.model.ids import LessonId, lesson_id, number_of
from core.model.lesson import Choice, Domain, Lesson, Revision, Scope
from core.rules import approval
from core.rules.consolidation import terms
from core.store.memory_mail import Table

_K1, _B = 1.2, 0.75  # FTS5's own
_LEAST = 1e-6


class MemoryLessons(Table):
    """Lessons with every wording they had."""

    def __init__(self) -> None:
        self._lessons: dict[LessonId, Lesson] = {}
        self._revisions: list[Revision] = []
        self._named = self._decided = 0

    def next_id(self) -> LessonId:
        self._named += 1
        return lesson_id(self._named)

    def next_decision(self) -> int:
        self._decided += 1
        return self._decided

    def get(self, id: LessonId) -> Lesson | None:
        return self._lessons.get(id)

    def put(self, lesson: Lesson) -> None:
        self._lessons[lesson.id] = lesson

    def record(self, revision: Revision) -> None:
        self._revisions.append(revision)

    def history(self, id: LessonId) -> list[Revision]:
        return sorted((each for each in self._revisions if each.lesson == id), key=lambda each: each.revision)

    def active(self, project: str | None) -> list[Lesson]:
        return [each for each in self.all(active=True) if each.reaches(project)]

    def all(self, *, active: bool | None = None) -> list[Lesson]:
        found = [each for each in self._lessons.values() if active in (None, each.active)]
        return sorted(found, key=lambda each: number_of(each.id))

    def reserve(self, number: int) -> None:
        self._named = max(self._named, number)

    def page(self, choice: Choice, limit: int, offset: int = 0) -> list[Lesson]:
        scopes, domains = list(Scope), list(Domain)
        found = [each for each in self.all() if choice.takes(each)]
        found.sort(key=lambda each: (scopes.index(each.scope), domains.index(each.domain)))
        return found[offset:][:limit]

    def count(self, choice: Choice) -> int:
        return sum(choice.takes(each) for each in self._lessons.values())

    def saying(self, folded: str) -> list[Lesson]:
        return [each for each in self.all(active=True) if approval.folded(each.rule) == folded]

    def nearest(self, text: str, project: str | None, limit: int) -> list[tuple[Lesson, float]]:
        index = [(each, Counter(terms(each.rule))) for each in self.all(active=True)]
        asked, mean = set(terms(text)), sum(count.total() for _, count in index) / max(len(index), 1)
        rarity = {term: _rarity(len(index), sum(term in count for _, count in index)) for term in asked}
        found = []
        for each, count in index:
            if each.reaches(project) and asked & set(count):
                size = count.total() / mean
                found.append((each, sum(rarity[one] * _weight(count[one], size) for one in asked)))
        return sorted(found, key=lambda pair: (-pair[1], number_of(pair[0].id)))[:limit]

    def told_sizes(self, project: str | None) -> list[tuple[LessonId, int]]:
        told = [each for each in self.active(project) if each.scope is not Scope.DOMAIN]
        told.sort(key=lambda each: each.decided, reverse=True)
        return [(each.id, len(each.domain) + len(each.rule)) for each in told]

    def projects(self) -> list[str]:
        return sorted({each.project for each in self.all(active=True) if each.project is not None})

    def domains(self) -> list[Domain]:
        found = {each.domain for each in self.on_demand()}
        return [each for each in Domain if each in found]

    def on_demand(self) -> list[Lesson]:
        return [each for each in self.all(active=True) if each.scope is Scope.DOMAIN]

    def merged_into(self, id: LessonId) -> list[Lesson]:
        return [each for each in self.all() if each.merged_into == id]

    def erase(self, id: LessonId) -> None:
        self._lessons.pop(id, None)
        self._revisions = [each for each in self._revisions if each.lesson != id]


def _rarity(lessons: int, having: int) -> float:
    """Give bm25's weight of a term, kept above 0 as FTS5 keeps it."""
    return max(log((lessons - having + 0.5) / (having + 0.5)), _LEAST)


def _weight(times: int, length: float) -> float:
    return times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * length))
