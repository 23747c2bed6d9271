"""What the next run is told, and the files it is read from."""

from pathlib import Path

import pytest

from core.model.lesson import Domain, Scope
from core.rules.context import Budgets
from core.services import context, lessons, proposals
from tests.factories import ANN, OTHER_PROJECT, PROJECT, World, a_lesson, a_proposal, a_run, approved, good


@pytest.fixture
def world() -> World:
    """A global lesson, one of a project, one of a domain."""
    world = World()
    a_lesson(world.tx)
    a_lesson(world.tx, "Use pnpm", scope=Scope.PROJECT, project=PROJECT)
    a_lesson(world.tx, "Reproduce the bug first", Domain.DEBUG, Scope.DOMAIN)
    return world


def text(world: World, project: str = PROJECT) -> str:
    return context.block(world.tx, project, "en", folder="ctx").text


def test_a_run_is_told_global_and_its_projects_lessons(world: World) -> None:
    """learning.md 6."""
    block = context.block(world.tx, PROJECT, "en")
    assert block.told_ids == ("l-001", "l-002")
    assert context.block(world.tx, OTHER_PROJECT, "en").told_ids == ("l-001",)


def test_domain_lessons_are_one_pointer_line(world: World) -> None:
    """Consulted on demand."""
    assert "More on debug: read ctx/domain-debug.md\n" in text(world)
    assert "Reproduce" not in text(world)
    assert "Reproduce the bug first" in context.domain_files(world.tx, "en")["domain-debug.md"]


def test_lessons_off_tells_nothing(world: World) -> None:
    """`/lessons off`."""
    block = context.block(world.tx, PROJECT, "en", is_off=True)
    assert (block.text, block.told_ids) == ("", ())


def test_a_proposal_is_told_to_nobody_before_its_approval(world: World) -> None:
    """Promise 1."""
    before = text(world)
    proposal = a_proposal(world.tx)
    assert text(world) == before
    approved(world, proposal)
    assert proposal.rule in text(world)


def test_an_undo_brings_back_the_bytes_of_before(world: World) -> None:
    """Also where the budget decides who is told: the order of decisions is restored too."""
    a_lesson(world.tx, "A" * 200)
    budgets = Budgets(lessons_chars=420)

    def told() -> str:
        return context.block(world.tx, PROJECT, "en", budgets=budgets).text

    before = told()
    decision = approved(world, a_proposal(world.tx))
    assert told() != before
    world.act(lambda tx: proposals.undo(tx, decision.proposal.id, ANN, world.now))
    assert told() == before


def test_votes_leave_the_block_byte_for_byte(world: World) -> None:
    """learning.md 6: provider caches depend on it."""
    before = text(world)
    for number in range(20):
        a_run(world.tx, f"r-{number}", told=["l-001"], session=None)
        good(world, f"r-{number}")
    assert text(world) == before


def test_a_domain_without_lessons_any_more_empties_its_file(world: World) -> None:
    """What was read there is no longer told."""
    world.act(lambda tx: lessons.disable(tx, "l-003", ANN, world.now))
    assert set(context.domain_files(world.tx, "en").values()) == {""}


def test_an_unchanged_file_is_not_touched(tmp_path: Path) -> None:
    """Whoever watches it does not wake up."""
    path = tmp_path / "context" / "global.md"
    assert context.write_file(path, "## Lessons\n")
    before = path.stat()
    assert not context.write_file(path, "## Lessons\n")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_changed_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """Readers see the old or the new, and no draft stays behind."""
    path = tmp_path / "global.md"
    context.write_file(path, "old é\n")
    with path.open(encoding="utf-8") as reader:
        assert context.write_file(path, "new\n")
        assert reader.read() == "old é\n"
    assert [each.name for each in tmp_path.iterdir()] == ["global.md"]


def test_an_empty_text_makes_no_new_file_but_empties_an_old_one(tmp_path: Path) -> None:
    """Domains that were never used leave no trace."""
    path = tmp_path / "domain-debug.md"
    assert not context.write_file(path, "")
    assert not path.exists()
    context.write_file(path, "x")
    assert context.write_file(path, "")
    assert path.read_bytes() == b""
