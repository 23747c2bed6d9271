"""Waking those who wait for a change of the state."""

import asyncio
from collections.abc import Callable


class Bell:
    """Rings for everybody who waits at that moment."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.is_closing = False

    def ring(self) -> None:
        """Wake all."""
        self._event.set()
        self._event = asyncio.Event()

    def close(self) -> None:
        """Wake all for good: nobody waits any more."""
        self.is_closing = True
        self.ring()

    async def wait_until(self, is_ready: Callable[[], bool], timeout_s: float) -> None:
        """Return when it is ready, the time is over or the server closes."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while not is_ready() and not self.is_closing and (left := deadline - loop.time()) > 0:
            try:
                async with asyncio.timeout(left):
                    await self._event.wait()
            except TimeoutError:
                return
