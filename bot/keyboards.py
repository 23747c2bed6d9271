"""Which buttons stand where; pure (product.md 1.2 to 1.4)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bot.buttons import Button as AgentButton
from bot.callbacks import Kind, encode
from bot.locales import say
from bot.outbox import Key, Keyboard
from bot.views import Facts
from core.model.proposal import Proposal, State, Verdict
from core.services.feedback import REASONS

Row = tuple[Key, ...]
_REASON_ROW = 2
MAKE_ROOM = "make_room_"  # and the digits of the lesson to disable
LESSON = "l-"


class VoteState(StrEnum):
    """What the last row of an answer shows."""

    NONE = "none"
    UP = "up"
    REASON = "reason"
    ANALYSING = "analysing"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class VoteView:
    """The state of a vote and, when it is done, what came of it."""

    state: VoteState = VoteState.NONE
    outcome: str = ""


def votes(token: str, view: VoteView, language: str) -> Keyboard:
    """Give the feedback rows of an answer."""

    def key(label: str, choice: str) -> Key:
        return Key(label, encode(Kind.VOTE, token, choice))

    is_down = view.state not in (VoteState.NONE, VoteState.UP)
    up = key("👍•" if view.state is VoteState.UP else "👍", "up")
    down = key("👎•" if is_down else "👎", "down")
    rows: list[Row] = [(up, down)]
    match view.state:
        case VoteState.REASON:
            reasons = [key(say(f"reason.{name}", language), name) for name in REASONS]
            reasons += [key(say(f"reason.{name}", language), name) for name in ("other", "note")]
            rows += [tuple(reasons[i : i + _REASON_ROW]) for i in range(0, len(reasons), _REASON_ROW)]
        case VoteState.ANALYSING:
            rows.append((key(say("vote.analysing", language), "wait"),))
        case VoteState.DONE:
            rows.append((key(view.outcome, "outcome"),))
        case _:
            pass
    return tuple(rows)


def hidden(token: str, rows: list[list[AgentButton]], used: set[str]) -> Keyboard:
    """Give the agent's own buttons; a used one says so."""
    shown, number = [], 0
    for row in rows:
        keys = []
        for button in row:
            label = f"✓ {button.text}" if str(number) in used else button.text
            keys.append(Key(label, encode(Kind.AGENT, token, str(number)), button.style))
            number += 1
        shown.append(tuple(keys))
    return tuple(shown)


def proposal(
    item: Proposal, token: str, language: str, facts: Facts, *, is_undoable: bool = False
) -> Keyboard:
    """Give the buttons of a proposal in the state it is in."""

    def key(name: str, choice: str, **values: object) -> Key:
        return Key(say(f"button.{name}", language, **values), encode(Kind.PROPOSAL, token, choice))

    match item.state:
        case State.PENDING if item.verdict is Verdict.HARMFUL:
            return ((key("disable", "approve"), key("reword", "edit"), key("keep", "reject")),)
        case State.PENDING:
            return _pending(item, facts, key)
        case State.APPROVED:
            after = key("undo", "undo") if is_undoable else key("disable", "off")
            again = (key("try_again", "again"),) if item.run else ()
            return ((after, *again),) if item.verdict is not Verdict.HARMFUL or is_undoable else ()
        case State.REJECTED if is_undoable:
            return ((key("undo", "undo"),),)
        case _:
            return ()


class _KeyMaker(Protocol):
    def __call__(self, name: str, choice: str, **values: object) -> Key: ...


def _pending(item: Proposal, facts: Facts, key: _KeyMaker) -> Keyboard:
    rows: list[Row] = [
        *_decisions(facts, key),
        (key(f"scope_{item.scope.value}", "scope"), key("domain", "domain", domain=item.domain.value)),
    ]
    if item.verdict is Verdict.MERGE and item.lesson:
        rows.append((key("separate", "separate"),))
    if item.remark:
        rows.append((key("reword_remark", "remark"),))
    return tuple(rows)


def _decisions(facts: Facts, key: _KeyMaker) -> list[Row]:
    """Give the row that decides: a plain yes, or a choice where the proposal may contradict a lesson."""
    if not facts.conflicts:
        rows: list[Row] = [(key("approve", "approve"), key("edit", "edit"), key("reject", "reject"))]
    else:
        other = facts.conflicts[0].id
        rows = [
            (key("replace", "replace", lesson=other), key("both", "both")),
            (key("edit", "edit"), key("reject", "reject")),
        ]
    if facts.pushed_out:
        rows += _room(facts.pushed_out[0].id, key, is_choice=bool(facts.conflicts))
    return rows


def _room(other: str, key: _KeyMaker, *, is_choice: bool) -> list[Row]:
    """Give the ways out where approval would push that lesson out of the block (product.md 1.4).

    The button names the lesson it disables: which one is pushed out may be another by then.
    """
    ways: Row = (
        key("merge", "merge"),
        key("disable_other", MAKE_ROOM + other.removeprefix(LESSON), lesson=other),
    )
    waits: Row = () if is_choice else (key("keep_waiting", "wait", lesson=other),)
    return [each for each in (ways, waits) if each]


def room_of(choice: str) -> str:
    """Give the lesson that a button of `_room` disables."""
    return LESSON + choice.removeprefix(MAKE_ROOM)
