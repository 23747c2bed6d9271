"""What is kept for a while only: traces, evidence nobody decided on, texts of old runs (learning.md 5)."""

from dataclasses import dataclass
from functools import partial
from typing import Final

from core.ports import Store, TraceStore
from core.rules.mining import DAY_S, is_expired
from core.services.rulings import Rulings
from core.settings import CoreSettings
from core.trace_tables import TraceTx

_STEP: Final = 20_000  # calls looked at in one transaction: no one waits long for the store


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was forgotten; a second time is nothing."""

    traces: int = 0
    patterns: int = 0
    runs: int = 0


async def prune(store: Store, traces: TraceStore, settings: CoreSettings, now: float) -> Pruned:
    """Forget what is too old; decisions, and evidence of what was decided, stay."""
    before = now - settings.trace_retention_days * DAY_S
    rulings = Rulings(await store.read(lambda tx: tx.rulings.of()))
    keep_s = settings.learning_retention_days * DAY_S
    patterns = await traces.write(lambda tx: _drop_patterns(tx, rulings, now, keep_s))
    runs = await store.write(lambda tx: tx.runs.blank(before))
    return Pruned(await _prune_traces(traces, before), patterns, runs)


async def _prune_traces(traces: TraceStore, before: float) -> int:
    first, last = await traces.read(lambda tx: tx.traces.range())
    gone = 0
    for start in range(first, last + 1, _STEP):
        gone += await traces.write(partial(_prune_range, before, start))
    return gone


def _prune_range(before: float, start: int, tx: TraceTx) -> int:
    return tx.traces.prune(before, start, start + _STEP - 1)


def _drop_patterns(tx: TraceTx, rulings: Rulings, now: float, keep_s: float) -> int:
    old = [each for each in map(rulings.judged, tx.patterns.of()) if is_expired(each, now, keep_s)]
    for each in old:
        tx.patterns.drop(each.key)
    return len(old)
