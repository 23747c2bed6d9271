"""A bad network, an angry Telegram: the next good tap works, nothing is lost or doubled (D1, D15)."""

import asyncio
import time

import pytest

from bot.local.person import FaultKind
from tests.e2e.house import House
from tests.e2e.journey import REPEATED
from tests.e2e.scenes import RULE

pytestmark = pytest.mark.pi
RECOVERY_S = 5.0
POLL = "getUpdates"


def _fault(kind: FaultKind = FaultKind.ERROR, **more: object) -> dict[str, object]:
    return {"kind": kind, **more}


FAULTS = {
    "401": _fault(code=401),
    "403": _fault(code=403),
    "404": _fault(code=404),
    "409": _fault(code=409),
    "429": _fault(code=429, retry_after_s=1),
    "500": _fault(code=500),
    "html": _fault(FaultKind.HTML, code=502),
    "html 200": _fault(FaultKind.HTML, code=200),
    "hang": _fault(FaultKind.HANG, seconds=1.5),
    "reset": _fault(FaultKind.RESET),
    "reset in mid-body": _fault(FaultKind.RESET_MID_BODY),
    "lost answer": _fault(FaultKind.LOST_ANSWER),
}


async def _await_fault(house: House) -> None:
    """Let the poll that waits come back, so that the next one meets the fault; wait until it has."""
    await house.ada.say("/help")

    async def met() -> bool:
        return any(call.fault for call in await house.telegram.calls(POLL))

    async with asyncio.timeout(20):
        while not await met():
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("name", FAULTS)
async def test_a_tap_works_soon_after_polling_failed(house: House, name: str) -> None:
    """One failed getUpdates of each kind: the next tap is answered within five seconds."""
    answer = await house.ask("fix the bug")
    await house.telegram.fault(**{"method": POLL, **FAULTS[name]})  # type: ignore[arg-type]
    await _await_fault(house)
    begun = time.monotonic()

    toast = await house.tap(answer, "👍")

    assert toast.startswith("Noted 👍") and time.monotonic() - begun < RECOVERY_S


@pytest.mark.parametrize("name", ["500", "html", "hang", "reset", "429"])
async def test_a_message_arrives_though_its_sending_failed(house: House, name: str) -> None:
    """Where the send had no effect it is repeated until it has, and seen once without a mark or once with."""
    await house.ask("one")
    await house.telegram.fault(**{"method": "sendMessage", **FAULTS[name]})  # type: ignore[arg-type]

    said = await house.ada.say("/help")

    await house.see("What I understand", after=said)
    await house.quiet()
    shown = [m for m in await house.ada.answers() if "What I understand" in m.text]
    assert len(shown) == 1


@pytest.mark.parametrize("kind", [FaultKind.LOST_ANSWER, FaultKind.RESET_MID_BODY])
async def test_a_send_of_unknown_outcome_is_repeated_once_and_marked(house: House, kind: FaultKind) -> None:
    """It had arrived: the copy says so, its buttons work, and a second lost answer ends it."""
    await house.ask("one")
    await house.telegram.fault(kind, method="sendMessage", times=2)

    said = await house.ada.say("/lessons")

    await house.see(REPEATED, after=said)
    await house.quiet()
    shown = [m.text for m in await house.ada.answers() if m.id > said.id]
    assert len(shown) == 2 and [REPEATED in text for text in shown] == [False, True]


async def test_a_429_delays_the_message_and_no_tap(house: House) -> None:
    """sendMessage is told to wait: a tap meanwhile is answered at once, the message comes afterwards."""
    answer = await house.ask("fix the bug")
    await house.telegram.fault(code=429, method="sendMessage", retry_after_s=3)
    begun = time.monotonic()
    said = await house.ada.say("/help")
    await house.telegram.wait_for_call("sendMessage", lambda call: call.status == 429, timeout_s=20)

    await house.tap(answer, "👍")

    tapped = time.monotonic() - begun
    await house.see("What I understand", after=said)
    assert tapped < 2 and time.monotonic() - begun >= 3


async def test_a_429_in_one_chat_does_not_delay_another(house: House) -> None:
    """Only the chat that was told to wait waits."""
    grace = await house.telegram.person("Grace", person_id=1002)
    await house.restart(AUTO_IMPROVE_ALLOWED_USERS="1001,1002")
    await house.telegram.fault(code=429, method="sendMessage", chat_id=house.ada.chat_id, retry_after_s=8)
    await house.ada.say("/help")
    await house.telegram.wait_for_call("sendMessage", lambda call: call.status == 429, timeout_s=20)

    await grace.say("/help")

    await grace.wait_for("What I understand", timeout_s=5)
    assert await house.ada.answers() == []


