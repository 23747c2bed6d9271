"""The machine's clock and the makers of names."""

import secrets
import threading
import time

from core.model.ids import uuid7

_RANDOM_BITS = 74
_TOKEN_BYTES = 8


class SystemClock:
    """The time of the machine."""

    def now(self) -> float:
        """Give seconds since the epoch, UTC."""
        return time.time()


class SystemIds:
    """Names that sort in the order they were made, even where the clock stands still or goes back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._time_ms = 0
        self._random = 0

    def new(self) -> str:
        """Give the next UUIDv7 (RFC 9562 6.2, method 2: the random part counts up within a millisecond)."""
        with self._lock:
            time_ms = time.time_ns() // 1_000_000
            if time_ms > self._time_ms:
                self._time_ms, self._random = time_ms, secrets.randbits(_RANDOM_BITS)
            else:
                self._count_up()
            return uuid7(self._time_ms, self._random)

    def token(self) -> str:
        """Give an unguessable id of 64 random bits, URL-safe, 11 characters."""
        return secrets.token_urlsafe(_TOKEN_BYTES)

    def _count_up(self) -> None:
        # A random step keeps the next id unguessable; at the top the time part takes the carry.
        self._random += 1 + secrets.randbits(32)
        if self._random >> _RANDOM_BITS:
            self._time_ms, self._random = self._time_ms + 1, secrets.randbits(_RANDOM_BITS)
