"""The mirror: exchange files kept up to date to read and to put under git; hand edits become proposals.

What we wrote is known by its hash, noted before the file is: a file that is none of those was edited. An edit
that cannot be read is refused with file and line, and its file is left as it is until it is mended.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import Invalid
from core.model.ids import ProposalId
from core.model.lesson import Lesson
from core.model.proposal import Proposal
from core.rules import exchange
from core.rules.exchange import FEEDBACK_FILE, file_of
from core.services import folders, transfer
from core.services.changes import By, log
from core.tables import CoreTx

SURFACE = "mirror"
_KEPT_HASHES = 16
_PREFIX = "mirror:"


@dataclass(slots=True)
class Mirrored:
    """What a look at the mirror found: the files to write, the edits proposed, the edits refused."""

    files: dict[str, str] = field(default_factory=dict)
    proposed: list[ProposalId] = field(default_factory=list)
    refused: dict[str, Invalid] = field(default_factory=dict)


def read(folder: Path) -> tuple[dict[str, bytes], Invalid | None]:
    """Give the files that are there; what cannot even be read is told. Touches no store."""
    if not folder.is_dir():
        return {}, None
    try:
        return folders.read(folder), None
    except Invalid as error:
        return {}, error if error.key != "exchange.nothing" else None


def take(tx: CoreTx, found: Mapping[str, bytes], by: By) -> Mirrored:
    """Turn hand edits into proposals and give the files as they are to be; notes what will be written."""
    done = Mirrored()
    edited = {name: data for name, data in found.items() if not _is_ours(tx, name, data)}
    for name, data in edited.items():
        if name != FEEDBACK_FILE:  # votes are cast, not written by hand: the log is put back as it is
            try:
                _propose(tx, name, data, by, done)
            except Invalid as error:
                done.refused[name] = error
                _refuse(tx, name, data, error, by)
    done.files = {name: text for name, text in transfer.export(tx).items() if name not in done.refused}
    for name, text in done.files.items():
        _note(tx, name, text.encode())
    return done


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _hashes(tx: CoreTx, name: str) -> list[str]:
    return list(json.loads(tx.settings.get(_PREFIX + name) or "[]"))


def _is_ours(tx: CoreTx, name: str, data: bytes) -> bool:
    return _hash(data) in _hashes(tx, name)


def _note(tx: CoreTx, name: str, data: bytes) -> None:
    """Remember what a file is about to hold, and what it held lately: a kill may leave either."""
    known, mark = _hashes(tx, name), _hash(data)
    if not known or known[-1] != mark:
        kept = [*(each for each in known if each != mark), mark][-_KEPT_HASHES:]
        tx.settings.put(_PREFIX + name, json.dumps(kept))


def _propose(tx: CoreTx, name: str, data: bytes, by: By, done: Mirrored) -> None:
    parcel = transfer.read({name: data})
    made = [
        proposal.id for entry in (*parcel.entries, *parcel.flagged) for proposal in _of_entry(tx, entry, by)
    ]
    done.proposed += made
    there = {entry.lesson.id for entry in (*parcel.entries, *parcel.flagged)}
    ours = [each for each in tx.lessons.all(active=True) if file_of(each) == name and each.id not in there]
    done.proposed += [transfer.disable(tx, each, by, _removal_key(each)).id for each in ours]


def _of_entry(tx: CoreTx, entry: exchange.Entry, by: By) -> list[Proposal]:
    held = tx.lessons.get(entry.lesson.id)
    if held is not None and file_of(held) == entry.file:
        return list(transfer.differ(tx, entry, held, by))
    return [transfer.add(tx, entry, by)] if entry.lesson.active and entry.lesson.rule else []


def _removal_key(lesson: Lesson) -> str:
    return f"removed:{lesson.id}:{lesson.revision}"


def _refuse(tx: CoreTx, name: str, data: bytes, error: Invalid, by: By) -> None:
    """Log a refused edit once, however often it is looked at."""
    mark = f"refused:{_hash(data)}"
    if tx.settings.get(_PREFIX + name + ":refused") != mark:
        tx.settings.put(_PREFIX + name + ":refused", mark)
        log(tx, by, "refuse", name, f"{error.key}:{error.values.get('line', 1)}")
