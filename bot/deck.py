"""`/review`: everything that waits for a decision as one deck, one card at a time (product.md 1.5).

What can wait is a `Source`: proposals, candidates, skill offers. A card is decided as it was shown: each has
a stamp, and one that changed meanwhile is shown again instead.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.callbacks import Kind, encode
from bot.delivery import new_button
from bot.draft import Draft
from bot.locales import say
from bot.outbox import Key, Message, edit, post
from bot.turn import Desk
from core.tables import Tx

MAX_CARDS = 40

Decided = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of thing that waits.

    `waiting` lists ids, most important first; `stamp` names the state a card showed; `draft` writes the card;
    `decide` does yes or no, gives the toast and the skills that are no more; `detail` sends the thing's own
    card with all its buttons.
    """

    kind: str
    waiting: Callable[[Tx, Desk, float], Sequence[str]]
    stamp: Callable[[Tx, Desk, str], str]
    draft: Callable[[Tx, Desk, str, str], Draft]
    decide: Callable[[Tx, Desk, str, bool, str, str, float], Decided]
    detail: Callable[[Tx, Desk, str, str, float], None]


@dataclass(frozen=True, slots=True)
class Hand:
    """Where a person stands in a deck: (kind, id) of each card, which is up, its stamp, how many decided."""

    cards: tuple[tuple[str, str], ...]
    at: int = 0
    stamp: str = ""
    decided: int = 0


class Deck:
    """Deals cards of several sources."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = {source.kind: source for source in sources}

    def source(self, kind: str) -> Source:
        """Give the source of a card."""
        return self._sources[kind]

    def waiting(self, tx: Tx, desk: Desk, now: float) -> list[tuple[str, str]]:
        """Give what waits, of every source."""
        found = [(s.kind, id) for s in self._sources.values() for id in s.waiting(tx, desk, now)]
        return found[:MAX_CARDS]

    def open(
        self, tx: Tx, desk: Desk, lane: str, cards: Sequence[tuple[str, str]], language: str, now: float
    ) -> None:
        """Send a deck with those cards."""
        ref = f"review:{desk.ids.token()}"
        message, token = self._card(tx, desk, lane, ref, Hand(tuple(cards)), language, now)
        post(tx, lane, message, now=now, ref=ref, tokens=(token,))

    def turn(self, tx: Tx, desk: Desk, lane: str, ref: str, hand: Hand, language: str, now: float) -> None:
        """Show the card a hand stands at in the place of the last; those decided elsewhere are passed."""
        while hand.at < len(hand.cards) and not self._still_waits(tx, desk, hand.cards[hand.at], now):
            hand = Hand(hand.cards, hand.at + 1, "", hand.decided)
        if hand.at >= len(hand.cards):
            text = say("review.done", language, count=hand.decided)
            edit(tx, lane, ref, Message(text), now=now)
            return
        message, _ = self._card(tx, desk, lane, ref, hand, language, now)
        edit(tx, lane, ref, message, now=now)

    def _still_waits(self, tx: Tx, desk: Desk, card: tuple[str, str], now: float) -> bool:
        kind, id = card
        return id in self._sources[kind].waiting(tx, desk, now)

    def _card(
        self, tx: Tx, desk: Desk, lane: str, ref: str, hand: Hand, language: str, now: float
    ) -> tuple[Message, str]:
        kind, id = hand.cards[hand.at]
        source = self._sources[kind]
        payload = {
            "cards": hand.cards,
            "at": hand.at,
            "stamp": source.stamp(tx, desk, id),
            "decided": hand.decided,
        }
        token = new_button(tx, desk.ids, Kind.REVIEW, lane, ref, now, payload)

        def key(name: str) -> Key:
            return Key(say(f"button.{name}", language), encode(Kind.REVIEW, token, name))

        keyboard = ((key("yes"), key("no"), key("later")), (key("detail"),))
        draft = Draft().italic(say("review.of", language, number=hand.at + 1, of=len(hand.cards))).line()
        card = source.draft(tx, desk, id, language)
        return draft.join(card).message(keyboard), token


def read(payload: str) -> Hand:
    """Read where a person stands from what is kept behind the buttons."""
    kept = json.loads(payload)
    cards = tuple((str(kind), str(id)) for kind, id in kept["cards"])
    return Hand(cards, int(kept["at"]), str(kept["stamp"]), int(kept["decided"]))
