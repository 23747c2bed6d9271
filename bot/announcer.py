"""Tells the owner what became of lessons and proposals elsewhere: at the command line, by another process.

Once a second it looks at the audit log for what other surfaces wrote (product.md 3: every lesson that becomes
active outside the chat is announced with Undo, one message a command).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import structlog

from bot import cards, chats, delivery, people
from bot.callbacks import Kind, encode
from bot.dispatch import Tap
from bot.draft import Draft
from bot.locales import say
from bot.outbox import Key, edit, post
from bot.sender import Sender
from bot.turn import Desk, Reply
from bot.views import lesson_line
from core.errors import StoreError
from core.model.ids import LessonId, ProposalId
from core.model.proposal import State
from core.model.run import Activity
from core.ports import Store
from core.services import lessons
from core.tables import Tx

log = structlog.get_logger()

EVERY_S = 1.0
SHOWN = 5
_SEEN = "announced"
_ELSEWHERE = frozenset({"cli", "terminal", "mirror", "mcp"})
_CHANGES = frozenset({"add", "edit", "enable", "disable", "scope", "domain", "merge", "restore", "import"})
_PROPOSED = frozenset({"propose"})
_DECIDED = frozenset({"approve", "reject", "edit", "scope", "domain", "separate", "undo"})


class Announcer:
    """Follows the audit log."""

    def __init__(self, store: Store, sender: Sender, desk: Desk) -> None:
        self._store, self._sender, self._desk = store, sender, desk

    async def run(self) -> None:
        """Look once a second until cancelled."""
        while True:
            try:
                if await self._store.read(_has_news):
                    for lane in await self._store.write(self._announce):
                        self._sender.wake(lane)
            except StoreError as error:  # said once a second by others already; it passes or they stop
                log.warning("cannot look for changes", error=str(error))
            await asyncio.sleep(EVERY_S)

    def _announce(self, tx: Tx) -> list[str]:
        """Tell of what is new; give the chats in which something is to be sent."""
        news = tx.runs.activities(_seen(tx))
        if not news:
            return []
        tx.settings.put(_SEEN, str(news[-1].seq))
        owner = people.owner(tx, self._desk.settings)
        if owner is None:
            return []
        lane = str(owner)
        elsewhere = [each for each in news if each.surface in _ELSEWHERE]
        changes = [each for each in elsewhere if each.verb in _CHANGES and each.subject.startswith("l-")]
        for _, batch in groupby(changes, key=lambda each: each.batch or str(each.seq)):
            self._tell(tx, lane, list(batch))
        for each in elsewhere:
            if each.verb in _PROPOSED:
                self._show_proposal(tx, lane, each)
        for name in dict.fromkeys(each.subject for each in elsewhere if each.verb in _DECIDED):
            self._refresh_card(tx, name)
        return tx.outbox.lanes() if elsewhere else []

    def _tell(self, tx: Tx, lane: str, batch: Sequence[Activity]) -> None:
        language, now = chats.language_in(tx, lane), self._desk.clock.now()
        names = list(dict.fromkeys(each.subject for each in batch))
        changed = [lesson for name in names if (lesson := tx.lessons.get(LessonId(name))) is not None]
        who, key = batch[0].who, batch[0].batch
        draft = Draft().bold(say("announce.changed", language, who=who, count=len(changed))).line()
        for number, lesson in enumerate(changed[:SHOWN], 1):
            draft.line(lesson_line(number, lesson, is_told=True))
        if len(changed) > SHOWN:
            draft.line(say("announce.more", language, count=len(changed) - SHOWN))
        ref = f"announce:{batch[-1].seq}"
        facts = {"undo": key, "lessons": names}
        token = delivery.new_button(tx, self._desk.ids, Kind.ANNOUNCEMENT, lane, ref, now, facts)
        keyboard = (
            ((Key(say("button.undo", language), encode(Kind.ANNOUNCEMENT, token, "undo")),),) if key else ()
        )
        message = draft.message(keyboard)
        post(tx, lane, message, now=now, ref=ref, is_silent=False, tokens=(token,) if key else ())

    def _show_proposal(self, tx: Tx, lane: str, news: Activity) -> None:
        proposal = tx.proposals.get(ProposalId(news.subject))
        if proposal is not None and proposal.state is State.PENDING:
            cards.show_or_refresh(tx, self._desk, proposal, lane, self._desk.clock.now())

    def _refresh_card(self, tx: Tx, name: str) -> None:
        """Show on a proposal's card what was decided or changed elsewhere."""
        proposal = tx.proposals.get(ProposalId(name))
        if proposal is not None:
            cards.refresh(tx, self._desk, proposal, self._desk.clock.now())


def _seen(tx: Tx) -> int:
    return int(tx.settings.get(_SEEN) or 0)


def _has_news(tx: Tx) -> bool:
    return bool(tx.runs.activities(_seen(tx), limit=1))


def tap_undo(tx: Tx, desk: Desk, tap: Tap) -> Reply | None:
    """Take back what one command did, where nobody has changed it since."""
    if tap.button.is_used:
        return Reply(toast=say("toast.used", tap.language))
    tx.buttons.put(replace(tap.button, is_used=True))
    names: list[str] = tap.payload["lessons"]
    undone = lessons.undo(tx, names, str(tap.payload["undo"]), tap.user, desk.clock.now())
    text = say("announce.undone", tap.language, count=undone, of=len(names))
    edit(tx, tap.lane, tap.button.ref, Draft().plain(text).message(), now=tap.now)
    return Reply(toast=say("toast.undone", tap.language))


TAPS = {Kind.ANNOUNCEMENT: tap_undo}
