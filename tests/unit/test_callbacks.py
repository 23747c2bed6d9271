"""The codec of callback data (telegram.md 5): read back what was written, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.callbacks import MAX_BYTES, Callback, Kind, decode, encode
from core.clock import SystemIds

TOKENS = st.from_regex(r"[A-Za-z0-9_-]{11,24}", fullmatch=True)
CHOICES = st.from_regex(r"([a-z0-9_]{1,24})?", fullmatch=True)


@given(st.sampled_from(Kind), TOKENS, CHOICES)
def test_what_is_written_is_read_back(kind: Kind, token: str, choice: str) -> None:
    """Every kind, id and choice survives, within Telegram's 64 bytes."""
    data = encode(kind, token, choice)

    assert decode(data) == Callback(kind, token, choice)
    assert len(data.encode()) <= MAX_BYTES


@given(st.text(max_size=80))
def test_no_text_at_all_is_an_error(data: str) -> None:
    """S2: what is forged is either ours to the last character or nothing."""
    found = decode(data)

    assert found is None or encode(found.kind, found.token, found.choice) == data


@pytest.mark.parametrize(
    "data",
    [
        "",
        "up",
        "0:v:abcdefghijk:up",  # another version
        "2:v:abcdefghijk:up",
        "1:z:abcdefghijk:up",  # no kind of ours
        "1:v:short:up",
        "1:v:abcdefghijk:",
        "1:v:abcdefghijk:UP",
        "1:v:abcdefghijk:up:down",
        "1:v:abcdefghijk:up\n",
        " 1:v:abcdefghijk:up",
        "1:v:abcdefghij٣:up",  # a digit, but not of ours
        "1:v:../../../etc/passwd:up",
        "1:v:" + "a" * 60 + ":up",
    ],
)
def test_what_is_not_ours_to_the_last_character_is_refused(data: str) -> None:
    """S2: full match only, older versions and foreign bots included."""
    assert decode(data) is None


@pytest.mark.parametrize(
    ("token", "choice"),
    [("short", "up"), ("abcdefghijk", "Up"), ("abcdefghijk", "x" * 25), ("a:b:c:d:e:f", "")],
)
def test_what_could_not_be_read_back_is_not_written(token: str, choice: str) -> None:
    """A mistake of ours shows when the button is made, not when it is tapped."""
    with pytest.raises(ValueError, match="not callback data"):
        encode(Kind.VOTE, token, choice)


def test_real_tokens_fit() -> None:
    """S2: the ids carry at least 64 random bits and differ."""
    tokens = {SystemIds().token() for _ in range(200)}

    assert len(tokens) == 200
    assert all(decode(encode(Kind.AGENT, token, "90")) for token in tokens)
