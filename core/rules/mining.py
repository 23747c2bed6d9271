"""From failures to patterns: counting, candidates, rank, states (learning.md 5.3)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from core.model.ruling import Decision
from core.model.trace import ErrorClass, Trace
from core.rules.recovery import Recovery

DAY_S = 86_400.0
HALF_LIFE_S = 7 * DAY_S
RESOLVED_AFTER_S = 30 * DAY_S
EVIDENCE_S = 90 * DAY_S


class State(StrEnum):
    """Where a pattern stands; the last two are an accepted one's."""

    OBSERVED = "observed"
    CANDIDATE = "candidate"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    RESOLVED = "resolved"
    REGRESSION = "regression"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a pattern becomes a candidate (product.md 5; the last two are fixed by learning.md 5.3)."""

    min_failures: int = 2
    min_failure_ratio: float = 0.3
    min_runs: int = 2
    min_class_failures: int = 5
    min_class_sessions: int = 3


@dataclass(frozen=True, slots=True)
class PatternKey:
    """What a pattern is about: a verb of a tool in a project, and one error class or (None) all of them."""

    project: str
    tool: str
    verb: str | None
    error_class: ErrorClass | None = None

    @property
    def key(self) -> str:
        """Give `tool:verb` as pi-evolver does; a tool without verbs has its name alone."""
        return self.tool if self.verb in (None, self.tool) else f"{self.tool}:{self.verb}"

    @property
    def id(self) -> str:
        """Give `tool:verb#error_class`; without a class it addresses all."""
        return f"{self.key}#{self.error_class}" if self.error_class else self.key

    @property
    def whole(self) -> "PatternKey":
        """Give the key of all classes."""
        return PatternKey(self.project, self.tool, self.verb)

    @classmethod
    def parse(cls, project: str, text: str) -> "PatternKey":
        """Read an id as typed. Raises ValueError for an unknown class or an empty key."""
        key, _, error_class = text.strip().partition("#")
        tool, _, verb = key.partition(":")
        if not tool:
            raise ValueError(text)
        return cls(project, tool, verb or tool, ErrorClass(error_class) if error_class else None)

    @classmethod
    def of(cls, trace: Trace) -> "PatternKey":
        """Give the key under which a call counts."""
        return cls(trace.project, trace.tool, trace.verb or trace.tool, trace.error_class)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A failure that recurs: a record of fixed size that a store keeps; times are seconds since the epoch.

    `runs` and `sessions` count different ones with a failure; `decided_ts` is when a person decided,
    `regressed_ts` the first failure after a quiet that had made it resolved. `agent` made the newest failure.
    """

    key: PatternKey
    failures: int = 0
    runs: int = 0
    sessions: int = 0
    first_ts: float = 0.0
    last_ts: float = 0.0
    last_cmd: str | None = None
    last_error: str = ""
    last_recovery: str | None = None
    last_recovery_ts: float | None = None
    decision: Decision | None = None
    decided_ts: float | None = None
    regressed_ts: float | None = None
    note: str | None = None
    agent: str = ""


def observe(pattern: Pattern | None, failure: Trace, *, is_new_run: bool, is_new_session: bool) -> Pattern:
    """Count one failure; whether its run and session are new to the pattern, the store knows."""
    if pattern is None:
        pattern = Pattern(PatternKey.of(failure), first_ts=failure.ts, last_ts=failure.ts)
    is_newest = failure.ts >= pattern.last_ts
    return replace(
        pattern,
        failures=pattern.failures + 1,
        runs=pattern.runs + is_new_run,
        sessions=pattern.sessions + is_new_session,
        first_ts=min(pattern.first_ts, failure.ts),
        last_ts=max(pattern.last_ts, failure.ts),
        last_cmd=failure.cmd if is_newest else pattern.last_cmd,
        last_error=failure.snippet if is_newest else pattern.last_error,
        regressed_ts=_regressed_ts(pattern, failure.ts),
        agent=failure.agent if is_newest else pattern.agent,
    )


def attach(pattern: Pattern, recovery: Recovery) -> Pattern:
    """Keep what worked after the newest failure that had a recovery."""
    when = recovery.failure.ts
    if pattern.last_recovery_ts is not None and when < pattern.last_recovery_ts:
        return pattern
    return replace(pattern, last_recovery=recovery.text, last_recovery_ts=when)


def decide(pattern: Pattern, decision: Decision | None, now: float, note: str | None = None) -> Pattern:
    """Record a person's decision; None reopens."""
    return replace(
        pattern, decision=decision, decided_ts=now if decision else None, regressed_ts=None, note=note
    )


