"""What people decided about patterns, in memory (see `core.tables.RulingTable`)."""

from collections.abc import Callable

from core.model.ruling import Ruling
from core.store.memory_mail import Table


class MemoryRulings(Table):
    """Decisions about patterns, one a pattern; `count` gives the next number of a decision."""

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count
        self._rulings: dict[tuple[str, str, str, str], Ruling] = {}

    def get(self, project: str, tool: str, verb: str, error_class: str) -> Ruling | None:
        return self._rulings.get((project, tool, verb, error_class))

    def put(self, ruling: Ruling) -> None:
        self._rulings[_key(ruling)] = ruling

    def drop(self, ruling: Ruling) -> None:
        self._rulings.pop(_key(ruling), None)

    def of(self, project: str | None = None) -> list[Ruling]:
        found = [each for each in self._rulings.values() if project in (None, each.project) or each.is_global]
        return sorted(found, key=lambda each: each.decided)

    def next_decision(self) -> int:
        return self._count()

    def beside(self, count: Callable[[], int]) -> None:
        """Count decisions with the lessons of the same transaction."""
        self._count = count


def _key(ruling: Ruling) -> tuple[str, str, str, str]:
    return ruling.project, ruling.tool, ruling.verb, ruling.error_class
