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
from core.services.transfer import Parcel
from core.tables import CoreTx

SURFACE = "mirror"
_KEPT_HASHES = 16
_PREFIX = "mirror:"


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at mirror and store found: the files as they are to be, those that were edited by hand.

    `unknown` are files to be written whose bytes are not noted yet.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    edited: Mapping[str, bytes] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Taken:
    """What hand edits came to: those proposed, and those refused by file."""

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


def look(tx: CoreTx, found: Mapping[str, bytes]) -> Look:
    """Compare the files with what we wrote; long where there are many lessons, so it only reads."""
    files = transfer.export(tx)
    known = {name: _hashes(tx, name) for name in {*files, *found}}
    edited = {
        name: data
        for name, data in found.items()
        if _hash(data) not in known[name] and data != files.get(name, "").encode()
    }
    unknown = {name: text for name, text in files.items() if known[name][-1:] != [_hash(text.encode())]}
    return Look(files, edited, unknown)


def read_edits(edited: Mapping[str, bytes]) -> dict[str, Parcel | Invalid]:
    """Read the edited files, each by itself; one that cannot be read is its fault. Touches no store."""
    return {name: _read_edit(name, data) for name, data in edited.items() if name != FEEDBACK_FILE}


def _read_edit(name: str, data: bytes) -> Parcel | Invalid:
    try:
        return transfer.read({name: data})
    except Invalid as error:
        return error


def take(tx: CoreTx, seen: Look, edits: Mapping[str, Parcel | Invalid], by: By) -> Taken:
    """Turn hand edits into proposals, and note what is about to be written.

    Votes are cast, not written by hand: an edited log of them is put back as it is.
    """
    done = Taken()
    for name, edit in edits.items():
        if isinstance(edit, Invalid):
            done.refused[name] = edit
            _refuse(tx, name, seen.edited[name], edit, by)
        else:
            _propose(tx, name, edit, by, done)
    for name, text in seen.unknown.items():
        if name not in done.refused:
            _note(tx, name, _hash(text.encode()))
    return done


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _hashes(tx: CoreTx, name: str) -> list[str]:
    return list(json.loads(tx.settings.get(_PREFIX + name) or "[]"))


def _note(tx: CoreTx, name: str, mark: str) -> None:
    """Remember what a file is about to hold, and what it held lately: a kill may leave either."""
    kept = [*(each for each in _hashes(tx, name) if each != mark), mark][-_KEPT_HASHES:]
    tx.settings.put(_PREFIX + name, json.dumps(kept))


def _propose(tx: CoreTx, name: str, parcel: Parcel, by: By, done: Taken) -> None:
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
