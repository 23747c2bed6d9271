"""Each verdict of an analysis ends as product.md 1.3 and 1.4 say."""

import pytest

from bot.local.wire import MessageView
from core.model.lesson import Lesson
from core.model.proposal import State
from tests.e2e.conftest import Build
from tests.e2e.house import House
from tests.e2e.scenes import RULE, Json, analysis, finding, rule, script

pytestmark = pytest.mark.pi
SHARPER = "Before any fix, write a failing test that shows the bug."
SHARPENING = rule(r"lesson l-001 sharpened", finding("merge", lesson="l-001", rule=SHARPER))
VIOLATED = finding("violated", lesson="l-001")


async def _with_lesson(build: Build, *rules: Json) -> House:
    house = await build(script(*rules))
    await house.tell(f"/lesson_add debug {RULE}")
    return house


async def _lesson(house: House, id: str = "l-001") -> Lesson:
    lessons = await house.store(lambda tx: tx.lessons.all())
    return next(each for each in lessons if each.id == id)


async def _violate(house: House, times: int) -> MessageView:
    """Break the lesson so often; give what the chat says the last time."""
    for count in range(1, times + 1):
        answer = await house.ask("fix the bug")
        await house.complain(answer)
        told = await house.see(f"broken {count}×", after=answer)
    return told


async def test_a_violated_lesson_is_named_and_counted(build: Build) -> None:
    """The card says which lesson and how often, offers to sharpen it, and the answer leads there."""
    house = await _with_lesson(build, analysis(VIOLATED))

    told = await _violate(house, 1)

    assert "l-001 says this already, broken 1×" in told.text and RULE in told.text
    assert told.buttons == ["🔪 Sharpen now"] and not told.is_silent
    await house.see(lambda m: "📘 l-001" in m.buttons)
    assert (await _lesson(house)).violations == 1
    assert await house.store(lambda tx: tx.proposals.all()) == []


async def test_sharpen_now_proposes_a_sharper_wording(build: Build) -> None:
    """On the tap the analyst is asked again; old and new wording stand on the card; approved, it is told."""
    house = await _with_lesson(build, SHARPENING, analysis(VIOLATED))
    told = await _violate(house, 1)

    assert await house.tap(told, "🔪 Sharpen now") == "Analysing…"

    card = await house.card(SHARPER)
    assert RULE in card.text and "l-001" in card.text
    await house.tap(card, "✅ Approve")
    await house.ask("and now?")
    assert SHARPER in house.told() and RULE not in house.told()


async def test_the_third_violation_offers_a_sharper_wording_unasked(build: Build) -> None:
    """Broken three times: the card comes by itself, and only one."""
    house = await _with_lesson(build, SHARPENING, analysis(VIOLATED))

    await _violate(house, 3)

    card = await house.card(SHARPER)
    assert "l-001" in card.text
    proposals = await house.store(lambda tx: tx.proposals.all())
    assert [each.state for each in proposals] == [State.PENDING]
    assert (await _lesson(house)).violations == 3


async def test_a_changed_mind_takes_a_violation_back(build: Build) -> None:
    """👎 then 👍: what the 👎 counted is reversed."""
    house = await _with_lesson(build, analysis(VIOLATED))
    await _violate(house, 1)
    answer = await house.see(lambda m: "📘 l-001" in m.buttons)

    await house.tap(answer, "👍")

    await house.change(answer, lambda m: m.buttons == ["👍•", "👎"])
    assert (await _lesson(house)).violations == 0


async def test_a_merge_shows_old_and_new_wording_and_keeps_the_id(build: Build) -> None:
    """Approved, the lesson keeps its id and is told in the new wording only."""
    house = await _with_lesson(build, analysis(finding("merge", lesson="l-001", rule=SHARPER)))

    card = await house.propose()

    assert "l-001 says now:" in card.text and RULE in card.text and SHARPER in card.text
    await house.tap(card, "✅ Approve")
    await house.see("Approved by Ada")
    assert [each.rule for each in await house.store(lambda tx: tx.lessons.all())] == [SHARPER]
    await house.ask("and now?")
    assert SHARPER in house.told() and RULE not in house.told()


