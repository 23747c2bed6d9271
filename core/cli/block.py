"""The block as this machine's store and settings make it: the same bytes on every surface (learning.md 6)."""

from core.cli import access
from core.rules import context as rules
from core.rules.context import Block
from core.services import context
from core.settings import CoreSettings
from core.tables import CoreTx


def current(tx: CoreTx, project: str, settings: CoreSettings | None = None) -> Block:
    """Render what the next run in that project is told; the terminal's block has no candidates."""
    return context.current(tx, project, settings or access.settings())


def told(tx: CoreTx, project: str) -> frozenset[str]:
    """Give the ids of the lessons a run in that project is told, in its block or by a domain's file."""
    known = access.settings()
    lessons, chars = tx.lessons.active(project), known.max_lesson_chars
    files = [rules.render_domain(each, lessons, chars=chars) for each in rules.on_demand(lessons)]
    return frozenset(each for made in (current(tx, project, known), *files) for each in made.told_ids)
