"""Who owns the agent processes: one host per session with work, one process each, none left behind."""

import asyncio

import structlog

from bot import delivery
from bot.claim import Works
from bot.host import Host
from bot.patience import insist
from bot.turn import Signal
from core.agents.reaping import reap_strays
from core.model.ids import SessionId
from core.services import runs
from core.tables import Tx

log = structlog.get_logger()

FAULT_PAUSE_S = 5.0


class Runner:
    """Starts a host when a session has something to do, and hands it what people ask."""

    def __init__(self, works: Works) -> None:
        self._works = works
        self._hosts: dict[SessionId, Host] = {}
        self._wake = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Serve until cancelled; what an earlier process was doing is told as interrupted first."""
        await asyncio.to_thread(reap_strays)
        for lane in await insist(self._works.store, self._recover):
            self._works.sender.wake(lane)
        async with asyncio.TaskGroup() as group:
            self._group = group
            self._wake.set()
            while True:
                await self._wake.wait()
                self._wake.clear()
                for session in await self._works.store.read(runs.sessions_with_work):
                    self._host(session).wake()

    def wake(self) -> None:
        """Look at the queues: something was stored."""
        self._wake.set()

    def signal(self, signal: Signal) -> None:
        """Hand on what a person asked; a session without a process has nothing to stop or answer."""
        host = self._hosts.get(signal.session)
        if host is not None and self._group is not None:
            self._group.create_task(host.signal(signal), name=f"signal {type(signal).__name__}")

    def _host(self, session: SessionId) -> Host:
        host = self._hosts.get(session)
        if host is None:
            host = self._hosts[session] = Host(self._works, session)
            assert self._group is not None, "the runner runs"
            self._group.create_task(self._serve(host), name=f"host {session}")
        return host

    async def _serve(self, host: Host) -> None:
        try:
            await host.serve()
        except Exception:  # one session's fault must not end the others
            log.exception("session failed", session=host.session)
            await asyncio.sleep(FAULT_PAUSE_S)
        finally:
            del self._hosts[host.session]
            self._wake.set()  # something may have come while it was closing

    def _recover(self, tx: Tx) -> set[str]:
        """Tell of every run whose process is gone; none runs again by itself (tools have side effects)."""
        now = self._works.clock.now()
        interrupted = runs.interrupt_all(tx, now)
        for run in interrupted:
            delivery.show_interruption(tx, self._works.ids, run, now)
        return {run.lane for run in interrupted}
