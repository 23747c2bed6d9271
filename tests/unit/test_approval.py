"""The human gate as rules: steps, versions, undo, cycles, votes."""

from dataclasses import replace

import pytest

from core.errors import Refused, Stale
from core.model.feedback import Vote
from core.model.ids import FeedbackId, LessonId, ProposalId
from core.model.lesson import Domain, Lesson, Scope
from core.model.proposal import Origin, Proposal, State, Verdict
from core.rules import approval
from core.rules.approval import Step, Turn

PENDING = Proposal(
    id=ProposalId("p-001"),
    key="vote:f-1",
    state=State.PENDING,
    version=3,
    verdict=Verdict.MERGE,
    rule="Run the tests first",
    rationale="",
    domain=Domain.DEBUG,
    scope=Scope.GLOBAL,
    project="/srv/shop",
    origin=Origin.AGENT,
    created=0.0,
    lesson=LessonId("l-001"),
    lesson_revision=2,
    old_rule="Run tests",
)
LESSON = Lesson(LessonId("l-001"), "", Domain.DEBUG, "Run all tests", "", revision=5)


@pytest.mark.parametrize("state", [each for each in State if each is not State.PENDING])
@pytest.mark.parametrize("what", [each for each in Step if each is not Step.UNDO])
def test_only_a_pending_proposal_can_be_decided(state: State, what: Step) -> None:
    """Rule 1: every other state refuses every step but an undo."""
    with pytest.raises(Stale, match=r"proposal\.decided"):
        approval.step(replace(PENDING, state=state), what)


def test_another_version_than_shown_is_refused_with_the_current_one() -> None:
    """Rule 1: the error carries the card that stands there now."""
    with pytest.raises(Stale, match=r"proposal\.changed") as caught:
        approval.require(PENDING, 2)
    assert caught.value.values["proposal"] == PENDING


def test_a_decision_says_who_and_when() -> None:
    """The card shows both."""
    done = approval.decided(PENDING, Step.APPROVE, "ann", 7.0)
    assert (done.state, done.decided_by, done.decided_at) == (State.APPROVED, "ann", 7.0)


@pytest.mark.parametrize("state", [State.PENDING, State.WITHDRAWN, State.EXPIRED])
def test_what_nobody_decided_cannot_be_undone(state: State) -> None:
    """Rule 3: only a person's decision is taken back."""
    with pytest.raises(Stale, match=r"undo\.nothing"):
        approval.undone(replace(PENDING, state=state), 0.0)


@pytest.mark.parametrize("what", [Step.APPROVE, Step.REJECT])
def test_an_undo_within_ten_minutes_makes_it_wait_again_as_a_new_version(what: Step) -> None:
    """Rules 2 and 3: an old button does not decide the new card."""
    done = approval.decided(PENDING, what, "ann", 100.0)
    waiting = approval.undone(done, 700.0)
    assert (waiting.state, waiting.version, waiting.decided_by) == (State.PENDING, 4, None)


def test_an_undo_after_ten_minutes_is_refused() -> None:
    """Rule 3."""
    done = approval.decided(PENDING, Step.APPROVE, "ann", 100.0)
    with pytest.raises(Refused, match=r"undo\.late"):
        approval.undone(done, 700.1)


def test_a_lesson_that_changes_makes_a_new_version_on_its_new_wording() -> None:
    """Rule 4: the person sees what the merge would replace."""
    followed = approval.follow(PENDING, LESSON)
    assert (followed.version, followed.lesson_revision, followed.old_rule) == (4, 5, "Run all tests")


def test_a_merge_whose_lesson_is_gone_stands_alone() -> None:
    """Rule 4: with a vote behind it the wording is still worth a decision."""
    alone = approval.follow(replace(PENDING, feedback=FeedbackId("f-1")), replace(LESSON, active=False))
    assert (alone.verdict, alone.lesson, alone.state) == (Verdict.NEW, None, State.PENDING)


def test_a_harmful_verdict_whose_lesson_is_gone_is_withdrawn() -> None:
    """Rule 4: there is nothing left to disable."""
    harmful = replace(PENDING, verdict=Verdict.HARMFUL)
    assert State.WITHDRAWN is approval.follow(harmful, replace(LESSON, active=False)).state


