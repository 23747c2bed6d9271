"""Import a command without optional parts of libraries that it never uses: start-up time counts."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_COLOURS: Final = ("rich", "pygments")  # structlog takes them where they are installed: 0.03 s


@contextmanager
def without_colours() -> Iterator[None]:
    """Let those packages seem not to be installed; afterwards whoever wants them can import them."""
    hidden = [name for name in _COLOURS if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: "import of … halted"
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
