"""Check that no cut tears what a person sees as one character."""

import pytest

from bot.graphemes import find_boundary, is_boundary


@pytest.mark.parametrize(
    "grapheme",
    [
        "e\u0301", "👍🏽", "👨‍👩‍👧‍👦", "👩🏽‍💻", "🇫🇷", "1\ufe0f\u20e3", "❤️",
        "🏴\U000e0067\U000e0062\U000e007f", "\u1112\u1161\u11ab", "한\u11a8", "क्ष", "क्\u200dष", "நி", "ก็",
        "\u0e01\u0e33", "\u0600a", "z" + "\u0335" * 50, "\r\n",
    ],
)  # fmt: skip
def test_a_grapheme_is_never_torn(grapheme: str) -> None:
    """Only its two ends are boundaries."""
    text = f"a{grapheme}b"

    inside = range(2, 1 + len(grapheme))
    assert not [position for position in inside if is_boundary(text, position)]
    assert is_boundary(text, 1)


def test_flags_are_paired_from_the_first_one() -> None:
    """A row of flags may be cut between them only."""
    text = "🇫🇷🇩🇪🇯🇵"

    assert [position for position in range(7) if is_boundary(text, position)] == [0, 2, 4, 6]


def test_the_last_boundary_before_a_limit_is_found() -> None:
    """A grapheme that fills everything is cut at the limit."""
    assert find_boundary("abe\u0301d", 0, 3) == 2
    assert find_boundary("e" + "\u0301" * 9, 0, 5) == 5
