"""Votes: one a run and person, words that come later, changes of mind, corrections."""

from dataclasses import replace

import pytest

from core.errors import Invalid, NotFound, Refused
from core.model.feedback import Source, Vote
from core.model.ids import RunId
from core.model.lesson import Domain
from core.model.proposal import AnalysisState, State, Verdict
from core.services import analysis, feedback, lessons
from core.services.feedback import Ballot
from tests.factories import (
    ANN,
    BOB,
    World,
    a_finding,
    a_lesson,
    a_run,
    a_session,
    analysed,
    approved,
    bad,
    cast,
    good,
)


@pytest.fixture
def world() -> World:
    """One session with a run that was told l-001 (general) and l-002 (debug)."""
    world = World()
    a_session(world.tx)
    told = [a_lesson(world.tx).id, a_lesson(world.tx, "Reproduce the bug first", Domain.DEBUG).id]
    a_run(world.tx, told=[*told, "bash:npm:test"])
    return world


def positives(world: World) -> list[int]:
    return [each.positive_examples for each in world.tx.lessons.all()]


def test_a_first_vote_is_stored_with_what_its_run_was_about(world: World) -> None:
    """The record has the nine fields of learning.md 1 filled from the run."""
    done = bad(world, comment="no tests ran")
    assert done.is_changed
    assert (done.feedback.project, done.feedback.context) == ("/srv/shop", "Add a discount field")
    assert world.tx.feedback.current(RunId("r-1"), ANN) == done.feedback


def test_a_good_vote_counts_for_told_lessons_of_the_runs_domain_only(world: World) -> None:
    """product.md 1.2: domain of the lesson = domain of the run."""
    good(world)
    assert positives(world) == [1, 0]


def test_a_good_vote_counts_for_a_told_lesson_that_is_no_longer_active(world: World) -> None:
    """The run was told it, whatever became of it since."""
    world.act(lambda tx: lessons.disable(tx, "l-001", ANN, world.now))
    good(world)
    assert positives(world) == [1, 0]


def test_the_same_vote_again_has_no_effect(world: World) -> None:
    """Taps repeat without effect."""
    first = good(world)
    second = good(world)
    assert (second.is_changed, second.feedback) == (False, first.feedback)
    assert positives(world) == [1, 0]


def test_two_people_vote_on_one_run_each_for_themselves(world: World) -> None:
    """One vote per run and person."""
    good(world)
    good(world, user=BOB)
    assert positives(world) == [2, 0]


def test_good_after_bad_and_back_counts_each_exactly_once(world: World) -> None:
    """Whatever a vote counted is taken back with it."""
    for vote in (good, bad, good, bad, good):
        vote(world)
    assert positives(world) == [1, 0]
    assert len(world.tx.feedback.newest(10)) == 1


def test_a_withdrawn_vote_leaves_nothing_counted(world: World) -> None:
    """Removing the reaction takes the vote back."""
    good(world)
    done = cast(world, Vote.WITHDRAWN)
    assert (done.is_changed, positives(world)) == (True, [0, 0])
    assert world.tx.feedback.newest(10) == []


def test_taking_back_what_was_never_given_is_refused(world: World) -> None:
    """There is no record to supersede."""
    assert isinstance(world.refused(lambda tx: _vote(world, Vote.WITHDRAWN)), Refused)


def _vote(world: World, vote: Vote, run: str = "r-1", reasons: tuple[str, ...] = ()) -> object:
    ballot = Ballot(RunId(run), ANN, vote, Source.CLI, reasons=reasons)
    return feedback.vote(world.tx, world.ids, ballot, world.now, 0.0)


def test_a_vote_on_an_unknown_run_is_not_found(world: World) -> None:
    """A line that says so, no record."""
    assert isinstance(world.refused(lambda tx: _vote(world, Vote.POSITIVE, "r-9")), NotFound)


def test_an_unknown_reason_is_invalid(world: World) -> None:
    """The reasons are a closed set."""
    assert isinstance(world.refused(lambda tx: _vote(world, Vote.NEGATIVE, reasons=("meh",))), Invalid)


