"""What follows decisions and time: ready files, mirror, skills' files, the spool, backups, retention.

Nothing here decides anything, and nothing a person waits for stands behind it.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import structlog

from core.app import Core
from core.errors import AutoImproveError
from core.services.changes import By
from core.services.journal import journal
from core.store import backup
from core.tables import Tx

log = structlog.get_logger()

SPOOL = "spool"
SPOOL_EVERY_S = 2.0
MIRROR_EVERY_S = 60.0
TOGETHER_S = 0.2  # what comes one behind the other is looked at once
DAY_S = 86_400.0
SETTLED_S = 60.0  # a backup reads the whole store, which is no help to a bot that is starting
_LAST_DAILY = "upkeep.daily"


class Upkeep:
    """Owns the files beside the store."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._wake = asyncio.Event()
        self._gone: set[str] = set()
        self._seen, self._published_at = 0, 0.0
        self._began = core.clock.now()

    def wake(self, gone: Iterable[str] = ()) -> None:
        """Look again soon: something may have been decided; `gone` are skills whose files go."""
        self._gone.update(gone)
        self._wake.set()

    async def run(self) -> None:
        """Keep everything up to date until cancelled; what fails is said and tried again."""
        while True:
            self._wake.clear()
            for work in (self._publish, self._take_in, self._daily):
                try:
                    await work()
                except (AutoImproveError, OSError) as error:
                    log.warning("upkeep waits", work=work.__name__.strip("_"), error=str(error))
            try:
                async with asyncio.timeout(SPOOL_EVERY_S):
                    await self._wake.wait()
            except TimeoutError:
                continue
            await asyncio.sleep(TOGETHER_S)

    async def _publish(self) -> None:
        """Write what others read when a decision was made, and look for hand edits once a minute."""
        from core.services import publishing  # noqa: PLC0415 -- an idle bot does not pay for it

        now, news = self._core.clock.now(), await self._core.store.read(partial(_decisions, self._seen))
        if not news.count and now - self._published_at < MIRROR_EVERY_S and not self._gone:
            self._seen = news.newest
            return
        gone, self._gone = self._gone, set()
        await self._core.patterns.publish(gone)
        by = By("mirror", now, "mirror", self._core.ids.new())
        done = await publishing.publish(self._core.store, self._core.settings, by)
        for refused in done.refused:
            log.warning("edit in the mirror refused", error=str(refused))
        self._seen, self._published_at = news.newest, now

    async def _take_in(self) -> None:
        """Take in what Pi's extension wrote in the terminal."""
        core = self._core
        if not (core.settings.home / SPOOL).is_dir():
            return
        from core.services import spool  # noqa: PLC0415 -- only who uses the terminal pays for it
        from core.services.spooled import Desk  # noqa: PLC0415

        if await asyncio.to_thread(spool.has_news, core.settings.home / spool.FOLDER):
            desk = Desk(core.store, core.traces, core.settings, "en", journal(core.settings.debug))
            await spool.take_in(desk, core.clock.now())

    async def _daily(self) -> None:
        """Back up, forget what is too old, and propose to disable what the votes speak against."""
        core, now = self._core, self._core.clock.now()
        if 0 <= now - self._began < SETTLED_S:
            return
        last = await core.store.read(lambda tx: tx.settings.get(_LAST_DAILY))
        if last is not None and 0 <= now - float(last) < DAY_S:
            return
        await core.store.write(partial(_begin_day, now))
        from core.services import effect, retention  # noqa: PLC0415 -- once a day

        await asyncio.to_thread(backup.daily, core.settings.store_path, core.settings.backup_folder, now)
        await retention.prune(core.store, core.traces, core.settings, now)
        await core.store.write(lambda tx: effect.propose_harmful(tx, now))


@dataclass(frozen=True, slots=True)
class _News:
    """How many decisions there were since the last look, and where the audit log stands."""

    count: int
    newest: int


def _decisions(after: int, tx: Tx) -> _News:
    """Count what changes a file: votes do not."""
    news = tx.runs.activities(after)
    decided = [each for each in news if each.subject.startswith(("l-", "p-")) or "." in each.verb]
    return _News(len(decided), news[-1].seq if news else after)


def _begin_day(now: float, tx: Tx) -> None:
    tx.settings.put(_LAST_DAILY, str(now))
