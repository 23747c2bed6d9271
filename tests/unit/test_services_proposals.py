"""The human gate: approve, reject, change, undo; nothing stale is ever applied."""

from dataclasses import replace

import pytest

from core.errors import AutoImproveError, Invalid, NotFound, Refused, Stale
from core.model.lesson import Domain, Lesson, Scope
from core.model.proposal import Proposal, State, Verdict
from core.services import lessons, proposals
from core.services.proposals import Basis
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
    a_run,
    a_session,
    analysed,
    approved,
    bad,
    good,
)

DAY_S = 86_400.0


@pytest.fixture
def world() -> World:
    """One session with a run that was told l-001 and l-002."""
    world = World()
    a_session(world.tx)
    told = [a_lesson(world.tx).id, a_lesson(world.tx, "Always run all tests").id]
    a_run(world.tx, told=told)
    return world


def lesson(world: World, id: str = "l-001") -> Lesson:
    return lessons.card(world.tx, id).lesson


def a_merge(world: World, rule: str = "Run all tests before committing") -> Proposal:
    finding = a_finding(rule, Verdict.MERGE, lesson(world), rationale="")
    return a_proposal(world.tx, finding, absorbs=("l-002",))


def undo(world: World, proposal: Proposal) -> proposals.Decision:
    return world.act(lambda tx: proposals.undo(tx, proposal.id, ANN, world.now))


def stale(world: World, version: int, id: str = "p-001") -> AutoImproveError | None:
    return world.refused(lambda tx: proposals.approve(tx, id, version, ANN, world.now))


def test_approval_stores_word_for_word_what_was_shown(world: World) -> None:
    """Promise 1."""
    shown = a_proposal(world.tx)
    made = approved(world, shown).lesson
    assert made is not None
    assert (made.rule, made.rationale, made.active) == (shown.rule, shown.rationale, True)
    assert [each.why for each in world.tx.lessons.history(made.id)] == [shown.id]


def test_the_same_key_gives_the_same_proposal(world: World) -> None:
    """D3: a kill between commit and answer proposes nothing twice."""
    assert a_proposal(world.tx) == a_proposal(world.tx, a_finding("Another"))


def test_a_second_approval_is_refused_with_the_decided_card(world: World) -> None:
    """Two phones, one lesson."""
    shown = a_proposal(world.tx)
    approved(world, shown)
    error = stale(world, shown.version)
    assert isinstance(error, Stale)
    assert error.values["proposal"] == world.tx.proposals.get(shown.id)
    assert len(world.tx.lessons.all()) == 3


def test_a_decision_on_an_edited_proposal_is_refused(world: World) -> None:
    """product.md 1.4: it never overwrites."""
    shown = a_proposal(world.tx)
    world.act(lambda tx: proposals.edit(tx, shown.id, 1, "Small steps only", BOB, world.now))
    assert isinstance(stale(world, 1), Stale)
    assert len(world.tx.lessons.all()) == 2


def test_an_edit_is_the_next_version_and_keeps_the_first_wording(world: World) -> None:
    """learning.md 7 measures what was approved unchanged."""
    shown = a_proposal(world.tx)
    edited = world.act(lambda tx: proposals.edit(tx, shown.id, 1, "Small steps only", BOB, world.now))
    assert (edited.version, edited.rule, edited.original_rule) == (2, "Small steps only", shown.rule)


@pytest.mark.parametrize("rule", ["", "  \n ", "x" * 301])
def test_an_edit_to_no_rule_or_too_long_a_rule_is_invalid(world: World, rule: str) -> None:
    """learning.md 2: at most 300 characters."""
    a_proposal(world.tx)
    error = world.refused(lambda tx: proposals.edit(tx, "p-001", 1, rule, ANN, world.now))
    assert isinstance(error, Invalid)


def test_a_secret_in_a_rule_is_masked_and_flagged_on_the_card(world: World) -> None:
    """S6."""
    made = a_proposal(world.tx, a_finding("Use PASSWORD=hunter2hunter2 for the database"))
    assert "hunter2" not in made.rule
    assert "secret" in made.flags


def test_a_rejection_stores_no_lesson(world: World) -> None:
    """product.md 1.4."""
    a_proposal(world.tx)
    done = world.act(lambda tx: proposals.reject(tx, "p-001", 1, ANN, world.now))
    assert (done.proposal.state, done.lesson, len(world.tx.lessons.all())) == (State.REJECTED, None, 2)


