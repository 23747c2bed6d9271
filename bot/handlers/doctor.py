"""`/doctor`: asks for an examination, which answers when it is done (`bot.checkup`)."""

from bot.dispatch import Command, Said
from bot.doctor import waiting
from bot.locales import say
from bot.outbox import Message, post
from bot.turn import Desk, Reply
from core.tables import Tx


def doctor(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Begin, in the owner's private chat: what is found names folders of the machine."""
    del desk
    waiting.ask(tx, said.user, said.language)
    message = Message(say("checkup.begun", said.language))
    post(tx, said.user, message, now=said.now, ref=waiting.ref(said.user))
    return None


COMMANDS = (Command("doctor", "owner", doctor, is_for_owner=True),)
