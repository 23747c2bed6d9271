"""One bot a token: two of them would each get half of the messages (reliability.md P8)."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import SettingsError


@contextmanager
def only_one(home: Path, token: str) -> Iterator[None]:
    """Hold the lock of this bot. Raises SettingsError where another process holds it."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(_file(home, token), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SettingsError("settings.already_running", home=home) from None
        yield
    finally:
        os.close(descriptor)


def is_running(home: Path, token: str) -> bool:
    """Say whether a process of this machine runs this bot; nothing is created."""
    with contextlib.suppress(OSError):
        descriptor = os.open(_file(home, token), os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False


def _file(home: Path, token: str) -> Path:
    return home / f"bot-{token.partition(':')[0]}.lock"
