"""Which lessons this machine's store and settings tell the runs of a project (learning.md 6)."""

from core.cli import access
from core.services import telling
from core.tables import CoreTx


def told(tx: CoreTx, project: str) -> frozenset[str]:
    """Give the ids of the lessons a run in that project is told, in its block or by a domain's file."""
    return telling.told(tx, project, access.settings())
