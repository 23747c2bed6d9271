"""Analyses in the background: due ones are claimed, the analyst is asked, the verdict becomes a card.

An analysis has no tools, so one that a restart cut off is simply claimed again (three tries, one proposal a
vote); a person never waits for one.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from bot import cards, delivery
from bot.patience import insist
from bot.sender import Sender
from bot.turn import Desk
from core.errors import AnalysisFailed, AutoImproveError
from core.model.evidence import Evidence
from core.model.proposal import Analysis, AnalysisState
from core.ports import AgentSpec, Analyst, Clock, Probe, Store
from core.services import analysis
from core.tables import Tx
from core.texts import say_error

log = structlog.get_logger()

AT_ONCE = 2
_LOOK_AGAIN_S = 30.0


@dataclass(frozen=True, slots=True)
class _Case:
    """An analysis that was claimed, and what its analyst reads."""

    analysis: Analysis
    evidence: Evidence
    lane: str
    model: str | None


class Analyses:
    """Owns the analyses that run."""

    def __init__(
        self,
        store: Store,
        analyst: Analyst,
        sender: Sender,
        clock: Clock,
        desk: Desk,
        probe: Probe,
        spec_of: Callable[[Path], AgentSpec],
    ) -> None:
        self._store, self._analyst, self._sender = store, analyst, sender
        self._clock, self._desk, self._probe, self._spec_of = clock, desk, probe, spec_of
        self._wake = asyncio.Event()
        self._room = asyncio.Semaphore(AT_ONCE)

    def wake(self) -> None:
        """Look again: something was stored."""
        self._wake.set()

    async def run(self) -> None:
        """Analyse until cancelled; what an earlier process was at is begun again first."""
        await self._recover()
        async with asyncio.TaskGroup() as group:
            while True:
                self._wake.clear()
                await self._room.acquire()
                case = await insist(self._store, self._claim)
                if case is not None:
                    self._tell(case.lane)
                    group.create_task(self._analyse(case), name=f"analysis {case.analysis.id}")
                    continue
                self._room.release()
                await self._wait()

    async def _wait(self) -> None:
        due = await self._store.read(analysis.next_due)
        pause = _LOOK_AGAIN_S if due is None else min(max(due - self._clock.now(), 0.05), _LOOK_AGAIN_S)
        try:
            async with asyncio.timeout(pause):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _recover(self) -> None:
        now = self._clock.now()

        def recover(tx: Tx) -> list[str]:
            failed = analysis.recover(tx, now)
            return [lane for each in failed if (lane := _show_failure(tx, self._desk, each, now))]

        for lane in await insist(self._store, recover):
            self._tell(lane)

    def _claim(self, tx: Tx) -> _Case | None:
        now = self._clock.now()
        claimed = analysis.claim(tx, now)
        if claimed is None:
            return None
        evidence = analysis.evidence(tx, claimed)
        vote = tx.feedback.get(claimed.feedback)
        lane = (cards.lane_of_vote(tx, vote) if vote is not None else None) or ""
        if lane and vote is not None:
            delivery.refresh(tx, vote.run, vote.user, now)
        session = tx.runs.session(vote.session) if vote is not None and vote.session is not None else None
        return _Case(claimed, evidence, lane, session.model if session is not None else None)

    async def _analyse(self, case: _Case) -> None:
        try:
            self._probe("analysis.claimed")
            await self._conclude(case)
            self._probe("analysis.concluded")
        except (
            Exception
        ):  # the border of a background task: the others go on, this one is claimed again later
            log.exception("analysis broke", analysis=case.analysis.id)
            await self._fail(case, AnalysisFailed("analysis.broken"))
        finally:
            self._room.release()
            self._tell(case.lane)
            self.wake()

    async def _conclude(self, case: _Case) -> None:
        run = case.evidence.run
        spec = None
        if run is not None and run.project is not None:
            spec = replace(self._spec_of(Path(run.project)), model=case.model)
        try:
            finding = await self._analyst.analyse(case.evidence, spec)
        except AutoImproveError as error:
            await self._fail(case, error)
            return
        self._probe("analysis.answered")
        now = self._clock.now()

        def conclude(tx: Tx) -> None:
            done = analysis.conclude(tx, case.analysis.id, finding, now, case.evidence)
            if done.analysis.state is AnalysisState.FAILED:
                _show_failure(tx, self._desk, done.analysis, now)
            elif case.lane:
                cards.show_conclusion(tx, self._desk, done, case.lane, now)

        await insist(self._store, conclude)

    async def _fail(self, case: _Case, error: AutoImproveError) -> None:
        now, reason = self._clock.now(), say_error(error, case.evidence.language)
        log.warning("analysis failed", analysis=case.analysis.id, reason=reason)

        def fail(tx: Tx) -> None:
            failed = analysis.fail(tx, case.analysis.id, reason, now)
            if failed.state is AnalysisState.FAILED:
                _show_failure(tx, self._desk, failed, now)

        await insist(self._store, fail)

    def _tell(self, lane: str) -> None:
        if lane:
            self._sender.wake(lane)


def _show_failure(tx: Tx, desk: Desk, failed: Analysis, now: float) -> str | None:
    vote = tx.feedback.get(failed.feedback)
    lane = cards.lane_of_vote(tx, vote) if vote is not None else None
    if lane is not None:
        cards.show_failure(tx, desk, failed, lane, now)
    return lane
