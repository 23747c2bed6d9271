"""Real Bots of python-telegram-bot over our request class, for a local server."""

from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup

from bot.local.server import LocalServer
from bot.request import AiohttpRequest

WITH_REACTIONS = ["message", "edited_message", "callback_query", "message_reaction", "my_chat_member"]
VOTE = InlineKeyboardMarkup(
    [[InlineKeyboardButton("👍", callback_data="up"), InlineKeyboardButton("👎", callback_data="down")]]
)


def bot_of(server: LocalServer) -> Bot:
    """Make a Bot for the server."""
    return a_bot(server.token, server.base_url, server.base_file_url)


def a_bot(token: str, base_url: str, base_file_url: str) -> Bot:
    """Make a Bot over our request class."""
    return Bot(
        token,
        base_url=base_url,
        base_file_url=base_file_url,
        request=AiohttpRequest(read_timeout_s=5.0),
        get_updates_request=AiohttpRequest(read_timeout_s=5.0),
    )
