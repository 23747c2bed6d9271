"""Check every payload form of a hidden button (telegram.md 1)."""

import pytest

from bot.buttons import MAX_LABEL, Button, InvalidPayloadError, parse_payload

DONE = [(Button("Done", "Done"),)]


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ('{"value":"Done"}', DONE),
        ('{"label":"Go","prompt":"Go on."}', [(Button("Go", "Go on."),)]),
        ('{"label":"Go","prompt":"x","selected_style":"primary"}', [(Button("Go", "x", "primary"),)]),
        ('{"label":"Go","prompt":"x","selected_style":"pink"}', [(Button("Go", "x"),)]),
        ('{"label":"Go","prompt":"x","selected_style":["danger"]}', [(Button("Go", "x"),)]),
        ('{"label":"Go","value":"x"}', [(Button("Go", "x"),)]),
        ('{"prompt":"p","value":"v"}', [(Button("v", "p"),)]),
        ('{"label":" ","value":"v"}', [(Button("v", "v"),)]),
        ('{"label":1,"value":"v"}', [(Button("v", "v"),)]),
        ('{"value":"a","value":"Done","colour":{"deep":[1]}}', DONE),
        ('{\n "value":\n "Done"\n}', DONE),
        ('{"value":"  Done\\n"}', DONE),
        ('{"value":"two\\nlines"}', [(Button("two lines", "two\nlines"),)]),
        ('{"value":"a\\ud800"}', [(Button("a\ufffd", "a\ufffd"),)]),
    ],
)
def test_a_json_object_makes_one_button(payload: str, expected: object) -> None:
    """Label and prompt fall back to value, unknown styles and keys are ignored."""
    assert parse_payload(payload) == expected


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ('value="Done"', DONE),
        ("value='Done'", DONE),
        ("value=Done", DONE),
        ('value = "Done"', DONE),
        ('label="Go" prompt="x" selected_style="danger"', [(Button("Go", "x", "danger"),)]),
        ('label="Go" prompt="x" selected_style="pink"', [(Button("Go", "x"),)]),
        ('value="a" value="Done" colour="red"', DONE),
        ('label="Go"\nline 1\n\nline 2\n', [(Button("Go", "line 1\n\nline 2"),)]),
        ('label="Go"\nx=1', [(Button("Go", "x=1"),)]),
        ('label="Go"\nprompt="x"', [(Button("Go", "x"),)]),
        ("label=Go prompt=/etc", [(Button("Go", "/etc"),)]),
    ],
)
def test_attributes_make_one_button(payload: str, expected: object) -> None:
    """Quoted or not, with the prompt as attribute or as body; the last of a repeated one wins."""
    assert parse_payload(payload) == expected


def test_a_matrix_puts_nested_cells_into_one_row() -> None:
    """A top-level cell is its own row, a nested array one row."""
    rows = parse_payload('[{"label":"Up","prompt":"/"},[{"value":"Prev"},{"value":"Next"}]]')

    assert rows == [(Button("Up", "/"),), (Button("Prev", "Prev"), Button("Next", "Next"))]


def test_compact_cells_take_a_label_a_prompt_and_a_style() -> None:
    """The example of the contract, commas left out."""
    rows = parse_payload("[{⬆️ Up|/}[{⬅️|page-1}{➡️|page-3}]{📁 etc|/etc|danger}]")

    assert rows == [
        (Button("⬆️ Up", "/"),),
        (Button("⬅️", "page-1"), Button("➡️", "page-3")),
        (Button("📁 etc", "/etc", "danger"),),
    ]


def test_compact_and_json_cells_mix() -> None:
    """Commas between cells are optional everywhere."""
    rows = parse_payload('[{"value":"a"}{b}, [{c|d} {"value":"e"}]]')

    labels = [[button.text for button in row] for row in rows]
    assert labels == [["a"], ["b"], ["c", "e"]]


def test_compact_cells_know_three_escapes() -> None:
    """A bar, a closing brace and a backslash."""
    assert parse_payload(r"{a\|b\}\\| C:\\x }") == [(Button("a|b}\\", "C:\\x"),)]


@pytest.mark.parametrize(
    "payload",
    [
        "", "Done", "{}", "[]", "[[]]", "null", '"Done"', "[1]", '[{"value":"a"},null]', '{"value":1}',
        '{"label":"Go"}', '{"prompt":"x"}', '{"label":"","prompt":"x"}', '{"value":"\\u200b"}',
        '{"value":"a",}', '[{"value":"a"},]', "[{a},]", "[,{a}]", "[{a},,{b}]", "[[{a},]]", "[{a}[]]",
        "[[[{a}]]]", "[{a}", "{a", "[{a}] x", "{a} x", "{a}{b}", "{|x}", "{x|}", "{x||danger}", "{x|y|}",
        "{x|y|pink}", "{x|y|danger|z}", r"{x\q}", "{x\\", "{x|line\nbreak}", "{value:'x'}", "{label: x}",
        '{"value":NaN,"label":"a","prompt":"b"}', 'label="a" x', 'label="a" prompt=""', 'label="a"prompt="b"',
        'label="a', 'value="two\nlines"', 'label="a" prompt="b"\nbody', "[" * 5000, '{"a":' * 5000,
        '{"value":' + "9" * 5000 + "}",
    ],
)  # fmt: skip
def test_an_invalid_payload_makes_no_button_at_all(payload: str) -> None:
    """All or nothing: no part of it and nothing like it becomes a button."""
    with pytest.raises(InvalidPayloadError):
        parse_payload(payload)


def test_plain_text_is_a_value_only_behind_a_colon() -> None:
    """The oldest form, with the prompt below if there is one."""
    assert parse_payload("Done", colon=True) == DONE
    assert parse_payload("Go\nGo on.", colon=True) == [(Button("Go", "Go on."),)]


def test_a_long_row_is_continued_below() -> None:
    """Telegram shows eight buttons beside each other."""
    rows = parse_payload("[[" + "{x}" * 17 + "]]")

    assert [len(row) for row in rows] == [8, 8, 1]


def test_a_long_label_is_cut_between_graphemes_and_its_prompt_is_kept() -> None:
    """Labels have 64 characters at most."""
    family = "👨‍👩‍👧"
    [[button]] = parse_payload("{" + family * 30 + "}")

    assert len(button.text) <= MAX_LABEL
    assert button.text == family * 12 + "…"
    assert button.prompt == family * 30