def is_candidate(pattern: Pattern, calls: int, thresholds: Thresholds = Thresholds()) -> bool:
    """Say whether it recurs enough; `calls` counts all calls of its verb in its project."""
    recurs = pattern.failures >= thresholds.min_failures and pattern.runs >= thresholds.min_runs
    if recurs and ratio(pattern, calls) > thresholds.min_failure_ratio:
        return True
    return (
        pattern.failures >= thresholds.min_class_failures
        and pattern.sessions >= thresholds.min_class_sessions
    )


def state_of(
    pattern: Pattern,
    calls: int,
    now: float,
    thresholds: Thresholds = Thresholds(),
    whole: Decision | None = None,
) -> State:
    """Give the state now; `whole` is what a person decided about all classes of its verb."""
    decision = pattern.decision or whole
    if decision is Decision.REJECTED:
        return State.REJECTED
    if decision is Decision.ACCEPTED:
        return _accepted_state(pattern, now)
    return State.CANDIDATE if is_candidate(pattern, calls, thresholds) else State.OBSERVED


def ratio(pattern: Pattern, calls: int) -> float:
    """Give failures per call of the verb."""
    return pattern.failures / max(calls, pattern.failures, 1)


def score(pattern: Pattern, calls: int, now: float) -> float:
    """Give the failure ratio, halved for every week since it was last seen."""
    age_s = max(0.0, now - pattern.last_ts)
    return ratio(pattern, calls) * math.exp2(-age_s / HALF_LIFE_S)


def rank(patterns: Iterable[Pattern], calls: Mapping[PatternKey, int], now: float) -> list[Pattern]:
    """Order by score, then count, then recency; `calls` is by key without class."""

    def place(pattern: Pattern) -> tuple[float, int, float, str, str]:
        value = score(pattern, calls.get(pattern.key.whole, 0), now)
        return -value, -pattern.failures, -pattern.last_ts, pattern.key.id, pattern.key.project

    return sorted(patterns, key=place)


def is_expired(pattern: Pattern, now: float, keep_s: float = EVIDENCE_S) -> bool:
    """Say whether the evidence of a pattern nobody decided on is old enough to go."""
    return pattern.decision is None and now - pattern.last_ts > keep_s


def _regressed_ts(pattern: Pattern, ts: float) -> float | None:
    if pattern.decision is not Decision.ACCEPTED or pattern.regressed_ts is not None:
        return pattern.regressed_ts
    quiet_s = ts - max(pattern.last_ts, pattern.decided_ts or 0.0)
    return ts if quiet_s >= RESOLVED_AFTER_S else None


def _accepted_state(pattern: Pattern, now: float) -> State:
    if now - max(pattern.last_ts, pattern.decided_ts or 0.0) >= RESOLVED_AFTER_S:
        return State.RESOLVED
    return State.REGRESSION if pattern.regressed_ts is not None else State.ACCEPTED


@dataclass(slots=True)
class Tally:
    """The counts in memory: the fold a store does in its tables, for tests, benchmarks and small imports."""

    calls: dict[PatternKey, int] = field(default_factory=dict)
    patterns: dict[PatternKey, Pattern] = field(default_factory=dict)
    _seen: set[tuple[PatternKey, str, str]] = field(default_factory=set)

    def add(self, trace: Trace) -> None:
        """Count one completed call."""
        key = PatternKey.of(trace)
        self.calls[key.whole] = self.calls.get(key.whole, 0) + 1
        if not trace.is_failure:
            return
        self.patterns[key] = observe(
            self.patterns.get(key),
            trace,
            is_new_run=self._note(key, "run", trace.run),
            is_new_session=self._note(key, "session", trace.session),
        )

    def recover(self, recovery: Recovery) -> None:
        """Keep a recovery with its pattern; the failure was added before."""
        key = PatternKey.of(recovery.failure)
        self.patterns[key] = attach(self.patterns[key], recovery)

    def candidates(self, thresholds: Thresholds = Thresholds()) -> list[Pattern]:
        """Give the patterns that recur enough."""
        return [
            one for one in self.patterns.values() if is_candidate(one, self.calls[one.key.whole], thresholds)
        ]

    def _note(self, key: PatternKey, kind: str, name: str) -> bool:
        entry = (key, kind, name)
        is_new = entry not in self._seen
        self._seen.add(entry)
        return is_new
