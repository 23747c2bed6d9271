"""A local Bot API server, its people and a real Bot, for every test that wants them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from telegram import Bot

from bot.local.person import LocalTelegram, Person
from bot.local.server import LocalServer
from tests.fakes.bots import bot_of


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[LocalServer]:
    """A server that records its calls to a file."""
    async with LocalServer(record=tmp_path / "calls.jsonl") as server:
        yield server


@pytest.fixture
async def telegram(server: LocalServer) -> AsyncIterator[LocalTelegram]:
    """The view from outside."""
    async with LocalTelegram(server.url) as telegram:
        yield telegram


@pytest.fixture
async def ada(telegram: LocalTelegram) -> Person:
    """A person in her private chat."""
    return await telegram.person("Ada", language_code="fr", username="ada_l")


@pytest.fixture
async def bot(server: LocalServer) -> AsyncIterator[Bot]:
    """A real Bot over our request class."""
    async with bot_of(server) as bot:
        yield bot