async def test_a_merge_can_be_kept_separate(build: Build) -> None:
    """Keep separate makes it a lesson of its own; both are told."""
    house = await _with_lesson(build, analysis(finding("merge", lesson="l-001", rule=SHARPER)))
    card = await house.propose()

    await house.tap(card, "Keep separate")

    card = await house.change(card, lambda m: "New lesson?" in m.text)
    assert "Keep separate" not in card.buttons
    await house.tap(card, "✅ Approve")
    await house.ask("and now?")
    assert RULE in house.told() and SHARPER in house.told()


async def _harm(build: Build) -> tuple[House, MessageView]:
    house = await _with_lesson(build, analysis(finding("harmful", lesson="l-001")))
    card = await house.propose()
    assert "Did l-001 cause this?" in card.text and RULE in card.text
    assert card.buttons == ["🚫 Disable", "✏️ Reword", "Keep"]
    return house, card


async def test_a_harmful_lesson_can_be_disabled(build: Build) -> None:
    """Disable: the lesson is told no more; Undo brings it back."""
    house, card = await _harm(build)

    await house.tap(card, "🚫 Disable")

    card = await house.change(card, lambda m: "l-001 disabled by Ada" in m.text)
    await house.ask("and now?")
    assert RULE not in house.told()
    await house.tap(card, "↩ Undo")
    await house.ask("once more")
    assert RULE in house.told()


async def test_a_harmful_lesson_can_be_kept(build: Build) -> None:
    """Keep: nothing changes, and the card says who kept it."""
    house, card = await _harm(build)

    await house.tap(card, "Keep")

    await house.change(card, lambda m: "Kept by Ada" in m.text)
    assert (await _lesson(house)).active
    await house.see(lambda m: "📘 l-001" in m.buttons)


async def test_a_harmful_lesson_can_be_reworded(build: Build) -> None:
    """Reword asks for a wording; what is typed stands on the new card, and approved replaces the old one."""
    house, card = await _harm(build)

    await house.tap(card, "✏️ Reword")
    asked = await house.see("Reply to this message with the new wording of p-001")
    await house.ada.say(SHARPER, reply_to=asked)

    card = await house.card(SHARPER, after=asked)
    await house.tap(card, "✅ Approve")
    await house.see("Approved by Ada")
    lesson = await _lesson(house)
    assert lesson.active and lesson.rule == SHARPER


async def test_nothing_to_learn_says_why_and_lets_the_person_write(build: Build) -> None:
    """None: one line why; Write it myself makes a proposal of the person's wording, still to be approved."""
    house = await build(script(analysis(finding("none", cause="The network was down."))))
    answer = await house.ask("fix the bug")
    await house.complain(answer)
    told = await house.see("Nothing to learn")
    assert "The network was down." in told.text and told.buttons == ["✍️ Write it myself"]
    await house.change(answer, lambda m: "nothing to learn" in m.buttons)

    await house.tap(told, "✍️ Write it myself")
    asked = await house.see("Reply to this message with the rule")
    await house.ada.say(SHARPER, reply_to=asked)

    card = await house.card(SHARPER)
    assert "In a person's own words." in card.text
    assert await house.store(lambda tx: tx.lessons.all()) == []
    await house.tap(card, "✅ Approve")
    await house.ask("and now?")
    assert SHARPER in house.told()


async def test_the_same_is_not_proposed_again_after_a_rejection(build: Build) -> None:
    """Without new evidence the second 👎 says that it was rejected before."""
    house = await build()
    card = await house.propose()
    await house.tap(card, "❌ Reject")
    await house.change(card, lambda m: "Rejected by Ada" in m.text)

    answer = await house.ask("fix the bug again")
    await house.complain(answer)

    told = await house.see("Nothing to learn", after=answer)
    assert "rejected" in told.text
