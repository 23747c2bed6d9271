"""Check where a hidden comment counts and what is left of the answer (telegram.md 1)."""

import time

import pytest

from bot.markup import extract_buttons, withhold_tail

DONE = '<!-- telegram_button value="Done" -->'


def labels(answer: str) -> list[str]:
    """Give the labels of an answer's buttons."""
    return [button.text for row in extract_buttons(answer).rows for button in row]


@pytest.mark.parametrize(
    "comment",
    [
        DONE,
        '<!--telegram_button value="Done"-->',
        "<!--   telegram_buttons: [{Done}] -->",
        "<!-- telegram_button: Done -->",
        '<!-- telegram_button\n{"value":\n"Done"}\n-->',
        '<!-- telegram_button\nvalue="Done"\n-->',
        '<!-- telegram_button\r\nvalue="Done"\r\n-->',
        "<!-- telegram_button value=Done-->",
    ],
)
def test_a_comment_at_column_0_becomes_a_button_and_goes_away(comment: str) -> None:
    """Spaces before the name are optional; after it come a space, a colon or a newline."""
    markup = extract_buttons(f"Hi\n\n{comment}\n\nbye")

    assert markup.text == "Hi\n\nbye"
    assert [button.text for row in markup.rows for button in row] == ["Done"]


@pytest.mark.parametrize("start", [" ", "\t", "> ", "- ", "1. ", "`", "text ", "**", "\u200b", "&"])
def test_a_line_that_starts_otherwise_stays_literal(start: str) -> None:
    """Only column 0 counts."""
    answer = f"Hi\n{start}{DONE}"

    assert extract_buttons(answer).text == answer
    assert not labels(answer)


@pytest.mark.parametrize(
    "answer",
    [
        f"```\n{DONE}\n```",
        f"~~~ html\n{DONE}\n~~~",
        f"   ```\n{DONE}\n```",
        f"````\n```\n{DONE}\n````",
        f"```\n~~~\n{DONE}\n```",
        f"```\n``` x\n{DONE}\n```",
        f"```\n{DONE}",
        f"```\n    ```\n{DONE}",
    ],
)
def test_a_comment_in_a_fence_stays_literal(answer: str) -> None:
    """A fence is closed by its own character, at least as long, nothing after it; or runs to the end."""
    assert extract_buttons(answer).text == answer
    assert not labels(answer)


@pytest.mark.parametrize(
    "before",
    [
        "```\nx\n```",
        "```\nx\n`````  ",
        "~~~\n```\n~~~",
        "``` a ``` b",
        "    ```",
        "``",
        "- ```\n  x\n  ```",
        "> ```",
    ],
)
def test_a_comment_behind_a_fence_counts(before: str) -> None:
    """Also where a fence in a list item or quote ended, and where there was none."""
    assert labels(f"{before}\n{DONE}") == ["Done"]


@pytest.mark.parametrize(
    "comment",
    ["<!-- note -->", "<!-- Telegram_button value=x -->", "<!-- telegram_buttonx {a} -->", "<!-->", "<!--->",
     "<!-- telegram_button -->", "<!-- telegram_button-->", "<!-- telegram_button {a},-->", "<!--\n\n-->"],
)  # fmt: skip
def test_other_and_invalid_comments_are_not_shown_either(comment: str) -> None:
    """They make no button."""
    markup = extract_buttons(f"Hi\n\n{comment}\n\nbye")

    assert markup.text == "Hi\n\nbye"
    assert not markup.rows


@pytest.mark.parametrize(
    "answer",
    ["Hi\n<!-- never\nmore", "<!-- telegram_button {a}", "<!-- x\n```mermaid\nA --> B\n```\nbye", "<!--"],
)
def test_a_comment_never_closed_stays_literal(answer: str) -> None:
    """It swallows nothing; an arrow in code does not close it."""
    assert extract_buttons(answer).text == answer


def test_a_comment_never_closed_does_not_swallow_the_next_one() -> None:
    """The next comment at column 0 counts as usual."""
    markup = extract_buttons(f"<!-- never\nImportant.\n\n{DONE}\nbye")

    assert markup.text == "<!-- never\nImportant.\n\nbye"
    assert len(markup.rows) == 1


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ('<!-- telegram_button {"label":"x --> y","prompt":"p"} -->', ["x --> y"]),
        ('<!-- telegram_button {"label":"x --> \\" y","prompt":"p"} -->', ['x --> " y']),
        ('<!-- telegram_button [[{"value":"x --> y"}]] -->', ["x --> y"]),
        ('<!-- telegram_button label="x --> y" prompt="p" -->', ["x --> y"]),
        ("<!-- telegram_button {x --> y} -->", ["x --> y"]),
        ('<!-- telegram_button {"label":"x --> y",} -->', []),
        ('<!-- telegram_button label="x --> y" prompt -->', []),
    ],
)
def test_an_arrow_inside_a_string_does_not_leak_its_tail(comment: str, expected: list[str]) -> None:
    """Neither of a valid payload nor of an invalid one."""
    assert extract_buttons(f"Hi\n{comment}").text == "Hi\n"
    assert labels(comment) == expected


def test_comments_on_one_line_each_give_a_button() -> None:
    """Also next to each other, and behind one that ends there."""
    assert labels(f"{DONE}{DONE} {DONE}") == ["Done"] * 3
    assert labels(f"<!-- note\n--> {DONE}") == ["Done"]
    assert labels("<!-- telegram_button {bad --> <!-- telegram_button {good} -->") == ["good"]


def test_text_behind_a_comment_stays() -> None:
    """Without the blanks between them."""
    assert extract_buttons(f"{DONE}  tail").text == "tail"


def test_what_is_left_behind_collapses_to_one_blank_line() -> None:
    """CRLF counts as one newline; code keeps its blank lines."""
    code = "```\na\n\n\n\nb\n```"
    markup = extract_buttons(f"A\r\n\r\n{DONE}\r\n\r\n{DONE}\n\n\nB\n\n{code}")

    assert markup.text == f"A\n\nB\n\n{code}"


@pytest.mark.parametrize(
    ("running", "shown"),
    [
        ("abc\n<", "abc\n"),
        ("abc\n<!-", "abc\n"),
        ("abc\n<!-- telegr", "abc\n"),
        ("abc\n<!-- note\n\nmore", "abc\n"),
        ('abc\n<!-- telegram_button {"value":"x -->', "abc\n"),
        (f"{DONE}<!-", DONE),
        ("abc <!-- telegr", "abc <!-- telegr"),
        ("abc\n <", "abc\n <"),
        ("```\n<!-- telegr", "```\n<!-- telegr"),
        ("abc\n<b", "abc\n<b"),
        (f"abc\n{DONE}\nmore", f"abc\n{DONE}\nmore"),
        (f"<!-- never\n{DONE}", f"<!-- never\n{DONE}"),
    ],
)
def test_a_tail_that_may_become_a_comment_is_withheld(running: str, shown: str) -> None:
    """Only where a comment would count."""
    assert withhold_tail(running) == shown


@pytest.mark.parametrize(
    "piece",
    ["<!--\n", "<!-- a -->", DONE, "<!-- telegram_button {\"a} -->\n", "<!--\n~~~ x\n", "> ", "- ```\n",
     "<!--\n```\nA-->\n```\n", "```\nA-->\n```\n", "<", '<!-- telegram_button "', "<!-- a -->< ", "\n"],
)  # fmt: skip
def test_hostile_answers_take_linear_time(piece: str) -> None:
    """Half a megabyte of them; a whole one was measured at 0.02 to 0.5 s of processor time."""
    answer = "<!--" + piece * (500_000 // len(piece))

    started = time.process_time()
    extract_buttons(answer)
    withhold_tail(answer)

    assert time.process_time() - started < 4
