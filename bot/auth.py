"""Who may do anything at all: allowed people, in private or in allowed groups (reliability.md S1)."""

from telegram import Update
from telegram.constants import ChatType
from telegram.ext import ApplicationHandlerStop

from bot.locales import language_of, say
from bot.settings import BotSettings
from bot.turn import Context, Reply


def is_allowed(update: Update, settings: BotSettings) -> bool:
    """Judge by numeric ids of person and chat only; anonymous senders and channels have no person."""
    user, chat, message = update.effective_user, update.effective_chat, update.effective_message
    if user is None or chat is None or user.is_bot:
        return False
    is_anonymous = (
        update.callback_query is None and message is not None and getattr(message, "sender_chat", None)
    )
    if is_anonymous or user.id not in settings.allowed_users:
        return False
    return chat.type == ChatType.PRIVATE or chat.id in settings.allowed_chats


class Guard:
    """Stands before every handler."""

    def __init__(self, settings: BotSettings) -> None:
        self._settings = settings

    async def check(self, update: object, context: Context) -> None:
        """Stop what does not come from an allowed person; a tap gets a toast, everything else nothing."""
        if isinstance(update, Update) and is_allowed(update, self._settings):
            return
        if isinstance(update, Update) and update.callback_query is not None:
            language = language_of(update.callback_query.from_user.language_code)
            context.commit(lambda _tx: Reply(toast=say("toast.stranger", language)))
        raise ApplicationHandlerStop
