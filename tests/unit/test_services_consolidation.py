"""Near-duplicates and contradictions: found, put before people, chosen (learning.md 3)."""

from collections.abc import Callable

import pytest

from core.errors import Refused, Stale
from core.model.lesson import Domain, Scope
from core.model.proposal import Proposal, State, Verdict
from core.services import choices, consolidation, lessons, proposals, purging
from core.services.changes import By
from core.services.similarity import same, similar
from tests.factories import (
    ANN,
    BOB,
    NOW,
    OTHER_PROJECT,
    PROJECT,
    World,
    a_finding,
    a_lesson,
    a_proposal,
    approved,
)


@pytest.fixture
def world() -> World:
    """Give an empty store."""
    return World()


def test_similar_lessons_carry_the_warning_and_the_same_one_is_apart(world: World) -> None:
    """Best first; what says the same word for word is not near but equal."""
    a_lesson(world.tx, "Use npm instead of pnpm.")
    a_lesson(world.tx, "Use pnpm in this project")
    a_lesson(world.tx, "Always use pnpm, never npm", scope=Scope.PROJECT, project=OTHER_PROJECT)

    found = similar(world.tx, "use pnpm instead of npm", PROJECT)
    equal = same(world.tx, "USE PNPM in this project.", PROJECT)

    assert {each.lesson.id: each.may_contradict for each in found} == {"l-001": True, "l-002": False}
    assert [each.id for each in equal] == ["l-002"]
    assert "l-002" not in {each.lesson.id for each in similar(world.tx, "use pnpm in this project", PROJECT)}


def test_a_proposal_names_the_lessons_it_may_contradict(world: World) -> None:
    """Also after an edit; a bare yes is refused then."""
    lesson = a_lesson(world.tx, "Use tabs for indentation")
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))

    refused = world.refused(lambda tx: proposals.approve(tx, made.id, 1, ANN, NOW))
    edited = world.act(lambda tx: proposals.edit(tx, made.id, 1, "Answer in French", ANN, NOW))

    assert made.conflicts == (lesson.id,)
    assert isinstance(refused, Refused)
    assert edited.conflicts == ()
    assert world.refused(lambda tx: proposals.approve(tx, made.id, 2, ANN, NOW)) is None


def test_replacing_keeps_the_id_and_the_history_of_the_lesson(world: World) -> None:
    """One lesson is left, in its old place, with both wordings in its history."""
    lesson = a_lesson(world.tx, "Use tabs for indentation", scope=Scope.PROJECT, project=PROJECT)
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))

    done = world.act(lambda tx: choices.replace_lesson(tx, made.id, 1, lesson.id, ANN, NOW))

    held = world.tx.lessons.all(active=True)
    assert [(each.id, each.rule, each.scope) for each in held] == [
        (lesson.id, "Use spaces for indentation", Scope.PROJECT)
    ]
    assert [each.rule for each in world.tx.lessons.history(lesson.id)] == [
        "Use tabs for indentation",
        "Use spaces for indentation",
    ]
    assert (done.proposal.state, done.proposal.relation) == (State.APPROVED, "contradicts")


def test_a_replacement_can_be_undone(world: World) -> None:
    """The lesson has its old wording again."""
    lesson = a_lesson(world.tx, "Use tabs for indentation")
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))
    world.act(lambda tx: choices.replace_lesson(tx, made.id, 1, lesson.id, ANN, NOW))

    world.act(lambda tx: proposals.undo(tx, made.id, ANN, NOW + 5))

    assert [each.rule for each in world.tx.lessons.all(active=True)] == ["Use tabs for indentation"]


def test_keeping_both_makes_two_lessons(world: World) -> None:
    """It is the person's choice."""
    a_lesson(world.tx, "Use tabs for indentation")
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))

    world.act(lambda tx: choices.keep_both(tx, made.id, 1, ANN, NOW))

    assert len(world.tx.lessons.all(active=True)) == 2


def test_a_merge_onto_its_opposite_is_no_plain_merge(world: World) -> None:
    """An analyst may call them duplicates; the polarity guard does not."""
    lesson = a_lesson(world.tx, "Use npm instead of pnpm")
    made = a_proposal(world.tx, a_finding("Use pnpm instead of npm", Verdict.MERGE, lesson))

    assert made.conflicts == (lesson.id,)
    assert world.refused(lambda tx: proposals.approve(tx, made.id, 1, ANN, NOW)) is not None


