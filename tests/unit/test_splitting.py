"""Check that a long text arrives whole, in messages Telegram takes (telegram.md 2)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.entities import Span, count_units
from bot.markdown import render_markdown
from bot.splitting import Message, split_message


def split(text: str, *spans: Span, units: int = 4096) -> list[str]:
    """Give the texts of the messages."""
    return [message for message, _ in split_message(text, spans, units=units)]


def covered(message: Message) -> list[tuple[str, str]]:
    """Give each entity's type and the text that its UTF-16 offsets cover."""
    text, entities = message
    raw = text.encode("utf-16-le")
    return [
        (entity.type, raw[entity.offset * 2 : (entity.offset + entity.length) * 2].decode("utf-16-le"))
        for entity in entities
    ]


def test_a_short_text_is_one_message() -> None:
    """Trimmed as Telegram trims it."""
    assert split("  hello\n") == ["hello"]
    assert split(" \n ") == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("aaa bbb\nccc\n\nddd eee", ["aaa bbb\nccc", "ddd eee"]),
        ("aaa bbb\nccc ddd eee fff", ["aaa bbb", "ccc ddd eee", "fff"]),
        ("aaa bbb ccc ddd", ["aaa bbb ccc", "ddd"]),
        ("a\n\nbbb ccc ddd", ["a", "bbb ccc ddd"]),
        ("a\n\nbbb ccc ddd eee", ["a\n\nbbb ccc", "ddd eee"]),
        ("aaaaaaaaaaaaaaa", ["aaaaaaaaaaaa", "aaa"]),
        ("aaaaaaaaaaaa bbb", ["aaaaaaaaaaaa", "bbb"]),
        ("😀😀😀😀😀😀😀", ["😀😀😀😀😀😀", "😀"]),
        ("a😀😀😀😀😀😀", ["a😀😀😀😀😀", "😀"]),
        ("👨‍👩‍👧👨‍👩‍👧", ["👨‍👩‍👧", "👨‍👩‍👧"]),
    ],
)
def test_a_text_is_cut_at_paragraphs_lines_and_words(text: str, parts: list[str]) -> None:
    """In that order, at twelve UTF-16 units here; without white space between two graphemes."""
    assert split(text, units=12) == parts


def test_three_thousand_emoji_all_arrive() -> None:
    """They are 6,000 units in 3,000 characters."""
    parts = split("😀" * 3000)

    assert [count_units(part) for part in parts] == [4096, 1904]


def test_nine_thousand_characters_without_a_space_all_arrive() -> None:
    """Cut where nothing better is."""
    assert [len(part) for part in split("x" * 9000)] == [4096, 4096, 808]


def test_a_grapheme_larger_than_a_message_is_cut_all_the_same() -> None:
    """Nothing is lost and nothing hangs."""
    text = "e" + "\u0301" * 9000

    assert "".join(split(text)) == text


def test_a_link_is_never_divided_where_it_fits() -> None:
    """Neither one with a label nor a bare address."""
    labelled = split_message("aaaa one two x", [Span("text_link", 5, 12, "http://a.bc/")], units=10)

    assert [covered(message) for message in labelled] == [[], [("text_link", "one two")]]
    assert split("日本語日本語http://a.bc/x", units=14) == ["日本語日本語", "http://a.bc/x"]


def test_a_link_larger_than_a_message_goes_on_in_the_next() -> None:
    """Cut at its words, each part with the target."""
    messages = split_message("one two three", [Span("text_link", 0, 13, "http://a.bc/")], units=8)

    assert [covered(message) for message in messages] == [
        [("text_link", "one two")],
        [("text_link", "three")],
    ]


def test_a_code_block_is_closed_and_opened_again_with_its_language() -> None:
    """Cut at its lines; indentation and blank lines stay."""
    code = "if x:\n    one\n\n    two\n    six"
    messages = split_message(code, [Span("pre", 0, len(code), language="py")], units=14)

    assert "\n".join(text for text, _ in messages) == code
    assert {entity.language for _, entities in messages for entity in entities} == {"py"}
    assert all(covered(message) == [("pre", message[0])] for message in messages)


def test_a_block_of_ten_thousand_lines_arrives_line_by_line() -> None:
    """Each message is one block of whole lines."""
    code = "\n".join(f"line {number}" for number in range(10_000))
    text, spans = render_markdown(f"```py\n{code}\n```")

    messages = split_message(text, spans)

    assert "\n".join(text for text, _ in messages) == code


def test_a_message_has_a_hundred_entities_at_most() -> None:
    """The text is split earlier instead of dropping any."""
    text, spans = render_markdown("**a** b " * 250)
    messages = split_message(text, spans)

    assert [len(entities) for _, entities in messages] == [100, 100, 50]


def test_entities_hold_no_white_space_at_their_ends() -> None:
    """Also where a cut falls inside them."""
    messages = split_message("aaa bbb ccc", [Span("bold", 0, 11)], units=8)

    assert [covered(message) for message in messages] == [[("bold", "aaa bbb")], [("bold", "ccc")]]


TEXTS = st.lists(
    st.sampled_from(
        ["word", "x" * 30, " ", "  ", "\n", "\n\n", "😀", "👨‍👩‍👧", "e\u0301", "🇫🇷", "日本", "http://a.bc/x"]
    ),
    max_size=60,
).map("".join)
SPANS = st.lists(
    st.tuples(st.sampled_from(["bold", "pre", "text_link"]), st.integers(0, 90), st.integers(1, 60)),
    max_size=3,
)


@given(TEXTS, SPANS, st.integers(20, 60))
def test_no_text_is_lost_and_every_part_fits(
    text: str, marked: list[tuple[str, int, int]], units: int
) -> None:
    """Parts keep all but white space, fit, and carry offsets inside them on whole characters."""
    spans = [Span(kind, start, start + size) for kind, start, size in marked]

    messages = split_message(text, spans, units=units)

    assert re.sub(r"\s", "", "".join(part for part, _ in messages)) == re.sub(r"\s", "", text)
    assert all(0 < count_units(part) <= units for part, _ in messages)
    assert all(inside.strip() for message in messages for _, inside in covered(message))
