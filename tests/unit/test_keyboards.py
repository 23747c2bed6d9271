"""Which buttons stand where (product.md 1.2 to 1.4); pure."""

from dataclasses import replace

import pytest

from bot import keyboards
from bot.buttons import Button
from bot.callbacks import decode
from bot.keyboards import VoteState, VoteView
from bot.outbox import Keyboard
from bot.views import Facts
from core.model.proposal import Proposal, State, Verdict
from tests.factories import World, a_finding, a_lesson, a_proposal, a_run

TOKEN = "abcdefghijk"
ALONE = Facts()  # no other lesson is touched


def labels(keyboard: Keyboard) -> list[list[str]]:
    """Give what stands on the buttons."""
    return [[key.label for key in row] for row in keyboard]


def choices(keyboard: Keyboard) -> list[list[str]]:
    """Give what the buttons say when tapped; all of it is ours and of the token."""
    found = [[decode(key.data) for key in row] for row in keyboard]
    assert all(each is not None and each.token == TOKEN for row in found for each in row)
    return [[each.choice for each in row if each is not None] for row in found]


def proposal(verdict: Verdict = Verdict.NEW, **more: object) -> Proposal:
    """Build a pending proposal."""
    world = World()
    a_run(world.tx)
    made = a_proposal(world.tx, a_finding())
    return replace(made, verdict=verdict, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "row", "further"),
    [
        (VoteState.NONE, ["👍", "👎"], 0),
        (VoteState.UP, ["👍•", "👎"], 0),
        (VoteState.REASON, ["👍", "👎•"], 3),
        (VoteState.ANALYSING, ["👍", "👎•"], 1),
        (VoteState.DONE, ["👍", "👎•"], 1),
    ],
)
def test_the_feedback_row_shows_the_vote(state: VoteState, row: list[str], further: int) -> None:
    """The dot marks how the person voted; both stay tappable in every state."""
    keyboard = keyboards.votes(TOKEN, VoteView(state, "📘 l-001"), "en")

    assert labels(keyboard)[0] == row and choices(keyboard)[0] == ["up", "down"]
    assert len(keyboard) == 1 + further


def test_the_reasons_stand_in_pairs() -> None:
    """product.md 1.2: four reasons, a comment, and just noting it."""
    keyboard = keyboards.votes(TOKEN, VoteView(VoteState.REASON), "en")

    assert choices(keyboard)[1:] == [
        ["wrong_result", "too_much_changed"],
        ["ignored_me", "too_slow"],
        ["other", "note"],
    ]


def test_reasons_speak_the_language_of_the_chat() -> None:
    """Same choices, other words."""
    french = keyboards.votes(TOKEN, VoteView(VoteState.REASON), "fr")
    english = keyboards.votes(TOKEN, VoteView(VoteState.REASON), "en")

    assert choices(french) == choices(english) and labels(french)[1:] != labels(english)[1:]


def test_what_came_of_a_vote_is_shown() -> None:
    """The last row leads there."""
    keyboard = keyboards.votes(TOKEN, VoteView(VoteState.DONE, "📘 l-007"), "en")

    assert (labels(keyboard)[-1], choices(keyboard)[-1]) == (["📘 l-007"], ["outcome"])


def test_a_used_button_of_the_agent_says_so() -> None:
    """Cells are numbered through all rows; styles stay."""
    rows = [[Button("a", "A"), Button("b", "B", "danger")], [Button("c", "C")]]

    keyboard = keyboards.hidden(TOKEN, rows, {"1"})

    assert labels(keyboard) == [["a", "✓ b"], ["c"]]
    assert choices(keyboard) == [["0", "1"], ["2"]] and keyboard[0][1].style == "danger"


def test_ninety_buttons_of_the_agent_can_be_told_apart() -> None:
    """telegram.md 1: the most an answer may have."""
    keyboard = keyboards.hidden(
        TOKEN, [[Button(str(n), "x") for n in range(8)] for _ in range(12)][:11], set()
    )

    told = [choice for row in choices(keyboard) for choice in row]
    assert told == [str(n) for n in range(88)]


