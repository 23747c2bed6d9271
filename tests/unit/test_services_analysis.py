"""From a 👎 to a proposal: claims, evidence, the five verdicts, late ones, restarts, other ways out."""

from dataclasses import replace

import pytest

from core.errors import Invalid, Refused, Stale
from core.model.ids import LessonId
from core.model.lesson import Scope
from core.model.proposal import AnalysisState, Finding, Origin, State, Verdict
from core.services import analysis, feedback, lessons, proposals, purging
from core.services.changes import By
from tests.factories import (
    ANN,
    BOB,
    OTHER_PROJECT,
    PROJECT,
    World,
    a_finding,
    a_lesson,
    a_run,
    a_session,
    analysed,
    approved,
    bad,
    good,
)


@pytest.fixture
def world() -> World:
    """One session with a run that was told l-001."""
    world = World()
    a_session(world.tx)
    a_run(world.tx, told=[a_lesson(world.tx).id])
    return world


def told(world: World) -> Finding:
    """A verdict that names the told lesson."""
    return a_finding("Run every test before committing", Verdict.MERGE, world.tx.lessons.all()[0])


def test_an_analysis_is_claimed_once(world: World) -> None:
    """One at a time a vote."""
    bad(world)
    assert analysis.claim(world.tx, world.now) is not None
    assert analysis.claim(world.tx, world.now) is None


def test_the_time_of_the_next_analysis_is_known(world: World) -> None:
    """The worker sleeps until then."""
    assert analysis.next_due(world.tx) is None
    vote = bad(world).feedback
    feedback.await_comment(world.tx, vote.id, ANN, world.now)
    assert analysis.next_due(world.tx) == world.now + 300


def test_what_a_restart_cut_off_runs_again_three_times_at_most(world: World) -> None:
    """product.md 1.3.4: then the card with Retry."""
    bad(world)
    for _ in range(3):
        assert analysis.claim(world.tx, world.now) is not None
        failed = analysis.recover(world.tx, world.now)
    assert [each.state for each in failed] == [AnalysisState.FAILED]
    assert analysis.claim(world.tx, world.now) is None


def test_evidence_has_the_run_its_words_and_three_exchanges_before_it(world: World) -> None:
    """product.md 1.3.3."""
    for number in range(2, 7):
        a_run(world.tx, f"r-{number}", prompt=f"Prompt {number}")
    bad(world, "r-6", comment="no tests ran")
    claimed = analysis.claim(world.tx, world.now)
    assert claimed is not None
    seen = analysis.evidence(world.tx, claimed)
    assert [each.prompt for each in seen.before] == ["Prompt 3", "Prompt 4", "Prompt 5"]
    assert (seen.run and seen.run.prompt, seen.words) == ("Prompt 6", "no tests ran")


def test_evidence_never_shows_lessons_of_another_project(world: World) -> None:
    """Scope is strict."""
    a_lesson(world.tx, "Use pnpm here", scope=Scope.PROJECT, project=PROJECT)
    a_lesson(world.tx, "Use yarn there", scope=Scope.PROJECT, project=OTHER_PROJECT)
    bad(world)
    claimed = analysis.claim(world.tx, world.now)
    assert claimed is not None
    assert [each.id for each in analysis.evidence(world.tx, claimed).in_scope] == ["l-001", "l-002"]


def test_evidence_keeps_told_lessons_when_there_are_more_than_sixty(world: World) -> None:
    """Beyond 60 the newest, but what was told always."""
    for number in range(70):
        a_lesson(world.tx, f"Rule number {number}")
    bad(world)
    claimed = analysis.claim(world.tx, world.now)
    assert claimed is not None
    ids = [each.id for each in analysis.evidence(world.tx, claimed).in_scope]
    assert (len(ids), ids[0], ids[-1]) == (60, "l-001", "l-071")


def test_a_new_lesson_is_proposed_and_nothing_is_a_lesson_before_approval(world: World) -> None:
    """Promise 1."""
    bad(world, comment="too large")
    done = analysed(world, a_finding())
    assert done.proposal is not None
    assert (done.verdict, done.proposal.evidence) == (Verdict.NEW, "too large")
    assert len(world.tx.lessons.all()) == 1


