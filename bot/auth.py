"""Who may do anything at all: allowed people, in private or in allowed groups (reliability.md S1)."""

import re
from collections.abc import Callable

from telegram import Update
from telegram.constants import ChatType
from telegram.ext import ApplicationHandlerStop

from bot import people
from bot.chats import language_in, remember_person
from bot.draft import Draft
from bot.inbox import Raw, message_of, part
from bot.locales import say
from bot.outbox import Message, post
from bot.settings import BotSettings
from bot.turn import Context, Reply
from core.ports import Store
from core.tables import Tx

TRIES, TRIES_S = 5, 3600.0  # codes a stranger may try in that time
MAX_STRANGERS = 1000  # remembered at a time

_CODE = re.compile(r"/start(?:@\w+)? ([A-Za-z0-9_-]{16,64})")


class Guard:
    """Stands before every handler."""

    def __init__(self, settings: BotSettings, store: Store, now: Callable[[], float]) -> None:
        self._settings, self._store, self._now = settings, store, now
        self._tries: dict[int, list[float]] = {}

    async def check(self, update: object, context: Context) -> None:
        """Stop what does not come from an allowed person; a tap gets a toast, everything else nothing."""
        if isinstance(update, Update):
            if await self._is_allowed(update, part(message_of(context.raw), "chat")):
                return
            if update.callback_query is not None:
                language = self._settings.speak(update.callback_query.from_user.language_code)
                context.commit(lambda _tx: Reply(toast=say("toast.stranger", language)))
            elif (code := self._code(update)) is not None:
                self._let_in(update, context, code)
        raise ApplicationHandlerStop

    async def _is_allowed(self, update: Update, chat: Raw) -> bool:
        """Judge by numeric ids of person and chat only; anonymous senders and channels have no person."""
        user, message = update.effective_user, update.effective_message
        if user is None or user.is_bot:
            return False
        if message is not None and getattr(message, "sender_chat", None):
            return False
        if chat.get("type") != ChatType.PRIVATE and chat.get("id") not in self._settings.allowed_chats:
            return False
        if user.id in self._settings.allowed_users:
            return True
        return await self._store.read(lambda tx: people.is_allowed(tx, self._settings, user.id))

    def _code(self, update: Update) -> str | None:
        """Give the code of a link that was followed in private; None for who tries too many."""
        message, user = update.message, update.effective_user
        if message is None or user is None or user.is_bot or message.chat.type != ChatType.PRIVATE:
            return None
        found = _CODE.fullmatch((message.text or "").strip())
        return found[1] if found is not None and self._may_try(user.id) else None

    def _may_try(self, user: int) -> bool:
        now = self._now()
        tries = [at for at in self._tries.pop(user, []) if now - at < TRIES_S]
        may = len(tries) < TRIES
        self._tries[user] = [*tries, now] if may else tries
        if len(self._tries) > MAX_STRANGERS:
            del self._tries[next(iter(self._tries))]  # who tried longest ago
        return may

    def _let_in(self, update: Update, context: Context, code: str) -> None:
        user, settings, now = update.effective_user, self._settings, self._now()
        assert user is not None, "a code comes from somebody"
        name, language = user.first_name or "", settings.speak(user.language_code)

        def let_in(tx: Tx) -> None:
            enter(tx, settings, code, (user.id, name, language), now)

        context.commit(let_in)


def enter(tx: Tx, settings: BotSettings, code: str, who: tuple[int, str, str], now: float) -> bool:
    """Let in who followed a link, and say the first words; False where the code is worth nothing."""
    user, name, language = who
    found = people.redeem(tx, settings, code, user, name, now)
    if found is None:
        return False
    remember_person(tx, str(user), name)
    role = "owner" if found.is_for_owner else "guest"
    welcome = Draft().bold(say(f"people.welcome_{role}", language)).line().line(say("start.words", language))
    post(tx, str(user), welcome.message(), now=now)
    host = people.owner(tx, settings)
    if host is not None and host != user:
        told = say("people.joined", language_in(tx, str(host)), name=name, id=user)
        post(tx, str(host), Message(told), now=now)
    return True
