"""What an approval would push out of the block: a person is told before deciding (product.md 1.4)."""

from collections.abc import Sequence

from core.model.ids import LessonId
from core.model.lesson import Lesson, Scope
from core.model.proposal import Proposal, Verdict
from core.rules import context as rules
from core.services import context
from core.settings import CoreSettings
from core.tables import CoreTx


def pushed_out(tx: CoreTx, proposal: Proposal, settings: CoreSettings) -> tuple[Lesson, ...]:
    """Give the lessons told today that would wait once the proposal is approved, oldest decision last."""
    if proposal.verdict is Verdict.HARMFUL or proposal.scope is Scope.DOMAIN:
        return ()
    taken = {proposal.lesson, *proposal.absorbs}
    sizes = tx.lessons.told_sizes(proposal.project)
    new: tuple[str, int] = (proposal.id, len(proposal.rule) + len(proposal.domain))
    after = [new, *((id, size) for id, size in sizes if id not in taken)]
    told, _ = _choice(tx, sizes, settings)
    _, waiting = _choice(tx, after, settings)
    lost = [tx.lessons.get(LessonId(id)) for id in waiting if id in told]
    return tuple(lesson for lesson in lost if lesson is not None)


def _choice(
    tx: CoreTx, sizes: Sequence[tuple[str, int]], settings: CoreSettings
) -> tuple[list[str], list[str]]:
    folder = context.shown(settings.context_folder)
    files = {each: f"{folder}/{context.file_name(each)}" for each in rules.on_demand(tx.lessons.on_demand())}
    return rules.choose(
        sizes,
        files,
        language=context.language(tx),
        chars=settings.max_lesson_chars,
    )