def test_a_second_conclusion_of_the_same_analysis_changes_nothing(world: World) -> None:
    """D3: exactly one proposal a vote."""
    bad(world)
    first = analysed(world, a_finding())
    second = analysis.conclude(world.tx, first.analysis.id, a_finding("Another"), world.now)
    assert second.is_stale
    assert [each.rule for each in world.tx.proposals.all()] == [first.proposal and first.proposal.rule]


def test_a_merge_shows_the_old_wording_and_keeps_the_place(world: World) -> None:
    """product.md 1.4."""
    bad(world)
    made = analysed(world, told(world)).proposal
    assert made is not None
    assert (made.lesson, made.old_rule) == ("l-001", "Run the tests before committing")
    assert made.rule == "Run every test before committing"


def test_a_violated_lesson_counts_once_a_vote(world: World) -> None:
    """product.md 1.3.3."""
    bad(world)
    lesson = world.tx.lessons.all()[0]
    done = analysed(world, a_finding("", Verdict.VIOLATED, lesson))
    assert (done.verdict, done.violations, done.proposal) == (Verdict.VIOLATED, 1, None)
    assert done.analysis.lesson == lesson.id


def violated_three_times(world: World, rule: str) -> analysis.Conclusion:
    for number in range(3):
        a_run(world.tx, f"v-{number}", told=["l-001"])
        bad(world, f"v-{number}")
        lesson = world.tx.lessons.all()[0]
        done = analysed(world, a_finding(rule, Verdict.VIOLATED, lesson))
    return done


def test_the_third_violation_offers_the_sharper_wording_unasked(world: World) -> None:
    """product.md 1.3.3."""
    done = violated_three_times(world, "Run all tests and show their output before each commit")
    assert done.proposal is not None
    assert (done.violations, done.proposal.verdict, done.proposal.lesson) == (3, Verdict.MERGE, "l-001")


def test_the_third_violation_without_a_wording_asks_the_analyst_for_one(world: World) -> None:
    """product.md 1.3.3."""
    done = violated_three_times(world, "")
    assert (done.analysis.state, done.analysis.sharpen) == (AnalysisState.READY, "l-001")
    sharper = analysed(world, a_finding("Show the test output before each commit"))
    assert sharper.proposal is not None
    assert (sharper.proposal.verdict, sharper.proposal.lesson) == (Verdict.MERGE, "l-001")


def test_sharpen_now_makes_a_merge_of_the_broken_lesson(world: World) -> None:
    """The button on the first and second violation."""
    vote = bad(world).feedback
    analysed(world, a_finding("", Verdict.VIOLATED, world.tx.lessons.all()[0]))
    world.act(lambda tx: analysis.sharpen(tx, "l-001", vote.id, world.now))
    done = analysed(world, a_finding("Show the test output before each commit"))
    assert done.proposal is not None
    assert (done.proposal.verdict, done.proposal.lesson) == (Verdict.MERGE, "l-001")
    assert world.tx.lessons.all()[0].violations == 1


def test_sharpen_now_is_refused_where_the_vote_has_its_proposal(world: World) -> None:
    """One proposal a vote."""
    vote = bad(world).feedback
    analysed(world, told(world))
    error = world.refused(lambda tx: analysis.sharpen(tx, "l-001", vote.id, world.now))
    assert isinstance(error, Refused)


def test_a_harmful_lesson_is_named_only_if_it_was_told(world: World) -> None:
    """product.md 1.3.3: a told lesson caused this."""
    untold = a_lesson(world.tx, "Squash all commits")
    bad(world)
    assert analysed(world, a_finding(untold.rule, Verdict.HARMFUL, untold)).verdict is Verdict.NONE
    bad(world, user=BOB)
    done = analysed(world, a_finding("", Verdict.HARMFUL, world.tx.lessons.all()[0]))
    assert done.proposal is not None
    assert (done.proposal.verdict, done.proposal.lesson) == (Verdict.HARMFUL, "l-001")


def test_nothing_to_learn_says_why(world: World) -> None:
    """One line, with Write it myself."""
    bad(world)
    done = analysed(world, Finding(Verdict.NONE, cause="The request was unclear"))
    assert (done.verdict, done.note, done.proposal) == (Verdict.NONE, "The request was unclear", None)
    assert done.analysis.note == "The request was unclear"


