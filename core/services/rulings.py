"""Which decision of a person holds for a pattern (learning.md 5.3)."""

from collections.abc import Iterable
from dataclasses import replace

from core.model.ruling import Decision, Ruling
from core.rules.mining import Pattern, PatternKey

_Place = tuple[str, str, str, str]


class Rulings:
    """Decisions by what they hold for: the pattern's own, else that on all its classes, else a global one."""

    def __init__(self, rulings: Iterable[Ruling] = ()) -> None:
        self.all = list(rulings)
        self._own = {_place(each): each for each in self.all}
        self._global = {_place(each)[1:]: each for each in self.all if each.is_global}

    def of(self, key: PatternKey) -> Ruling | None:
        """Give the decision that holds for a pattern."""
        verb, error_class = key.verb or key.tool, key.error_class or ""
        return (
            self._own.get((key.project, key.tool, verb, error_class))
            or self._own.get((key.project, key.tool, verb, ""))
            or self._global.get((key.tool, verb, error_class))
        )

    def judged(self, pattern: Pattern) -> Pattern:
        """Give a pattern with its decision; a regression from before the decision is none."""
        ruling = self.of(pattern.key)
        if ruling is None:
            return replace(pattern, decision=None, decided_ts=None, regressed_ts=None, note=None)
        regressed = pattern.regressed_ts
        is_since = regressed is not None and regressed >= ruling.decided_ts
        return replace(
            pattern,
            decision=ruling.decision,
            decided_ts=ruling.decided_ts,
            regressed_ts=regressed if is_since else None,
            note=ruling.note or None,
        )

    def keys(self) -> set[PatternKey]:
        """Give the patterns decided on, those of all classes without one."""
        return {key_of(each) for each in self.all}


def key_of(ruling: Ruling) -> PatternKey:
    """Give the key of what was decided on."""
    text = f"{ruling.tool}:{ruling.verb}" + (f"#{ruling.error_class}" if ruling.error_class else "")
    return PatternKey.parse(ruling.project, text)


def is_accepted(ruling: Ruling) -> bool:
    """Say whether agents are told it."""
    return ruling.decision is Decision.ACCEPTED


def _place(ruling: Ruling) -> _Place:
    return ruling.project, ruling.tool, ruling.verb, ruling.error_class
