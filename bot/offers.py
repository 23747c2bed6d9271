"""What the warnings on a proposal's card offer, taken by button or in words (product.md 1.4).

Beside an opposite: replace it, keep both. Where a lesson would be pushed out of the block: merge, disable
that one first, let it wait.
"""

from dataclasses import dataclass

from bot import cards
from bot.dispatch import Said, Tap
from bot.locales import say
from bot.turn import Desk, Reply
from bot.typed import choice_of
from core.model.proposal import Proposal
from core.rules import approval
from core.services import choices, lessons, opposition, proposals, room
from core.services.changes import By
from core.tables import Tx


@dataclass(frozen=True, slots=True)
class Taken:
    """Which offer of a card was taken, about which lesson ("" where the card names one), at which version."""

    what: str
    lesson: str
    version: int


def take(tx: Tx, desk: Desk, item: Proposal, taken: Taken, by: Tap | Said) -> Reply:
    """Do what a warning on the card offers: replace the other lesson, keep both, merge, make room first."""
    match taken.what:
        case "merge":
            return _merge(tx, desk, item, taken, by)
        case "disable":
            return _make_room(tx, desk, item, taken, by)
    found = opposition.standing(tx, item)
    if taken.what == "replace" and found:
        other = taken.lesson or found[0].id
        decision = choices.replace_lesson(tx, item.id, taken.version, other, by.user, by.now)
    else:
        decision = choices.keep_both(tx, item.id, taken.version, by.user, by.now)
    cards.refresh(tx, desk, decision.proposal, by.now)
    if decision.lesson is None:  # two lessons that were there already stay as they are
        return Reply(toast=say("toast.rejected", by.language))
    return Reply(toast=say("toast.approved", by.language, lesson=decision.lesson.id))


def _make_room(tx: Tx, desk: Desk, item: Proposal, taken: Taken, by: Tap | Said) -> Reply:
    approval.require(item, taken.version)
    is_pushed = taken.lesson in [each.id for each in room.pushed_out(tx, item, desk.settings)]
    if is_pushed:
        lessons.disable(tx, taken.lesson, by.user, by.now)
    cards.refresh(tx, desk, proposals.need_proposal(tx, item.id), by.now)
    key = "toast.disabled" if is_pushed else "toast.old_button"
    return Reply(toast=say(key, by.language, lesson=taken.lesson), is_alert=not is_pushed)


def _merge(tx: Tx, desk: Desk, item: Proposal, taken: Taken, by: Tap | Said) -> Reply:
    """Make room by merging; what comes of it are cards, nothing is decided."""
    done = room.merge(tx, item.id, taken.version, desk.settings, By(by.user, by.now))
    if done.lesson is not None:
        cards.refresh(tx, desk, done.proposal, by.now)
        return Reply(toast=say("toast.merged_onto", by.language, lesson=done.lesson.id), is_alert=True)
    for each in done.others:
        cards.show(tx, desk, each, by.lane, by.now)
    return Reply(toast=say("toast.merges_offered", by.language, count=len(done.others)), is_alert=True)


def named(tx: Tx, desk: Desk, item: Proposal, text: str) -> Taken | None:
    """Read a reply as one of the offers that stand on the card now; None where it is none of them."""
    word = choice_of(text)
    if word is None:
        return None
    facts = cards.facts_of(tx, desk, item)
    offers = {("replace", str(each.id)) for each in facts.conflicts}
    offers |= {("replace", ""), ("both", "")} if facts.conflicts else set()
    offers |= {("disable", str(each.id)) for each in facts.pushed_out}
    offers |= {("merge", ""), ("wait", "")} if facts.pushed_out else set()
    return Taken(*word, item.version) if word in offers else None
