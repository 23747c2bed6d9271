"""Names that people and machines can rely on."""

import uuid

import pytest

from core.clock import SystemClock, SystemIds


def test_ids_sort_in_the_order_they_were_made() -> None:
    """Ten thousand in a row, many of them in the same millisecond."""
    ids = SystemIds()

    made = [ids.new() for _ in range(10_000)]

    assert made == sorted(set(made))


def test_ids_are_version_7() -> None:
    """What others read them as."""
    made = uuid.UUID(SystemIds().new())

    assert (made.version, made.variant) == (7, uuid.RFC_4122)


def test_ids_go_on_when_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A corrected clock does not put new things before old ones."""
    times = iter([2_000_000_000, 1_000_000_000])
    monkeypatch.setattr("core.clock.time.time_ns", lambda: next(times) * 1000)
    ids = SystemIds()

    assert ids.new() < ids.new()


def test_ids_carry_when_the_random_part_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last random value of a millisecond is followed by the next millisecond."""
    monkeypatch.setattr("core.clock.time.time_ns", lambda: 1_000_000)
    monkeypatch.setattr("core.clock.secrets.randbits", lambda bits: (1 << bits) - 1)
    ids = SystemIds()

    first, second = ids.new(), ids.new()

    assert first < second


def test_tokens_are_short_and_safe_in_callback_data() -> None:
    """Eleven URL-safe characters, never twice."""
    ids = SystemIds()

    made = {ids.token() for _ in range(1000)}

    assert len(made) == 1000
    assert all(len(token) == 11 and token.replace("-", "a").replace("_", "a").isalnum() for token in made)


def test_the_clock_counts_seconds() -> None:
    """Two looks, in order."""
    assert SystemClock().now() <= SystemClock().now()
