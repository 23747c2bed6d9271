"""The happy path as steps that bear a killed bot, and what has to be true at its end.

Each step does what a person does and waits for what a person sees; where a run was interrupted the person
taps Retry, which is the only thing that may run it again.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.local.wire import MessageView
from core.model.proposal import State
from core.model.run import RunState
from tests.e2e.house import House
from tests.e2e.scenes import RULE

REPEATED = "↻"
INTERRUPTED = "interrupted when the bot stopped"


@dataclass(slots=True)
class Journey:
    """One person's way through the loop."""

    house: House
    retries: int = 0
    kills: int = 1
    _seen: dict[str, MessageView] = field(default_factory=dict)

    def acts(self) -> list[Callable[[], Awaitable[None]]]:
        """Give what the person does, in order; the bot may die before, during and after each."""
        return [self.ask, self.look, self.vote, self.explain, self.read, self.approve, self.ask_again]

    async def ask(self) -> None:
        """Write the prompt."""
        self._seen["asked"] = await self.house.ada.say("fix the bug")

    async def look(self) -> None:
        """Wait for the answer; tap Retry where the run was interrupted."""
        self._seen["answer"] = await self._answered(self._seen["asked"])

    async def vote(self) -> None:
        """Tap 👎."""
        await self.house.ada.tap(self._seen["answer"], "👎")

    async def explain(self) -> None:
        """Tap a reason once it is offered, on whichever copy was voted on."""
        asked = await self.house.see(lambda m: "Wrong result" in m.buttons)
        await self.house.ada.tap(asked, "Wrong result")

    async def read(self) -> None:
        """Wait for the card."""
        await self.house.card()

    async def approve(self) -> None:
        """Take the moment that reading needs, then reply "ok" to the newest card."""
        await self.house.quiet()
        await self.house.ada.say("ok", reply_to=await self.house.card())

    async def ask_again(self) -> None:
        """Wait for the decision to show, then prompt again and see the answer."""
        await self.house.see("Approved by Ada")
        said = await self.house.ada.say("and now?")
        await self._answered(said)

    async def _answered(self, said: MessageView) -> MessageView:
        while True:
            shown = await self.house.see(lambda m: "👎" in m.buttons or "🔁 Retry" in m.buttons, after=said)
            if "👎" in shown.buttons:
                return shown
            assert INTERRUPTED in shown.text
            self.retries += 1
            await self.house.ada.tap(shown, "🔁 Retry")
            await self.house.change(shown, lambda m: not m.buttons)
            said = shown


async def check(journey: Journey) -> None:
    """Nothing was lost, every effect came once, and the lesson is told."""
    house = journey.house
    await house.quiet()
    await _check_store(journey)
    # What was sent, not what stands there: a later edit takes the mark of a repetition away.
    texts = [str(call.params["text"]) for call in await house.telegram.calls("sendMessage")]
    once = [text for text in texts if REPEATED not in text]
    assert sum("fixed" in text for text in once) <= 1
    assert sum("· p-001" in text for text in once) <= 1
    assert sum(REPEATED in text for text in texts) <= journey.kills  # each may cut one sending off
    assert sum(INTERRUPTED in text for text in texts) == journey.retries or REPEATED in "".join(texts)
    assert RULE in house.told()
    # A prompt reaches the model again only where the person tapped Retry.
    assert len(house.prompts()) <= 2 + journey.retries


async def _check_store(journey: Journey) -> None:
    house = journey.house
    proposals = await house.store(lambda tx: tx.proposals.all())
    assert [(each.id, each.state, each.rule) for each in proposals] == [("p-001", State.APPROVED, RULE)]
    lessons = await house.store(lambda tx: tx.lessons.all())
    assert [(each.id, each.rule, each.active) for each in lessons] == [("l-001", RULE, True)]
    votes = await house.store(lambda tx: tx.feedback.newest(10))
    assert [each.reasons for each in votes] == [("wrong_result",)]
    session = await house.store(lambda tx: tx.runs.current_session(str(house.ada.chat_id)))
    assert session is not None
    runs = await house.store(lambda tx: tx.runs.of_session(session.id, 20))
    assert sum(run.state is RunState.DONE for run in runs) == 2
    assert sum(run.state is RunState.INTERRUPTED for run in runs) == journey.retries
    assert await house.store(lambda tx: tx.inbox.dead()) == []


@asynccontextmanager
async def revived(house: House) -> AsyncIterator[None]:
    """Start the bot again when it dies, once: the service manager of one test."""

    async def revive() -> None:
        assert house.process is not None
        await house.process.wait()
        await house.launch()

    task = asyncio.create_task(revive())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
