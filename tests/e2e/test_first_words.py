"""What a newcomer is told: first words, first 👍, first 👎."""

from tests.e2e.house import House


async def test_the_first_votes_explain_themselves_once(house: House) -> None:
    """In the answer to the tap, so that no message is added; also after a restart never again."""
    answer = await house.ask("fix the bug")
    good, bad = await house.tap(answer, "👍"), await house.tap(answer, "👎")
    await house.restart()

    toasts = [await house.tap(answer, "👍"), await house.tap(answer, "👎")]

    assert (
        good == "Noted 👍 · It counts for the lessons this answer was told. Tap 👎 where something was wrong."
    )
    assert bad.startswith("Noted 👎 · Say why with a button or in words: one lesson is proposed")
    assert toasts == ["Noted 👍", "Noted 👎"]


async def test_start_says_what_this_is_in_a_few_lines(house: House) -> None:
    """What it does, what 👎 does, who decides, what leaves the machine, where to go on."""
    told = await house.tell("/start")

    assert len(told.text.splitlines()) <= 6
    for words in ("coding agent", "👎", "approve", "not end-to-end encrypted", "/help"):
        assert words in told.text
