"""What the chat sees while a run goes on: progress, typing, questions of the agent, its silence."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from bot import chats, delivery
from bot.claim import Claim, Works, stop_keyboard
from bot.draft import Draft
from bot.locales import say
from bot.outbox import Message, content, edit, post
from bot.patience import insist
from bot.relay import Progress
from bot.sender import Live
from core.events import Asked, Event
from core.rules.redact import Redactor
from core.services.traces import RunRecorder
from core.tables import Tx

_ELAPSED_EVERY_S = 5.0


class Watch:
    """Follows one run."""

    def __init__(self, works: Works, claim: Claim) -> None:
        self._works, self.claim = works, claim
        self.mask = Redactor(works.own_secrets).own_only  # all else an agent says is the person's own (S6)
        self.progress = Progress(works.steady(), claim.language, works.own_secrets)
        self._recorder = RunRecorder(claim.run, claim.session.folder)
        self._dialogs: dict[str, float | None] = {}  # request to when the agent gives up asking
        self._is_silence_told, self._is_changed = False, True
        self._shown_at = -_ELAPSED_EVERY_S
        self.stopped = asyncio.Event()  # by a person; the process may not be there yet

    def begin(self) -> None:
        """Let the progress message go out."""
        self._works.sender.wake(self.claim.lane)
        self._show_typing()

    def end(self) -> None:
        """Show no more of it."""
        for live in ("progress", "typing"):
            self._works.sender.hide(self.claim.lane, live)

    async def take(self, event: Event | None) -> None:
        """Take what the agent did, or None for a moment in which it did nothing."""
        now = self._works.steady()
        if event is not None:
            self.progress.take(event, now)
            self._is_changed = True
            if (finished := self._recorder.take(event, self._works.clock.now())) is not None:
                await self._works.sink.record((finished,))  # never raises, never disturbs
        if isinstance(event, Asked):
            await self._ask(event)
        await self._expire_dialogs(now)
        if self._is_changed or now - self._shown_at >= _ELAPSED_EVERY_S:
            self._is_changed, self._shown_at = False, now
            self._show_progress(now)
        await self._notice_silence(now)

    def release(self) -> None:
        """Wait for as long again: the person wants to."""
        self.progress.last_event = self._works.steady()

    def answered(self, request: str) -> None:
        """Ask that no longer."""
        self._dialogs.pop(request, None)

    def close_dialogs(self, tx: Tx) -> None:
        """Take the buttons off what the agent still asked when it ended."""
        for request in self._dialogs:
            self._expire(request, tx)

    async def show_output(self) -> None:
        """Show the last thing the agent did or said."""
        message = Draft().pre(self.progress.last_output()).message()
        await self._tell(lambda tx: post(tx, self.claim.lane, message, now=self._works.clock.now()))

    async def _notice_silence(self, now: float) -> None:
        settings, ids, run = self._works.settings, self._works.ids, self.claim.run
        if now - self.progress.last_event < settings.silence_s:
            self._is_silence_told = False
        elif not self._is_silence_told and not self._dialogs:
            self._is_silence_told = True
            minutes = max(1, round(settings.silence_s / 60))
            await self._tell(lambda tx: delivery.tell_silence(tx, ids, run, self._works.clock.now(), minutes))

    def _show_progress(self, now: float) -> None:
        claim = self.claim
        message = self.progress.view(now, stop_keyboard(claim.stop_token, claim.language))
        params = {"chat_id": chats.typing(claim.lane)["chat_id"], **content(message)}
        live = Live("editMessageText", params, target=f"progress:{claim.run.id}")
        self._works.sender.show(claim.lane, "progress", live)
        self._show_typing()

    def _show_typing(self) -> None:
        lane = self.claim.lane
        self._works.sender.show(lane, "typing", Live("sendChatAction", chats.typing(lane)))

    async def _ask(self, asked: Asked) -> None:
        works, shown = self._works, self._masked(asked)
        expires = None if asked.timeout_s is None else works.steady() + asked.timeout_s
        self._dialogs[asked.request] = expires
        await self._tell(lambda tx: delivery.ask(tx, works.ids, self.claim.run, shown, works.clock.now()))

    def _masked(self, asked: Asked) -> Asked:
        title, message, prefill = map(self.mask, (asked.title, asked.message, asked.prefill))
        options = tuple(map(self.mask, asked.options))  # one that holds our token cannot be chosen
        return replace(asked, title=title, message=message, prefill=prefill, options=options)

    async def _expire_dialogs(self, now: float) -> None:
        for request, expires in list(self._dialogs.items()):
            if expires is not None and now >= expires:
                del self._dialogs[request]
                await self._tell(partial(self._expire, request))

    def _expire(self, request: str, tx: Tx) -> None:
        message = Message(say("dialog.expired", self.claim.language))
        edit(tx, self.claim.lane, f"dialog:{request}", message, now=self._works.clock.now())

    async def _tell(self, effect: Callable[[Tx], None]) -> None:
        await insist(self._works.store, effect)
        self._works.sender.wake(self.claim.lane)
