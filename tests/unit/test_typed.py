"""What a person typed, as Markdown again (telegram.md 4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.typed import as_markdown, choice_of

Entity = dict[str, object]


def entity(kind: str, offset: int, length: int, **more: object) -> Entity:
    """Give an entity as Telegram writes it."""
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.mark.parametrize(
    ("text", "entities", "expected"),
    [
        ("run ls now", [entity("code", 4, 2)], "run `ls` now"),
        ("see here", [entity("text_link", 4, 4, url="https://x.io/a")], "see [here](https://x.io/a)"),
        ("a = 1", [entity("pre", 0, 5, language="python")], "```python\na = 1\n```"),
        ("a = 1", [entity("pre", 0, 5)], "```\na = 1\n```"),
        ("😀 ls 😀", [entity("code", 3, 2)], "😀 `ls` 😀"),
        ("ab", [entity("code", 0, 1), entity("code", 1, 1)], "`a``b`"),
        ("ab", [entity("text_link", 0, 2, url="u"), entity("code", 0, 2)], "[`ab`](u)"),
        ("bold", [entity("bold", 0, 4)], "bold"),
        ("/start", [entity("bot_command", 0, 6)], "/start"),
    ],
)
def test_code_and_links_come_back(text: str, entities: list[Entity], expected: str) -> None:
    """Offsets count UTF-16 units; what carries no meaning for an agent stays plain."""
    assert as_markdown(text, entities) == expected


@pytest.mark.parametrize(
    ("kind", "inside", "expected"),
    [
        ("code", "a`b", "``a`b``"),
        ("code", "a``b", "```a``b```"),
        ("code", "`a", "`` `a ``"),
        ("pre", "```\nx\n```", "````\n```\nx\n```\n````"),
    ],
)
def test_backticks_inside_code_stay_inside(kind: str, inside: str, expected: str) -> None:
    """The fence is longer than what it holds."""
    assert as_markdown(inside, [entity(kind, 0, len(inside))]) == expected


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[]()`"), max_size=40),
    st.sampled_from(["code", "pre", "text_link"]),
    st.integers(0, 60),
    st.integers(1, 60),
)
def test_nothing_that_was_typed_is_lost(text: str, kind: str, offset: int, length: int) -> None:
    """Whatever offsets come, even in the middle of a character, the rest is still there in order."""
    units = text.encode("utf-16-le")
    halves = [units[2 * at : 2 * at + 2] for at in (offset, offset + length)]
    is_halving = any(0xDC <= half[1] <= 0xDF for half in halves if half)

    found = as_markdown(text, [entity(kind, offset, length, url="U")])

    marks = {"code": "`", "pre": "```\n", "text_link": "[](U)"}[kind]
    assert is_halving or [c for c in found if c not in marks] == [c for c in text if c not in marks]


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("Merge", ("merge", "")),
        ("fusionner.", ("merge", "")),
        ("Disable l-012", ("disable", "l-012")),
        ("disable L-012 first", ("disable", "l-012")),
        ("désactiver l-012 d’abord", ("disable", "l-012")),
        ("keep waiting", ("wait", "")),
        ("laisser attendre", ("wait", "")),
        ("replace", ("replace", "")),
        ("remplacer l-007", ("replace", "l-007")),
        ("Keep both!", ("both", "")),
        ("garder les deux", ("both", "")),
        ("disable", None),
        ("merge the two files first", None),
        ("replace tabs by spaces", None),
    ],
)
def test_an_offer_of_a_card_can_be_taken_in_words(text: str, taken: tuple[str, str] | None) -> None:
    """Both languages; what disables names its lesson; a sentence is no offer."""
    assert choice_of(text) == taken
