"""Decide about patterns across both stores: look, decide in one transaction, then bring the skills along."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from core.errors import Refused
from core.model.ruling import Ruling
from core.model.skill import Skill
from core.ports import Store, TraceStore
from core.rules.mining import PatternKey
from core.services import pattern_skills, patterns, skill_handout
from core.services.changes import By, log
from core.services.journal import Journal, silent
from core.services.patterns import Seen, Standing
from core.services.rulings import key_of
from core.settings import CoreSettings
from core.tables import CoreTx
from core.trace_tables import TraceTx


@dataclass(frozen=True, slots=True)
class Gate:
    """Both stores and the settings: what a decision about a pattern needs."""

    store: Store
    traces: TraceStore
    settings: CoreSettings
    journal: Journal = silent

    async def seen(self, project: str | None) -> Seen:
        """Read what was counted in a project, or in all."""
        return await self.traces.read(lambda tx: patterns.look(tx, project))

    async def listing(
        self, project: str | None, now: float, states: patterns.States = patterns.SHOWN
    ) -> list[Standing]:
        """Give the patterns in those states, best first."""
        seen, limits = await self.seen(project), patterns.thresholds_of(self.settings)
        return await self.store.read(lambda tx: patterns.listing(tx, seen, project, now, limits, states))

    async def accept(
        self,
        id: str,
        project: str,
        by: By,
        *,
        note: str = "",
        is_global: bool = False,
        version: str | None = None,
    ) -> list[Ruling]:
        """Accept what an id addresses, with its skill where it is ripe. Raises as `patterns.accept` does."""
        seen, settings = await self.seen(project), self.settings
        return await self._decide(
            "inject",
            by,
            lambda tx: accept(
                tx, seen, settings, id, project, by, note=note, is_global=is_global, version=version
            ),
        )

    async def reject(self, id: str, project: str, by: By) -> list[Ruling]:
        """Reject what an id addresses; skills of it go. Raises what `patterns.reject` does."""
        seen = await self.seen(project)
        return await self._decide("reject", by, lambda tx: patterns.reject(tx, seen, id, project, by))

    async def reopen(self, id: str, project: str, by: By) -> list[Ruling]:
        """Take decisions back; skills of them go. Raises what `patterns.reopen` does."""
        return await self._decide("reopen", by, lambda tx: patterns.reopen(tx, id, project, by))

    async def spread(self, id: str, project: str, by: By, *, is_global: bool) -> list[Ruling]:
        """Tell it everywhere, or in its project only. Raises what `patterns.spread` does."""
        return await self._decide(
            "spread", by, lambda tx: patterns.spread(tx, id, project, by, is_global=is_global)
        )

    async def promote(self, id: str, project: str, by: By) -> list[Ruling]:
        """Make skills of what an id addresses, accepting it first. Raises Refused where it is not ripe."""
        seen, settings = await self.seen(project), self.settings
        return await self._decide("promote", by, lambda tx: promote(tx, seen, settings, id, project, by))

    async def demote(self, name: str, project: str, by: By) -> list[Ruling]:
        """Remove a skill by its name, or by the id of its pattern. Raises Refused, Invalid."""
        return await self._decide("demote", by, lambda tx: demote(tx, name, project, by))

    async def purge(self, id: str, project: str, by: By) -> list[str]:
        """Erase what was kept of what an id addresses, decisions included (a leaked secret); give the ids."""
        seen = await self.seen(project)

        def decide(tx: CoreTx) -> list[Ruling]:
            for each in patterns.find(tx, seen, id, project, by.now):
                if each.ruling is not None:
                    tx.rulings.drop(each.ruling)
                log(tx, by, "purge", each.id)
            return []

        found = await self.store.read(lambda tx: patterns.find(tx, seen, id, project, by.now))
        await self._decide("purge", by, decide)
        keys = [each.key for each in found]
        await self.traces.write(lambda tx: _erase(tx, keys))
        return [each.id for each in found]

    async def _decide(self, step: str, by: By, decide: Callable[[CoreTx], list[Ruling]]) -> list[Ruling]:
        """Decide, then write the files of new skills and remove those that no pattern has any more."""
        decided, gone = await self.store.write(lambda tx: settle(tx, by, decide))
        lost = await self.publish(gone)
        for each in decided:
            self.journal(step, id=key_of(each).id, decision=each.decision, skill=each.skill)
        for skill in lost:
            self.journal("promote", skill=skill.name, origin=skill.origin)
        return decided

    async def publish(self, gone: Iterable[str] = ()) -> list[Skill]:
        """Let the files of skills follow what was decided, and give them; give those that were written."""
        lost = await self.store.read(lambda tx: pattern_skills.missing(tx, self.settings))
        pattern_skills.remove(self.settings, gone)
        written = pattern_skills.write(self.settings, lost)
        if waiting := await self.store.read(skill_handout.pending):
            made_by = skill_handout.makers(waiting, await self.seen(None))
            await self.store.write(lambda tx: skill_handout.hand_out(tx, self.settings, made_by))
        return written


def accept(  # noqa: PLR0913 -- what a decision needs, in somebody's transaction
    tx: CoreTx,
    seen: Seen,
    settings: CoreSettings,
    id: str,
    project: str,
    by: By,
    *,
    note: str = "",
    is_global: bool = False,
    version: str | None = None,
) -> list[Ruling]:
    """Accept in somebody's transaction, with the skills that are ripe; their files follow by `publish`."""
    accepted = patterns.accept(tx, seen, id, project, by, note=note, is_global=is_global, version=version)
    return [
        pattern_skills.record(tx, each, settings, by)
        if pattern_skills.is_ripe(each.failures, each.calls, settings)
        else each
        for each in accepted
    ]


def promote(tx: CoreTx, seen: Seen, settings: CoreSettings, id: str, project: str, by: By) -> list[Ruling]:
    """Make skills of what an id addresses and is ripe, accepting it first. Raises Refused, NotFound."""
    found = patterns.find(tx, seen, id, project, by.now)
    ripe = [each for each in found if pattern_skills.is_ripe(each.pattern.failures, each.calls, settings)]
    if not ripe:
        least = {"failures": settings.min_failures_for_skill, "calls": settings.min_events_for_skill}
        raise Refused("pattern.not_ripe", id=id, **least)
    accepted = [ruling for each in ripe for ruling in patterns.accept(tx, seen, each.id, project, by)]
    return [pattern_skills.record(tx, each, settings, by) for each in accepted]


def demote(tx: CoreTx, name: str, project: str, by: By) -> list[Ruling]:
    """Take the skill of that name, or those of a pattern's id, away. Raises Refused, Invalid."""
    if name in pattern_skills.names(tx):
        return [pattern_skills.forget(tx, name, by)]
    try:
        held = [each for each in patterns.need_accepted(tx, name, project) if each.skill]
    except Refused:  # "accept it first" would be no answer to who wants a skill away
        held = []
    if not held:
        raise Refused("pattern.no_skill", name=name)
    return [pattern_skills.forget(tx, each.skill, by) for each in held]


def settle(
    tx: CoreTx, by: By, decide: Callable[[CoreTx], list[Ruling]]
) -> tuple[list[Ruling], frozenset[str]]:
    """Decide, and take the skills that no pattern has any more from whoever had them; give their names."""
    before = pattern_skills.names(tx)
    decided = decide(tx)
    gone = before - pattern_skills.names(tx)
    for name in gone:
        skill_handout.forget(tx, name, by)
    return decided, gone


def _erase(tx: TraceTx, keys: Iterable[PatternKey]) -> None:
    for key in keys:
        tx.traces.erase(key)
        tx.patterns.drop(key)
