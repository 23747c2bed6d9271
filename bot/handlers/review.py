"""`/review` and the daily digest: what waits for a decision, one card at a time."""

from dataclasses import replace

from bot import deck, people
from bot.callbacks import Kind
from bot.deck import Deck, Hand
from bot.dispatch import Command, OnTap, Said, Tap
from bot.locales import say
from bot.outbox import Message, post
from bot.turn import Desk, Reply
from core.errors import AutoImproveError
from core.tables import Tx
from core.texts import say_error


def command(cards: Deck) -> Command:
    """Make `/review`."""

    def show(tx: Tx, desk: Desk, said: Said) -> Reply | None:
        waiting = cards.waiting(tx, desk, said.now)
        if waiting:
            cards.open(tx, desk, said.lane, waiting, said.language, said.now)
        else:
            post(tx, said.lane, Message(say("review.nothing", said.language)), now=said.now)
        return None

    return Command("review", "daily", show, is_in_menu=True)


def taps(cards: Deck) -> dict[Kind, OnTap]:
    """Make the taker of the deck's buttons."""

    def tap_card(tx: Tx, desk: Desk, tap: Tap) -> Reply | None:
        if not people.may_decide(tx, desk.settings, int(tap.user)):
            return Reply(toast=say("toast.not_approver", tap.language), is_alert=True)
        hand = deck.read(tap.button.payload)
        kind, id = hand.cards[hand.at]
        source = cards.source(kind)
        if tap.choice == "detail":
            source.detail(tx, desk, id, tap.lane, tap.now)
            return None
        if tap.choice == "later":
            return _turn(tx, desk, tap, replace(hand, at=hand.at + 1), "")
        if source.stamp(tx, desk, id) != hand.stamp:
            return _turn(tx, desk, tap, hand, say("toast.changed", tap.language))
        try:
            toast, gone = source.decide(tx, desk, id, tap.choice == "yes", tap.user, tap.language, tap.now)
        except AutoImproveError as error:  # a choice is needed, or it has changed: its own card says more
            source.detail(tx, desk, id, tap.lane, tap.now)
            return Reply(toast=say_error(error, tap.language), is_alert=True)
        return _turn(tx, desk, tap, replace(hand, at=hand.at + 1, decided=hand.decided + 1), toast, gone)

    def _turn(tx: Tx, desk: Desk, tap: Tap, hand: Hand, toast: str, gone: tuple[str, ...] = ()) -> Reply:
        cards.turn(tx, desk, tap.lane, tap.button.ref, hand, tap.language, tap.now)
        return Reply(toast=toast, gone_skills=gone)

    return {Kind.REVIEW: tap_card}
