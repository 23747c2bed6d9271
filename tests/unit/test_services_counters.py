"""What votes count for lessons is exact after any sequence of votes, analyses, decisions and undos."""

from functools import partial

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core.model.evidence import Evidence
from core.model.feedback import Source, Vote
from core.model.ids import RunId
from core.model.lesson import Domain
from core.model.proposal import Analysis, AnalysisState, Finding, State, Verdict
from core.services import analysis, feedback, lessons, proposals
from core.services.feedback import Ballot
from core.services.proposals import Basis
from tests import factories
from tests.factories import ANN, BOB, PROJECT, World

RULES = ("Alpha first", "Beta second", "Gamma third", "Delta fourth", "Epsilon fifth")
RUNS = ("r-1", "r-2", "r-3", "r-4")
VERDICTS = st.sampled_from((Verdict.VIOLATED, Verdict.VIOLATED, *Verdict))
VOTERS = st.tuples(st.sampled_from(RUNS), st.sampled_from((ANN, BOB)))
PICK = st.integers(0, 10_000)


class Counters(RuleBasedStateMachine):
    """The services beside a model: what each vote counts for, and which lesson was merged into which."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.votes: dict[tuple[str, str], Vote] = {}
        self.counted: dict[tuple[str, str], set[tuple[str, str]]] = {}
        self.parent: dict[str, str] = {}
        self.merges: dict[str, dict[str, str]] = {}
        self.in_flight: list[tuple[Analysis, Evidence]] = []
        self.keys = 0

    @initialize()
    def prepare(self) -> None:
        tx = self.world.tx
        factories.a_session(tx)
        for number, text in enumerate(RULES):
            factories.a_lesson(tx, text, Domain.DEBUG if number % 2 else Domain.GENERAL)
        ids = [each.id for each in tx.lessons.all()]
        factories.a_run(tx, "r-1", told=ids)
        factories.a_run(tx, "r-2", told=ids[:2], domain=Domain.DEBUG)
        factories.a_run(tx, "r-3", told=(*ids[2:], "bash:npm:test"))
        factories.a_run(tx, "r-4")

    @rule(who=VOTERS, vote=st.sampled_from(Vote), says=st.sampled_from(("", "no tests ran", "too slow")))
    def cast(self, who: tuple[str, str], vote: Vote, says: str) -> None:
        ballot = Ballot(RunId(who[0]), who[1], vote, Source.TELEGRAM, says)
        error = self.world.refused(lambda tx: feedback.vote(tx, self.world.ids, ballot, self.world.now, 0.0))
        before = self.votes.get(who)
        assert (error is not None) == (before is None and vote is Vote.WITHDRAWN)
        if error is not None or before is vote:
            return
        self.votes[who] = vote
        self.counted[who] = self._praised(who[0]) if vote is Vote.POSITIVE else set()

    def _praised(self, run: str) -> set[tuple[str, str]]:
        tx = self.world.tx
        told = tx.runs.get(RunId(run))
        assert told is not None
        found = [each for each in tx.lessons.all() if each.id in told.told and each.domain is told.domain]
        return {(each.id, "positive") for each in found}

    @rule()
    def claim(self) -> None:
        claimed = self.world.act(lambda tx: analysis.claim(tx, self.world.now))
        if claimed is not None:
            self.in_flight.append((claimed, analysis.evidence(self.world.tx, claimed)))

    @precondition(lambda self: self.in_flight)
    @rule(pick=PICK, verdict=VERDICTS, lesson=st.sampled_from(RULES), rewords=st.booleans())
    def answer(self, pick: int, verdict: Verdict, lesson: str, rewords: bool) -> None:
        claimed, seen = self.in_flight.pop(pick % len(self.in_flight))
        named = next(
            each for each in self.world.tx.lessons.all() if each.id == f"l-00{RULES.index(lesson) + 1}"
        )
        text = f"Rule {pick % 3}" if rewords else named.rule
        finding = Finding(verdict, text, lesson=named.id)
        is_running = self._is_running(claimed)
        done = self.world.act(lambda tx: analysis.conclude(tx, claimed.id, finding, self.world.now, seen))
        assert is_running or done.is_stale
        if done.verdict is Verdict.VIOLATED and done.lesson is not None:
            assert is_running
            assert self.votes[done.feedback.run or "", done.feedback.user or ""] is Vote.NEGATIVE
            self.counted[done.feedback.run or "", done.feedback.user or ""].add((done.lesson.id, "violation"))

    def _is_running(self, claimed: Analysis) -> bool:
        held = self.world.tx.proposals.analysis(claimed.id)
        return held is not None and held.state is AnalysisState.RUNNING

    @rule(who=VOTERS, pick=PICK, verdict=VERDICTS, lesson=st.sampled_from(RULES), rewords=st.booleans())
    def complain(self, who: tuple[str, str], pick: int, verdict: Verdict, lesson: str, rewords: bool) -> None:
        self.cast(who, Vote.NEGATIVE, "no tests ran")
        self.claim()
        if self.in_flight:
            self.answer(pick, verdict, lesson, rewords)

    @rule(who=VOTERS, vote=st.sampled_from(Vote), verdict=VERDICTS, lesson=st.sampled_from(RULES))
    def change_mind_while_analysed(
        self, who: tuple[str, str], vote: Vote, verdict: Verdict, lesson: str
    ) -> None:
        self.cast(who, Vote.NEGATIVE, "")
        self.claim()
        self.cast(who, vote, "")
        if self.in_flight:
            self.answer(-1, verdict, lesson, False)

    @rule(first=PICK, second=PICK, is_decided=st.booleans())
    def consolidate(self, first: int, second: int, is_decided: bool) -> None:
        active = self.world.tx.lessons.all(active=True)
        if len(active) < 2:
            return
        pair = sorted({active[first % len(active)].id, active[second % len(active)].id})
        if len(pair) < 2:
            return
        self.keys += 1
        finding = Finding(Verdict.MERGE, f"Both of {self.keys}")
        basis = Basis(f"pair:{self.keys}", PROJECT, absorbs=tuple(pair))
        self.world.act(lambda tx: proposals.propose(tx, finding, basis, self.world.now))
        if is_decided:
            self.decide(-1, True)

    @rule(pick=PICK, is_yes=st.booleans())
    def decide(self, pick: int, is_yes: bool) -> None:
        pending = self.world.tx.proposals.all(pending_only=True)
        if not pending:
            return
        chosen = pending[pick % len(pending)]
        # Numbers that differ may contradict: whoever approves here has chosen.
        act = partial(proposals.approve, chosen=chosen.conflicts) if is_yes else proposals.reject
        decision = self.world.act(lambda tx: act(tx, chosen.id, chosen.version, ANN, self.world.now))
        if is_yes and chosen.absorbs and decision.lesson is not None:
            self.merges[chosen.id] = dict.fromkeys(chosen.absorbs, str(decision.lesson.id))
            self.parent.update(self.merges[chosen.id])

    @rule(pick=PICK)
    def undo(self, pick: int) -> None:
        decided = [p for p in self.world.tx.proposals.all() if p.state in (State.APPROVED, State.REJECTED)]
        if not decided:
            return
        chosen = decided[pick % len(decided)]
        error = self.world.refused(lambda tx: proposals.undo(tx, chosen.id, ANN, self.world.now))
        if error is None and chosen.state is State.APPROVED:
            for each, into in self.merges.pop(chosen.id, {}).items():
                if self.parent.get(each) == into:
                    del self.parent[each]

    @rule(pick=PICK, is_on=st.booleans())
    def switch(self, pick: int, is_on: bool) -> None:
        every = self.world.tx.lessons.all(active=not is_on)
        if not every:
            return
        chosen = every[pick % len(every)]
        act = lessons.enable if is_on else lessons.disable
        if self.world.refused(lambda tx: act(tx, chosen.id, ANN, self.world.now)) is None and is_on:
            self.parent.pop(chosen.id, None)

    @rule(pick=PICK, word=st.integers(0, 3), shift=st.booleans())
    def edit(self, pick: int, word: int, shift: bool) -> None:
        every = self.world.tx.lessons.all()
        chosen = every[pick % len(every)]
        if shift:
            self.world.act(lambda tx: lessons.set_domain(tx, chosen.id, None, ANN, self.world.now))
        else:
            self.world.refused(lambda tx: lessons.edit(tx, chosen.id, f"Edit {word}", ANN, self.world.now))

    @rule(seconds=st.sampled_from((1.0, 100.0, 700.0)))
    def wait(self, seconds: float) -> None:
        self.world.now += seconds

    @rule()
    def restart(self) -> None:
        self.world.act(lambda tx: analysis.recover(tx, self.world.now))
        self.in_flight.clear()

    def _below(self, lesson: str) -> set[str]:
        members = {lesson}
        while more := {each for each, into in self.parent.items() if into in members} - members:
            members |= more
        return members

    @invariant()
    def counters_are_exact(self) -> None:
        for lesson in self.world.tx.lessons.all():
            below = self._below(lesson.id)
            counted = [kind for votes in self.counted.values() for each, kind in votes if each in below]
            expected = (counted.count("positive"), counted.count("violation"))
            assert expected == (lesson.positive_examples, lesson.violations)

    @invariant()
    def there_is_one_proposal_a_vote(self) -> None:
        votes = [each.feedback for each in self.world.tx.proposals.all() if each.feedback is not None]
        assert len(set(votes)) == len(votes)

    @invariant()
    def what_waits_stands_on_lessons_in_force(self) -> None:
        tx = self.world.tx
        for proposal in tx.proposals.all(pending_only=True):
            lesson = tx.lessons.get(proposal.lesson) if proposal.lesson else None
            if lesson is not None:
                assert (proposal.lesson_revision, proposal.old_rule) == (lesson.revision, lesson.rule)
                assert lesson.active


Counters.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestCounters = pytest.mark.timeout(120)(Counters.TestCase)
