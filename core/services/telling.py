"""Which lessons are told and which wait (learning.md 6)."""

from core.model.lesson import Domain
from core.rules import context as rules
from core.rules.context import Block
from core.services import context
from core.settings import CoreSettings
from core.tables import CoreTx


def domain_blocks(tx: CoreTx, settings: CoreSettings) -> dict[Domain, Block]:
    """Render the file of each domain that has lessons of its own."""
    own, language, chars = tx.lessons.on_demand(), context.language(tx), settings.max_lesson_chars
    return {
        each: rules.render_domain(each, own, language=language, chars=chars) for each in rules.on_demand(own)
    }


def told(tx: CoreTx, project: str | None, settings: CoreSettings) -> frozenset[str]:
    """Give the ids of what a run in that project is told, in its block or by a domain's file."""
    blocks = (context.current(tx, project, settings), *domain_blocks(tx, settings).values())
    return frozenset(each for made in blocks for each in made.told_ids)