def test_scope_and_domain_cycle_as_new_versions(world: World) -> None:
    """The buttons below the card."""
    a_proposal(world.tx)
    moved = world.act(lambda tx: proposals.set_scope(tx, "p-001", 1, None, ANN, world.now))
    placed = world.act(lambda tx: proposals.set_domain(tx, "p-001", 2, Domain.REVIEW, ANN, world.now))
    assert (moved.scope, placed.domain, placed.version) == (Scope.PROJECT, Domain.REVIEW, 3)
    made = approved(world, placed).lesson
    assert made is not None
    assert (made.scope, made.project, made.domain) == (Scope.PROJECT, PROJECT, Domain.REVIEW)


def test_a_global_lesson_belongs_to_no_project(world: World) -> None:
    """`project` is set for scope project only."""
    made = approved(world, a_proposal(world.tx)).lesson
    assert made is not None
    assert (made.scope, made.project) == (Scope.GLOBAL, None)


def test_scope_project_without_a_project_is_invalid(world: World) -> None:
    """There is nowhere to put it."""
    proposals.propose(world.tx, a_finding(), Basis("k"), NOW)
    error = world.refused(lambda tx: proposals.set_scope(tx, "p-001", 1, Scope.PROJECT, ANN, NOW))
    assert isinstance(error, Invalid)


def test_an_approved_rule_that_a_lesson_says_already_adds_its_vote_to_that_one(world: World) -> None:
    """learning.md 3.4: equality after normalisation merges by itself."""
    bad(world)
    made = analysed(world, a_finding("Keep it small")).proposal
    assert made is not None
    a_lesson(world.tx, "keep it small!")
    done = approved(world, made).lesson
    assert done is not None
    assert (done.id, done.rule, done.source_feedback) == ("l-003", "keep it small!", (made.feedback,))


def test_a_merge_keeps_the_older_id_and_sums_what_was_counted(world: World) -> None:
    """learning.md 3."""
    good(world)
    done = approved(world, a_merge(world)).lesson
    assert done is not None
    assert (done.id, done.rule, done.positive_examples) == ("l-001", "Run all tests before committing", 2)
    assert (lesson(world, "l-002").active, lesson(world, "l-002").merged_into) == (False, "l-001")


def test_a_merge_named_the_other_way_round_keeps_the_older_id_too(world: World) -> None:
    """Whichever the finding names."""
    finding = a_finding("Run all tests before committing", Verdict.MERGE, lesson(world, "l-002"))
    made = a_proposal(world.tx, finding, absorbs=("l-001",))
    assert (made.lesson, made.absorbs) == ("l-001", ("l-002",))


def test_a_merge_unites_the_votes_behind_both(world: World) -> None:
    """learning.md 3: `source_feedback`."""
    votes = []
    for run, rule in (("r-2", "Keep diffs small"), ("r-3", "Small diffs only")):
        a_run(world.tx, run)
        votes.append(bad(world, run).feedback.id)
        made = analysed(world, a_finding(rule)).proposal
        assert made is not None
        approved(world, made)
    finding = a_finding("Small diffs", Verdict.MERGE, lesson(world, "l-003"))
    done = approved(world, a_proposal(world.tx, finding, "k-9", absorbs=("l-004",))).lesson
    assert done is not None
    assert done.source_feedback == tuple(votes)


def test_both_wordings_stay_in_history(world: World) -> None:
    """learning.md 3."""
    approved(world, a_merge(world))
    kept = [each.rule for id in ("l-001", "l-002") for each in lessons.card(world.tx, id).history]
    assert {"Run the tests before committing", "Always run all tests"} < set(kept)


def test_a_vote_that_is_taken_back_after_a_merge_counts_against_the_survivor(world: World) -> None:
    """Counters stay exact across merges."""
    good(world)
    approved(world, a_merge(world))
    bad(world)
    assert lesson(world).positive_examples == 0


def test_undoing_a_merge_restores_both_lessons_and_their_counts(world: World) -> None:
    """Exactly as before, votes since then included."""
    good(world)
    before = [lesson(world, id) for id in ("l-001", "l-002")]
    approved(world, a_merge(world))
    good(world, user=BOB)
    undo(world, world.tx.proposals.all()[0])
    after = [lesson(world, id) for id in ("l-001", "l-002")]
    expected = [replace(each, positive_examples=2) for each in before]
    assert [replace(each, revision=1, updated=NOW_ISO) for each in after] == expected


