"""Import the libraries the bot stands on without optional parts of theirs that it never uses.

Where they are installed, python-telegram-bot takes `cryptography` along (for passports), httpx and structlog
`rich` and `pygments` (for colours): 10 MB and 0.1 s of an idle bot, which may have 70 MB (reliability.md 4).
All three say `except ImportError`. Afterwards whoever wants them can import them.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

OPTIONAL = ("cryptography", "pygments", "rich")


@contextmanager
def without(names: tuple[str, ...]) -> Iterator[None]:
    """Let these packages seem not to be installed; one that was imported already stays."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: "import of … halted"
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


with without(OPTIONAL):
    import structlog  # noqa: F401 -- imported for whoever comes next
    import telegram.ext  # noqa: F401 -- the same