def test_a_new_proposal_can_be_decided_and_placed() -> None:
    """product.md 1.4."""
    keyboard = keyboards.proposal(proposal(), TOKEN, "en", ALONE)

    assert choices(keyboard) == [["approve", "edit", "reject"], ["scope", "domain"]]


def test_a_contradiction_makes_the_person_choose() -> None:
    """learning.md 3.2: no plain yes; replace the other lesson, or keep both."""
    other = a_lesson(World().tx)

    keyboard = keyboards.proposal(proposal(), TOKEN, "en", Facts(conflicts=(other,)))

    assert choices(keyboard)[:2] == [["replace", "both"], ["edit", "reject"]]
    assert other.id in labels(keyboard)[0][0]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", [["🔀 Merge", "🚫 Disable l-001 first"], ["⏳ Approve, l-001 waits"]]),
        ("fr", [["🔀 Fusionner", "🚫 Désactiver l-001 d'abord"], ["⏳ Approuver, l-001 attend"]]),
    ],
)
def test_a_lesson_that_would_be_pushed_out_can_make_room(language: str, words: list[list[str]]) -> None:
    """product.md 1.4: merge, disable that one, or let it wait; the button says which one it disables."""
    other = a_lesson(World().tx)

    keyboard = keyboards.proposal(proposal(), TOKEN, language, Facts(pushed_out=(other,)))

    assert labels(keyboard)[1:3] == words
    assert choices(keyboard)[:3] == [["approve", "edit", "reject"], ["merge", "make_room_001"], ["wait"]]
    assert keyboards.room_of("make_room_001") == other.id


def test_letting_one_wait_is_no_way_around_a_contradiction() -> None:
    """That one is chosen first."""
    other = a_lesson(World().tx)

    keyboard = keyboards.proposal(proposal(), TOKEN, "en", Facts(conflicts=(other,), pushed_out=(other,)))

    assert choices(keyboard)[:3] == [["replace", "both"], ["edit", "reject"], ["merge", "make_room_001"]]


@pytest.mark.parametrize(
    ("item", "more"),
    [
        (proposal(Verdict.MERGE, lesson="l-001"), ["separate"]),
        (proposal(remark="shorter"), ["remark"]),
        (proposal(Verdict.VIOLATED, lesson="l-001"), None),
    ],
)
def test_further_ways_stand_in_rows_of_their_own(item: Proposal, more: list[str] | None) -> None:
    """A merge can be kept separate, a remark can be reworded with."""
    found = choices(keyboards.proposal(item, TOKEN, "en", ALONE))[2:]

    assert found == ([] if more is None else [more])


def test_a_harmful_lesson_is_disabled_reworded_or_kept() -> None:
    """The same decisions in words that say what happens to the lesson."""
    keyboard = keyboards.proposal(proposal(Verdict.HARMFUL, lesson="l-001"), TOKEN, "en", ALONE)

    assert choices(keyboard) == [["approve", "edit", "reject"]]
    assert labels(keyboard) == [["🚫 Disable", "✏️ Reword", "Keep"]]


@pytest.mark.parametrize(
    ("state", "is_undoable", "expected"),
    [
        (State.APPROVED, True, [["undo", "again"]]),
        (State.APPROVED, False, [["off", "again"]]),
        (State.REJECTED, True, [["undo"]]),
        (State.REJECTED, False, []),
        (State.WITHDRAWN, True, []),
        (State.EXPIRED, True, []),
    ],
)
def test_a_decided_proposal_offers_the_way_back(
    state: State, is_undoable: bool, expected: list[list[str]]
) -> None:
    """Undo for a while, then Disable; nothing where nothing was decided."""
    item = proposal(state=state, run="r-1")

    assert choices(keyboards.proposal(item, TOKEN, "en", ALONE, is_undoable=is_undoable)) == expected


def test_nothing_is_offered_under_a_harmful_lesson_that_is_off_for_good() -> None:
    """Disabling what is disabled would be no choice."""
    item = proposal(Verdict.HARMFUL, state=State.APPROVED, run="r-1")

    assert keyboards.proposal(item, TOKEN, "en", ALONE) == ()
