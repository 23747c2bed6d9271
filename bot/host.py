"""One agent process and the runs it makes: the session's host.

A run's life: a queued prompt and its block are claimed in one transaction, the block is written to the file
the agent reads, events become progress, and the end is one transaction too: run, answer, buttons, deletions.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import structlog

from bot import chats, delivery
from bot.callbacks import Kind, encode
from bot.draft import Draft
from bot.locales import say
from bot.outbox import BUTTON_LIFETIME_S, Key, Message, content, edit, post
from bot.patience import insist
from bot.relay import Progress
from bot.sender import Live, Sender
from bot.settings import BotSettings
from bot.turn import Answer, Forget, Release, ShowOutput, Signal, Steer, Stop
from core.errors import AgentError, AutoImproveError
from core.events import Asked, Ended, Event, Outcome
from core.model.agent import Assignment
from core.model.ids import SessionId
from core.model.mail import Button
from core.model.run import Prompt, Run, Session
from core.ports import AgentRunner, AgentSession, AgentSpec, Clock, Ids, Probe, Store
from core.rules.context import Block
from core.rules.redact import Redactor
from core.services import context, runs, skill_writing
from core.services.traces import RunRecorder, TraceSink
from core.tables import Tx
from core.texts import say_error

log = structlog.get_logger()

_TICK_S = 1.0
_ELAPSED_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class Works:
    """What every host works with."""

    store: Store
    agents: AgentRunner
    sender: Sender
    clock: Clock
    ids: Ids
    probe: Probe
    settings: BotSettings
    spec_of: Callable[[Session, bool], AgentSpec]
    steady: Callable[[], float]
    sink: TraceSink
    prepare: Callable[[SessionId], Awaitable[None]]
    own_secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Claim:
    """A run that was just begun, and all it needs."""

    session: Session
    prompt: Prompt
    run: Run
    block: Block
    domain_files: dict[str, str]
    skills: list[Assignment]
    stop_token: str
    is_trusted: bool


@dataclass(slots=True)
class _Watch:
    """What the host remembers while a run goes on."""

    claim: _Claim
    progress: Progress
    recorder: RunRecorder
    is_silence_told: bool = False
    is_stopped: bool = False
    shown_at: float = -_ELAPSED_EVERY_S
    is_changed: bool = True
    dialogs: dict[str, float | None] = field(default_factory=dict)


class Host:
    """Serves one session until it was idle for long enough."""

    def __init__(self, works: Works, session: SessionId) -> None:
        self._works, self.session = works, session
        self._agent: AgentSession | None = None
        self._reader: asyncio.Task[None] | None = None
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._wake = asyncio.Event()
        self._watch: _Watch | None = None
        self._is_replaced = self._are_skills_new = False

    def wake(self) -> None:
        """Look at the queue again."""
        self._wake.set()

    async def serve(self) -> None:
        """Make one run after another; return when idle, with the process ended."""
        try:
            await self._works.prepare(self.session)
            while not self._is_replaced:
                self._wake.clear()
                claim = await insist(self._works.store, self._claim)
                if claim is not None:
                    await self._run(claim)
                elif not await self._wait():
                    return
        finally:
            await asyncio.shield(self._close())

    async def _wait(self) -> bool:
        """Wait for work; say whether some came before the process had been idle for too long."""
        held = await self._works.store.read(lambda tx: runs.held_until(tx, self.session))
        timeout_s = self._works.settings.idle_s
        if held is not None:
            timeout_s = max(held - self._works.clock.now(), 0.01)
        try:
            async with asyncio.timeout(timeout_s):
                await self._wake.wait()
        except TimeoutError:
            return held is not None
        return True

    # -- one run -----------------------------------------------------------------------------------------

    def _claim(self, tx: Tx) -> _Claim | None:
        now = self._works.clock.now()
        prompt = runs.next_prompt(tx, self.session, now)
        session = tx.runs.session(self.session)
        if prompt is None or session is None or session.is_paused:
            return None
        block = chats.block_for(tx, self._works.settings, session)
        run = runs.start(tx, self._works.ids, prompt, block, now)
        token = self._works.ids.token()
        payload = json.dumps({"session": session.id, "run": run.id})
        expires = now + BUTTON_LIFETIME_S
        tx.buttons.put(Button(token, Kind.RUN, session.lane, payload, now, expires, ref=f"run:{run.id}"))
        keyboard = self._stop_keyboard(token, session.language)
        message = Message(say("progress.begun", session.language), (), keyboard)
        post(tx, session.lane, message, now=now, ref=f"progress:{run.id}", tokens=(token,))
        is_trusted = chats.is_trusted(tx, self._works.settings, session.folder)
        files = context.domain_files(tx, context.language(tx))
        skills = chats.skills_for(tx, session)
        return _Claim(session, prompt, run, block, files, skills, token, is_trusted)

    async def _run(self, claim: _Claim) -> None:
        works, lane = self._works, claim.session.lane
        works.probe("run.begun")
        works.sender.wake(lane)
        works.sender.show(lane, "typing", Live("sendChatAction", chats.typing(lane)))
        progress = Progress(works.steady(), claim.session.language, works.own_secrets)
        self._watch = _Watch(claim, progress, RunRecorder(claim.run, claim.session.folder))
        ended = self._masked(await self._drive(claim))
        works.probe("run.ended")
        watch, self._watch = self._watch, None
        for live in ("progress", "typing"):
            works.sender.hide(lane, live)
        await self._store_end(claim, ended, watch)
        works.probe("run.finished")
        works.sender.wake(lane)

    async def _store_end(self, claim: _Claim, ended: Ended, watch: _Watch) -> None:
        """Store the end of a run; one that cannot be shown ends all the same, as a failure that says so."""
        store = self._works.store
        try:
            await insist(store, lambda tx: self._finish(tx, claim, ended, watch))
        except Exception:  # a run that never ends would block its session for good
            log.exception("answer could not be shown", run=claim.run.id)
            plain = Ended(Outcome.FAILED, error=say("run.failed_plain", claim.session.language))
            await insist(store, lambda tx: self._finish(tx, claim, plain, watch))

    async def _drive(self, claim: _Claim) -> Ended:
        """Bring the prompt to the agent and follow it to its end; every failure becomes an end."""
        language = claim.session.language
        try:
            await asyncio.to_thread(self._write_context, claim)
            agent = await self._open(claim)
            if self._watch is not None and self._watch.is_stopped:
                return Ended(Outcome.STOPPED)
            await agent.prompt(claim.prompt.text)
            self._works.probe("run.prompted")
            if self._watch is not None and self._watch.is_stopped:
                await agent.abort()
            return await self._follow(agent)
        except AutoImproveError as error:
            await self._close()
            return Ended(Outcome.FAILED, error=say_error(error, language))
        except OSError as error:
            await self._close()
            return Ended(Outcome.FAILED, error=str(error))

    def _masked(self, ended: Ended) -> Ended:
        """Take our own secrets out of what the agent says at the end; all else in it is the person's (S6)."""
        own_only = Redactor(self._works.own_secrets).own_only
        error = ended.error and own_only(ended.error)
        return replace(ended, answer=own_only(ended.answer), error=error)

    def _write_context(self, claim: _Claim) -> None:
        """Write what the agent reads at this prompt: exactly what the run was recorded to be told."""
        folder = self._works.settings.context_folder
        context.write_file(self.context_file, claim.block.text)
        for name, text in claim.domain_files.items():
            context.write_file(folder / name, text)
        self._are_skills_new |= skill_writing.hand_over(self.skills_folder, claim.skills)

    @property
    def skills_folder(self) -> Path:
        """Give the folder with the skills that this session's agent was given."""
        return self._works.settings.context_folder / f"session-{self.session}-skills"

    @property
    def context_file(self) -> Path:
        """Give the file of this session's block."""
        return self._works.settings.context_folder / f"session-{self.session}.md"

    async def _open(self, claim: _Claim) -> AgentSession:
        if self._agent is not None and self._agent.is_alive and await self._is_current(self._agent):
            return self._agent
        await self._close()
        self._are_skills_new = False
        self._agent = await self._works.agents.open(self._works.spec_of(claim.session, claim.is_trusted))
        self._events = asyncio.Queue()
        self._reader = asyncio.create_task(
            self._read(self._agent, self._events), name=f"agent {self.session}"
        )
        return self._agent

    async def _is_current(self, agent: AgentSession) -> bool:
        """Let a running agent see what it was given meanwhile; False: it has to be started anew."""
        try:
            if self._are_skills_new:
                await agent.reload()
        except AgentError as error:
            log.warning("agent not reloaded", error=str(error))
            return False
        self._are_skills_new = False
        return True

    async def _read(self, agent: AgentSession, events: "asyncio.Queue[Event | None]") -> None:
        try:
            async for event in agent.events():
                events.put_nowait(event)
        except Exception:
            log.exception("agent reader failed", session=self.session)
        events.put_nowait(None)

    async def _follow(self, agent: AgentSession) -> Ended:
        deadline = self._works.steady() + self._works.settings.run_deadline_s
        is_late = False
        while True:
            event: Event | None = None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TICK_S):
                    event = await self._events.get()
                    if event is None:
                        return Ended(Outcome.FAILED, error=say("run.died", self._language))
            if isinstance(event, Ended):
                return replace(event, error=say("run.too_long", self._language)) if is_late else event
            await self._show(event)
            if not is_late and self._works.steady() > deadline:
                is_late = True
                await agent.abort()

    @property
    def _language(self) -> str:
        return self._watch.claim.session.language if self._watch else "en"

    # -- what the chat sees meanwhile --------------------------------------------------------------------

    async def _show(self, event: Event | None) -> None:
        watch, now = self._watch, self._works.steady()
        assert watch is not None, "a run is being followed"
        if event is not None:
            watch.progress.take(event, now)
            watch.is_changed = True
            if (finished := watch.recorder.take(event, self._now())) is not None:
                await self._works.sink.record((finished,))  # never raises, never disturbs
        if isinstance(event, Asked):
            await self._ask(watch, event)
        await self._expire_dialogs(watch, now)
        if watch.is_changed or now - watch.shown_at >= _ELAPSED_EVERY_S:
            watch.is_changed, watch.shown_at = False, now
            self._show_progress(watch, now)
        if now - watch.progress.last_event < self._works.settings.silence_s:
            watch.is_silence_told = False
        elif not watch.is_silence_told and not watch.dialogs:
            watch.is_silence_told = True
            await self._tell_silence(watch)

    async def _tell_silence(self, watch: _Watch) -> None:
        minutes = max(1, round(self._works.settings.silence_s / 60))
        run, ids = watch.claim.run, self._works.ids
        await self._tell(lambda tx: delivery.tell_silence(tx, ids, run, self._now(), minutes))

    def _show_progress(self, watch: _Watch, now: float) -> None:
        claim = watch.claim
        lane, language = claim.session.lane, claim.session.language
        message = watch.progress.view(now, self._stop_keyboard(claim.stop_token, language))
        params = {"chat_id": chats.typing(lane)["chat_id"], **content(message)}
        live = Live("editMessageText", params, target=f"progress:{claim.run.id}")
        self._works.sender.show(lane, "progress", live)
        self._works.sender.show(lane, "typing", Live("sendChatAction", chats.typing(lane)))

    @staticmethod
    def _stop_keyboard(token: str, language: str) -> tuple[tuple[Key, ...], ...]:
        return ((Key(say("button.stop", language), encode(Kind.RUN, token, "stop")),),)

    async def _ask(self, watch: _Watch, asked: Asked) -> None:
        expires = None if asked.timeout_s is None else self._works.steady() + asked.timeout_s
        watch.dialogs[asked.request] = expires
        await self._tell(lambda tx: delivery.ask(tx, self._works.ids, watch.claim.run, asked, self._now()))

    async def _expire_dialogs(self, watch: _Watch, now: float) -> None:
        for request, expires in list(watch.dialogs.items()):
            if expires is not None and now >= expires:
                del watch.dialogs[request]
                await self._tell(partial(self._expire, watch.claim.session.lane, request))

    def _expire(self, lane: str, request: str, tx: Tx) -> None:
        message = Message(say("dialog.expired", self._language))
        edit(tx, lane, f"dialog:{request}", message, now=self._now())

    async def _tell(self, effect: Callable[[Tx], None]) -> None:
        await insist(self._works.store, effect)
        if self._watch is not None:
            self._works.sender.wake(self._watch.claim.session.lane)

    def _now(self) -> float:
        return self._works.clock.now()

    def _finish(self, tx: Tx, claim: _Claim, ended: Ended, watch: _Watch) -> None:
        now = self._now()
        run = runs.finish(tx, claim.run.id, ended, tuple(watch.progress.calls), now)
        for request in watch.dialogs:
            self._expire(run.lane, request, tx)
        delivery.show_end(tx, self._works.ids, run, claim.prompt, ended, now)

    # -- signals -----------------------------------------------------------------------------------------

    async def signal(self, signal: Signal) -> None:
        """Do what a person asked of this session."""
        agent, watch = self._agent, self._watch
        try:
            match signal:
                case Forget():
                    self._is_replaced = True
                    if watch is not None and agent is not None:
                        await agent.abort()
                    self._wake.set()
                case Stop() if watch is not None:
                    watch.is_stopped = True  # the process may not be there yet
                    if agent is not None:
                        await agent.abort()
                case ShowOutput() if watch is not None:
                    await self._show_output(watch)
                case Steer(_, text) if agent is not None and watch is not None:
                    await agent.steer(text)
                case Answer(_, request, value) if agent is not None and watch is not None:
                    watch.dialogs.pop(request, None)
                    await agent.answer(request, value)
                case Release() if watch is not None:
                    watch.progress.last_event = self._works.steady()
                case _:
                    pass
        except AgentError as error:
            log.warning("signal refused", signal=type(signal).__name__, error=str(error))

    async def _show_output(self, watch: _Watch) -> None:
        message = Draft().pre(watch.progress.last_output()).message()
        await self._tell(lambda tx: post(tx, watch.claim.session.lane, message, now=self._now()))

    async def _close(self) -> None:
        agent, self._agent = self._agent, None
        if agent is not None:
            await agent.close()
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader
