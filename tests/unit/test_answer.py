"""Check what the chat gets of a whole answer, against the rules of Telegram's server too."""

import gzip
import json
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.answer import render
from bot.entities import count_units
from tests.shared import DATA, load, validator

DONE = '<!-- telegram_button value="Done" -->'

Check = Callable[[str], None]


@pytest.fixture(scope="module")
def check() -> Check:
    """Give a function that renders an answer and finds no fault in any message of it."""
    validate = validator()
    spec = validate.Spec.load()

    def check_answer(markdown: str) -> None:
        for text, entities in render(markdown).messages:
            params = {"chat_id": 1, "text": text, "entities": [entity.as_dict() for entity in entities]}
            call = validate.validate_call(spec, "sendMessage", params, encoding="json")
            assert [str(violation) for violation in call.violations] == []
            assert 0 < count_units(text) <= 4096
            assert len(entities) <= 100

    return check_answer


def test_an_answer_becomes_messages_and_a_keyboard() -> None:
    """The shape that `inspect reply` prints."""
    answer = render(f"# Hi\n\n**x** `y`\n\n<!-- telegram_buttons [[{{a|b|danger}}{{c}}]] -->\n{DONE}")

    assert answer.as_dict() == {
        "messages": [
            {
                "text": "Hi\n\nx y",
                "entities": [
                    {"type": "bold", "offset": 0, "length": 2},
                    {"type": "bold", "offset": 4, "length": 1},
                    {"type": "code", "offset": 6, "length": 1},
                ],
            }
        ],
        "keyboard": [
            [{"text": "a", "prompt": "b", "style": "danger"}, {"text": "c", "prompt": "c", "style": None}],
            [{"text": "Done", "prompt": "Done", "style": None}],
        ],
    }


def test_an_answer_of_buttons_only_gets_a_line_in_the_language_of_the_chat() -> None:
    """English where the language has no text."""
    english, french = render(DONE), render(f"\u200b\n{DONE}", "fr-CA")

    assert english.messages[0][0] == "Choose what comes next:"
    assert french.messages[0][0] == "Choisissez la suite :"
    assert render(DONE, "de") == english


@pytest.mark.parametrize(
    "answer", ["", " \n ", "\u200b", "<!-- note -->", "\u2800\u3164", "```\n\u200b\n```", "\u202e"]
)
def test_an_answer_that_looks_empty_gets_a_visible_mark(answer: str) -> None:
    """Telegram would refuse it, or a person would see nothing."""
    assert render(answer).messages == [("∅ (nothing visible)", ())]


def test_a_part_that_looks_empty_gets_a_visible_mark() -> None:
    """Also between two others."""
    texts = [text for text, _ in render("a\n\n" + "\u200b" * 5000 + "\n\nb").messages]

    assert "∅ (nothing visible)" in texts
    assert not [text for text in texts if not text.strip("\u200b")]


def test_no_more_than_ninety_buttons_are_kept() -> None:
    """In their order; the vote row comes on top of them."""
    eight = f"<!-- telegram_button [[{'{x}' * 8}]] -->"

    keyboard = render("\n".join([eight, *[DONE] * 100])).keyboard

    assert [len(row) for row in keyboard] == [8, *[1] * 82]


def test_a_marker_that_does_not_count_is_shown_as_it_stands() -> None:
    """Literal text and code, no button."""
    answer = render(f"  {DONE}\n\n```html\n{DONE}\n```")

    assert answer.messages[0][0] == f"{DONE}\n\n{DONE}"
    assert not answer.keyboard


@pytest.mark.parametrize(
    "answer",
    [
        "x" * 9000, "😀" * 3000, "🇫🇷" * 5000, "e" + "\u0301" * 9000, "\u200b" * 9000, "\ud800" * 9000,
        "```py\n" + "x = 1\n\n  y\n" * 10_000 + "```", "http://a.bc/" + "x" * 9000,
        "| a | b |\n|-|-|\n" + "| x **b** | y |\n" * 3000, "| a |\n|-|\n| " + "x" * 9000 + " |\n",
        ">" * 3000 + " x", "- " * 3000 + "x",
        "> a\n" * 3000, "**a** `b` " * 1000, "# **a** `b`\n" * 900,
        "[" + "word " * 3000 + "](http://a.bc)",
    ],
    ids=range(16),
)  # fmt: skip
def test_a_pathological_answer_is_one_telegram_takes(check: Check, answer: str) -> None:
    """Every message of it passes the server's rules."""
    check(answer)


FRAGMENTS = st.sampled_from(
    [
        "# ", "- ", "1. ", "> ", "    ", "\n", "\n\n", "**", "*", "_", "~~", "`", "```",
        "[", "](", ")", "![", "<",
        "](http://a.bc/", ">", "<!--", "-->", "<!-- telegram_button ", "{",
        "}", '"', "|", "|-|-|", "---", "===",
        "\\", "word", "é", "日本", "😀", "e\u0301", "\u200b", "\x00", "\ud800", "\u202e",
        "\u030a", " ", "x" * 1500,
    ]
)  # fmt: skip


@given(st.lists(FRAGMENTS, max_size=40).map("".join))
@settings(deadline=None)
def test_any_answer_is_one_telegram_takes(check: Check, answer: str) -> None:
    """Rendering never raises, and no message of it breaks a rule."""
    check(answer)


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text_is_one_telegram_takes(check: Check, answer: str) -> None:
    """Whatever characters are in it."""
    check(answer)


def test_hostile_inputs_are_ones_telegram_takes(check: Check) -> None:
    """All of the collection written for this project, wherever it was meant to go."""
    security = DATA / "security"
    materialize = load("data/security/materialize.py")
    entries = json.loads(gzip.decompress((security / "own_adversarial_dev.json.gz").read_bytes()))
    small = [entry for entry in entries if entry["cat"] != "oversize"]

    for entry in small:
        value = materialize.value(entry)
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        check(text[:200_000])


@pytest.mark.parametrize(
    "piece",
    [
        "Some **bold** `code` and a [link](https://a.bc/x).\n\n", "x", "[", "*a ",
        "`a``", "[a](", "![", "<a ",
        "- item\n  - in\n", "# a\n", "a\n=\n", "| a |\n|-|\n", "> a\n", "&amp;", "🇫🇷", "👨\u200d",
        "\u200b",         "\n", "a\n", "|a", "$x$ ", "1. a\n",
    ],
)  # fmt: skip
def test_a_megabyte_is_rendered_in_linear_time(piece: str) -> None:
    """Measured 0.1 to 0.7 s of processor time; the limit leaves room for a busy machine."""
    answer = piece * (1_000_000 // len(piece))

    started = time.process_time()
    render(answer)

    assert time.process_time() - started < 4
