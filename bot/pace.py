"""How fast calls may leave (telegram.md 3): never faster than Telegram takes them, taps excepted."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

Sleep = Callable[[float], Awaitable[None]]
Now = Callable[[], float]

PER_SECOND = 30
GROUP_PER_MINUTE = 20
EDIT_PAUSE_S = 1.0


class Pace:
    """Keeps count of what left: 30 calls a second in all, 20 messages a minute in a group.

    Topics of a group share its limits. Stored calls wait only for these limits and for a 429; live ones
    (progress) also leave a second between two of a chat. `now` is a steady clock in seconds.
    """

    def __init__(self, now: Now, sleep: Sleep = asyncio.sleep) -> None:
        self._now, self._sleep = now, sleep
        self._all: deque[float] = deque(maxlen=PER_SECOND)
        self._group: dict[str, deque[float]] = {}
        self._last: dict[str, float] = {}
        self._held: dict[str, float] = {}

    def pause(self, lane: str) -> float:
        """Give how many seconds a live call of that lane has to wait still."""
        ready = max(self._last.get(_chat(lane), -EDIT_PAUSE_S) + EDIT_PAUSE_S, self._ready(lane))
        return max(0.0, ready - self._now())

    def hold(self, lane: str, wait_s: float) -> None:
        """Let nothing of that lane leave for so long: Telegram asked for it."""
        self._held[_chat(lane)] = self._now() + wait_s

    async def enter(self, lane: str) -> None:
        """Wait until a call of that lane may leave, and count it."""
        while (wait := self._ready(lane) - self._now()) > 0:
            await self._sleep(wait)
        now = self._now()
        self._all.append(now)
        self._last[_chat(lane)] = now
        if lane.startswith("-"):
            self._group.setdefault(_chat(lane), deque(maxlen=GROUP_PER_MINUTE)).append(now)

    def _ready(self, lane: str) -> float:
        """Give the time at which the next call of that lane is within every limit."""
        ready = self._held.get(_chat(lane), 0.0)
        if len(self._all) == PER_SECOND:
            ready = max(ready, self._all[0] + 1.0)
        recent = self._group.get(_chat(lane))
        if recent is not None and len(recent) == GROUP_PER_MINUTE:
            ready = max(ready, recent[0] + 60.0)
        return ready


def _chat(lane: str) -> str:
    return lane.partition("/")[0]
