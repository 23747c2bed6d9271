"""Count what agents did as it comes: usage, patterns, recoveries, in the transaction of the traces.

Nothing is mined twice: a call that was counted is known by its hash, and recoveries are looked for only among
the last turns of the runs that went on (learning.md 5.3, 5.4).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import groupby
from typing import NamedTuple

from core.model.trace import Trace
from core.rules.mining import DAY_S, Pattern, PatternKey, attach, observe
from core.rules.recovery import MAX_TURNS, Recovery, find_recoveries
from core.services.rulings import Rulings
from core.trace_tables import TraceTx, Usage

WEEK_S = 7 * DAY_S


class Keyed(NamedTuple):
    """A completed, masked trace and the hash of what makes it this very call."""

    hash: int
    trace: Trace


@dataclass(frozen=True, slots=True)
class Mined:
    """What came of a batch: calls that were new, failures among them, and the patterns that changed."""

    traces: tuple[Trace, ...] = ()
    failures: int = 0
    recoveries: tuple[Recovery, ...] = ()
    patterns: tuple[Pattern, ...] = ()


def hash_of(*parts: object) -> int:
    """Give 63 bits that stand for these parts; an id that SQLite keeps as an integer."""
    text = str(parts[0]) if len(parts) == 1 else "\x1f".join(map(str, parts))
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1


def ingest(tx: TraceTx, calls: Sequence[Keyed], rulings: Rulings | None = None) -> Mined:
    """Count the calls that were not counted before. `rulings` tell regressions (learning.md 5.3)."""
    fresh = tx.traces.claim([each.hash for each in calls])
    new = []
    for each in calls:
        if each.hash in fresh:
            fresh.remove(each.hash)
            new.append(each.trace)
    if not new:
        return Mined()
    counts = _Counts(tx, rulings or Rulings())
    for trace in new:
        counts.add(trace)
    recoveries = tuple(_recover(tx, new))
    for recovery in recoveries:
        counts.recover(recovery)
    tx.traces.add(new)
    counts.save()
    return Mined(tuple(new), counts.failures, recoveries, tuple(counts.patterns.values()))


def _recover(tx: TraceTx, new: Iterable[Trace]) -> Iterable[Recovery]:
    """Find recoveries run by run, the last turns before these calls included."""
    for (session, run), group in groupby(new, key=lambda trace: (trace.session, trace.run)):
        calls = list(group)
        before = tx.traces.window(session, run, min(each.turn for each in calls) - MAX_TURNS)
        if any(each.is_failure for each in before) or any(each.is_failure for each in calls):
            yield from find_recoveries([*before, *calls])


class _Counts:
    """The counts of one batch, written once at its end."""

    def __init__(self, tx: TraceTx, rulings: Rulings) -> None:
        self._tx, self._rulings = tx, rulings
        self._usage: dict[tuple[str, str, str, int], list[int]] = {}
        self._noted: set[tuple[PatternKey, str, int]] = set()
        self.patterns: dict[PatternKey, Pattern] = {}
        self.failures = 0

    def add(self, trace: Trace) -> None:
        """Count one call."""
        place = (trace.project, trace.tool, trace.verb or trace.tool, int(trace.ts // WEEK_S))
        counted = self._usage.get(place)
        if counted is None:
            counted = self._usage[place] = [0, 0]
        counted[0] += 1
        if trace.is_failure:
            counted[1] += 1
            self.failures += 1
            self._fail(trace)

    def _fail(self, failure: Trace) -> None:
        key = PatternKey.of(failure)
        pattern = self._get(key)
        if pattern is None:
            pattern = Pattern(key, first_ts=failure.ts, last_ts=failure.ts)
            self._tx.patterns.put(pattern)  # its runs and sessions are noted under its row
        self.patterns[key] = observe(
            pattern,
            failure,
            is_new_run=self._note(key, "run", hash_of(failure.session, failure.run)),
            is_new_session=self._note(key, "session", hash_of(failure.session)),
        )

    def recover(self, recovery: Recovery) -> None:
        """Keep what worked; a pattern that was purged meanwhile stays away."""
        key = PatternKey.of(recovery.failure)
        pattern = self._get(key)
        if pattern is not None:
            self.patterns[key] = attach(pattern, recovery)

    def save(self) -> None:
        """Write what changed."""
        for pattern in self.patterns.values():
            self._tx.patterns.put(pattern)
        self._tx.usage.add(
            {
                (PatternKey(project, tool, verb), week): Usage(*counted)
                for (project, tool, verb, week), counted in self._usage.items()
            }
        )

    def _get(self, key: PatternKey) -> Pattern | None:
        if key not in self.patterns and (found := self._tx.patterns.get(key)) is not None:
            # Only the regression that follows the decision that holds is carried on.
            self.patterns[key] = replace(self._rulings.judged(found), note=None)
        return self.patterns.get(key)

    def _note(self, key: PatternKey, kind: str, hash: int) -> bool:
        place = (key, kind, hash)
        if place in self._noted:
            return False
        self._noted.add(place)
        return self._tx.patterns.note(key, kind, hash)
