"""Which lessons this machine's store and settings tell the runs of a project (learning.md 6)."""

from core.cli import access
from core.rules import context as rules
from core.services import context
from core.tables import CoreTx


def told(tx: CoreTx, project: str) -> frozenset[str]:
    """Give the ids of the lessons a run in that project is told, in its block or by a domain's file."""
    settings = access.settings()
    lessons, chars = tx.lessons.active(project), settings.max_lesson_chars
    files = [rules.render_domain(each, lessons, chars=chars) for each in rules.on_demand(lessons)]
    blocks = (context.current(tx, project, settings), *files)
    return frozenset(each for made in blocks for each in made.told_ids)
