"""All skills as people see them: what there is, who has it, how often it was read (learning.md 8)."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.errors import NotFound, Refused
from core.model.agent import Assignment
from core.model.skill import Skill
from core.services import capabilities, skill_store
from core.services.changes import By
from core.services.skill_store import Refusal
from core.settings import CoreSettings
from core.tables import CoreTx


@dataclass(frozen=True, slots=True)
class Entry:
    """A skill and who has it. `is_there` is False for one whose file is gone: it is shown as it was given."""

    skill: Skill
    holders: tuple[Assignment, ...] = ()
    is_there: bool = True

    @property
    def changed(self) -> tuple[str, ...]:
        """Give the agents that were given another text than the file has now: they cannot read it."""
        return tuple(each.agent for each in self.holders if each.sha256 != self.skill.sha256)

    @property
    def reads(self) -> int:
        """Count how often the body was read by name."""
        return sum(each.reads for each in self.holders)


@dataclass(frozen=True, slots=True)
class Shelf:
    """Every skill by name, and the files that are none."""

    entries: tuple[Entry, ...] = ()
    refused: tuple[Refusal, ...] = ()

    def need(self, name: str) -> Entry:
        """Give the skill of that name. Raises NotFound."""
        found = next((each for each in self.entries if each.skill.name == name), None)
        if found is None:
            shown = name[:64].encode("ascii", "backslashreplace").decode()
            raise NotFound("skill.unknown", name=shown)
        return found


def look(tx: CoreTx, settings: CoreSettings, project: str | None, environ: Mapping[str, str]) -> Shelf:
    """Read the usual folders and who has what: found ones, compiled ones, and given ones that are gone."""
    found = skill_store.listing(skill_store.roots(settings, project, environ))
    skills = [each for each in found.skills if each.reaches(project)]
    held: dict[str, list[Assignment]] = {}
    for each in tx.agents.assignments():
        held.setdefault(each.skill, []).append(each)
    entries = [Entry(each, tuple(held.pop(each.name, ()))) for each in skills]
    gone = [given for given in held.values() if given[0].reaches(project)]
    entries += [Entry(_as_given(given[0]), tuple(given), is_there=False) for given in gone]
    return Shelf(tuple(sorted(entries, key=lambda each: each.skill.name)), found.refused)


def _as_given(given: Assignment) -> Skill:
    return Skill(
        given.skill,
        given.description,
        "",
        given.kind,
        given.scope,
        given.project,
        given.origin,
        given.path,
        given.sha256,
    )


def assign(tx: CoreTx, shelf: Shelf, name: str, agent: str, by: By, sha256: str | None = None) -> Assignment:
    """Give a skill to an agent; with `sha256` only while it is still what was shown.

    Raises NotFound, Refused (changed since it was shown, another project's).
    """
    entry = shelf.need(name)
    if not entry.is_there or sha256 not in (None, entry.skill.sha256):
        raise Refused("skill.changed", name=name)
    return capabilities.assign(tx, agent, entry.skill, by)
