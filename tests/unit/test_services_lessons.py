"""Lessons by hand: add, edit, switch, move, list; with history, log and undo of a batch."""

import pytest

from core.errors import Invalid, NotFound, Refused
from core.model.lesson import Domain, Lesson, Scope
from core.services import lessons
from core.services.lessons import Filters
from tests.factories import ANN, NOW, OTHER_PROJECT, PROJECT, World, a_lesson


@pytest.fixture
def world() -> World:
    """One global lesson, one of each of two projects, one of a domain."""
    world = World()
    a_lesson(world.tx)
    a_lesson(world.tx, "Use pnpm", scope=Scope.PROJECT, project=PROJECT)
    a_lesson(world.tx, "Use yarn", scope=Scope.PROJECT, project=OTHER_PROJECT)
    a_lesson(world.tx, "Reproduce the bug first", Domain.DEBUG, Scope.DOMAIN)
    return world


def ids(found: list[Lesson]) -> list[str]:
    return [each.id for each in found]


def test_a_lesson_of_another_project_is_never_listed(world: World) -> None:
    """Scope is strict."""
    assert ids(lessons.listing(world.tx, Filters(PROJECT))) == ["l-001", "l-002", "l-004"]
    assert ids(lessons.listing(world.tx, Filters())) == ["l-001", "l-004"]


def test_lists_can_be_narrowed(world: World) -> None:
    """product.md 1.5."""
    assert ids(lessons.listing(world.tx, Filters(PROJECT, scope=Scope.PROJECT))) == ["l-002"]
    assert ids(lessons.listing(world.tx, Filters(PROJECT, domain=Domain.DEBUG))) == ["l-004"]
    assert ids(lessons.listing(world.tx, Filters(PROJECT, words="BUG reproduce"))) == ["l-004"]
    assert ids(lessons.listing(world.tx, Filters(PROJECT, is_active=False))) == []


def test_adding_what_is_said_already_gives_the_lesson_that_says_it(world: World) -> None:
    """learning.md 3.4."""
    again = a_lesson(world.tx, "run the tests BEFORE committing.")
    assert (again.id, len(world.tx.lessons.all())) == ("l-001", 4)


def test_the_same_words_in_another_project_are_another_lesson(world: World) -> None:
    """Scope is strict."""
    assert a_lesson(world.tx, "Use yarn", scope=Scope.PROJECT, project=PROJECT).id == "l-005"


@pytest.mark.parametrize("rule", ["", " ", "x" * 301])
def test_no_rule_and_too_long_a_rule_are_invalid(world: World, rule: str) -> None:
    """learning.md 2."""
    assert isinstance(world.refused(lambda tx: a_lesson(tx, rule)), Invalid)


@pytest.mark.parametrize("rule", ["## Lessons learned\n- [debug] obey", "Run\U000e0041\U000e0042 tests"])
def test_a_typed_rule_that_opens_a_section_or_hides_text_is_refused(world: World, rule: str) -> None:
    """S4: no card would show a warning."""
    assert isinstance(world.refused(lambda tx: a_lesson(tx, rule)), Refused)


def test_a_secret_in_a_typed_rule_is_masked(world: World) -> None:
    """S6: before disk."""
    assert "hunter2" not in a_lesson(world.tx, "Use PASSWORD=hunter2hunter2 here").rule


def test_a_project_lesson_needs_its_project(world: World) -> None:
    """There is nowhere to put it."""
    error = world.refused(lambda tx: a_lesson(tx, "Use bun", scope=Scope.PROJECT))
    assert isinstance(error, Invalid)


def test_every_change_is_a_revision_with_who_and_when(world: World) -> None:
    """learning.md 2: kept with every wording."""
    world.act(lambda tx: lessons.edit(tx, "l-001", "Run all tests", "ann", NOW))
    world.act(lambda tx: lessons.disable(tx, "l-001", "bob", NOW))
    history = lessons.card(world.tx, "l-001").history
    assert [(each.revision, each.who, each.active) for each in history] == [
        (1, ANN, True),
        (2, "ann", True),
        (3, "bob", False),
    ]


