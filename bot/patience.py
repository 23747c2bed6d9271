"""Write until it is stored: a full disk delays what is under way, it does not lose it and ends no task."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import structlog

from core.errors import StoreError
from core.ports import Store
from core.tables import Tx

log = structlog.get_logger()

T = TypeVar("T")

_PAUSE_S, _MAX_PAUSE_S = 0.2, 5.0


async def insist(store: Store, fn: Callable[[Tx], T]) -> T:
    """Give what `fn` gives once its transaction is durable; its own errors are raised at once."""
    pause = _PAUSE_S
    while True:
        try:
            return await store.write(fn)
        except StoreError as error:
            log.error("cannot write yet", error=str(error), pause_s=pause)
            await asyncio.sleep(pause)
            pause = min(_MAX_PAUSE_S, pause * 2)