def test_a_vote_without_a_run_keeps_its_project(world: World) -> None:
    """The terminal may vote where nothing was recorded."""
    ballot = Ballot(None, ANN, Vote.NEGATIVE, Source.CLI, "no tests ran", project="/srv/blog")
    done = world.act(lambda tx: feedback.vote(tx, world.ids, ballot, world.now, 20.0))
    assert (done.feedback.run, done.feedback.project) == (None, "/srv/blog")
    assert done.analysis is not None


def test_a_silent_bad_vote_is_analysed_after_the_delay(world: World) -> None:
    """20 s by default: time for a reason or a change of mind."""
    done = cast(world, Vote.NEGATIVE, delay_s=20.0)
    assert done.analysis is not None
    assert (done.analysis.state, done.analysis.due) == (AnalysisState.OPEN, world.now + 20)
    assert analysis.claim(world.tx, world.now + 19) is None
    assert analysis.claim(world.tx, world.now + 20) is not None


def test_a_bad_vote_with_words_is_analysed_at_once(world: World) -> None:
    """`/bad comment` needs no wait."""
    done = cast(world, Vote.NEGATIVE, comment="no tests ran", delay_s=20.0)
    assert done.analysis is not None
    assert done.analysis.state is AnalysisState.READY


def test_a_reason_starts_the_analysis(world: World) -> None:
    """product.md 1.3.1."""
    vote = cast(world, Vote.NEGATIVE).feedback
    done = world.act(lambda tx: feedback.add_reason(tx, vote.id, ANN, "too_slow", world.now))
    assert done.feedback.reasons == ("too_slow",)
    assert done.analysis is not None
    assert done.analysis.state is AnalysisState.READY


def test_a_reason_is_taken_from_the_voter_only(world: World) -> None:
    """In groups others see the buttons too."""
    vote = cast(world, Vote.NEGATIVE).feedback
    error = world.refused(lambda tx: feedback.add_reason(tx, vote.id, BOB, "too_slow", world.now))
    assert isinstance(error, Refused)


def test_other_waits_five_minutes_for_the_comment(world: World) -> None:
    """product.md 1.3.1."""
    vote = cast(world, Vote.NEGATIVE).feedback
    world.act(lambda tx: feedback.await_comment(tx, vote.id, ANN, world.now))
    assert analysis.claim(world.tx, world.now + 299) is None
    assert analysis.claim(world.tx, world.now + 300) is not None


def test_the_comment_starts_the_analysis_and_secrets_in_it_are_masked(world: World) -> None:
    """S6: masked before disk."""
    vote = cast(world, Vote.NEGATIVE).feedback
    said = "use PASSWORD=hunter2hunter2 never"
    done = world.act(lambda tx: feedback.add_comment(tx, vote.id, ANN, said, world.now))
    assert "hunter2" not in done.feedback.user_comment
    assert analysis.claim(world.tx, world.now) is not None


def test_just_note_it_keeps_the_vote_and_analyses_nothing(world: World) -> None:
    """product.md 1.3.1."""
    vote = cast(world, Vote.NEGATIVE).feedback
    world.act(lambda tx: feedback.just_note(tx, vote.id, ANN, world.now))
    assert analysis.claim(world.tx, world.now + 999) is None
    assert world.tx.feedback.current(RunId("r-1"), ANN) == vote


def test_words_after_just_note_it_start_the_analysis_after_all(world: World) -> None:
    """`/bad comment` about a noted answer is a new wish."""
    vote = cast(world, Vote.NEGATIVE).feedback
    world.act(lambda tx: feedback.just_note(tx, vote.id, ANN, world.now))
    bad(world, comment="no tests ran")
    assert analysis.claim(world.tx, world.now) is not None


