"""Messages of our own, built from pieces: entities where they belong, never longer than Telegram takes."""

from hypothesis import given
from hypothesis import strategies as st

from bot.draft import MAX_UNITS, Draft, clip
from bot.entities import Entity, count_units
from bot.outbox import Key

PIECES = st.lists(
    st.tuples(
        st.sampled_from(["plain", "bold", "italic", "code", "pre", "quote", "line"]), st.text(max_size=60)
    ),
    max_size=30,
)


def test_pieces_carry_their_marks() -> None:
    """Offsets and lengths are UTF-16 units."""
    message = Draft().plain("😀 ").bold("Title").line("and ").code("x = 1").message()

    assert message.text == "😀 Title\nand x = 1"
    assert message.entities == (Entity("bold", 3, 5), Entity("code", 13, 5))


def test_marks_leave_outer_white_space_alone() -> None:
    """Telegram refuses or moves entities that begin or end in white space."""
    assert Draft().bold("  a b \n").message().entities == (Entity("bold", 0, 3),)


def test_a_mark_around_nothing_is_no_entity() -> None:
    """White space has no weight."""
    message = Draft().plain("a").bold("  ").code("").plain("b").message()

    assert (message.text, message.entities) == ("a  b", ())


def test_the_end_is_trimmed_with_its_marks() -> None:
    """What Telegram would take away is not sent."""
    message = Draft().plain("a ").pre("b").plain("  \n ").message()

    assert (message.text, message.entities) == ("a b", (Entity("pre", 2, 1),))


def test_buttons_come_along() -> None:
    """The keyboard is passed through."""
    keyboard = ((Key("Go", "1:v:abcdefghijk:up"),),)

    assert Draft().plain("x").message(keyboard).keyboard == keyboard


@given(PIECES)
def test_every_message_fits_and_every_mark_lies_inside(pieces: list[tuple[str, str]]) -> None:
    """Whatever text comes, what leaves is something Telegram takes (S4, S5)."""
    draft = Draft()
    for name, text in pieces:
        getattr(draft, name)(text * 20)
    message = draft.message()

    units = count_units(message.text)
    message.text.encode()  # no lone surrogate
    assert units <= MAX_UNITS and message.text == message.text.rstrip()
    assert all(e.offset >= 0 and e.length > 0 and e.offset + e.length <= units for e in message.entities)


def test_a_long_text_ends_in_an_ellipsis() -> None:
    """A person sees that something is missing."""
    text = Draft().quote("é" * 5000).message().text

    assert text == "é" * 4095 + "…"


def test_a_cut_never_halves_a_character() -> None:
    """Characters beyond the basic plane count two units."""
    assert [clip("😀😀😀", units) for units in (6, 5, 4, 3, 2, 1, 0)] == [
        "😀😀😀",
        "😀😀…",
        "😀…",
        "😀…",
        "…",
        "…",
        "",
    ]