async def test_a_429_outlives_a_kill(house: House) -> None:
    """What had to wait is sent after the restart."""
    await house.telegram.fault(code=429, method="sendMessage", retry_after_s=2)
    await house.ada.say("/help")
    await house.telegram.wait_for_call("sendMessage", lambda call: call.status == 429, timeout_s=20)

    await house.restart()

    await house.see("What I understand")


@pytest.mark.parametrize("raw", [{"message": {"nonsense": True}}, {"callback_query": 7}, {"brand_new": {}}])
async def test_a_poisonous_update_blocks_nothing(house: House, raw: dict[str, object]) -> None:
    """One that cannot be parsed: what comes after it works at once."""
    await house.telegram.inject(raw)

    begun = time.monotonic()
    await house.tell("/help")

    assert time.monotonic() - begun < RECOVERY_S


async def test_a_tap_that_cannot_be_answered_has_its_effect(house: House) -> None:
    """answerCallbackQuery fails: the vote is stored, and the keyboard shows it."""
    answer = await house.ask("fix the bug")
    await house.telegram.fault(
        code=400, method="answerCallbackQuery", description="Bad Request: query is too old"
    )

    await house.ada.tap(answer, "👍")

    await house.change(answer, lambda m: "👍•" in m.buttons)


async def test_a_proposals_card_of_unknown_outcome_can_be_approved(house: House) -> None:
    """The card came twice: one of them decides, and there is one lesson."""
    answer = await house.ask("fix the bug")
    await house.quiet()
    await house.telegram.fault(FaultKind.LOST_ANSWER, method="sendMessage")
    await house.complain(answer)
    card = await house.see(lambda m: "p-001" in m.text and REPEATED in m.text)

    await house.tap(card, "✅ Approve")

    await house.see("Approved by Ada")
    assert [each.rule for each in await house.store(lambda tx: tx.lessons.all())] == [RULE]


@pytest.mark.parametrize("is_by_reply", [False, True])
async def test_the_first_copy_of_a_card_works_too(house: House, is_by_reply: bool) -> None:
    """D1: it arrived although nobody recorded it; a tap on it decides, and so does a reply to it."""
    answer = await house.ask("fix the bug")
    await house.quiet()
    await house.telegram.fault(FaultKind.LOST_ANSWER, method="sendMessage")
    await house.complain(answer)
    await house.see(lambda m: "p-001" in m.text and REPEATED in m.text)
    first = next(m for m in await house.ada.answers() if "p-001" in m.text and REPEATED not in m.text)

    if is_by_reply:
        await house.ada.say("ok", reply_to=first)
    else:
        await house.tap(first, "✅ Approve")

    await house.change(first, lambda m: "Approved by Ada" in m.text)
    assert [each.rule for each in await house.store(lambda tx: tx.lessons.all())] == [RULE]


async def test_a_blocked_bot_goes_quiet_and_comes_back(house: House) -> None:
    """403 on a chat: nothing loops; when the person is back, it answers."""
    await house.ask("one")
    await house.ada.say("two")
    await house.ada.block()
    await asyncio.sleep(2)
    before = len(await house.telegram.calls("sendMessage"))
    await asyncio.sleep(1.5)
    assert len(await house.telegram.calls("sendMessage")) == before

    await house.ada.unblock()

    await house.tell("/help")


async def test_updates_with_lower_numbers_are_taken_after_a_quiet_week(house: House) -> None:
    """Ids that start again elsewhere (P16): after a restart what is said is answered."""
    await house.ask("one")
    await house.quiet()
    await house.kill()
    await house.telegram.set_next_update_id(5000)

    await house.start()

    await house.ask("two")


async def test_the_token_is_in_no_log(house: House) -> None:
    """Not with failing calls, not with a dead letter (P15, S9)."""
    await house.telegram.fault(FaultKind.RESET, method="sendMessage")
    await house.telegram.fault(code=401, method="getUpdates")
    await house.telegram.inject({"message": {"nonsense": True}})
    await house.tell("/help")
    await house.ask("one")

    secret = house.server.token.partition(":")[2]

    assert house.log_text() and secret not in house.log_text()
    assert secret not in str(house.stub.requests)
