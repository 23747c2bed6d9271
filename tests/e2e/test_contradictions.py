"""A card that may contradict a lesson makes the person choose, on every surface (learning.md 3.2)."""

import pytest

from bot.local.wire import MessageView
from tests.e2e.conftest import Build
from tests.e2e.house import House
from tests.e2e.scenes import analysis, finding, script

pytestmark = pytest.mark.pi
TABS = "Use tabs for indentation."
SPACES = "Use spaces for indentation."


async def _opposed(build: Build) -> tuple[House, MessageView]:
    """Let one lesson say the opposite of what the analysis finds."""
    house = await build(script(analysis(finding(rule=SPACES))))
    await house.tell(f"/lesson_add debug {TABS}")
    card = await house.propose()
    assert "may contradict l-001" in card.text
    assert card.rows[:2] == [["🔁 Replace l-001", "Keep both"], ["✏️ Edit", "❌ Reject"]]
    return house, card


async def _rules(house: House) -> list[str]:
    return [each.rule for each in await house.store(lambda tx: tx.lessons.all(active=True))]


async def test_a_bare_yes_is_refused_and_a_choice_in_words_decides(build: Build) -> None:
    """`ok` in the chat and `approve` in the terminal get the same answer; `replace` keeps the id."""
    house, card = await _opposed(build)

    said = await house.tell("ok", reply_to=card)
    code, _, error = await house.cli("proposals", "approve", "p-001")

    assert "may contradict l-001" in said.text and "keep both" in said.text
    assert code == 1 and "may contradict l-001" in error
    assert await _rules(house) == [TABS]
    await house.tell("replace l-001", reply_to=card)
    assert await _rules(house) == [SPACES]
    await house.change(card, lambda m: "→ l-001" in m.text)


async def test_both_can_be_kept_in_words(build: Build) -> None:
    """`keep both`: two lessons, both told."""
    house, card = await _opposed(build)

    await house.tell("Keep both", reply_to=card)

    assert await _rules(house) == [TABS, SPACES]
    await house.ask("and now?")
    assert TABS in house.told() and SPACES in house.told()


async def test_an_opposite_reworded_meanwhile_makes_a_new_card(build: Build) -> None:
    """Edited in the terminal while the card is open: the old button decides nothing, the new card does."""
    house, card = await _opposed(build)
    code, _, _ = await house.cli("lessons", "edit", "l-001", "Always use tabs for indentation.")
    assert code == 0

    toast = await house.tap(card, "Keep both")

    assert "changed meanwhile" in toast and await _rules(house) == ["Always use tabs for indentation."]
    card = await house.change(card, lambda m: "Always use tabs" in m.text)
    await house.tap(card, "Keep both")
    assert await _rules(house) == ["Always use tabs for indentation.", SPACES]
