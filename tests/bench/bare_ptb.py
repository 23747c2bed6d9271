"""The peer of `bench_bot`: python-telegram-bot with its stock updater, that echoes messages and answers taps.

usage: python -m tests.bench.bare_ptb BASE_URL BASE_FILE_URL TOKEN
"""

import sys

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, Update
from telegram.ext import ApplicationBuilder, CallbackQueryHandler, ContextTypes, MessageHandler, filters

VOTE = InlineKeyboardMarkup(
    [[InlineKeyboardButton("👍", callback_data="up"), InlineKeyboardButton("👎", callback_data="down")]]
)


async def echo(update: Update, _context: ContextTypes.DEFAULT_TYPE) -> None:
    """Say the same, with two buttons."""
    assert update.message is not None and update.message.text is not None
    await update.message.reply_text(update.message.text, reply_markup=VOTE)


async def answer(update: Update, _context: ContextTypes.DEFAULT_TYPE) -> None:
    """Answer the tap."""
    assert update.callback_query is not None
    await update.callback_query.answer("Noted")


def main(base_url: str, base_file_url: str, token: str) -> None:
    """Run until stopped."""
    app = ApplicationBuilder().token(token).base_url(base_url).base_file_url(base_file_url).build()
    app.add_handler(CallbackQueryHandler(answer))
    app.add_handler(MessageHandler(filters.TEXT, echo))
    app.run_polling()


if __name__ == "__main__":
    main(*sys.argv[1:])
