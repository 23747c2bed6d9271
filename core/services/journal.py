"""The file of AUTO_IMPROVE_DEBUG: each trace, mine, inject and promote step as a JSON line (product.md 5)."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

Journal = Callable[..., None]
"""Called with a step's name and its facts, which are masked already; never raises."""


def silent(_step: str, **_facts: object) -> None:
    """Keep nothing: the journal where none is set."""


def journal(path: Path | None) -> Journal:
    """Give the journal that is set; a file that cannot be written is a step that is not kept."""
    if path is None:
        return silent

    def keep(step: str, **facts: object) -> None:
        line = json.dumps(
            {"at": datetime.now(UTC).isoformat(), "step": step, **facts}, ensure_ascii=True, default=str
        )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError:
            pass  # watching must never disturb what is watched

    return keep
