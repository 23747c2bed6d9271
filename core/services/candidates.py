"""The candidates that a session of the bot is told: chosen once, at its start (learning.md 6)."""

import json
from collections.abc import Sequence
from typing import Final

from core.ports import Store, TraceStore
from core.rules.context import Failure
from core.services import patterns
from core.settings import CoreSettings
from core.tables import CoreTx

MAX_CANDIDATES: Final = 12


async def prepare(
    store: Store, traces: TraceStore, session: str, project: str, settings: CoreSettings, now: float
) -> None:
    """Choose a session's candidates before its first run; does nothing where they are chosen or off.

    Raises what the stores raise: who starts a run goes on without candidates.
    """
    if not settings.candidates or await store.read(lambda tx: is_chosen(tx, session)):
        return
    seen = await traces.read(lambda tx: patterns.look(tx, project))
    thresholds = patterns.thresholds_of(settings)
    await store.write(lambda tx: choose(tx, session, patterns.candidates(tx, seen, project, now, thresholds)))


def is_chosen(tx: CoreTx, session: str) -> bool:
    """Say whether the candidates of a session were chosen already."""
    return tx.settings.get(_key(session)) is not None


def choose(tx: CoreTx, session: str, found: Sequence[Failure]) -> None:
    """Keep what a session is told while it lasts, so that its block does not move."""
    if not is_chosen(tx, session):
        kept = [[each.id, each.command, each.error, each.worked] for each in found[:MAX_CANDIDATES]]
        tx.settings.put(_key(session), json.dumps(kept))


def chosen(tx: CoreTx, session: str, project: str | None) -> list[Failure]:
    """Give the candidates of a session, best first, without those that a person has decided on since."""
    kept = json.loads(tx.settings.get(_key(session)) or "[]")
    found = [Failure(id, command, error, worked, is_candidate=True) for id, command, error, worked in kept]
    return patterns.undecided(tx, project, found)


def _key(session: str) -> str:
    return f"candidates:{session}"
