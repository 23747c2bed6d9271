"""The gate in the chat: decide, change and ask by button and by reply (product.md 1.4)."""

import pytest

from bot.local.wire import MessageView
from core.model.lesson import Domain, Lesson, Scope
from core.model.proposal import Proposal, State
from tests.e2e.conftest import Build
from tests.e2e.house import House
from tests.e2e.scenes import RULE, finding, rule, script

pytestmark = pytest.mark.pi
MINE = "Write the failing test first."


async def _lessons(house: House) -> list[Lesson]:
    return await house.store(lambda tx: tx.lessons.all())


async def _proposal(house: House) -> Proposal:
    (proposal,) = await house.store(lambda tx: tx.proposals.all())
    return proposal


async def _approve(house: House, card: MessageView) -> Lesson:
    await house.tap(card, "✅ Approve")
    await house.see("Approved by Ada")
    (lesson,) = await _lessons(house)
    return lesson


async def test_the_card_shows_what_will_be_told(house: House) -> None:
    """Rule, why, domain, scope, who said it; the buttons of the design; and it rings."""
    card = await house.propose()

    for part in (RULE, "Why: The fix missed the cause.", "debug · everywhere", "Said by the analysis."):
        assert part in card.text
    top, below = ["✅ Approve", "✏️ Edit", "❌ Reject"], ["Scope: global", "Domain: debug"]
    assert card.rows == [top, below] and not card.is_silent


@pytest.mark.parametrize("word", ["approve", "OK", "okay", "Yes!", "yep", "oui", "d’accord", "👍🏽", "👍"])
async def test_an_approving_word_as_a_reply_approves(house: House, word: str) -> None:
    """Each word of the design, in any case, with any skin tone."""
    card = await house.propose()

    await house.ada.say(word, reply_to=card)

    await house.see("Saved as l-001.")
    assert [each.rule for each in await _lessons(house)] == [RULE]


@pytest.mark.parametrize("word", ["reject", "No.", "nope", "non", "👎"])
async def test_a_rejecting_word_as_a_reply_rejects(house: House, word: str) -> None:
    """Nothing is stored; the card says who."""
    card = await house.propose()

    await house.ada.say(word, reply_to=card)

    await house.change(card, lambda m: "Rejected by Ada" in m.text)
    assert await _lessons(house) == []


async def test_a_bare_word_decides_while_the_card_is_the_newest_message(house: House) -> None:
    """ "ok" that replies to nothing, right under the card."""
    card = await house.propose()
    await house.quiet()

    await house.ada.say("ok")

    await house.change(card, lambda m: "Approved by Ada" in m.text)
    assert [each["last_user"] for each in house.prompts()] == ["fix the bug"]


async def test_a_bare_word_goes_to_the_agent_otherwise(house: House) -> None:
    """Another message of the bot stands below the card: "yes" is a prompt."""
    await house.propose()
    await house.tell("/help")

    await house.ask("yes")

    assert (await _proposal(house)).state is State.PENDING
    assert house.prompts()[-1]["last_user"] == "yes"


async def test_edit_asks_for_the_wording_and_tells_exactly_that(house: House) -> None:
    """Edit, the reply, the new card, Approve: what is told is what was typed."""
    card = await house.propose()
    await house.tap(card, "✏️ Edit")
    asked = await house.see("Reply to this message with the new wording")

    await house.ada.say(MINE, reply_to=asked)

    edited = await house.card(MINE, after=asked)
    assert (await _approve(house, edited)).rule == MINE
    await house.ask("and now?")
    assert MINE in house.told() and RULE not in house.told()


async def test_an_edited_proposal_leaves_one_card_that_decides(house: House) -> None:
    """The card as it was before loses its buttons; its old Approve is refused."""
    card = await house.propose()
    await house.tap(card, "✏️ Edit")
    await house.ada.say(MINE, reply_to=card)

    await house.card(MINE, after=card)

    await house.change(card, lambda m: not m.buttons)
    assert "changed meanwhile" in await house.tap(card, "✅ Approve")
    assert await _lessons(house) == []


async def _reply(house: House, card: MessageView) -> MessageView:
    await house.ada.say(MINE, reply_to=card)
    asked = await house.see("Is this the wording itself")
    assert asked.buttons == ["Use as wording", "Reword with this remark"]
    return asked


async def test_another_reply_can_be_the_wording(house: House) -> None:
    """Use as wording: the reply's text stands on the new card."""
    asked = await _reply(house, await house.propose())

    await house.tap(asked, "Use as wording")

    card = await house.card(MINE, after=asked)
    assert (await _approve(house, card)).rule == MINE


async def test_another_reply_can_be_a_remark(build: Build) -> None:
    """Reword with this remark: the analyst words it again."""
    house = await build(script(rule('made a "remark"', finding(rule="Test first."))))
    card = await house.propose()
    asked = await _reply(house, card)

    await house.tap(asked, "Reword with this remark")

    card = await house.card("Test first.")
    assert MINE in house.analyses()[-1] and (await _approve(house, card)).rule == "Test first."


async def test_scope_and_domain_change_by_button(house: House) -> None:
    """Each tap shows the next one; the lesson is what the card showed last."""
    card = await house.propose()
    await house.tap(card, "Scope: global")
    card = await house.change(card, lambda m: "Scope: project" in m.buttons)
    await house.tap(card, "Domain: debug")
    card = await house.change(card, lambda m: "Domain: debug" not in m.buttons)

    lesson = await _approve(house, card)

    assert lesson.scope is Scope.PROJECT and lesson.project and lesson.domain is not Domain.DEBUG
    assert f"Domain: {lesson.domain}" in card.buttons


async def test_a_rejection_can_be_undone(house: House) -> None:
    """Undo: it waits again, and can then be approved."""
    card = await house.propose()
    await house.tap(card, "❌ Reject")
    rejected = await house.change(card, lambda m: "↩ Undo" in m.buttons)

    await house.tap(rejected, "↩ Undo")

    waiting = await house.change(card, lambda m: "✅ Approve" in m.buttons)
    assert (await _approve(house, waiting)).rule == RULE


async def test_a_decision_in_the_terminal_shows_in_the_chat(house: House) -> None:
    """Approved by `auto-improve proposals approve`: the card in the chat says so, and it is told."""
    card = await house.propose()

    code, _, error = await house.cli("proposals", "approve", "p-001")

    assert (code, error) == (0, "")
    await house.change(card, lambda m: "Approved by" in m.text and "✅ Approve" not in m.buttons)
    await house.ask("and now?")
    assert RULE in house.told()


async def test_an_approver_decides_and_others_are_told_so(build: Build) -> None:
    """Ada may prompt and vote, but somebody else decides."""
    house = await build(approvers="77", allowed_users="1001,77")
    card = await house.propose()

    toast = await house.tap(card, "✅ Approve")
    said = await house.tell("ok", reply_to=card)

    assert "approvers decide" in toast and "approvers decide" in said.text
    assert (await _proposal(house)).state is State.PENDING