def test_what_is_no_conflict_cannot_be_replaced(world: World) -> None:
    """Only what the card names."""
    lesson = a_lesson(world.tx, "Answer in French")
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))

    assert world.refused(lambda tx: choices.replace_lesson(tx, made.id, 1, lesson.id, ANN, NOW)) is not None


def test_the_pass_proposes_near_duplicates_as_one_and_opposites_as_a_choice(world: World) -> None:
    """Each lesson in one proposal; another project's is never among them."""
    a_lesson(world.tx, "Use descriptive variable names with auxiliary verbs")
    a_lesson(world.tx, "Use tabs for indentation")
    a_lesson(world.tx, "Use descriptive names for variables with auxiliary verbs.")
    a_lesson(world.tx, "Use spaces for indentation")
    a_lesson(world.tx, "Use tabs for the indentation", scope=Scope.PROJECT, project=OTHER_PROJECT)
    a_lesson(world.tx, "Answer in French")

    made = world.act(lambda tx: consolidation.consolidate(tx, NOW, ANN))

    found = [(each.lesson, each.absorbs, each.relation, each.conflicts) for each in made]
    assert found == [
        ("l-001", ("l-003",), "duplicate", ()),
        ("l-002", ("l-004",), "contradicts", ("l-002",)),
    ]


def test_a_merge_of_the_pass_sums_and_keeps_the_older_id(world: World) -> None:
    """Approved: the newest wording under the oldest id."""
    a_lesson(world.tx, "Use descriptive variable names with auxiliary verbs")
    a_lesson(world.tx, "Use descriptive names for variables with auxiliary verbs.")
    [made] = world.act(lambda tx: consolidation.consolidate(tx, NOW, ANN))

    world.act(lambda tx: proposals.approve(tx, made.id, 1, ANN, NOW))

    [held] = world.tx.lessons.all(active=True)
    gone = world.tx.lessons.get(lessons.need(world.tx, "l-002").id)
    assert (held.id, held.rule) == ("l-001", "Use descriptive names for variables with auxiliary verbs.")
    assert gone is not None and gone.merged_into == "l-001"


def test_what_a_person_rejected_is_not_asked_again_until_it_changes(world: World) -> None:
    """A second pass finds nothing; another wording asks anew."""
    a_lesson(world.tx, "Use tabs for indentation")
    a_lesson(world.tx, "Use spaces for indentation")
    [made] = world.act(lambda tx: consolidation.consolidate(tx, NOW, ANN))
    world.act(lambda tx: choices.keep_both(tx, made.id, 1, ANN, NOW))

    again = world.act(lambda tx: consolidation.consolidate(tx, NOW, ANN))
    world.act(lambda tx: lessons.edit(tx, "l-002", "Always use spaces for indentation", ANN, NOW))
    changed = world.act(lambda tx: consolidation.consolidate(tx, NOW, ANN))

    assert (again, len(changed), len(world.tx.lessons.all(active=True))) == ([], 1, 2)


def test_a_lesson_that_changed_since_the_survey_is_left_out(world: World) -> None:
    """A survey may take a while."""
    a_lesson(world.tx, "Use tabs for indentation")
    a_lesson(world.tx, "Use spaces for indentation")
    groups = consolidation.survey(world.tx)
    lessons.set_domain(world.tx, "l-001", Domain.DEBUG, ANN, NOW)

    assert consolidation.propose(world.tx, groups, NOW, ANN) == []


def waiting(world: World, id: str = "p-001") -> Proposal:
    """Read a proposal as it stands now."""
    return proposals.need_proposal(world.tx, id)


def test_approval_itself_wants_the_choice(world: World) -> None:
    """learning.md 3.2 holds on every surface, whoever calls: chat, command line, terminal, library."""
    lesson = a_lesson(world.tx, "Use tabs for indentation")
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))

    error = world.refused(lambda tx: proposals.approve(tx, made.id, made.version, ANN, NOW))

    assert isinstance(error, Refused)
    assert (error.key, error.values["lesson"]) == ("proposal.choose", lesson.id)
    assert (waiting(world).state, len(world.tx.lessons.all())) == (State.PENDING, 1)


