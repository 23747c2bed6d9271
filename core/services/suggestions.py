"""What an agent hands in of its own accord: a proposal before the people, never a lesson (promise 3)."""

import hashlib
from typing import Final

from core.errors import Refused
from core.model.proposal import Finding, Proposal
from core.rules.approval import folded
from core.services import proposals
from core.services.changes import By
from core.services.proposals import Basis
from core.tables import CoreTx

MAX_PENDING: Final = 50
_KEY: Final = "hand:"


def suggest(tx: CoreTx, finding: Finding, project: str | None, by: By) -> Proposal:
    """Put a finding before the people; the same twice, also after a rejection, is the first.

    Raises Invalid (nothing to propose, too long, lesson out of reach), Refused (too many wait already, S15).
    """
    key = key_of(finding, project)
    waiting = sum(each.key.startswith(_KEY) for each in tx.proposals.all(pending_only=True))
    if tx.proposals.by_key(key) is None and waiting >= MAX_PENDING:
        raise Refused("skill.suggestions_full", count=waiting)
    return proposals.propose(tx, finding, Basis(key, project), by.now, by.who, by.surface)


def key_of(finding: Finding, project: str | None) -> str:
    """Name a finding by what it says."""
    said = "\0".join((finding.verdict, finding.lesson or "", folded(finding.rule), project or ""))
    return _KEY + hashlib.sha256(said.encode("utf-8", "surrogateescape")).hexdigest()[:32]
