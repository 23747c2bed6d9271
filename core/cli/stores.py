"""What commands about patterns need: both stores at once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from core.cli import access
from core.services.journal import journal
from core.services.pattern_gate import Gate
from core.store import backup
from core.store.database import Database
from core.store.sqlite import open_store
from core.store.traces import open_traces

T = TypeVar("T")


def look(fn: Callable[[Gate], Awaitable[T]]) -> T:
    """Open both stores and do something that decides nothing."""
    return _with(fn, is_published=False)


def decide(fn: Callable[[Gate], Awaitable[T]]) -> T:
    """Let a person decide; what agents read is brought up to date. Raises PeopleDecide under an agent."""
    access.require_person()
    return _with(fn, is_published=True)


def erase(fn: Callable[[Gate], Awaitable[T]]) -> tuple[T, bool]:
    """Let a person erase something from both files and the backups; say too whether no trace is left."""
    access.require_person()
    return _with(lambda gate: _erase(gate, fn), is_published=True)


async def _erase(gate: Gate, fn: Callable[[Gate], Awaitable[T]]) -> tuple[T, bool]:
    ours, value = gate.settings, await fn(gate)
    is_clean = True
    for file in (gate.store, gate.traces):
        if isinstance(file, Database):
            is_clean &= await file.scrub()
    if backup.forget(ours.store_path, ours.backup_folder):
        await asyncio.to_thread(backup.daily, ours.store_path, ours.backup_folder, access.CLOCK.now())
    return value, is_clean


def _with(fn: Callable[[Gate], Awaitable[T]], *, is_published: bool) -> T:
    async def run() -> T:
        ours = access.settings()
        async with open_store(ours.store_path) as store, open_traces(ours.traces_path) as traces:
            value = await fn(Gate(store, traces, ours, journal(ours.debug)))
            if is_published:
                await access.publish(store, ours)
            return value

    return asyncio.run(run())