def test_a_new_rule_that_an_active_lesson_says_word_for_word_counts_as_its_violation(world: World) -> None:
    """learning.md 3.4: the only automatic merge."""
    bad(world)
    done = analysed(world, a_finding("  run the TESTS before committing. "))
    assert (done.verdict, done.violations) == (Verdict.VIOLATED, 1)
    assert world.tx.proposals.all() == []


def test_a_rule_that_only_another_projects_lesson_says_is_new(world: World) -> None:
    """Scope is strict."""
    a_lesson(world.tx, "Use yarn", scope=Scope.PROJECT, project=OTHER_PROJECT)
    bad(world)
    assert analysed(world, a_finding("Use yarn", scope=Scope.PROJECT)).verdict is Verdict.NEW


@pytest.mark.parametrize("words", ["", "too large"])
def test_the_same_is_not_proposed_again_after_a_rejection(world: World, words: str) -> None:
    """product.md 1.4: without new evidence."""
    bad(world, comment="too large")
    made = analysed(world, a_finding()).proposal
    assert made is not None
    world.act(lambda tx: proposals.reject(tx, made.id, made.version, ANN, world.now))
    bad(world, user=BOB, comment=words)
    done = analysed(world, a_finding(made.rule.upper()))
    assert (done.verdict, done.why) == (Verdict.NONE, "none.rejected_before")


def test_new_words_are_new_evidence_for_what_was_rejected(world: World) -> None:
    """product.md 1.4."""
    bad(world, comment="too large")
    made = analysed(world, a_finding()).proposal
    assert made is not None
    world.act(lambda tx: proposals.reject(tx, made.id, made.version, ANN, world.now))
    bad(world, user=BOB, comment="I could not review 40 files at once")
    assert analysed(world, a_finding(made.rule)).verdict is Verdict.NEW


def test_a_verdict_about_an_old_wording_is_made_again_never_applied(world: World) -> None:
    """learning.md 3: no lost update."""
    bad(world)
    claimed = analysis.claim(world.tx, world.now)
    assert claimed is not None
    seen = analysis.evidence(world.tx, claimed)
    world.act(lambda tx: lessons.edit(tx, "l-001", "Run the tests twice", ANN, world.now))
    done = world.act(lambda tx: analysis.conclude(tx, claimed.id, told(world), world.now, seen))
    assert (done.is_stale, done.analysis.state) == (True, AnalysisState.READY)
    assert world.tx.proposals.all() == []
    again = analysed(world, told(world)).proposal
    assert again is not None
    assert again.old_rule == "Run the tests twice"


def test_a_verdict_without_words_that_came_meanwhile_is_made_again(world: World) -> None:
    """product.md 1.3.2: the correction goes to the analysis if that has not ended."""
    bad(world)
    claimed = analysis.claim(world.tx, world.now)
    assert claimed is not None
    seen = analysis.evidence(world.tx, claimed)
    world.act(lambda tx: feedback.remark(tx, ANN, "s-1", "use pnpm here", world.now))
    done = world.act(lambda tx: analysis.conclude(tx, claimed.id, a_finding(), world.now, seen))
    assert (done.is_stale, done.analysis.state) == (True, AnalysisState.READY)


@pytest.mark.parametrize("verdict", [Verdict.MERGE, Verdict.VIOLATED, Verdict.HARMFUL])
@pytest.mark.parametrize("is_erased", [True, False])
def test_a_verdict_about_a_lesson_that_is_gone_is_made_again(
    world: World, verdict: Verdict, is_erased: bool
) -> None:
    """Disabled or erased while the analyst read: nothing is counted, nothing proposed on its old words."""
    bad(world)
    claimed = analysis.claim(world.tx, world.now)
    assert claimed is not None
    seen, about = analysis.evidence(world.tx, claimed), replace(told(world), verdict=verdict)
    if is_erased:
        world.act(lambda tx: purging.lesson(tx, "l-001", By(ANN, world.now)))
    else:
        world.act(lambda tx: lessons.disable(tx, "l-001", ANN, world.now))

    done = world.act(lambda tx: analysis.conclude(tx, claimed.id, about, world.now, seen))

    assert (done.is_stale, done.analysis.state) == (True, AnalysisState.READY)
    assert world.tx.proposals.all() == []
    assert [each.violations for each in world.tx.lessons.all()] == ([] if is_erased else [0])


