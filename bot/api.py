"""The Bot API as raw calls: what is stored in the outbox is what goes over the wire."""

import os
from collections.abc import Mapping
from typing import Any

from telegram.error import BadRequest, ChatMigrated, Forbidden, NetworkError, RetryAfter, TelegramError
from telegram.ext import ExtBot

from bot.request import AiohttpRequest, was_sent

os.environ.setdefault("PTB_TIMEDELTA", "1")  # so that `RetryAfter.retry_after` has its future type

Params = Mapping[str, Any]

POLL_TIMEOUT_S = 30

__all__ = ["Api", "BadRequest", "ChatMigrated", "Forbidden", "NetworkError", "TelegramError", "make_api"]


class Api(ExtBot[None]):
    """python-telegram-bot's Bot, which can also make a call as it is written."""

    async def call(self, method: str, params: Params, *, read_timeout_s: float = 20.0) -> Any:
        """Make one call; give its result as JSON. Raises telegram.error.TelegramError."""
        return await self._do_post(method, dict(params), read_timeout=read_timeout_s)


def make_api(token: str, base_url: str, base_file_url: str) -> Api:
    """Make the bot: one pool for calls, one connection for polling, so that neither waits for the other."""
    return Api(
        token,
        base_url,
        base_file_url,
        request=AiohttpRequest(64),
        get_updates_request=AiohttpRequest(2, read_timeout_s=POLL_TIMEOUT_S + 10),
    )


def retry_after_s(error: RetryAfter) -> float:
    """Give the time that a 429 asks to wait, in seconds."""
    asked = error.retry_after
    return float(asked) if isinstance(asked, int) else asked.total_seconds()


def is_unknown(error: TelegramError) -> bool:
    """Say whether the call may have had its effect although no answer came."""
    return type(error).__module__ == AiohttpRequest.__module__ and was_sent(error)
