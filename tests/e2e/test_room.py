"""A full block: the card of a lesson that would push another out offers the ways out (product.md 1.4)."""

import pytest

from bot.local.wire import MessageView
from core.model.lesson import Lesson
from tests.e2e.conftest import Build
from tests.e2e.house import House
from tests.e2e.scenes import analysis, finding, script

pytestmark = pytest.mark.pi
FIRST = "Explain the plan in three sentences before the first edit."
SECOND = "Write a changelog entry for every release of the package."
LIKE_FIRST = "Explain the plan in three short sentences before any first edit."
LIKE_NONE = "Ask before any file outside of the project is touched, each time."


async def _full(build: Build, rule: str = LIKE_FIRST, **settings: str) -> House:
    """Fill the block with two lessons; the analysis finds a third."""
    house = await build(script(analysis(finding(rule=rule))), max_lesson_chars="260", **settings)
    for each in (FIRST, SECOND):
        await house.tell(f"/lesson_add debug {each}")
    return house


async def _told(house: House) -> str:
    await house.ask("and now?")
    return house.told()


async def _lessons(house: House) -> list[Lesson]:
    return await house.store(lambda tx: tx.lessons.all())


async def _merged(house: House, card: MessageView, title: str, approve: str) -> None:
    """See the card become a merge with l-001; approve it; both are told."""
    card = await house.change(card, lambda m: title in m.text)
    assert FIRST in card.text and LIKE_FIRST in card.text
    assert not any("l-001 " in each for each in card.buttons)  # nothing is pushed out any more
    await house.tap(card, approve)
    await house.change(card, lambda m: approve not in m.buttons)
    assert [(each.id, each.rule) for each in await _lessons(house)] == [
        ("l-001", LIKE_FIRST),
        ("l-002", SECOND),
    ]
    told = await _told(house)
    assert LIKE_FIRST in told and SECOND in told


async def test_merge_turns_the_card_into_a_merge_with_what_is_like_it(build: Build) -> None:
    """By button: old and new wording, then the usual decision; nobody loses their place."""
    house = await _full(build)
    card = await house.propose()
    assert "pushes l-001 out of the block" in card.text
    assert card.rows[1:3] == [["🔀 Merge", "🚫 Disable l-001 first"], ["⏳ Approve, l-001 waits"]]

    assert "Rewords l-001 now" in await house.tap(card, "🔀 Merge")

    await _merged(house, card, "l-001 says now:", "✅ Approve")


async def test_merge_works_as_a_reply_in_french_too(build: Build) -> None:
    """`fusionner`, as a reply to the card."""
    house = await _full(build, language="fr")
    answer = await house.ask("fix the bug")
    await house.complain(answer, "Mauvais résultat")
    card = await house.see(lambda m: " · p-" in m.text and bool(m.buttons), after=answer)
    assert card.rows[1:3] == [["🔀 Fusionner", "🚫 Désactiver l-001 d'abord"], ["⏳ Approuver, l-001 attend"]]

    await house.ada.say("Fusionner", reply_to=card)

    await house.see("Reformule maintenant l-001.")
    await _merged(house, card, "l-001 dit", "✅ Approuver")


async def test_disabling_as_a_reply_makes_room_first(build: Build) -> None:
    """`disable l-001`: it goes, the proposal still waits for its yes."""
    house = await _full(build, LIKE_NONE)
    card = await house.propose()

    await house.ada.say("disable l-001", reply_to=card)

    await house.see("l-001 is disabled.")
    card = await house.change(card, lambda m: "pushes" not in m.text)
    await house.tap(card, "✅ Approve")
    told = await _told(house)
    assert LIKE_NONE in told and SECOND in told and FIRST not in told


async def test_letting_one_wait_approves_and_says_who_waits(build: Build) -> None:
    """Where nothing is alike, Merge says so; the third way is a yes that knows."""
    house = await _full(build, LIKE_NONE)
    card = await house.propose()
    assert "No lesson that is told is like p-001" in await house.tap(card, "🔀 Merge")

    await house.tap(card, "⏳ Approve, l-001 waits")

    await house.see("Approved by Ada")
    told = await _told(house)
    assert LIKE_NONE in told and FIRST not in told
    assert "○ l-001" in (await house.tell("/lessons")).text
