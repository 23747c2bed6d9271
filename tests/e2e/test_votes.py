"""👍 and 👎 in the chat: keyboards, words, a changed mind (product.md 1.2, 1.3)."""

import pytest

from core.model.feedback import Vote
from core.model.proposal import State
from core.tables import Tx
from tests.e2e.conftest import Build
from tests.e2e.house import House
from tests.e2e.scenes import RULE, analysis, finding, rule, script

pytestmark = pytest.mark.pi
SLOW_ANALYSIS = script(analysis({"text": finding(), "wait": 1.5}))
REASONS = ["Wrong result", "Too much changed", "Ignored me", "Too slow"]


async def _votes(house: House) -> list[Vote]:
    return [each.type for each in await house.store(lambda tx: tx.feedback.newest(10))]


async def _states(house: House) -> list[State]:
    return [each.state for each in await house.store(lambda tx: tx.proposals.all())]


async def test_a_thumb_up_is_marked_and_counts_for_told_lessons(house: House) -> None:
    """The toast says it, the keyboard shows it, the told lesson of that domain has one more."""
    await house.tell(f"/lesson_add {RULE}")
    answer = await house.ask("and now?")

    first, second = await house.tap(answer, "👍"), await house.tap(answer, "👍")

    assert (first[:7], second) == ("Noted 👍", "Already noted.")
    await house.change(answer, lambda m: m.rows == [["👍•", "👎"]])
    (lesson,) = await house.store(lambda tx: tx.lessons.all())
    assert lesson.positive_examples == 1 and await _votes(house) == [Vote.POSITIVE]


async def test_a_thumb_down_opens_the_reasons_and_a_reason_starts_the_analysis(build: Build) -> None:
    """No vote, reason open, analysing, done: each state has its keyboard."""
    house = await build(SLOW_ANALYSIS, analysis_delay_s="60")
    answer = await house.ask("fix the bug")
    assert answer.rows == [["👍", "👎"]]

    await house.tap(answer, "👎")

    top = ["👍", "👎•"]
    rows = [top, REASONS[:2], REASONS[2:], ["Other…", "Just note it"]]
    asked = await house.change(answer, lambda m: m.rows == rows)
    await house.tap(asked, "Too much changed")
    await house.change(answer, lambda m: m.rows == [top, ["⏳ analysing…"]])
    done = await house.change(answer, lambda m: m.rows == [top, ["📝 proposal"]])
    await house.tap(done, "📝 proposal")
    card = await house.card()
    led = await house.see("⬆️ Here.")
    assert led.reply_to == card.id and card.reply_to == answer.id
    assert "too_much_changed" in house.analyses()[0]


async def test_without_a_reason_the_analysis_starts_by_itself(house: House) -> None:
    """After the delay that is set, the proposal comes without a second tap, and it rings."""
    answer = await house.ask("fix the bug")

    await house.tap(answer, "👎")

    card = await house.card()
    assert not card.is_silent


async def test_other_waits_for_words_and_gives_them_to_the_analysis(build: Build) -> None:
    """Other… asks; nothing is analysed before the reply, which then stands on the card."""
    house = await build(analysis_delay_s="1")
    answer = await house.ask("fix the bug")
    await house.tap(answer, "👎")
    asked = await house.change(answer, lambda m: "Other…" in m.buttons)
    await house.tap(asked, "Other…")
    question = await house.see("What went wrong?")
    await house.ada.nothing_comes(1.5)

    await house.ada.say("You never ran it.", reply_to=question)

    card = await house.card()
    assert "You never ran it." in card.text and "You never ran it." in house.analyses()[0]
    assert [each["last_user"] for each in house.prompts()] == ["fix the bug"]


async def test_just_note_it_keeps_the_vote_and_analyses_nothing(build: Build) -> None:
    """The 👎 stands, no analyst is asked, no proposal comes."""
    house = await build(analysis_delay_s="1")
    answer = await house.ask("fix the bug")
    await house.tap(answer, "👎")
    asked = await house.change(answer, lambda m: "Just note it" in m.buttons)

    await house.tap(asked, "Just note it")

    await house.change(answer, lambda m: m.rows == [["👍", "👎•"], ["noted"]])
    await house.ada.nothing_comes(1.5)
    assert house.analyses() == [] and await _votes(house) == [Vote.NEGATIVE]


async def test_a_changed_mind_withdraws_the_undecided_proposal(house: House) -> None:
    """👎 then 👍: the card says that it is withdrawn, its buttons go, Approve as it was does nothing."""
    card = await house.propose()
    answer = await house.see(lambda m: "📝 proposal" in m.buttons)

    await house.tap(answer, "👍")

    await house.change(card, lambda m: "Withdrawn" in m.text and not m.buttons)
    assert "no longer waits" in await house.tap(card, "✅ Approve")
    assert await _states(house) == [State.WITHDRAWN] and await _votes(house) == [Vote.POSITIVE]


