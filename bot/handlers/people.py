"""`/invite`: one-time links for colleagues, who is in, and the way out (product.md 1.5)."""

from bot import people
from bot.dispatch import Command, Said
from bot.draft import Draft
from bot.locales import say
from bot.outbox import Message, post
from bot.turn import Desk, Reply
from core.tables import Tx

_REMOVE = "remove"


def invite(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Give the owner a one-time link, in private; `remove ID` shows somebody out who came in by one."""
    word, _, id = said.text.partition(" ")
    if word.lower() == _REMOVE:
        _show_out(tx, said, id.strip())
    else:
        code = people.invite(tx, desk.ids, said.user, said.now)
        draft = Draft().plain(say("people.invite", said.language)).line()
        draft.line(people.link(desk.username, code)).line()
        for person in people.joined(tx):
            if not person.is_owner:
                draft.line(say("people.guest", said.language, name=person.name, id=person.id))
        post(tx, said.user, draft.message(), now=said.now)  # a link in a group would invite the group
    return None


def _show_out(tx: Tx, said: Said, id: str) -> None:
    is_number = id.isascii() and id.isdigit() and len(id) <= 20
    gone = people.remove(tx, int(id), said.user, said.now) if is_number else None
    if gone is None:
        text = say("people.unknown", said.language, id=id[:40])
    else:
        text = say("people.removed", said.language, name=gone.name)
    post(tx, said.user, Message(text), now=said.now)


COMMANDS = (Command("invite", "owner", invite, is_for_owner=True),)
