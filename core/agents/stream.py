"""The events of a session on their way to whoever follows it."""

import asyncio
from collections import deque

from core.events import Event, Text

MERGED = 4096  # characters up to which waiting pieces of text become one


class EventStream:
    """Keep events until they are read; never blocks the agent.

    One reader at a time; a reader that stops at `Ended` may come back for the next run. Text that nobody has
    read yet is merged, so a flood costs its own size and no more.
    """

    def __init__(self) -> None:
        self._waiting: deque[Event] = deque()
        self._news = asyncio.Event()
        self._is_closed = False

    def put(self, event: Event) -> None:
        """Append an event; ignored once closed."""
        if self._is_closed:
            return
        last = self._waiting[-1] if self._waiting else None
        if isinstance(event, Text) and isinstance(last, Text) and len(last.delta) < MERGED:
            self._waiting[-1] = Text(last.delta + event.delta)
        else:
            self._waiting.append(event)
        self._news.set()

    def close(self) -> None:
        """End the iteration after what is waiting."""
        self._is_closed = True
        self._news.set()

    def __aiter__(self) -> "EventStream":
        return self

    async def __anext__(self) -> Event:
        while not self._waiting:
            if self._is_closed:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()