async def test_a_changed_mind_cancels_the_waiting_analysis(build: Build) -> None:
    """👍 before the delay is over: no analysis, no card."""
    house = await build(analysis_delay_s="1")
    answer = await house.ask("fix the bug")
    await house.tap(answer, "👎")

    await house.tap(answer, "👍")

    await house.change(answer, lambda m: m.rows == [["👍•", "👎"]])
    await house.ada.nothing_comes(1.5)
    assert house.analyses() == [] and await _states(house) == []


async def test_a_changed_mind_in_mid_analysis_lets_its_verdict_fall(build: Build) -> None:
    """The analyst answers too late: nothing is proposed."""
    house = await build(SLOW_ANALYSIS)
    answer = await house.ask("fix the bug")
    await house.complain(answer)
    await house.change(answer, lambda m: "⏳ analysing…" in m.buttons)

    await house.tap(answer, "👍")

    await house.change(answer, lambda m: m.rows == [["👍•", "👎"]])
    await house.ada.nothing_comes(2.5)
    assert await _states(house) == []


async def test_a_changed_mind_from_up_to_down_takes_the_praise_back(house: House) -> None:
    """👍 then 👎: what the 👍 counted is reversed, and the analysis begins."""
    await house.tell(f"/lesson_add {RULE} Always.")
    answer = await house.ask("fix the bug")
    await house.tap(answer, "👍")

    await house.complain(answer)

    await house.card()
    (lesson,) = await house.store(lambda tx: tx.lessons.all())
    assert lesson.positive_examples == 0 and await _votes(house) == [Vote.NEGATIVE]


async def test_an_approved_lesson_stays_when_the_mind_changes(house: House) -> None:
    """Its card notes that its feedback was taken back."""
    card = await house.propose()
    await house.tap(card, "✅ Approve")
    answer = await house.see(lambda m: "📘 l-001" in m.buttons)

    await house.tap(answer, "👍")

    (lesson,) = await house.store(lambda tx: tx.lessons.all())
    assert lesson.active
    listed = await house.tell("/lessons")
    await house.tap(listed, "1")
    await house.see("(taken back since)")


async def test_the_correction_typed_next_reaches_agent_and_analysis(build: Build) -> None:
    """Within five minutes the voter's first plain message is a prompt and evidence both."""
    house = await build(analysis_delay_s="3")
    answer = await house.ask("fix the bug")
    await house.tap(answer, "👎")

    await house.ask("the timeout is in seconds, not minutes")

    card = await house.card()
    assert "in seconds, not minutes" in card.text and "in seconds, not minutes" in house.analyses()[0]
    assert house.prompts()[-1]["last_user"] == "the timeout is in seconds, not minutes"


async def test_a_correction_after_the_card_can_reword_it(build: Build) -> None:
    """Reword with this remark: the analyst is asked again, the new wording stands on the card."""
    reworded = rule('made a "remark"', finding(rule="Timeouts are seconds."))
    house = await build(script(reworded))
    card = await house.propose()
    await house.ask("the timeout is in seconds, not minutes")

    offered = await house.change(card, lambda m: "💬 Reword with this remark" in m.buttons)
    await house.tap(offered, "💬 Reword with this remark")

    await house.change(card, lambda m: "Timeouts are seconds." in m.text)
    assert "in seconds, not minutes" in house.analyses()[-1]
    assert len(await _states(house)) == 1


async def test_a_bare_word_is_no_correction(house: House) -> None:
    """\"ok\" that is no reply, with another message of the bot below the card, is a prompt and no remark."""
    await house.propose()
    await house.tell("/help")

    await house.ask("ok")

    (proposal,) = await house.store(lambda tx: tx.proposals.all())
    assert proposal.state is State.PENDING and proposal.remark == ""


@pytest.mark.parametrize("is_reply", [True, False], ids=["as a reply", "plain"])
async def test_votes_by_command_are_the_same_votes(house: House, is_reply: bool) -> None:
    """/bad with words starts the analysis with them; /good on the same answer changes the mind."""
    answer = await house.ask("fix the bug")
    target = answer if is_reply else None
    await house.ada.say("/bad you never ran it", reply_to=target)
    card = await house.card()
    assert "you never ran it" in card.text

    await house.ada.say("/good now it is", reply_to=target)

    await house.change(answer, lambda m: m.rows == [["👍•", "👎"]])
    await house.change(card, lambda m: "Withdrawn" in m.text)
    assert await _votes(house) == [Vote.POSITIVE]


async def test_a_command_as_a_reply_votes_on_that_very_answer(house: House) -> None:
    """An older answer, named by the reply."""
    older = await house.ask("one")
    await house.ask("two")

    await house.ada.say("/good", reply_to=older)

    await house.change(older, lambda m: m.rows == [["👍•", "👎"]])

    def voted(tx: Tx) -> list[str]:
        return [run.prompt for each in tx.feedback.newest(5) if each.run and (run := tx.runs.get(each.run))]

    assert await house.store(voted) == ["one"]


async def test_a_vote_before_any_answer_says_so(house: House) -> None:
    """There is nothing to vote on."""
    said = await house.tell("/bad")

    assert said.text == "There is no answer to speak of yet."