@pytest.mark.parametrize("tries", [1, 3])
def test_a_late_rewording_never_overwrites_what_a_person_wrote(world: World, tries: int) -> None:
    """Edited on the card while the analyst worded it: also at the last try."""
    bad(world)
    made = analysed(world, a_finding()).proposal
    assert made is not None
    world.act(lambda tx: analysis.reword(tx, made.id, "shorter", world.now))
    claimed = analysis.claim(world.tx, world.now)
    assert claimed is not None
    world.tx.proposals.put_analysis(replace(claimed, tries=tries))
    seen = analysis.evidence(world.tx, claimed)
    world.act(lambda tx: proposals.edit(tx, made.id, made.version, "In my own words", ANN, world.now))

    done = world.act(lambda tx: analysis.conclude(tx, claimed.id, a_finding("Late"), world.now, seen))

    assert done.is_stale
    assert [each.rule for each in world.tx.proposals.all()] == ["In my own words"]


def test_a_rewording_of_a_merge_is_made_again_when_its_lesson_changed(world: World) -> None:
    """The remark was answered on the old wording of the lesson."""
    bad(world)
    made = analysed(world, told(world)).proposal
    assert made is not None
    world.act(lambda tx: analysis.reword(tx, made.id, "shorter", world.now))
    claimed = analysis.claim(world.tx, world.now)
    assert claimed is not None
    seen = analysis.evidence(world.tx, claimed)
    world.act(lambda tx: lessons.edit(tx, "l-001", "Run the tests twice", ANN, world.now))

    done = world.act(lambda tx: analysis.conclude(tx, claimed.id, a_finding("Late"), world.now, seen))

    assert (done.is_stale, done.analysis.state) == (True, AnalysisState.READY)


def test_a_lesson_that_is_erased_is_not_sharpened(world: World) -> None:
    """It ends with one line, not with a failure that Retry repeats."""
    vote = bad(world).feedback
    analysed(world, replace(told(world), verdict=Verdict.VIOLATED))
    world.act(lambda tx: analysis.sharpen(tx, "l-001", vote.id, world.now))
    world.act(lambda tx: purging.lesson(tx, "l-001", By(ANN, world.now)))

    done = analysed(world, a_finding("Run every test twice"))

    assert (done.verdict, done.why) == (Verdict.NONE, "none.not_sharper")
    assert world.tx.proposals.all() == []


def test_a_lesson_that_changes_at_every_try_ends_in_the_card_with_retry(world: World) -> None:
    """Bounded: three tries."""
    bad(world)
    for number in range(3):
        claimed = analysis.claim(world.tx, world.now)
        assert claimed is not None
        seen = analysis.evidence(world.tx, claimed)
        lessons.edit(world.tx, "l-001", f"Wording {number}", ANN, world.now)
        done = analysis.conclude(world.tx, claimed.id, told(world), world.now, seen)
    assert (done.is_stale, done.analysis.state) == (True, AnalysisState.FAILED)


def test_a_rule_that_is_too_long_fails_the_analysis(world: World) -> None:
    """The analyst's own fault is the card with Retry, nothing half applied."""
    bad(world)
    done = analysed(world, a_finding("long " * 100))
    assert (done.analysis.state, done.analysis.error) == (AnalysisState.FAILED, "analysis.unusable")
    assert world.tx.proposals.all() == []


def test_a_failed_analysis_can_be_retried_and_a_cancelled_one_cannot(world: World) -> None:
    """product.md 1.3.4."""
    bad(world)
    claimed = analysis.claim(world.tx, world.now)
    assert claimed is not None
    analysis.fail(world.tx, claimed.id, "timed out", world.now)
    assert analysis.retry(world.tx, claimed.id, world.now).state is AnalysisState.READY
    good(world)
    assert analysis.retry(world.tx, claimed.id, world.now).state is AnalysisState.CANCELLED


