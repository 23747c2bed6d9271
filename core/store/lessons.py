"""Lessons and their search index in SQL (see `core.tables.LessonTable` for what each promises)."""

import sqlite3

from core.model.ids import LessonId, lesson_id, number_of
from core.model.lesson import Choice, Domain, Lesson, Revision
from core.rules.approval import folded
from core.rules.consolidation import query, terms
from core.store.rows import Rows, decode, queries, run, scalar


class SqlLessons:
    """Lessons with every wording they had."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lessons = Rows(connection, "lesson", Lesson)
        self._revisions = Rows(connection, "revision", Revision)

    def next_id(self) -> LessonId:
        return lesson_id(scalar(self._connection, "next_in_sequence", name="lesson"))

    def next_decision(self) -> int:
        return int(scalar(self._connection, "next_in_sequence", name="decision"))

    def get(self, id: LessonId) -> Lesson | None:
        return self._lessons.one("lesson_get", id=id)

    def put(self, lesson: Lesson) -> None:
        number = number_of(lesson.id)
        held = {"id": lesson.id, "rule": lesson.rule, "active": int(lesson.active)}
        is_indexed = scalar(self._connection, "lesson_indexed", **held) is not None
        self._lessons.put(lesson, number=number, folded=folded(lesson.rule), size=_size(lesson))
        if not is_indexed:  # a vote that is counted changes neither wording nor state
            self._index(lesson, number)

    def _index(self, lesson: Lesson, number: int) -> None:
        run(self._connection, "lesson_unindex", number=number)
        if lesson.active:
            run(self._connection, "lesson_index", number=number, terms=" ".join(terms(lesson.rule)))

    def record(self, revision: Revision) -> None:
        self._revisions.add(revision)

    def history(self, id: LessonId) -> list[Revision]:
        return self._revisions.many("lesson_history", lesson=id)

    def active(self, project: str | None) -> list[Lesson]:
        return self._lessons.many("lesson_active", project=project)

    def all(self, *, active: bool | None = None) -> list[Lesson]:
        return self._lessons.many("lesson_all", active=active)

    def reserve(self, number: int) -> None:
        run(self._connection, "lesson_reserve", number=number)

    def page(self, choice: Choice, limit: int, offset: int = 0) -> list[Lesson]:
        return self._lessons.many("lesson_page", limit=limit, offset=offset, **_chosen(choice))

    def count(self, choice: Choice) -> int:
        return int(scalar(self._connection, "lesson_count", **_chosen(choice)))

    def saying(self, folded: str) -> list[Lesson]:
        return self._lessons.many("lesson_saying", folded=folded)

    def nearest(self, text: str, project: str | None, limit: int) -> list[tuple[Lesson, float]]:
        asked = query(text, self._frequency)
        if not asked:
            return []
        values = {"asked": asked, "project": project, "limit": limit}
        rows = self._connection.execute(queries()["lesson_nearest"], values)
        return [(decode(Lesson, row), float(row["score"])) for row in rows]

    def _frequency(self, term: str) -> int:
        return int(scalar(self._connection, "lesson_frequency", term=term) or 0)

    def told_sizes(self, project: str | None) -> list[tuple[LessonId, int]]:
        cursor = self._connection.cursor()
        cursor.row_factory = None  # plain pairs: of many lessons few are read
        return cursor.execute(queries()["lesson_told_sizes"], {"project": project}).fetchall()

    def projects(self) -> list[str]:
        return [str(row[0]) for row in self._connection.execute(queries()["lesson_projects"])]

    def domains(self) -> list[Domain]:
        found = {row[0] for row in self._connection.execute(queries()["lesson_domains"])}
        return [each for each in Domain if each in found]

    def on_demand(self) -> list[Lesson]:
        return self._lessons.many("lesson_on_demand")

    def merged_into(self, id: LessonId) -> list[Lesson]:
        return self._lessons.many("lesson_merged_into", id=id)

    def erase(self, id: LessonId) -> None:
        run(self._connection, "lesson_unindex", number=number_of(id))
        run(self._connection, "revision_erase", id=id)
        run(self._connection, "lesson_erase", id=id)


def _size(lesson: Lesson) -> int:
    return len(lesson.domain) + len(lesson.rule)


def _chosen(choice: Choice) -> dict[str, object]:
    return {
        "project": choice.project,
        "scope": choice.scope and choice.scope.value,
        "domain": choice.domain and choice.domain.value,
        "active": int(choice.is_active),
        "is_everywhere": int(choice.is_everywhere),
    }
