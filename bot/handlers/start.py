"""First words and help."""

from collections.abc import Sequence

from bot.auth import enter
from bot.dispatch import Command, OnSaid, Said
from bot.draft import Draft
from bot.locales import say
from bot.outbox import Message, post
from bot.turn import Desk, Reply
from core.tables import Tx

GROUPS = ("daily", "agent", "feedback", "lessons", "learning", "owner")


def start(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Say in five lines what this is, what 👎 does, and what leaves the machine.

    Somebody who is in already may still follow the link that makes them the owner.
    """
    who = (int(said.user), said.name, said.language)
    if said.lane == said.user and enter(tx, desk.settings, said.text, who, said.now):
        return None
    post(tx, said.lane, Message(say("start.words", said.language)), now=said.now)
    return None


def helper(commands: Sequence[Command]) -> OnSaid:
    """Make `/help` of the one table of commands; `/help more` lists them all."""

    def show(tx: Tx, desk: Desk, said: Said) -> Reply | None:
        del desk
        is_all = said.text.strip().lower() == "more"
        draft = Draft().bold(say("help.title", said.language)).line()
        for group in GROUPS if is_all else GROUPS[:1]:
            if is_all:
                draft.line().bold(say(f"help.group_{group}", said.language))
            for command in commands:
                if command.group == group:
                    draft.line(f"/{command.name} {say(f'command.{command.name}', said.language)}")
        draft.line().line(say("help.more" if not is_all else "help.notes", said.language))
        post(tx, said.lane, draft.message(), now=said.now)
        return None

    return show
