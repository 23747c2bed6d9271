"""`/doctor`: examines the running bot beside its work; its message becomes the answer."""

import asyncio
from collections.abc import Callable

import structlog

from bot.doctor import waiting
from bot.doctor.case import Case
from bot.doctor.finding import MARKS, Finding
from bot.draft import Draft
from bot.locales import say
from bot.outbox import Message, edit
from bot.patience import insist
from bot.sender import Sender
from core.app import Core
from core.errors import StoreError

log = structlog.get_logger()


class Checkups:
    """Owns the examinations that were asked for in the chat; one at a time."""

    def __init__(self, core: Core, sender: Sender, case: Callable[[], Case]) -> None:
        self._core, self._sender, self._case = core, sender, case
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Look whether somebody asked."""
        self._wake.set()

    async def run(self) -> None:
        """Examine until cancelled, beginning with what was asked before a restart."""
        while True:
            self._wake.clear()
            try:
                asked = await self._core.store.read(waiting.asked)
            except StoreError as error:
                log.warning("cannot look for examinations", error=str(error))
                asked = {}
            if not asked:
                await self._wake.wait()
                continue
            from bot.doctor.examination import examine  # noqa: PLC0415 -- an idle bot does not pay for it

            findings = await examine(self._case())
            for lane, language in asked.items():
                await self._report(lane, report(findings, language))

    async def _report(self, lane: str, message: Message) -> None:
        now = self._core.clock.now()
        await insist(self._core.store, lambda tx: edit(tx, lane, waiting.ref(lane), message, now=now))
        await insist(self._core.store, lambda tx: waiting.answer(tx, lane))
        self._sender.wake(lane)


def report(findings: list[Finding], language: str) -> Message:
    """Write the findings as a message: what is wrong with its remedy, what is well in a line each."""
    draft = Draft().bold(say("checkup.title", language))
    for finding in findings:
        draft.line(f"{MARKS[finding.level]} {finding.check}: {finding.text(language)}")
        if remedy := finding.remedy(language):
            draft.line("    → ").italic(remedy)
    return draft.message()
