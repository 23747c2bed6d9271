"""Import a command without optional parts of libraries that it never uses: start-up time and memory count.

structlog takes `rich` and `pygments` along where they are installed (0.03 s), what speaks to the chat takes
`cryptography` (10 MB in all, of the 70 an idle bot may have, reliability.md 4). All say `except ImportError`.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

OPTIONAL: Final = ("cryptography", "pygments", "rich")


@contextmanager
def without_optional_parts() -> Iterator[None]:
    """Let those packages seem not to be installed; afterwards whoever wants them can import them."""
    hidden = [name for name in OPTIONAL if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: "import of … halted"
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
