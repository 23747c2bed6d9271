"""Real Bots of python-telegram-bot over our request class, for a local server; and the shared validator."""

import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup

from bot.local.server import LocalServer
from bot.request import AiohttpRequest

SHARED = Path(os.environ.get("AUTO_IMPROVE_SHARED") or Path(__file__).parents[2] / ".." / "shared")
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


@cache
def validator() -> ModuleType:
    """Load the shared validator, or skip."""
    path = SHARED / "botapi" / "validate.py"
    if not path.exists():
        pytest.skip("the shared folder with botapi/validate.py is absent")
    spec = importlib.util.spec_from_file_location("botapi_validate", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
