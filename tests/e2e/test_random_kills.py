"""kill -9 at random moments, under load and a slow model: nothing lost, effects once (D2)."""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.local.person import Person
from bot.local.wire import MessageView
from core.model.feedback import Vote
from core.model.run import Run, RunState
from core.tables import Tx
from tests.e2e.conftest import Build
from tests.e2e.house import House

pytestmark = pytest.mark.pi

REPEATED = " ↻"
SLOW = {"rules": [], "default": {"text": "answer {{n}}", "wait": 0.4}}
DRAIN_S = 600.0
VOTES = {"👍": Vote.POSITIVE, "👎": Vote.NEGATIVE}


@dataclass(slots=True)
class Guest:
    """A person who prompts and votes all the time, and what they remember of it."""

    person: Person
    chance: random.Random
    said: list[str] = field(default_factory=list)
    voted: dict[str, Vote] = field(default_factory=dict)  # the newest vote, by the answer's text
    _seen: dict[str, MessageView] = field(default_factory=dict)  # the copy of an answer that was seen first

    async def live(self) -> None:
        """Go on until cancelled."""
        while True:
            text = f"{self.person.first_name} says {len(self.said) + 1}"
            await self.person.say(text)
            self.said.append(text)
            for _ in range(self.chance.randint(1, 4)):
                await asyncio.sleep(self.chance.uniform(0.2, 2.5))
                await self._vote()

    async def _vote(self) -> None:
        for message in await self.person.answers():
            if "👎" in message.buttons:
                self._seen.setdefault(plain(message.text), message)
        if not self._seen:
            return
        answer = self.chance.choice([*self._seen][-3:])
        button = self.chance.choice([*VOTES])
        await self.person.tap(self._seen[answer], button)  # on the keyboard as it was: phones show old ones
        self.voted[answer] = VOTES[button]


def plain(text: str) -> str:
    """Give a text without the mark of a repetition."""
    return text.removesuffix(REPEATED)


async def _kill_at_random(house: House, kills: int, chance: random.Random) -> None:
    for _ in range(kills):
        await house.launch()
        await asyncio.sleep(chance.uniform(0.1, 4.0))
        await house.kill()


async def _check(house: House, guests: list[Guest], kills: int) -> None:
    assert await house.store(lambda tx: (tx.inbox.waiting(), tx.inbox.dead())) == ([], [])
    asked = Counter(str(each["last_user"]) for each in house.prompts())
    assert set(asked.values()) <= {1}  # nothing runs again by itself: tools have side effects
    for guest in guests:
        runs = await house.store(lambda tx, guest=guest: _runs(tx, guest))  # type: ignore[misc]
        assert sorted(run.prompt for run in runs) == sorted(guest.said)
        assert {run.state for run in runs} <= {RunState.DONE, RunState.INTERRUPTED}
        answers = {run.answer: run.id for run in runs if run.state is RunState.DONE}
        shown = Counter(m.text for m in await guest.person.answers() if m.text.startswith("answer"))
        assert set(map(plain, shown)) == set(answers)  # every answer came, none twice unmarked
        assert set(shown.values()) <= {1} and sum(REPEATED in text for text in shown) <= kills
        votes = await house.store(
            lambda tx, guest=guest, answers=answers: {  # type: ignore[misc]
                text: tx.feedback.current(answers[text], str(guest.person.id)) for text in guest.voted
            }
        )
        assert {text: vote and vote.type for text, vote in votes.items()} == guest.voted


def _runs(tx: Tx, guest: Guest) -> list[Run]:
    session = tx.runs.current_session(str(guest.person.chat_id))
    return list(tx.runs.of_session(session.id, 10_000))


def _processes(folder: Path) -> Iterator[str]:
    """Give what still runs with that folder in its environment."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            is_other = entry.name.isdecimal() and int(entry.name) != os.getpid()
            if is_other and str(folder).encode() in (entry / "environ").read_bytes():
                yield (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(6, marks=pytest.mark.timeout(300)),
        pytest.param(500, marks=[pytest.mark.long, pytest.mark.timeout(7200)]),
    ],
)
async def test_random_kills_lose_nothing_and_repeat_nothing_unmarked(
    build: Build, folder: Path, kills: int
) -> None:
    """D2: three people prompt and vote while the bot dies again and again; then all is as they left it."""
    chance = random.Random(kills)
    house = await build(
        SLOW, is_started=False, allowed_users="1001,1002,1003", analysis_delay_s="86400", idle_s="5"
    )
    people = [house.ada, *[await house.telegram.person(name) for name in ("Bob", "Cleo")]]
    guests = [Guest(person, random.Random(person.id + kills)) for person in people]
    async with asyncio.TaskGroup() as group:
        living = [group.create_task(guest.live()) for guest in guests]
        await _kill_at_random(house, kills, chance)
        for task in living:
            task.cancel()

    await house.start()
    async with asyncio.timeout(DRAIN_S):
        while await house.store(_is_busy):
            await asyncio.sleep(0.5)
    await house.quiet()

    await _check(house, guests, kills)
    assert await house.stop() == 0
    assert [*_processes(folder)] == []


def _is_busy(tx: Tx) -> bool:
    waiting = tx.inbox.waiting() or tx.outbox.waiting() or tx.runs.running()
    return bool(waiting or tx.runs.prompts("queued"))
