"""Bring the files up to date that others read: ready context files and the mirror.

Whoever changed something calls it: the bot after a decision, every command after its write. Of two processes
that publish at once the later reads the newer state, since both hold a lock while they read and write.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from core.errors import Invalid
from core.model.ids import ProposalId
from core.ports import Store
from core.services import context, folders, mirror
from core.services.changes import By
from core.settings import CoreSettings


@dataclass(frozen=True, slots=True)
class Published:
    """What changed on disk, and what hand edits in the mirror came to."""

    changed: tuple[str, ...] = ()
    proposed: tuple[ProposalId, ...] = ()
    refused: tuple[Invalid, ...] = ()


async def publish(store: Store, settings: CoreSettings, by: By) -> Published:
    """Write the files as the store is now; hand edits in the mirror become proposals first.

    A malformed edit is refused, its file left alone, all others are written. Raises OSError, StoreError.
    """
    async with _alone(settings.home / "publish.lock"):
        files = await store.read(lambda tx: context.ready_files(tx, settings))
        changed = context.write_ready_files(settings.context_folder, files)
        done, fault = mirror.Taken(), None
        if settings.mirror:
            found, fault = mirror.read(settings.mirror_folder)
        if settings.mirror and fault is None:
            seen = await store.read(lambda tx: mirror.look(tx, found))
            edits = await asyncio.to_thread(mirror.read_edits, seen.edited)
            if edits or seen.unknown:
                done = await store.write(lambda tx: mirror.take(tx, seen, edits, by))
            right = {name: text for name, text in seen.files.items() if name not in done.refused}
            changed += folders.write(settings.mirror_folder, right, kept=done.refused)
    refused = (*([fault] if fault else []), *done.refused.values())
    return Published(tuple(changed), tuple(done.proposed), tuple(refused))


@asynccontextmanager
async def _alone(path: Path) -> AsyncIterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        await asyncio.to_thread(fcntl.flock, handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