def test_a_retry_has_three_tries_again(world: World) -> None:
    """The person asked for it."""
    vote = bad(world).feedback
    for _ in range(3):
        assert analysis.claim(world.tx, world.now) is not None
        analysis.recover(world.tx, world.now)
    analysis.retry(world.tx, vote.id, world.now)
    again = analysis.claim(world.tx, world.now)
    assert again is not None
    assert again.tries == 1


def test_use_my_words_proposes_what_the_person_said(world: World) -> None:
    """Origin: the person."""
    vote = bad(world, comment="Always run the linter").feedback
    made = world.act(lambda tx: analysis.use_my_words(tx, vote.id, world.now))
    assert (made.rule, made.origin) == ("Always run the linter", Origin.PERSON)
    assert analysis.claim(world.tx, world.now) is None


def test_use_my_words_without_words_asks_for_some(world: World) -> None:
    """Nothing to propose."""
    vote = bad(world).feedback
    assert isinstance(world.refused(lambda tx: analysis.use_my_words(tx, vote.id, world.now)), Invalid)


def test_write_it_myself_after_nothing_to_learn_proposes_the_text(world: World) -> None:
    """product.md 1.3.3."""
    vote = bad(world).feedback
    analysed(world, Finding(Verdict.NONE))
    made = world.act(lambda tx: analysis.write_myself(tx, vote.id, "Ask before deleting", world.now))
    assert (made.rule, made.state, made.feedback) == ("Ask before deleting", State.PENDING, vote.id)


def test_an_own_wording_for_a_vote_that_was_taken_back_is_refused(world: World) -> None:
    """The card is out of date."""
    vote = bad(world).feedback
    good(world)
    error = world.refused(lambda tx: analysis.write_myself(tx, vote.id, "Ask first", world.now))
    assert isinstance(error, Refused)


def test_rewording_with_a_remark_makes_the_next_version_of_the_same_proposal(world: World) -> None:
    """One proposal a vote."""
    bad(world)
    made = analysed(world, a_finding()).proposal
    assert made is not None
    world.act(lambda tx: analysis.reword(tx, made.id, "shorter please", world.now))
    claimed = world.tx.proposals.analyses([AnalysisState.READY])[0]
    seen = analysis.evidence(world.tx, claimed)
    assert (seen.remark, seen.draft) == ("shorter please", made.rule)
    again = analysed(world, a_finding("Small steps")).proposal
    assert again is not None
    assert (again.id, again.version, again.rule) == (made.id, 2, "Small steps")


def test_a_rewording_that_comes_after_the_decision_changes_nothing(world: World) -> None:
    """What was approved is what was shown."""
    bad(world)
    made = analysed(world, a_finding()).proposal
    assert made is not None
    world.act(lambda tx: analysis.reword(tx, made.id, "shorter please", world.now))
    approved(world, made)
    done = analysed(world, a_finding("Small steps"))
    assert (done.verdict, done.why) == (Verdict.NONE, "analysis.decided")
    assert world.tx.lessons.all()[-1].rule == made.rule


def test_rewording_a_decided_proposal_is_refused_with_the_card(world: World) -> None:
    """The button is out of date."""
    bad(world)
    made = analysed(world, a_finding()).proposal
    assert made is not None
    approved(world, made)
    error = world.refused(lambda tx: analysis.reword(tx, made.id, "shorter", world.now))
    assert isinstance(error, Stale)


def test_rewording_a_harmful_lesson_proposes_the_wording_for_it(world: World) -> None:
    """`Reword` on the harmful card."""
    bad(world)
    lesson = world.tx.lessons.all()[0]
    made = analysed(world, a_finding("", Verdict.HARMFUL, lesson)).proposal
    assert made is not None
    world.act(lambda tx: analysis.reword(tx, made.id, "only for code", world.now))
    done = analysed(world, a_finding("Run the tests before committing code")).proposal
    assert done is not None
    assert (done.verdict, done.lesson, done.version) == (Verdict.MERGE, "l-001", 2)


def test_a_lesson_the_analyst_made_up_is_treated_as_none(world: World) -> None:
    """A name from a model is no lesson."""
    bad(world)
    finding = replace(told(world), lesson=LessonId("l-999"))
    assert analysed(world, finding).verdict is Verdict.NEW