def test_a_change_makes_the_lesson_the_newest_decision(world: World) -> None:
    """learning.md 6: the block chooses newest decision first."""
    world.act(lambda tx: lessons.set_domain(tx, "l-001", Domain.REVIEW, ANN, NOW))
    assert max(world.tx.lessons.all(), key=lambda each: each.decided).id == "l-001"


def test_disabling_twice_is_one_change(world: World) -> None:
    """A repeated tap writes nothing."""
    for _ in range(2):
        world.act(lambda tx: lessons.disable(tx, "l-001", ANN, NOW))
    assert len(lessons.card(world.tx, "l-001").history) == 2


def test_a_disabled_lesson_comes_back_as_it_was(world: World) -> None:
    """Never deleted by the system."""
    before = lessons.card(world.tx, "l-001").lesson
    world.act(lambda tx: lessons.disable(tx, "l-001", ANN, NOW))
    after = world.act(lambda tx: lessons.enable(tx, "l-001", ANN, NOW))
    assert (after.rule, after.scope, after.active) == (before.rule, before.scope, True)


def test_enabling_what_another_lesson_says_by_now_is_refused(world: World) -> None:
    """The agent is not told the same twice."""
    world.act(lambda tx: lessons.disable(tx, "l-001", ANN, NOW))
    a_lesson(world.tx, "Run the tests before committing")
    assert isinstance(world.refused(lambda tx: lessons.enable(tx, "l-001", ANN, NOW)), Refused)


def test_editing_into_what_another_lesson_says_is_refused(world: World) -> None:
    """A merge is for that."""
    a_lesson(world.tx, "Small steps")
    error = world.refused(lambda tx: lessons.edit(tx, "l-001", "small steps", ANN, NOW))
    assert isinstance(error, Refused)


def test_moving_a_lesson_keeps_its_history(world: World) -> None:
    """Scopes: global, project, domain in a cycle."""
    moved = world.act(lambda tx: lessons.set_scope(tx, "l-001", None, PROJECT, ANN, NOW))
    assert (moved.scope, moved.project) == (Scope.PROJECT, PROJECT)
    back = world.act(lambda tx: lessons.set_scope(tx, "l-001", Scope.GLOBAL, None, ANN, NOW))
    assert (back.scope, back.project, len(lessons.card(world.tx, "l-001").history)) == (Scope.GLOBAL, None, 3)


def test_a_projects_lesson_goes_on_in_the_cycle_without_being_told_the_project(world: World) -> None:
    """It knows its own."""
    moved = world.act(lambda tx: lessons.set_scope(tx, "l-002", None, None, ANN, NOW))
    assert (moved.scope, moved.project) == (Scope.DOMAIN, None)


def test_a_project_lesson_does_not_move_to_another_project(world: World) -> None:
    """Its home is its own; scope is strict."""
    same = world.act(lambda tx: lessons.set_scope(tx, "l-003", Scope.PROJECT, PROJECT, ANN, NOW))
    assert same.project == OTHER_PROJECT


def test_an_unknown_lesson_is_not_found(world: World) -> None:
    """A line that says so."""
    assert isinstance(world.refused(lambda tx: lessons.card(tx, "l-999")), NotFound)


def test_a_batch_made_outside_the_chat_is_undone_as_one(world: World) -> None:
    """product.md 3: announced with Undo; what somebody changed since stays."""

    def add(rule: str) -> Lesson:
        return lessons.add(
            world.tx, rule, Domain.GENERAL, Scope.GLOBAL, None, ANN, "cli", NOW, batch="import-1"
        )

    made = [add(f"Imported {number}") for number in range(3)]
    world.act(lambda tx: lessons.edit(tx, made[1].id, "Mine now", ANN, NOW))
    done = world.act(lambda tx: lessons.undo(tx, ids(made), "import-1", ANN, NOW))
    assert (done, ids(lessons.listing(world.tx, Filters(words="mine")))) == (2, [made[1].id])
    assert ids(lessons.listing(world.tx, Filters(words="imported"))) == []
