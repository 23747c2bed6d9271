"""What was learned from failures, in figures (issue: `report`, in short `/stats`; learning.md 5 and 7)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from core.rules.mining import State
from core.services.mining import WEEK_S
from core.services.patterns import Standing
from core.services.rulings import is_accepted
from core.trace_tables import TraceTx, Usage

_TOP = 10
_WEEKS = 12


@dataclass(frozen=True, slots=True)
class Counted:
    """Calls and failures as they were summed up: by week (of its first day), and by tool."""

    weeks: Mapping[int, Usage]
    tools: Mapping[str, Usage]


@dataclass(frozen=True, slots=True)
class Rate:
    """Failures of one pattern and the calls of its verb, in some span."""

    failures: int
    calls: int

    @property
    def share(self) -> float | None:
        """Give failures per call; None without a call."""
        return self.failures / self.calls if self.calls else None


@dataclass(frozen=True, slots=True)
class Effect:
    """An accepted pattern before and after its acceptance: is the mistake eliminated?"""

    standing: Standing
    before: Rate
    after: Rate


@dataclass(frozen=True, slots=True)
class Report:
    """Everything `report` says; lists are best first, weeks oldest first."""

    counted: Counted
    states: Mapping[State, int]
    top: tuple[Standing, ...]
    candidates: tuple[Standing, ...]
    accepted: tuple[Effect, ...]
    skills: tuple[str, ...]


def count(tx: TraceTx, project: str | None) -> Counted:
    """Read the sums of a project, or of all."""
    return Counted(tx.usage.weeks(project), tx.usage.tools(project))


def report(counted: Counted, standings: Iterable[Standing]) -> Report:
    """Put a report together of what was counted and of all patterns, best first."""
    found = list(standings)
    accepted = [each for each in found if each.ruling is not None and is_accepted(each.ruling)]
    states = {state: sum(each.state is state for each in found) for state in State}
    return Report(
        counted=Counted(dict(list(counted.weeks.items())[-_WEEKS:]), counted.tools),
        states={state: number for state, number in states.items() if number},
        top=tuple(each for each in found if each.state is not State.REJECTED)[:_TOP],
        candidates=tuple(each for each in found if each.state is State.CANDIDATE),
        accepted=tuple(effect(each) for each in accepted),
        skills=tuple(sorted({each.ruling.skill for each in accepted if each.ruling and each.ruling.skill})),
    )


def effect(standing: Standing) -> Effect:
    """Compare an accepted pattern before and after, by what had been counted when it was accepted."""
    ruling = standing.ruling
    failures, calls = (ruling.failures, ruling.calls) if ruling else (0, 0)
    if ruling is not None and ruling.project != standing.key.project:
        failures = calls = 0  # told here from the first day on: decided in another project
    after = Rate(max(0, standing.pattern.failures - failures), max(0, standing.calls - calls))
    return Effect(standing, Rate(failures, calls), after)


def week_of(week: int) -> str:
    """Name a week by its first day."""
    return datetime.fromtimestamp(week * WEEK_S, UTC).strftime("%Y-%m-%d")


def record(one: Standing) -> dict[str, object]:
    """Give the fields of `patterns list --json` (product.md 3)."""
    pattern = one.pattern
    return {
        "key": one.key.key,
        "id": one.id,
        "tool": one.key.tool,
        "verb": one.key.verb,
        "error_class": one.key.error_class,
        "state": one.state,
        "failures": pattern.failures,
        "total": one.calls,
        "sessions": pattern.sessions,
        "last_error": pattern.last_error,
        "last_recovery": pattern.last_recovery,
        "note": one.ruling.note or None if one.ruling else None,
        "score": float(f"{one.score:.6g}"),
    }


def as_record(made: Report) -> dict[str, object]:
    """Give a report as plain JSON."""
    return {
        "weeks": [{"week": week_of(week), **_usage(usage)} for week, usage in made.counted.weeks.items()],
        "tools": [{"tool": tool, **_usage(usage)} for tool, usage in made.counted.tools.items()],
        "states": {state.value: number for state, number in made.states.items()},
        "patterns": [record(each) for each in made.top],
        "candidates": [record(each) for each in made.candidates],
        "accepted": [
            {"id": each.standing.id, "state": each.standing.state, "before": _rate(each.before),
             "after": _rate(each.after)}
            for each in made.accepted
        ],
        "skills": list(made.skills),
    }  # fmt: skip


def _usage(usage: Usage) -> dict[str, object]:
    return _rate(Rate(usage.failures, usage.calls))


def _rate(rate: Rate) -> dict[str, object]:
    share = rate.share
    return {
        "calls": rate.calls,
        "failures": rate.failures,
        "rate": None if share is None else round(share, 4),
    }
