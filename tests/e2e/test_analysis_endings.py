"""An analysis that gives no usable verdict: each ending leaves the person a way on (product.md 1.3.4)."""

import pytest

from bot.local.wire import MessageView
from tests.e2e.conftest import Build
from tests.e2e.house import House
from tests.e2e.scenes import RULE, Json, analysis, finding, rule, script

pytestmark = pytest.mark.pi
WORDS = "Please always run the tests before you say done."
REFUSING: Json = {"status": 400, "error": "no credit left"}
SILENT: Json = {"wait": 30}


async def _fail(build: Build, reply: str | Json, **settings: str) -> tuple[House, MessageView, MessageView]:
    """Complain with words while the analyst fails; give answer and card."""
    house = await build(script(analysis(reply)), **settings)
    answer = await house.ask("fix the bug")
    await house.ada.say(f"/bad {WORDS}", reply_to=answer)
    return house, answer, await house.see("The analysis gave no verdict")


async def test_a_malformed_reply_is_asked_for_once_more(build: Build) -> None:
    """The second request shows the fault; its good reply is the proposal."""
    again = rule("You were asked this before", finding())
    house = await build(script(again, analysis("I think the lesson is: be careful")))

    card = await house.propose()

    assert RULE in card.text and "simple rules" not in card.text
    assert len(house.analyses()) == 2 and "be careful" in house.analyses()[1]


async def test_rules_take_over_after_two_malformed_replies_and_say_so(build: Build) -> None:
    """The person's words become the proposal, and the card says that rules made it."""
    house = await build(script(analysis("no json at all")))
    answer = await house.ask("fix the bug")

    await house.ada.say(f"/bad {WORDS}", reply_to=answer)

    card = await house.card()
    assert "run the tests" in card.text and "made by simple rules" in card.text
    assert len(house.analyses()) == 2


async def test_rules_without_words_ask_for_them(build: Build) -> None:
    """A reason alone makes no lesson: the card asks for words."""
    house = await build(script(analysis("no json at all")))
    answer = await house.ask("fix the bug")

    await house.complain(answer)

    told = await house.see("Nothing to learn")
    assert "say in a few words" in told.text and told.buttons == ["✍️ Write it myself"]


@pytest.mark.parametrize(
    ("reply", "seconds"), [(REFUSING, "60"), (SILENT, "2")], ids=["provider error", "timed out"]
)
async def test_a_failed_analysis_says_why_and_can_be_retried(build: Build, reply: Json, seconds: str) -> None:
    """Retry starts it once more; this time the proposal comes."""
    house, answer, failed = await _fail(build, reply, analysis_timeout_s=seconds)
    assert failed.buttons == ["🔁 Retry", "💬 Use my words", "✍️ Write it myself"]
    assert "no credit left" in failed.text or "longer than 2 s" in failed.text
    await house.change(answer, lambda m: "⚠️ no analysis" in m.buttons)

    house.stub.set_script(script())
    assert await house.tap(failed, "🔁 Retry") == "Analysing…"

    card = await house.card()
    assert RULE in card.text
    await house.change(answer, lambda m: "📝 proposal" in m.buttons)


async def test_a_failed_analysis_can_be_done_in_the_persons_words(build: Build) -> None:
    """Use my words: what the person said is the proposal, word for word."""
    house, _, failed = await _fail(build, REFUSING)

    await house.tap(failed, "💬 Use my words")

    card = await house.card()
    assert WORDS in card.text and "In a person's own words." in card.text
    await house.change(failed, lambda m: not m.buttons)


async def test_a_failed_analysis_can_be_written_by_the_person(build: Build) -> None:
    """Write it myself: the reply is the proposal, and approved it is told."""
    house, _, failed = await _fail(build, REFUSING)

    await house.tap(failed, "✍️ Write it myself")
    asked = await house.see("Reply to this message with the rule")
    await house.ada.say(RULE, reply_to=asked)

    card = await house.card(RULE)
    await house.tap(card, "✅ Approve")
    await house.ask("and now?")
    assert RULE in house.told()


async def test_an_analysis_that_does_not_start_says_so(build: Build) -> None:
    """The agent's command is gone meanwhile: the card says it, and the vote is kept."""
    house = await build()
    answer = await house.ask("fix the bug")
    await house.quiet()
    await house.restart(AUTO_IMPROVE_PI_COMMAND="no-such-program")

    await house.tap(answer, "👎")

    failed = await house.see("The analysis gave no verdict")
    assert failed.buttons == ["🔁 Retry", "✍️ Write it myself"] and "no-such-program" in failed.text
    votes = await house.store(lambda tx: tx.feedback.newest(5))
    assert len(votes) == 1


async def test_an_old_failure_card_does_nothing_twice(build: Build) -> None:
    """Use my words tapped on the card as it was: still one proposal."""
    house, _, failed = await _fail(build, REFUSING)
    await house.tap(failed, "💬 Use my words")
    await house.card()

    await house.tap(failed, "💬 Use my words")

    assert len(await house.store(lambda tx: tx.proposals.all())) == 1
    cards = [m for m in await house.ada.answers() if "New lesson?" in m.text]
    assert len(cards) == 1
