"""What an approval would push out of the block, and the merges that make room (product.md 1.4)."""

from pathlib import Path

import pytest

from core.errors import Refused, Stale
from core.model.lesson import Lesson, Scope
from core.model.proposal import State, Verdict
from core.services import context, lessons, proposals, room
from core.services.changes import By
from core.settings import CoreSettings
from tests.factories import ANN, BOB, NOW, PROJECT, World, a_finding, a_lesson, a_proposal

BY = By(ANN, NOW)
RULES = (
    "Write a changelog entry for every release of the package",
    "Ask before any file outside of the project is touched",
    "Explain the plan in three sentences before the first edit",
    "Name the branch after the ticket that it belongs to",
)


@pytest.fixture
def world() -> World:
    """Give four told lessons; there is no room for a fifth."""
    world = World()
    for rule in RULES:
        a_lesson(world.tx, rule)
    return world


@pytest.fixture
def settings(tmp_path: Path) -> CoreSettings:
    """Give a block that those four fill."""
    return CoreSettings(home=tmp_path, max_lesson_chars=400)


def told(world: World, settings: CoreSettings) -> tuple[str, ...]:
    return context.current(world.tx, PROJECT, settings).told_ids


def merged(world: World, settings: CoreSettings, rule: str) -> room.Merging:
    made = a_proposal(world.tx, a_finding(rule))
    assert [each.id for each in room.pushed_out(world.tx, made, settings)] == ["l-001"]
    return world.act(lambda tx: room.merge(tx, made.id, made.version, settings, BY))


def test_what_is_pushed_out_is_what_no_longer_is_told(world: World, settings: CoreSettings) -> None:
    """The card says so before the decision, and it comes true."""
    before = told(world, settings)
    made = a_proposal(world.tx, a_finding("Commit after every green test run"))
    pushed = [each.id for each in room.pushed_out(world.tx, made, settings)]

    world.act(lambda tx: proposals.approve(tx, made.id, made.version, ANN, NOW))

    assert pushed == ["l-001"] and sorted(set(before) - set(told(world, settings))) == pushed


def test_a_proposal_merges_with_the_lesson_most_like_it(world: World, settings: CoreSettings) -> None:
    """A new version that rewords that one and pushes nothing out; still to be approved."""
    done = merged(world, settings, "Explain the plan in three short sentences before any first edit")

    assert done.lesson is not None
    assert (done.lesson.id, done.proposal.verdict, done.proposal.lesson) == ("l-003", Verdict.MERGE, "l-003")
    assert (done.proposal.version, done.proposal.old_rule) == (2, RULES[2])
    assert room.pushed_out(world.tx, done.proposal, settings) == ()
    assert lessons.need(world.tx, "l-003").rule == RULES[2]


def test_a_merge_that_makes_room_can_be_kept_separate(world: World, settings: CoreSettings) -> None:
    """Back to a lesson of its own, which pushes one out again."""
    done = merged(world, settings, "Explain the plan in three short sentences before any first edit")

    apart = world.act(lambda tx: proposals.keep_separate(tx, done.proposal.id, 2, ANN, NOW))

    assert apart.verdict is Verdict.NEW
    assert len(room.pushed_out(world.tx, apart, settings)) == 1


def like(world: World) -> Lesson:
    """Let l-004 say nearly what l-002 says."""
    return lessons.edit(world.tx, "l-004", "Ask before a file outside of the project is touched", BOB, NOW)


def test_told_lessons_that_are_alike_are_offered_where_the_new_one_is_like_none(
    world: World, settings: CoreSettings
) -> None:
    """The proposal stays as it is; a tap again brings the same merge, not a second one."""
    like(world)
    done = merged(world, settings, "Commit after every green test run")
    again = world.act(lambda tx: room.merge(tx, "p-001", 1, settings, BY))

    assert (done.lesson, done.proposal.version) == (None, 1)
    assert [(each.lesson, each.absorbs) for each in done.others] == [("l-002", ("l-004",))]
    assert again.others == done.others


def test_nothing_alike_is_said(world: World, settings: CoreSettings) -> None:
    """One is disabled then, or waits."""
    made = a_proposal(world.tx, a_finding("Commit after every green test run"))

    error = world.refused(lambda tx: room.merge(tx, made.id, made.version, settings, BY))

    assert isinstance(error, Refused) and error.key == "proposal.nothing_alike"


def test_an_old_card_merges_nothing(world: World, settings: CoreSettings) -> None:
    """The version that was shown counts."""
    made = a_proposal(world.tx, a_finding("Explain the plan in three short sentences before any first edit"))
    world.act(lambda tx: proposals.edit(tx, made.id, 1, "Something else", BOB, NOW))

    error = world.refused(lambda tx: room.merge(tx, made.id, 1, settings, BY))

    assert isinstance(error, Stale)


def test_a_projects_rule_is_never_merged_with_one_for_all(world: World, settings: CoreSettings) -> None:
    """learning.md 2: scope is strict; what is alike in another place does not count."""
    rule = "Explain the plan in three short sentences before any first edit"
    made = a_proposal(world.tx, a_finding(rule, scope=Scope.PROJECT))

    error = world.refused(lambda tx: room.merge(tx, made.id, made.version, settings, BY))

    assert isinstance(error, Refused)


def test_an_opposite_is_never_offered_as_a_merge(world: World, settings: CoreSettings) -> None:
    """learning.md 3.2."""
    done = world.refused(
        lambda tx: room.merge(
            tx, a_proposal(tx, a_finding("Never ask before a file outside is touched")).id, 1, settings, BY
        )
    )

    assert isinstance(done, Refused)


def test_a_merge_is_approved_like_any_other(world: World, settings: CoreSettings) -> None:
    """Old id, both wordings in its history, nobody pushed out."""
    done = merged(world, settings, "Explain the plan in three short sentences before any first edit")
    before = told(world, settings)

    made = world.act(lambda tx: proposals.approve(tx, done.proposal.id, 2, ANN, NOW))

    assert made.proposal.state is State.APPROVED
    assert told(world, settings) == before
    assert [each.rule for each in world.tx.lessons.history(lessons.need(world.tx, "l-003").id)] == [
        RULES[2],
        done.proposal.rule,
    ]
