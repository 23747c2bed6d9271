"""What votes say about a lesson, and the local measures (learning.md 7)."""

from dataclasses import replace
from pathlib import Path

from core.events import Ended, Outcome
from core.model.feedback import Vote
from core.model.lesson import Domain, Scope
from core.model.proposal import Verdict
from core.model.run import Call, RunState
from core.rules.effect import Votes
from core.services import effect, measures, proposals, runs
from core.settings import CoreSettings
from tests.factories import (
    ANN,
    NOW,
    OTHER_PROJECT,
    PROJECT,
    World,
    a_finding,
    a_lesson,
    a_run,
    analysed,
    approved,
    bad,
    cast,
)

DAY_S = 86_400.0


def voted(world: World, count: int, negative: int, start: float, **run: object) -> None:
    """Store runs from that time on, the first ones with 👎."""
    for number in range(count):
        id = f"r-{start:.0f}-{number}-{len(run)}"
        made = a_run(world.tx, id, told=run.get("told", ()), session=None)  # type: ignore[arg-type]
        fields = {name: value for name, value in run.items() if name != "told"}
        world.tx.runs.put(replace(made, started=start + number, **fields))
        cast(world, Vote.NEGATIVE if number < negative else Vote.POSITIVE, id)


def test_runs_with_and_without_a_lesson_are_told_apart() -> None:
    """Without: the 90 days before approval, and runs with lessons off; nothing else."""
    world = World()
    lesson = a_lesson(world.tx)
    voted(world, 4, 3, NOW + 10, told=(lesson.id,))
    voted(world, 5, 1, NOW - 10 * DAY_S)
    voted(world, 2, 2, NOW + DAY_S, is_lessons_off=True)
    voted(world, 6, 6, NOW - 91 * DAY_S)
    voted(world, 7, 7, NOW + 2 * DAY_S)  # after approval, not told: it waited, or is not known

    found = effect.of_lesson(world.tx, lesson)

    assert (found.told, found.untold) == (Votes(3, 4), Votes(3, 7))
    assert found.told_share.low < 0.75 < found.told_share.high
    assert not found.is_harmful


def test_another_project_says_nothing_about_a_projects_lesson() -> None:
    """Scope is strict here too."""
    world = World()
    lesson = a_lesson(world.tx, scope=Scope.PROJECT, project=PROJECT)
    voted(world, 5, 5, NOW - DAY_S, project=OTHER_PROJECT)

    assert effect.of_lesson(world.tx, lesson).untold == Votes(0, 0)


def test_harm_is_proposed_once_and_a_no_stands() -> None:
    """Clear evidence makes a proposal to disable; keeping it ends the matter for that wording."""
    world = World()
    lesson = a_lesson(world.tx)
    voted(world, 60, 6, NOW - 10 * DAY_S)
    voted(world, 60, 30, NOW + 10, told=(lesson.id,))

    [made] = world.act(lambda tx: effect.propose_harmful(tx, NOW))
    world.act(lambda tx: proposals.keep(tx, made.id, 1, ANN, NOW))
    again = world.act(lambda tx: effect.propose_harmful(tx, NOW))

    assert (made.verdict, made.lesson, made.evidence) == (
        Verdict.HARMFUL,
        lesson.id,
        "✓ 30 👎 / 60 · ✗ 6 👎 / 60",
    )
    assert again == []


def test_no_effect_visible_proposes_nothing() -> None:
    """Nor does a lesson that helps."""
    world = World()
    lesson = a_lesson(world.tx)
    voted(world, 60, 30, NOW - 10 * DAY_S)
    voted(world, 60, 6, NOW + 10, told=(lesson.id,))

    assert world.act(lambda tx: effect.propose_harmful(tx, NOW)) == []


def test_the_loop_is_measured(tmp_path: Path) -> None:
    """Approved unchanged, time to decision, repeats, told, size."""
    world = World()
    a_run(world.tx, session=None)
    bad(world, comment="too large")
    first = analysed(world, a_finding()).proposal
    assert first is not None
    world.now += 60
    approved(world, first)
    held = world.tx.lessons.all()[0]
    world.tx.lessons.put(replace(held, violations=2))

    found = measures.measure(world.tx, PROJECT, CoreSettings(home=tmp_path))

    assert found == measures.Measures(
        decided=1,
        unchanged=1,
        decision_s=60.0,
        repeated=1,
        repeats=2,
        active=1,
        told=1,
        block_chars=found.block_chars,
    )
    assert found.block_chars > 100


def test_a_run_that_ends_knows_its_domain() -> None:
    """From its calls: a red test before the first edit is debugging; a vote takes it over."""
    world = World()
    calls = (
        Call("bash", "pytest -q", is_error=True, error="1 failed: AssertionError", exit_code=1),
        Call("read", "src/cart.py", is_error=False),
        Call("edit", "src/cart.py", is_error=False),
        Call("bash", "pytest -q", is_error=False, exit_code=0),
    )
    world.tx.runs.put(replace(a_run(world.tx, session=None), state=RunState.RUNNING))

    done = world.act(lambda tx: runs.finish(tx, "r-1", Ended(Outcome.DONE, "Fixed."), calls, NOW))

    assert done.domain is Domain.DEBUG
    assert bad(world).feedback.domain is Domain.DEBUG