def test_a_merge_of_lessons_with_one_left_is_withdrawn() -> None:
    """Rule 4: there is nothing left to merge."""
    pair = replace(PENDING, absorbs=("l-002", "l-003"))
    gone = replace(LESSON, active=False)
    three = approval.follow(pair, replace(gone, id=LessonId("l-002")))
    assert (three.absorbs, three.state) == (("l-003",), State.PENDING)
    assert State.WITHDRAWN is approval.follow(three, replace(gone, id=LessonId("l-003"))).state


def test_a_lesson_that_moved_to_another_project_is_out_of_reach() -> None:
    """Scope is strict: no merge across projects."""
    moved = replace(LESSON, scope=Scope.PROJECT, project="/srv/blog")
    assert State.WITHDRAWN is approval.follow(PENDING, moved).state


def test_the_scope_cycle_leaves_project_out_where_there_is_none() -> None:
    """A lesson of no project cannot be a project's."""
    assert Scope.PROJECT is approval.next_scope(Scope.GLOBAL, "/srv/shop")
    assert Scope.DOMAIN is approval.next_scope(Scope.GLOBAL, None)


def test_the_domain_cycle_comes_back_to_where_it_began() -> None:
    """Five taps show all five."""
    domain = Domain.DEBUG
    seen = [domain := approval.next_domain(domain) for _ in Domain]
    assert (set(Domain), Domain.DEBUG) == (set(seen), seen[-1])


def test_reminder_and_expiry_come_after_two_and_fourteen_days() -> None:
    """product.md 1.4."""
    day = 86_400.0
    assert not approval.is_to_be_reminded(PENDING, 2 * day - 1)
    assert approval.is_to_be_reminded(PENDING, 2 * day)
    assert tuple(approval.is_expired(PENDING, 14 * day + shift) for shift in (-1, 0)) == (False, True)


@pytest.mark.parametrize(
    "other", ["run  the TESTS first.", "Run the tests first !", "Rún the tests first…", "run the tests first"]
)
def test_case_spacing_accents_and_final_punctuation_do_not_make_a_rule_another(other: str) -> None:
    """learning.md 3.4: the only equality that merges by itself."""
    assert approval.folded("Run the tests first") == approval.folded(other)


@pytest.mark.parametrize(
    "other", ["Do not run the tests first", "Run the test first", "Run the tests, first"]
)
def test_another_word_makes_a_rule_another(other: str) -> None:
    """Nothing else is equal, however similar."""
    assert approval.folded("Run the tests first") != approval.folded(other)


@pytest.mark.parametrize(
    ("scope", "project", "domain", "expected"),
    [
        (Scope.PROJECT, "/srv/shop", Domain.DEBUG, True),
        (Scope.PROJECT, "/srv/blog", Domain.DEBUG, False),
        (Scope.GLOBAL, None, Domain.DEBUG, False),
        (Scope.DOMAIN, None, Domain.DEBUG, False),
    ],
)
def test_a_project_lesson_is_the_same_only_within_its_project(
    scope: Scope, project: str | None, domain: Domain, expected: bool
) -> None:
    """Scope is strict."""
    held = replace(LESSON, scope=Scope.PROJECT, project="/srv/shop")
    assert expected is approval.is_same_place(held, scope, project, domain)


@pytest.mark.parametrize(
    ("previous", "vote", "expected"),
    [
        (None, Vote.POSITIVE, Turn(True, praises=True)),
        (None, Vote.NEGATIVE, Turn(True, analyses=True)),
        (None, Vote.WITHDRAWN, Turn(False)),
        (Vote.POSITIVE, Vote.POSITIVE, Turn(False)),
        (Vote.POSITIVE, Vote.NEGATIVE, Turn(True, takes_back=True, analyses=True)),
        (Vote.POSITIVE, Vote.WITHDRAWN, Turn(True, takes_back=True)),
        (Vote.NEGATIVE, Vote.POSITIVE, Turn(True, takes_back=True, praises=True)),
        (Vote.NEGATIVE, Vote.NEGATIVE, Turn(False)),
        (Vote.NEGATIVE, Vote.WITHDRAWN, Turn(True, takes_back=True)),
        (Vote.WITHDRAWN, Vote.POSITIVE, Turn(True, praises=True)),
        (Vote.WITHDRAWN, Vote.NEGATIVE, Turn(True, analyses=True)),
        (Vote.WITHDRAWN, Vote.WITHDRAWN, Turn(False)),
    ],
)
def test_a_vote_first_takes_back_what_the_one_before_it_counted(
    previous: Vote | None, vote: Vote, expected: Turn
) -> None:
    """Rule 5: the whole table."""
    assert expected == approval.turn(previous, vote)
