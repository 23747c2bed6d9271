"""Give a compiled skill to the agent whose traces made it, once (learning.md 8).

Accepting the pattern was the decision; a person who takes the skill back afterwards is not overruled.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from core.model.agent import Assignment
from core.model.ruling import Ruling
from core.services import agents, capabilities, skill_store
from core.services.changes import By
from core.services.patterns import Seen
from core.services.rulings import key_of
from core.services.skill_store import OURS, Root
from core.settings import CoreSettings
from core.tables import CoreTx

SURFACE: Final = "pattern"
_GIVEN: Final = "skill_given:"


def pending(tx: CoreTx) -> list[Ruling]:
    """Give the decisions whose skill was not given to anybody yet."""
    return [each for each in tx.rulings.of() if each.skill and tx.settings.get(_GIVEN + each.skill) is None]


def makers(rulings: Iterable[Ruling], seen: Seen) -> dict[str, str]:
    """Give by skill the agent that made the newest failure of its pattern."""
    found = {each.key: each.agent for each in seen.patterns}
    return {each.skill: found.get(key_of(each), "") for each in rulings}


def hand_out(tx: CoreTx, settings: CoreSettings, made_by: Mapping[str, str]) -> list[Assignment]:
    """Give each skill that waits, once its file is there; to Pi where the agent is nobody we know."""
    waiting = pending(tx)
    if not waiting:
        return []
    files = skill_store.listing((Root(skill_store.home(settings), OURS),))
    given = []
    for each in waiting:
        skill = files.get(each.skill)
        agent = agents.find(tx, made_by.get(each.skill, "")) or agents.BUILT_IN[agents.DEFAULT]
        if skill is None or (agent.project is not None and not skill.reaches(agent.project)):
            continue
        given.append(capabilities.assign(tx, agent.id, skill, By(each.who, each.decided_ts, SURFACE)))
        tx.settings.put(_GIVEN + each.skill, agent.id)
    return given


def forget(tx: CoreTx, name: str, by: By) -> None:
    """Take a skill that is no more from everybody; compiled again it is given again."""
    capabilities.withdraw(tx, name, by)
    tx.settings.drop(_GIVEN + name)