def test_a_comment_on_a_repeated_bad_vote_goes_to_the_analysis(world: World) -> None:
    """No second record, one evidence."""
    first = bad(world)
    second = bad(world, comment="no tests ran")
    assert (second.is_changed, second.feedback.id) == (False, first.feedback.id)
    claimed = analysis.claim(world.tx, world.now)
    assert claimed is not None
    assert analysis.evidence(world.tx, claimed).words == "no tests ran"


@pytest.mark.parametrize("when", ["open", "running"])
def test_good_after_bad_cancels_the_analysis(world: World, when: str) -> None:
    """product.md 1.2, also while the analyst is at it."""
    bad(world)
    claimed = analysis.claim(world.tx, world.now) if when == "running" else None
    good(world)
    assert analysis.claim(world.tx, world.now + 999) is None
    if claimed is not None:
        late = analysis.conclude(world.tx, claimed.id, a_finding(), world.now)
        assert (late.is_stale, late.proposal) == (True, None)


def test_good_after_bad_withdraws_the_undecided_proposal(world: World) -> None:
    """product.md 1.2."""
    bad(world)
    proposal = analysed(world, a_finding()).proposal
    assert proposal is not None
    done = good(world)
    held = world.tx.proposals.get(proposal.id)
    assert held is not None
    assert (done.withdrawn, held.state) == ((proposal.id,), State.WITHDRAWN)


def test_good_after_bad_leaves_an_approved_lesson_and_its_card_says_so(world: World) -> None:
    """product.md 1.2: an approved lesson stays."""
    bad(world)
    proposal = analysed(world, a_finding()).proposal
    assert proposal is not None
    lesson = approved(world, proposal).lesson
    assert lesson is not None
    good(world)
    card = lessons.card(world.tx, lesson.id)
    assert card.lesson.active
    assert [each.id for each in card.withdrawn] == [proposal.feedback]


def test_good_after_bad_takes_a_violation_back(world: World) -> None:
    """It reverses what the 👎 counted."""
    bad(world)
    lesson = world.tx.lessons.all()[0]
    assert analysed(world, a_finding("", Verdict.VIOLATED, lesson)).violations == 1
    good(world)
    assert world.tx.lessons.all()[0].violations == 0


def test_a_correction_within_five_minutes_joins_the_analysis(world: World) -> None:
    """product.md 1.3.2; the lane finds its session."""
    bad(world, comment="no tests ran")
    done = world.act(lambda tx: feedback.remark(tx, ANN, "chat", "use pnpm here", world.now + 299))
    assert done is not None
    claimed = analysis.claim(world.tx, world.now)
    assert claimed is not None
    assert analysis.evidence(world.tx, claimed).words == "no tests ran\nuse pnpm here"


@pytest.mark.parametrize(("user", "later_s"), [(ANN, 301.0), (BOB, 10.0)])
def test_a_message_later_or_of_another_person_is_no_correction(
    world: World, user: str, later_s: float
) -> None:
    """Only the voter's, within 5 minutes."""
    bad(world)
    assert feedback.remark(world.tx, user, "s-1", "use pnpm", world.now + later_s) is None


def test_only_the_first_message_is_a_correction(world: World) -> None:
    """product.md 1.3.2."""
    bad(world)
    assert feedback.remark(world.tx, ANN, "s-1", "use pnpm", world.now) is not None
    assert feedback.remark(world.tx, ANN, "s-1", "and then?", world.now) is None


def test_a_correction_after_a_good_vote_is_none(world: World) -> None:
    """A changed mind needs no evidence."""
    bad(world)
    good(world)
    assert feedback.remark(world.tx, ANN, "s-1", "use pnpm", world.now) is None


def test_a_correction_after_the_analysis_is_offered_on_the_undecided_card(world: World) -> None:
    """`Reword with this remark` has its text ready; what the card shows is the same version."""
    bad(world)
    proposal = analysed(world, a_finding()).proposal
    assert proposal is not None
    done = world.act(lambda tx: feedback.remark(tx, ANN, "s-1", "use pnpm", world.now))
    assert done is not None
    assert done.proposal == replace(proposal, remark="use pnpm")
