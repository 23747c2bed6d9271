"""The local Telegram of the demo: one visitor, one chat, kept in a file while the bot's store is kept."""

import asyncio
import json
import secrets
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from aiohttp import web

from bot.local.bell import Bell
from bot.local.calls import Recorder
from bot.local.faults import Faults
from bot.local.guard import Handler
from bot.local.polling import Poller
from bot.local.records import Chat, Message
from bot.local.server import BotApi
from bot.local.state import LocalState
from core.services.context import write_file
from core.texts import language_of

BOT_ID: Final = 4242
VISITOR_ID: Final = 1001
TYPING_S: Final = 5.0  # Telegram shows "typing" for so long
KEPT_CALLS: Final = 200
_SAVE_AFTER_S = 0.3
_SKIPPED_IDS = 100  # a crash may have lost the last messages from the file, not their ids from the store


class World:
    """Everything between the bot and the visitor's browser, without the page."""

    def __init__(self, file: Path, record: Path | None = None) -> None:
        self._file = file
        token = f"{BOT_ID}:{secrets.token_urlsafe(24)}"
        # Update ids go on from the clock: they never come back, whatever was lost.
        self.state = LocalState(token, username="auto_improve_bot", first_update_id=int(time.time()))
        self.state.add_person("You", person_id=VISITOR_ID)
        self.recorder = Recorder(record, kept=KEPT_CALLS)
        self.bell = Bell()
        self._poller = Poller(self.state, self.bell)
        self._typing_until = 0.0
        self._saving: asyncio.TimerHandle | None = None
        self._load()
        self.state.listen(self.bell.ring)
        self.state.listen(self._save_soon)

    @property
    def chat(self) -> Chat:
        """Give the one chat."""
        return self.state.chat(VISITOR_ID)

    @property
    def language(self) -> str:
        """Give the visitor's language."""
        return language_of(self.state.user(VISITOR_ID).language_code)

    def meet(self, language: str, name: str) -> None:
        """Let the visitor speak the language of their browser."""
        visitor = self.state.user(VISITOR_ID)
        self.state.users[VISITOR_ID] = replace(visitor, language_code=language, first_name=name)

    def routes(self) -> list[web.RouteDef]:
        """Give the Bot API's routes; there is no control plane, the page is the visitor's only hand."""
        return BotApi(self.state, Faults(), self.recorder, self._poller).routes()

    @web.middleware
    async def notice_typing(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Remember until when the bot is shown as working: five seconds, or until it sends a message."""
        response = await handler(request)
        method = request.match_info.get("method", "").lower()
        if method == "sendchataction" and response.status == 200:
            self._typing_until = time.monotonic() + TYPING_S
            self.state.touch()
        elif method in ("sendmessage", "senddocument") and self.typing_s:
            self._typing_until = 0.0
            self.state.touch()
        return response

    @property
    def typing_s(self) -> float:
        """Give for how long the bot is still shown as working."""
        return max(0.0, self._typing_until - time.monotonic())

    async def close(self) -> None:
        """End waiting polls and save the chat."""
        self.bell.close()
        await self._poller.close()
        self.recorder.close()
        if self._saving is not None:
            self._saving.cancel()
        self._save()

    # -- the file ----------------------------------------------------------------------------------------

    def _load(self) -> None:
        if not self._file.exists():
            return
        kept = json.loads(self._file.read_text(encoding="utf-8"))
        for fields in kept["messages"]:
            reactions = {int(user): emoji for user, emoji in fields.pop("reactions").items()}
            message = Message(**fields, reactions=reactions)
            self.chat.messages[message.id] = message
        self.chat.last_id = kept["last_id"] + _SKIPPED_IDS
        self.state.version = max((each.version for each in self.chat.messages.values()), default=0)

    def _save_soon(self) -> None:
        if self._saving is None:
            self._saving = asyncio.get_running_loop().call_later(_SAVE_AFTER_S, self._save)

    def _save(self) -> None:
        """Write all of it; a chat of a demo is small."""
        self._saving = None
        messages = [asdict(each) for each in self.chat.messages.values()]
        kept = {"messages": messages, "last_id": self.chat.last_id}
        write_file(self._file, json.dumps(kept, ensure_ascii=False))
