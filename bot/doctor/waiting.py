"""Who asked for an examination in the chat and has no answer yet: in the store, so that none is forgotten."""

import json

from core.tables import CoreTx

_NAME = "checkups"


def ask(tx: CoreTx, lane: str, language: str) -> None:
    """Note that a chat asked, and in which language."""
    tx.settings.put(_NAME, json.dumps({**asked(tx), lane: language}))


def asked(tx: CoreTx) -> dict[str, str]:
    """Give the language of each chat that waits."""
    found: dict[str, str] = json.loads(tx.settings.get(_NAME) or "{}")
    return found


def answer(tx: CoreTx, lane: str) -> None:
    """Note that a chat has its answer."""
    left = {name: language for name, language in asked(tx).items() if name != lane}
    tx.settings.put(_NAME, json.dumps(left))


def ref(lane: str) -> str:
    """Give what the message is about that becomes the answer."""
    return f"checkup:{lane}"
