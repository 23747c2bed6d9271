"""kill -9 of the bot at every boundary of the happy path: nothing lost, effects once (D1, D3)."""

from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.conftest import Build
from tests.e2e.journey import INTERRUPTED, Journey, check, revived
from tests.e2e.pi_install import PI_084, PI_16
from tests.e2e.scenes import rule, script

pytestmark = pytest.mark.pi

STEPS = {  # how often the happy path passes each step of the bot, at most (see the last test)
    "poll.fetched": 5,
    "poll.stored": 5,
    "lane.before": 5,
    "lane.committed": 5,
    "run.begun": 2,
    "run.prompted": 2,
    "run.ended": 2,
    "run.finished": 2,
    "analysis.claimed": 1,
    "analysis.answered": 1,
    "analysis.concluded": 1,
    "send.before": 16,
    "send.after": 16,
    "send.recorded": 16,
}
ACTS = range(1, 8)
PATIENT_S = "30"  # the analysis waits for the reason, however long a restart takes
FIRST = [f"{step}:1" for step in STEPS]
LATER = [f"{step}:{number}" for step, most in STEPS.items() for number in range(2, most + 1)]


async def _travel(build: Build, pi: str, killed_after: tuple[int, ...]) -> None:
    house = await build(pi=pi, analysis_delay_s=PATIENT_S)
    journey = Journey(house, kills=len(killed_after))
    for number, act in enumerate(journey.acts(), 1):
        await act()
        if number in killed_after:
            await house.kill()
            await house.start()
    await check(journey)


@pytest.mark.parametrize("act", ACTS)
async def test_the_loop_bears_a_kill_between_two_acts(build: Build, act: int) -> None:
    """Killed right after what the person did, the bot goes on where it was."""
    await _travel(build, PI_16, (act,))


@pytest.mark.long
async def test_the_loop_bears_a_kill_after_every_act(build: Build) -> None:
    """Killed seven times on one way, Pi 0.84.2."""
    await _travel(build, PI_084, tuple(ACTS))


async def _die_at(build: Build, pi: str, where: str) -> None:
    house = await build(pi=pi, is_started=False, analysis_delay_s=PATIENT_S)
    await house.start(KILL_AT=where)
    journey = Journey(house)
    async with revived(house):
        for act in journey.acts():
            await act()
        await check(journey)


@pytest.mark.parametrize("where", FIRST)
async def test_the_loop_bears_a_kill_at_every_step(build: Build, where: str) -> None:
    """Killed at the first pass of each labelled step of its own, the bot goes on where it was."""
    await _die_at(build, PI_16, where)


@pytest.mark.long
@pytest.mark.parametrize("where", LATER)
async def test_the_loop_bears_a_kill_at_every_later_pass(build: Build, where: str) -> None:
    """Killed at any later pass of each step."""
    await _die_at(build, PI_16, where)


@pytest.mark.long
@pytest.mark.parametrize("where", [*FIRST, *LATER])
async def test_the_loop_bears_a_kill_at_every_step_with_the_older_pi(build: Build, where: str) -> None:
    """The whole matrix again with Pi 0.84.2."""
    await _die_at(build, PI_084, where)


async def test_every_step_is_on_the_happy_path(build: Build, folder: Path) -> None:
    """The table of steps is complete, and none of them is out of the way."""
    house = await build(is_started=False)
    await house.start(STEPS=str(folder / "steps"))
    journey = Journey(house)

    for act in journey.acts():
        await act()
    await check(journey)

    passed = Counter((folder / "steps").read_text().split())
    assert set(passed) == set(STEPS)


async def test_an_interrupted_run_is_told_and_not_run_again_by_itself(build: Build) -> None:
    """Killed while the model is thinking: the person sees it and may retry; nothing runs meanwhile."""
    slow = {"text": "late", "wait": 3.0}
    house = await build(script(rule("^think", slow)))
    said = await house.ada.say("think hard")
    await house.see("⏳", after=said)

    await house.restart()

    card = await house.see(INTERRUPTED)
    assert card.buttons == ["🔁 Retry"] and card.reply_to == said.id and not card.is_silent
    await house.quiet()
    assert len(house.prompts()) <= 1
    # A progress message whose sending was cut off may stand twice; nothing else may.
    assert [m.text for m in await house.ada.answers() if not m.text.startswith("⏳")] == [card.text]


async def test_retry_works_once(build: Build) -> None:
    """Two taps on Retry, the second on the keyboard as it was: the prompt runs once more, not twice."""
    house = await build(script(rule("^think", {"text": "late", "wait": 1.0})))
    said = await house.ada.say("think hard")
    await house.see("⏳", after=said)
    await house.restart()
    card = await house.see(INTERRUPTED)

    first, second = await house.tap(card, "🔁 Retry"), await house.tap(card, "🔁 Retry")

    assert (first, second) == ("Running it again.", "That button has been used.")
    await house.see("late", after=card)
    await house.quiet()
    assert sum("late" in m.text and "👎" in m.buttons for m in await house.ada.answers()) == 1


async def test_an_analysis_cut_off_by_a_kill_is_made_again(build: Build) -> None:
    """Killed while the analyst is asked: after the restart one proposal comes, without a tap."""
    house = await build(is_started=False)
    await house.start(KILL_AT="analysis.answered:1")
    answer = await house.ask("fix the bug")
    await house.complain(answer)
    await house.dead()

    await house.start()

    card = await house.card()
    assert "p-001" in card.text and len(house.analyses()) == 2


async def test_what_was_said_while_the_bot_was_down_is_answered(build: Build) -> None:
    """Messages and taps that came meanwhile are taken up in their order."""
    house = await build()
    answer = await house.ask("fix the bug")
    await house.quiet()
    await house.kill()
    await house.ada.tap(answer, "👎")
    await house.ada.tap(answer, "👎")
    said = await house.ada.say("and now?")

    await house.start()

    await house.see("fine", after=said)
    votes = await house.store(lambda tx: tx.feedback.newest(10))
    assert len(votes) == 1
