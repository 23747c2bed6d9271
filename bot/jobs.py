"""Scheduled work: buttons that change by themselves, reminders, what may be forgotten.

APScheduler runs it through the Application's JobQueue; each job is one transaction, safe to run twice. What
was missed while we were away is done at the next start: every rule reads the store and not the schedule.
"""

from collections.abc import Callable, Coroutine
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from telegram.ext import JobQueue

from bot import cards, chats, people
from bot.deck import Deck
from bot.inbox import KEPT_S
from bot.outbox import BUTTON_LIFETIME_S
from bot.sender import Sender
from bot.turn import Context, Desk
from core.errors import StoreError
from core.model.proposal import State
from core.ports import Store
from core.rules import approval
from core.services import proposals
from core.tables import Tx

log = structlog.get_logger()

OFTEN_S, RARELY_S = 30, 3600
DIGEST_CARDS = 3
_DIGEST_DAY = "digest.day"

Work = Callable[[Tx], None]


class Jobs:
    """Knows what is to be done when."""

    def __init__(self, store: Store, sender: Sender, desk: Desk, deck: Deck) -> None:
        self._store, self._sender, self._desk, self._deck = store, sender, desk, deck

    def schedule(self, queue: "JobQueue[Context]") -> None:
        """Put every job on the schedule; each runs alone and is made up for once when late."""
        once = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        for name, work, every_s in (
            ("quiet undo", self.retire_undo, OFTEN_S),
            ("digest", self.digest, OFTEN_S),
            ("remind and expire", self.remind, RARELY_S),
            ("forget", self.forget, RARELY_S),
        ):
            queue.run_repeating(
                self._job(name, work), every_s, first=5, name=name, job_kwargs={"id": name, **once}
            )

    def _job(self, name: str, work: Work) -> Callable[[Context], Coroutine[None, None, None]]:
        async def run(_context: Context) -> None:
            try:
                await self._store.write(work)
                for lane in await self._store.read(lambda tx: tx.outbox.lanes()):
                    self._sender.wake(lane)
            except StoreError as error:
                log.warning("job failed, tried again later", job=name, error=str(error))

        return run

    def retire_undo(self, tx: Tx) -> None:
        """Turn Undo into Disable on cards decided more than ten minutes ago, once each."""
        now = self._desk.clock.now()
        for item in tx.proposals.all():
            if item.state not in (State.APPROVED, State.REJECTED) or item.decided_at is None:
                continue
            age, mark = now - item.decided_at, f"undo:{item.id}:{item.version}"
            if approval.UNDO_S < age < approval.UNDO_S + RARELY_S and tx.settings.get(mark) is None:
                tx.settings.put(mark, "retired")
                cards.refresh(tx, self._desk, item, now)

    def remind(self, tx: Tx) -> None:
        """Remind of undecided proposals once, after two days; let them expire after fourteen."""
        now = self._desk.clock.now()
        for item in proposals.expire(tx, now):
            cards.refresh(tx, self._desk, item, now)
        for item in proposals.remind(tx, now):
            lane = cards.lane_of(tx, item)
            if lane is not None:
                cards.show(tx, self._desk, item, lane, now)

    def digest(self, tx: Tx) -> None:
        """Bring what waits to the owner's private chat once a day, at most three cards, if there are any."""
        settings, now = self._desk.settings, self._desk.clock.now()
        owner = people.owner(tx, settings)
        here = datetime.fromtimestamp(now, _zone(settings.timezone))
        is_due = settings.digest != "off" and here.strftime("%H:%M") >= settings.digest
        if owner is None or not is_due or tx.settings.get(_DIGEST_DAY) == here.date().isoformat():
            return
        tx.settings.put(_DIGEST_DAY, here.date().isoformat())
        waiting = self._deck.waiting(tx, self._desk, now)[:DIGEST_CARDS]
        if waiting:
            lane = str(owner)
            self._deck.open(tx, self._desk, lane, waiting, chats.language_in(tx, lane), now)

    def forget(self, tx: Tx) -> None:
        """Forget updates, sent calls and buttons that nobody needs any more."""
        now = self._desk.clock.now()
        tx.inbox.prune(now - KEPT_S)
        tx.outbox.prune(now - BUTTON_LIFETIME_S)
        tx.buttons.prune(now)


def _zone(name: str) -> tzinfo | None:
    """Give a time zone by its name; None, the machine's own, for none and for an unknown one."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError):
        log.warning("unknown time zone, using the machine's", timezone=name)
        return None
