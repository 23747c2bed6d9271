"""Skills of accepted patterns: when there is one, what it is called, and its file (learning.md 8).

The decision in the store is what counts: a file that is missing is written again, one whose pattern is no
longer accepted is removed by whoever decided that.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from core.errors import Refused
from core.model.ruling import Ruling
from core.model.skill import Skill
from core.rules.pattern_skill import name_apart, skill_of
from core.services import skill_store, skill_writing
from core.services.changes import By, log
from core.services.patterns import Standing
from core.services.rulings import is_accepted, key_of
from core.settings import CoreSettings
from core.tables import CoreTx


def is_ripe(failures: int, calls: int, settings: CoreSettings) -> bool:
    """Say whether a pattern was seen often enough: its failures, and all calls of its verb."""
    return failures >= settings.min_failures_for_skill and calls >= settings.min_events_for_skill


def offers(standings: Iterable[Standing], settings: CoreSettings) -> list[Standing]:
    """Give the accepted patterns that became ripe later: for each a skill may be offered."""
    return [
        each
        for each in standings
        if each.ruling is not None
        and is_accepted(each.ruling)
        and not each.ruling.skill
        and is_ripe(each.pattern.failures, each.calls, settings)
    ]


def compiled(tx: CoreTx, ruling: Ruling, settings: CoreSettings) -> Skill:
    """Give the skill of an accepted pattern under the name it has, or would have."""
    skill = skill_of(ruling, key_of(ruling), settings.max_skill_body_chars)
    if ruling.skill:
        return replace(skill, name=ruling.skill)
    taken = {each.skill for each in tx.rulings.of()}
    is_taken = skill.name in taken or _is_foreign(skill, settings)
    return replace(skill, name=name_apart(skill.name, ruling.project)) if is_taken else skill


def _is_foreign(skill: Skill, settings: CoreSettings) -> bool:
    return (skill_store.home(settings) / skill.name).exists()


def record(tx: CoreTx, ruling: Ruling, settings: CoreSettings, by: By) -> Ruling:
    """Remember that an accepted pattern has a skill; its file is written after the commit (`write`)."""
    if ruling.skill:
        return ruling
    kept = replace(ruling, skill=compiled(tx, ruling, settings).name)
    tx.rulings.put(kept)
    log(tx, by, "skill.compile", kept.skill, key_of(kept).id)
    return kept


def forget(tx: CoreTx, name: str, by: By) -> Ruling:
    """Take the skill from its pattern, which stays accepted. Raises Refused (no skill of a pattern)."""
    held = next((each for each in tx.rulings.of() if each.skill == name), None)
    if not name or held is None:
        raise Refused("pattern.no_skill", name=name)
    kept = replace(held, skill="")
    tx.rulings.put(kept)
    log(tx, by, "skill.demote", name, key_of(kept).id)
    return kept


def names(tx: CoreTx) -> frozenset[str]:
    """Give the names of all skills that patterns have."""
    return frozenset(each.skill for each in tx.rulings.of() if each.skill)


def missing(tx: CoreTx, settings: CoreSettings) -> list[Skill]:
    """Give the skills whose file is not there: just decided, or lost."""
    folder = skill_store.home(settings)
    held = [each for each in tx.rulings.of() if each.skill and not _file(folder, each.skill).exists()]
    return [compiled(tx, each, settings) for each in held]


def write(settings: CoreSettings, skills: Iterable[Skill]) -> list[Skill]:
    """Write those files; give them with their paths. Raises Invalid, Refused, OSError."""
    folder, most = skill_store.home(settings), settings.max_skill_body_chars
    return [skill_writing.write(folder, each, max_body=most) for each in skills]


def remove(settings: CoreSettings, gone: Iterable[str]) -> None:
    """Remove those files. Raises Invalid, Refused."""
    for name in gone:
        skill_writing.remove(skill_store.home(settings), name)


def _file(folder: Path, name: str) -> Path:
    return folder / name / skill_store.FILE