NOW_ISO = "2030-03-17T17:46:40.000Z"


def test_undoing_an_approval_takes_the_lesson_out_and_asks_again(world: World) -> None:
    """The old button does not decide the new card."""
    approved(world, a_proposal(world.tx))
    done = undo(world, world.tx.proposals.all()[0])
    assert (done.proposal.state, done.proposal.version) == (State.PENDING, 2)
    assert [each.id for each in world.tx.lessons.all(active=True)] == ["l-001", "l-002"]


def test_an_approval_after_an_undo_brings_the_same_lesson_back(world: World) -> None:
    """No second id for one proposal."""
    first = approved(world, a_proposal(world.tx)).lesson
    again = approved(world, undo(world, world.tx.proposals.all()[0]).proposal).lesson
    assert first is not None
    assert again is not None
    assert (again.id, again.rule, again.active) == (first.id, first.rule, True)


def test_undo_works_through_several_decisions_in_reverse_order(world: World) -> None:
    """Each takes back exactly its own."""
    merge = a_merge(world)
    approved(world, merge)
    finding = a_finding("Run all tests, always", Verdict.MERGE, lesson(world))
    second = a_proposal(world.tx, finding, key="k-2")
    approved(world, second)
    undo(world, second)
    assert lesson(world).rule == merge.rule
    undo(world, merge)
    assert [each.rule for each in world.tx.lessons.all(active=True)] == [
        "Run the tests before committing",
        "Always run all tests",
    ]


def test_an_undo_makes_a_new_version_of_what_waits_on_that_lesson(world: World) -> None:
    """Its card showed the wording that is taken back."""
    first = a_proposal(world.tx, a_finding("Run all tests", Verdict.MERGE, lesson(world)))
    approved(world, first)
    finding = a_finding("Run all tests twice", Verdict.MERGE, lesson(world))
    second = a_proposal(world.tx, finding, key="k-2")
    undo(world, first)
    held = proposals.need_proposal(world.tx, second.id)
    assert (held.version, held.old_rule) == (2, "Run the tests before committing")


def test_an_undo_below_a_later_change_is_refused(world: World) -> None:
    """It would take back what somebody else decided."""
    approved(world, a_merge(world))
    world.act(lambda tx: lessons.edit(tx, "l-001", "Run everything", BOB, world.now))
    error = world.refused(lambda tx: proposals.undo(tx, "p-001", ANN, world.now))
    assert isinstance(error, Stale)
    assert lesson(world).rule == "Run everything"


def test_an_undo_of_a_merge_whose_other_half_was_edited_since_is_refused(world: World) -> None:
    """All of it is taken back, or nothing."""
    approved(world, a_merge(world))
    world.act(lambda tx: lessons.edit(tx, "l-002", "Run it all", BOB, world.now))
    assert isinstance(world.refused(lambda tx: proposals.undo(tx, "p-001", ANN, world.now)), Stale)
    assert lesson(world, "l-002").merged_into == "l-001"


def test_an_undo_after_ten_minutes_is_refused(world: World) -> None:
    """product.md 1.4: then `Disable`."""
    approved(world, a_proposal(world.tx))
    world.now += 601
    assert isinstance(world.refused(lambda tx: proposals.undo(tx, "p-001", ANN, world.now)), Refused)


def test_undoing_a_rejection_asks_again(world: World) -> None:
    """A slip of the thumb."""
    a_proposal(world.tx)
    world.act(lambda tx: proposals.reject(tx, "p-001", 1, ANN, world.now))
    assert undo(world, world.tx.proposals.all()[0]).proposal.state is State.PENDING


def test_an_undone_approval_of_a_vote_taken_back_meanwhile_is_withdrawn(world: World) -> None:
    """An undecided proposal of a withdrawn vote does not wait."""
    bad(world)
    made = analysed(world, a_finding()).proposal
    assert made is not None
    approved(world, made)
    good(world)
    assert undo(world, made).proposal.state is State.WITHDRAWN


def test_a_harmful_lesson_is_disabled_and_comes_back_by_undo(world: World) -> None:
    """product.md 1.3.3."""
    a_proposal(world.tx, a_finding("", Verdict.HARMFUL, lesson(world)))
    world.act(lambda tx: proposals.disable(tx, "p-001", 1, ANN, world.now))
    assert not lesson(world).active
    undo(world, world.tx.proposals.all()[0])
    assert lesson(world).active


def test_keep_leaves_a_harmful_lesson_as_it_is(world: World) -> None:
    """The person decides."""
    before = lesson(world)
    a_proposal(world.tx, a_finding("", Verdict.HARMFUL, before))
    done = world.act(lambda tx: proposals.keep(tx, "p-001", 1, ANN, world.now))
    assert (done.proposal.state, lesson(world)) == (State.REJECTED, before)


def test_disable_is_only_for_harmful_ones(world: World) -> None:
    """A forged button approves nothing."""
    a_proposal(world.tx)
    error = world.refused(lambda tx: proposals.disable(tx, "p-001", 1, ANN, world.now))
    assert isinstance(error, Refused)


def test_keep_separate_makes_a_lesson_beside_the_old_one(world: World) -> None:
    """product.md 1.4."""
    a_proposal(world.tx, a_finding("Run tests in CI too", Verdict.MERGE, lesson(world)))
    apart = world.act(lambda tx: proposals.keep_separate(tx, "p-001", 1, ANN, world.now))
    assert approved(world, apart).lesson == lesson(world, "l-003")
    assert lesson(world).rule == "Run the tests before committing"


def test_a_lesson_altered_meanwhile_makes_a_new_version_of_what_waits_on_it(world: World) -> None:
    """product.md 1.4: refused with the reason and the new card."""
    shown = a_proposal(world.tx, a_finding("Run all tests", Verdict.MERGE, lesson(world)))
    world.act(lambda tx: lessons.edit(tx, "l-001", "Run tests twice", BOB, world.now))
    error = stale(world, shown.version)
    assert isinstance(error, Stale)
    current = error.values["proposal"]
    assert isinstance(current, Proposal)
    assert (current.version, current.old_rule) == (2, "Run tests twice")
    assert lesson(world).rule == "Run tests twice"


def test_a_merge_into_a_lesson_of_another_project_is_invalid(world: World) -> None:
    """Scope is strict."""
    other = a_lesson(world.tx, "Use yarn", scope=Scope.PROJECT, project=OTHER_PROJECT)
    error = world.refused(lambda tx: a_proposal(tx, a_finding("Use yarn 4", Verdict.MERGE, other)))
    assert isinstance(error, Invalid)


def test_a_projects_lesson_is_not_merged_with_a_global_one(world: World) -> None:
    """learning.md 2: it would be given to every project."""
    own = a_lesson(world.tx, "Run pnpm test", scope=Scope.PROJECT, project=PROJECT)
    finding = a_finding("Run all tests", Verdict.MERGE, own)
    error = world.refused(lambda tx: a_proposal(tx, finding, absorbs=("l-001",)))
    assert isinstance(error, Invalid)


def test_proposals_are_reminded_of_once_and_expire(world: World) -> None:
    """product.md 1.4: 2 and 14 days."""
    a_proposal(world.tx)
    assert [each.id for each in proposals.remind(world.tx, NOW + 2 * DAY_S)] == ["p-001"]
    world.act(lambda tx: proposals.edit(tx, "p-001", 1, "Small steps", ANN, NOW))
    assert proposals.remind(world.tx, NOW + 3 * DAY_S) == []
    assert [each.state for each in proposals.expire(world.tx, NOW + 14 * DAY_S)] == [State.EXPIRED]
    assert isinstance(stale(world, 1), Stale)


def test_an_unknown_proposal_is_not_found(world: World) -> None:
    """A line that says so."""
    assert isinstance(stale(world, 1, "p-999"), NotFound)


def test_every_decision_is_in_the_audit_log_with_who_and_where(world: World) -> None:
    """S3."""
    a_proposal(world.tx)
    world.act(lambda tx: proposals.approve(tx, "p-001", 1, BOB, world.now, "cli", "b-1"))
    logged = [(each.who, each.surface, each.verb, each.batch) for each in world.tx.runs.activities(0)]
    assert logged[-2:] == [(BOB, "cli", "approve", "b-1"), (BOB, "cli", "add", "b-1")]
