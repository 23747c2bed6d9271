"""A process that writes to a store until it is killed: `store_writer.py STORE NAME COUNT`.

Each write adds one to its own counter and to the shared one, and appends a lesson; the number is printed when
the write is durable.
"""

import asyncio
import sys
from pathlib import Path

from core.model.lesson import Domain, Scope
from core.services import lessons
from core.store.sqlite import open_store
from core.tables import Tx


def add(tx: Tx, name: str) -> int:
    """Count one up, there and for all, and write a lesson that says so."""
    own, shared = (int(tx.settings.get(each) or 0) + 1 for each in (name, "shared"))
    tx.settings.put(name, str(own))
    tx.settings.put("shared", str(shared))
    lessons.add(tx, f"Rule {own} of {name}", Domain.GENERAL, Scope.GLOBAL, None, name, "cli", 1.9e9)
    return own


async def write(path: Path, name: str, count: int) -> None:
    """Write so often, telling of each."""
    async with open_store(path) as store:
        for _ in range(count):
            print(await store.write(lambda tx: add(tx, name)), flush=True)


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
