"""One agent process and the runs it makes: the session's host.

A run's life: a queued prompt and its block are claimed in one transaction, the block is written to the file
the agent reads, events become progress, and the end is one transaction too: run, answer, buttons, deletions.
"""

import asyncio
import contextlib
from dataclasses import replace
from pathlib import Path

import structlog

from bot import delivery
from bot.claim import Claim, Works, claim
from bot.locales import say
from bot.patience import insist
from bot.turn import Answer, Forget, Release, ShowOutput, Signal, Steer, Stop
from bot.watch import Watch
from core.errors import AgentError, AutoImproveError
from core.events import Ended, Event, Outcome
from core.model.ids import SessionId
from core.ports import AgentSession
from core.services import context, runs, skill_writing
from core.tables import Tx
from core.texts import say_error

log = structlog.get_logger()

_TICK_S = 1.0


class Host:
    """Serves one session until it was idle for long enough."""

    def __init__(self, works: Works, session: SessionId) -> None:
        self._works, self.session = works, session
        self._agent: AgentSession | None = None
        self._reader: asyncio.Task[None] | None = None
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._wake = asyncio.Event()
        self._watch: Watch | None = None
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
                begun = await insist(self._works.store, lambda tx: claim(tx, self._works, self.session))
                if begun is not None:
                    await self._run(begun)
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

    async def _run(self, claim: Claim) -> None:
        works = self._works
        works.probe("run.begun")
        watch = self._watch = Watch(works, claim)
        watch.begin()
        ended = await self._drive(watch)
        ended = replace(ended, answer=watch.mask(ended.answer), error=ended.error and watch.mask(ended.error))
        works.probe("run.ended")
        self._watch = None
        watch.end()
        await self._store_end(watch, ended)
        works.probe("run.finished")
        works.sender.wake(claim.lane)

    async def _store_end(self, watch: Watch, ended: Ended) -> None:
        """Store the end of a run; one that cannot be shown ends all the same, as a failure that says so."""
        store = self._works.store
        try:
            await insist(store, lambda tx: self._finish(tx, watch, ended))
        except Exception:  # a run that never ends would block its session for good
            log.exception("answer could not be shown", run=watch.claim.run.id)
            plain = Ended(Outcome.FAILED, error=say("run.failed_plain", watch.claim.language))
            await insist(store, lambda tx: self._finish(tx, watch, plain))

    def _finish(self, tx: Tx, watch: Watch, ended: Ended) -> None:
        now, claim = self._works.clock.now(), watch.claim
        run = runs.finish(tx, claim.run.id, ended, tuple(watch.progress.calls), now)
        watch.close_dialogs(tx)
        delivery.show_end(tx, self._works.ids, run, claim.prompt, ended, now)

    async def _drive(self, watch: Watch) -> Ended:
        """Bring the prompt to the agent and follow it to its end; every failure becomes an end."""
        claim = watch.claim
        try:
            await asyncio.to_thread(self._write_context, claim)
            agent = await self._open(claim)
            if watch.stopped.is_set():
                return Ended(Outcome.STOPPED)
            await agent.prompt(claim.prompt.text)
            self._works.probe("run.prompted")
            if watch.stopped.is_set():
                await agent.abort()
            return await self._follow(agent, watch)
        except AutoImproveError as error:
            await self._close()
            return Ended(Outcome.FAILED, error=say_error(error, claim.language))
        except OSError as error:
            await self._close()
            return Ended(Outcome.FAILED, error=str(error))

    def _write_context(self, claim: Claim) -> None:
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

    async def _open(self, claim: Claim) -> AgentSession:
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

    async def _follow(self, agent: AgentSession, watch: Watch) -> Ended:
        works, language = self._works, watch.claim.language
        deadline, is_late = works.steady() + works.settings.run_deadline_s, False
        while True:
            event: Event | None = None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TICK_S):
                    event = await self._events.get()
                    if event is None:
                        return Ended(Outcome.FAILED, error=say("run.died", language))
            if isinstance(event, Ended):
                return replace(event, error=say("run.too_long", language)) if is_late else event
            await watch.take(event)
            if not is_late and works.steady() > deadline:
                is_late = True
                await agent.abort()

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
                    watch.stopped.set()
                    if agent is not None:
                        await agent.abort()
                case ShowOutput() if watch is not None:
                    await watch.show_output()
                case Steer(_, text) if agent is not None and watch is not None:
                    await agent.steer(text)
                case Answer(_, request, value) if agent is not None and watch is not None:
                    watch.answered(request)
                    await agent.answer(request, value)
                case Release() if watch is not None:
                    watch.release()
                case _:
                    pass
        except AgentError as error:
            log.warning("signal refused", signal=type(signal).__name__, error=str(error))

    async def _close(self) -> None:
        agent, self._agent = self._agent, None
        if agent is not None:
            await agent.close()
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader
