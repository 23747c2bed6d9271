"""Does a lesson help: voted runs told it against voted runs not told it (learning.md 7).

"Without" are the 90 days before it was approved and the runs with lessons off, in its reach. "No effect
visible" changes nothing; only evidence of harm makes a proposal, by a test that may be asked after each vote.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.model.ids import LessonId
from core.model.lesson import Lesson
from core.model.proposal import Finding, Proposal, Verdict
from core.model.run import VotedRun
from core.rules import effect as rules
from core.rules.effect import Interval, Votes
from core.services import proposals
from core.services.proposals import Basis
from core.tables import CoreTx

BEFORE_S = 90 * 86_400.0


@dataclass(frozen=True, slots=True)
class Effect:
    """What votes say about one lesson: shares of 👎 with their 90 % intervals, told minus untold."""

    lesson: Lesson
    told: Votes
    untold: Votes

    @property
    def told_share(self) -> Interval:
        """Give the share of 👎 among voted runs that were told it."""
        return rules.share(self.told)

    @property
    def untold_share(self) -> Interval:
        """Give the share of 👎 among voted runs that were not."""
        return rules.share(self.untold)

    @property
    def difference(self) -> Interval:
        """Give the difference; above 0 it does harm."""
        return rules.difference(self.told, self.untold)

    @property
    def is_harmful(self) -> bool:
        """Say whether disabling is to be proposed."""
        return rules.is_harmful(self.told, self.untold)


def of_lesson(tx: CoreTx, lesson: Lesson) -> Effect:
    """Give the effect of one lesson."""
    return _effect(lesson, tx.feedback.voted())


def of_lessons(tx: CoreTx, lessons: Iterable[Lesson]) -> list[Effect]:
    """Give the effect of several, reading the votes once."""
    voted = tx.feedback.voted()
    return [_effect(each, voted) for each in lessons]


def _effect(lesson: Lesson, voted: Sequence[VotedRun]) -> Effect:
    approved = _time(lesson.created)
    told = [each for each in voted if lesson.id in each.told]
    untold = [
        each
        for each in voted
        if lesson.id not in each.told
        and lesson.reaches(each.project)
        and (each.is_lessons_off or approved - BEFORE_S <= each.started < approved)
    ]
    return Effect(lesson, _votes(told), _votes(untold))


def _votes(runs: Sequence[VotedRun]) -> Votes:
    return Votes(sum(each.is_negative for each in runs), len(runs))


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def propose_harmful(tx: CoreTx, now: float) -> list[Proposal]:
    """Propose to disable what votes show to do harm; once for a wording, whatever was decided then."""
    voted, made = tx.feedback.voted(), []
    counts = Counter(id for run in voted for id in run.told)
    often = [tx.lessons.get(LessonId(id)) for id, runs in counts.items() if runs >= rules.FEWEST_RUNS]
    for each in (_effect(lesson, voted) for lesson in often if lesson is not None and lesson.active):
        key = f"effect:{each.lesson.id}:{each.lesson.rule}"
        if each.is_harmful and tx.proposals.by_key(key) is None:
            made.append(_propose(tx, each, key, now))
    return made


def _propose(tx: CoreTx, effect: Effect, key: str, now: float) -> Proposal:
    lesson = effect.lesson
    finding = Finding(
        Verdict.HARMFUL, lesson=lesson.id, domain=lesson.domain, scope=lesson.scope, is_by_rules=True
    )
    basis = Basis(key, lesson.project, evidence=counted(effect))
    return proposals.propose(tx, finding, basis, now, "votes", "job")


def counted(effect: Effect) -> str:
    """Give the counts as signs that need no language: told, then untold."""
    told, untold = effect.told, effect.untold
    return f"✓ {told.negative} 👎 / {told.runs} · ✗ {untold.negative} 👎 / {untold.runs}"