def test_a_choice_about_one_lesson_is_none_about_another(world: World) -> None:
    """What was not among the lessons the person chose about is asked."""
    a_lesson(world.tx, "Use tabs for indentation")
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))

    error = world.refused(lambda tx: proposals.approve(tx, made.id, 1, ANN, NOW, chosen=("l-009",)))

    assert isinstance(error, Refused)


@pytest.mark.parametrize("decide", [proposals.approve, choices.keep_both])
def test_a_lesson_that_comes_to_contradict_makes_a_new_card(
    world: World, decide: Callable[..., object]
) -> None:
    """Added or reworded since the card was shown: its old buttons decide nothing."""
    other = a_lesson(world.tx, "Answer in French")
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))
    world.act(lambda tx: lessons.edit(tx, other.id, "Use tabs for indentation", BOB, NOW))

    error = world.refused(lambda tx: decide(tx, made.id, made.version, ANN, NOW))

    assert isinstance(error, Stale)
    assert (waiting(world).version, waiting(world).conflicts) == (2, (other.id,))


def test_a_new_lesson_is_compared_with_what_waits(world: World) -> None:
    """By hand, while a card is open."""
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))

    added = world.act(lambda tx: a_lesson(tx, "Use tabs for indentation"))

    assert (waiting(world).version, waiting(world).conflicts) == (made.version + 1, (added.id,))


@pytest.mark.parametrize("words", ["Answer in French", ""])
def test_a_lesson_that_no_longer_contradicts_is_no_choice_any_more(world: World, words: str) -> None:
    """Reworded or disabled: the card is new, and a plain yes counts again."""
    other = a_lesson(world.tx, "Use tabs for indentation")
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))
    if words:
        world.act(lambda tx: lessons.edit(tx, other.id, words, BOB, NOW))
    else:
        world.act(lambda tx: lessons.disable(tx, other.id, BOB, NOW))

    now = waiting(world)

    assert (now.version, now.conflicts) == (made.version + 1, ())
    assert approved(world, now).lesson is not None


def test_another_wording_of_the_opposite_is_another_card(world: World) -> None:
    """It still contradicts, but the person saw other words: "keep both" was about those."""
    other = a_lesson(world.tx, "Use tabs for indentation")
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))
    world.act(lambda tx: lessons.edit(tx, other.id, "Always use tabs for indentation", BOB, NOW))

    error = world.refused(lambda tx: choices.keep_both(tx, made.id, made.version, ANN, NOW))

    assert isinstance(error, Stale) and waiting(world).conflicts == (other.id,)


def test_what_does_not_touch_a_card_leaves_its_version(world: World) -> None:
    """Another project's opposite, and a lesson about something else."""
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))

    a_lesson(world.tx, "Use tabs for indentation", scope=Scope.PROJECT, project=OTHER_PROJECT)
    a_lesson(world.tx, "Answer in French")

    assert waiting(world) == made


def test_an_erased_opposite_is_forgotten(world: World) -> None:
    """A purge takes its words off the card too."""
    other = a_lesson(world.tx, "Use tabs for indentation")
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))

    world.act(lambda tx: purging.lesson(tx, other.id, By(ANN, NOW)))

    assert (waiting(world).conflicts, waiting(world).version) == ((), made.version + 1)


def test_an_undone_approval_is_compared_anew(world: World) -> None:
    """What contradicts it came while it was approved."""
    made = a_proposal(world.tx, a_finding("Use spaces for indentation"))
    approved(world, made)
    other = world.act(lambda tx: a_lesson(tx, "Use tabs for indentation"))

    done = world.act(lambda tx: proposals.undo(tx, made.id, ANN, NOW + 5))

    assert done.proposal.conflicts == (other.id,)


def test_a_merge_whose_target_was_reworded_to_the_opposite_asks(world: World) -> None:
    """It stands on the wording of now, and that one contradicts."""
    target = a_lesson(world.tx, "Use spaces for the indentation")
    made = a_proposal(world.tx, a_finding("Always use spaces for indentation", Verdict.MERGE, target))
    world.act(lambda tx: lessons.edit(tx, target.id, "Never use spaces for indentation", BOB, NOW))

    now = waiting(world)
    error = world.refused(lambda tx: proposals.approve(tx, made.id, now.version, ANN, NOW))

    assert (now.old_rule, now.conflicts) == ("Never use spaces for indentation", (target.id,))
    assert isinstance(error, Refused)
