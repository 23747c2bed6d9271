"""What commands about patterns need: both stores at once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from core.cli import access
from core.services.journal import journal
from core.services.pattern_gate import Gate
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


def _with(fn: Callable[[Gate], Awaitable[T]], *, is_published: bool) -> T:
    async def run() -> T:
        ours = access.settings()
        async with open_store(ours.store_path) as store, open_traces(ours.traces_path) as traces:
            value = await fn(Gate(store, traces, ours, journal(ours.debug)))
            if is_published:
                await access.publish(store, ours)
            return value

    return asyncio.run(run())
