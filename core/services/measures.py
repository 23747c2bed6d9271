"""Local measures of the loop itself (learning.md 7): counted here, sent nowhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from core.model.proposal import Proposal, State
from core.services import context, telling
from core.settings import CoreSettings
from core.tables import CoreTx


@dataclass(frozen=True, slots=True)
class Measures:
    """How the loop does.

    `unchanged` of `decided` proposals were approved as the analyst worded them; `decision_s` is the median
    from 👎 to decision, None without any; `repeated` active lessons were broken after approval, `repeats`
    times in all; `told` of `active` lessons reach the block of that project or a domain's file; `block_chars`
    is the size of the block.
    """

    decided: int
    unchanged: int
    decision_s: float | None
    repeated: int
    repeats: int
    active: int
    told: int
    block_chars: int


def measure(tx: CoreTx, project: str | None, settings: CoreSettings) -> Measures:
    """Count, as store and settings are now; lessons are those that reach the project."""
    decided = [each for each in tx.proposals.all() if each.state in (State.APPROVED, State.REJECTED)]
    active = tx.lessons.active(project)
    broken = [each.violations for each in active if each.violations]
    block = context.current(tx, project, settings)
    return Measures(
        decided=len(decided),
        unchanged=sum(_is_unchanged(each) for each in decided),
        decision_s=_middle(tx, decided),
        repeated=len(broken),
        repeats=sum(broken),
        active=len(active),
        told=len(telling.told(tx, project, settings) & {each.id for each in active}),
        block_chars=len(block.text),
    )


def _is_unchanged(proposal: Proposal) -> bool:
    return proposal.state is State.APPROVED and proposal.rule == proposal.original_rule


def _middle(tx: CoreTx, decided: Sequence[Proposal]) -> float | None:
    times = []
    for each in decided:
        vote = tx.feedback.get(each.feedback) if each.feedback else None
        if vote is not None and each.decided_at is not None:
            times.append(each.decided_at - datetime.fromisoformat(vote.timestamp).timestamp())
    return median(times) if times else None
