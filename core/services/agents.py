"""The registry of agents (learning.md 8): the ones that come with auto-improve, then those people added."""

import re
from typing import Final

from core.errors import Invalid, NotFound, Refused
from core.model.agent import Agent, AgentKind
from core.services.changes import By, log
from core.tables import CoreTx

DEFAULT: Final = "pi"
BUILT_IN: Final = {
    "pi": Agent("pi", "Pi", AgentKind.PI),
    "scripted": Agent("scripted", "Scripted", AgentKind.SCRIPTED),
}
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def listing(tx: CoreTx) -> list[Agent]:
    """Give all agents: Pi, the scripted one where it was given skills, then those that were added, by id."""
    shown = [BUILT_IN[DEFAULT]]
    if tx.agents.assigned_to("scripted"):
        shown.append(BUILT_IN["scripted"])
    return [*shown, *tx.agents.all()]


def find(tx: CoreTx, id: str) -> Agent | None:
    """Give that agent, None where nobody registered it."""
    return BUILT_IN.get(id) or tx.agents.get(id)


def need(tx: CoreTx, id: str) -> Agent:
    """Give that agent. Raises NotFound."""
    agent = find(tx, id)
    if agent is None:
        raise NotFound("agents.not_found", id=id[:64])
    return agent


def add(
    tx: CoreTx,
    id: str,
    kind: AgentKind,
    by: By,
    *,
    name: str = "",
    command: tuple[str, ...] = (),
    project: str | None = None,
) -> Agent:
    """Register an agent. Raises Invalid (id, no command), Refused (there is one already)."""
    if not _ID.fullmatch(id):
        raise Invalid("agents.id_form", id=id[:64].encode("ascii", "backslashreplace").decode())
    if id in BUILT_IN:
        raise Refused("agents.built_in", id=id)
    if tx.agents.get(id) is not None:
        raise Refused("agents.exists", id=id)
    if kind is AgentKind.OTHER and not command:
        raise Invalid("agents.no_command", id=id)
    agent = Agent(id, name.strip() or id, kind, command, project, by.now)
    tx.agents.put(agent)
    log(tx, by, "agent.add", id, kind)
    return agent


def remove(tx: CoreTx, id: str, by: By) -> Agent:
    """Forget an agent and what it was given. Raises NotFound, Refused (comes with auto-improve)."""
    agent = need(tx, id)
    if id in BUILT_IN:
        raise Refused("agents.built_in", id=id)
    tx.agents.drop(id)
    log(tx, by, "agent.remove", id)
    return agent
