"""How fast calls may leave (telegram.md 3), on a clock of our own."""

import pytest

from bot.pace import Pace

ADA, TEAM, TOPIC = "1001", "-4001", "-4001/7"


class Time:
    """A steady clock that sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Give seconds."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Pass the time."""
        self.now += seconds


@pytest.fixture
def time() -> Time:
    """Time that does not pass by itself."""
    return Time()


@pytest.fixture
def pace(time: Time) -> Pace:
    """A pace on that time."""
    return Pace(time, time.sleep)


async def leave(pace: Pace, time: Time, lane: str, count: int) -> list[float]:
    """Let calls leave; give when each did, from the first on."""
    began, at = time.now, []
    for _ in range(count):
        await pace.enter(lane)
        at.append(time.now - began)
    return at


async def test_thirty_calls_leave_at_once_and_the_next_a_second_later(pace: Pace, time: Time) -> None:
    """At most 30 a second in all."""
    at = await leave(pace, time, ADA, 61)

    assert (at[29], at[30], at[59], at[60]) == (0.0, 1.0, 1.0, 2.0)


async def test_the_limit_counts_all_chats_together(pace: Pace, time: Time) -> None:
    """Thirty calls to others delay the next one."""
    await leave(pace, time, "2002", 30)

    assert await leave(pace, time, ADA, 1) == [1.0]


async def test_a_group_takes_twenty_messages_a_minute(pace: Pace, time: Time) -> None:
    """The twenty-first waits for the first to be a minute old."""
    at = await leave(pace, time, TEAM, 21)

    assert (at[19], at[20]) == (0.0, 60.0)


async def test_the_topics_of_a_group_share_its_limit(pace: Pace, time: Time) -> None:
    """Telegram counts by chat, lanes are by topic."""
    await leave(pace, time, TEAM, 20)

    assert await leave(pace, time, TOPIC, 1) == [60.0]


async def test_a_full_group_holds_nobody_else(pace: Pace, time: Time) -> None:
    """A private chat does not wait for a group."""
    await leave(pace, time, TEAM, 20)

    assert await leave(pace, time, ADA, 1) == [0.0]


async def test_what_telegram_asked_to_wait_is_waited_in_that_chat_alone(pace: Pace, time: Time) -> None:
    """A 429 holds its own chat, topics included, and nobody else (P11)."""
    pace.hold(TOPIC, 7.0)

    assert await leave(pace, time, ADA, 1) == [0.0]
    assert await leave(pace, time, TEAM, 1) == [7.0]


async def test_progress_leaves_a_second_between_two_of_a_chat(pace: Pace, time: Time) -> None:
    """Edits of a private chat are a second apart."""
    assert pace.pause(ADA) == 0.0
    await pace.enter(ADA)
    time.now += 0.25

    assert (pace.pause(ADA), pace.pause("2002")) == (0.75, 0.0)


async def test_a_stored_message_does_not_wait_for_the_second_of_progress(pace: Pace, time: Time) -> None:
    """Finals before progress."""
    assert await leave(pace, time, ADA, 3) == [0.0, 0.0, 0.0]
