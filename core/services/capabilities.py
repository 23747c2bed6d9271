"""What an agent has, and giving and taking it (learning.md 8).

`resolve_capabilities` is the only source of what an agent has: the block, `list_agents`, `/agents`,
`/skills`, the command line and MCP show what it gives. It reads the decisions alone, no file: what an agent
is told changes only when a person decided something.
"""

from dataclasses import dataclass

from core.errors import NotFound, Refused
from core.model.agent import Agent, AgentKind, Assignment
from core.model.skill import Capability, Skill
from core.rules import skills as rules
from core.rules.context import Reading
from core.rules.context import Skill as Line
from core.services import agents, skill_store
from core.services.changes import By, log
from core.tables import CoreTx

_NO_TOOLS = (AgentKind.PI, AgentKind.SCRIPTED)  # read by command where no MCP server is set up
_COMMANDS = "Without these tools: auto-improve skills read NAME, auto-improve agents list"


@dataclass(frozen=True, slots=True)
class Profile:
    """An agent as `list_agents` shows it: its capabilities, and beside them the raw references."""

    agent: Agent
    capabilities: tuple[Capability, ...]
    skills: tuple[str, ...]


def resolve_capabilities(tx: CoreTx, agent: str, project: str | None = None) -> list[Capability]:
    """Give what an agent has in that project, by name; nothing for an unknown one.

    A skill of a project is only for runs of that project; an agent bound to one works in that.
    """
    return [Capability(each.skill, each.description, each.kind) for each in _held(tx, agent, project)]


def _held(tx: CoreTx, id: str, project: str | None) -> list[Assignment]:
    agent = agents.find(tx, id)
    where = agent.project if agent is not None and agent.project else project
    return [each for each in tx.agents.assigned_to(id) if each.reaches(where)]


def profiles(tx: CoreTx, project: str | None = None) -> list[Profile]:
    """Give every agent with what it has in that project."""
    return [profile(tx, each, project) for each in agents.listing(tx)]


def profile(tx: CoreTx, agent: Agent, project: str | None = None) -> Profile:
    """Give one agent with what it has in that project."""
    references = tuple(each.skill for each in tx.agents.assigned_to(agent.id))
    return Profile(agent, tuple(resolve_capabilities(tx, agent.id, project)), references)


def held_files(tx: CoreTx, agent: str, project: str | None) -> list[Assignment]:
    """Give what an agent has with the files it is in, for the runtime that reads them itself."""
    return _held(tx, agent, project)


def for_block(tx: CoreTx, agent: str, project: str | None) -> list[Line]:
    """Give the lines of the section `# Available skills`."""
    return [Line(each.name, each.kind, each.description) for each in resolve_capabilities(tx, agent, project)]


def reading(tx: CoreTx, agent: str | None) -> Reading:
    """Say how an agent reads a skill; one that may be without our MCP server is told the commands too."""
    found = agents.find(tx, agent) if agent is not None else None
    has_tools = found is not None and found.kind not in _NO_TOOLS
    return Reading() if has_tools else Reading(hint=_COMMANDS)


def lists_itself(tx: CoreTx, agent: str) -> bool:
    """Say whether the agent's runtime lists the skills that the bot hands to its process."""
    found = agents.find(tx, agent)
    return found is not None and found.kind is AgentKind.PI


def read(tx: CoreTx, agent: str, name: str, project: str | None, now: float) -> Skill:
    """Give a skill that the agent has, body included, and count the reading.

    Raises NotFound, the same whether the skill is somebody else's, changed since it was given, or nowhere.
    """
    found = next((each for each in _held(tx, agent, project) if each.skill == name), None)
    text = skill_store.text_of(found.path, found.sha256) if found is not None else None
    if found is None or text is None:
        raise NotFound("skill.not_found")
    tx.agents.count_read(agent, name, now)
    return rules.parse(text, name)


def assign(tx: CoreTx, agent: str, skill: Skill, by: By) -> Assignment:
    """Give a skill to an agent, as it is now.

    Raises NotFound, Refused (the skill is a project's and the agent bound to another).
    """
    found = agents.need(tx, agent)
    if found.project is not None and not skill.reaches(found.project):
        raise Refused("skill.elsewhere", name=skill.name, agent=agent)
    given = Assignment(
        agent,
        skill.name,
        skill.description,
        skill.kind,
        skill.scope,
        skill.project,
        skill.origin,
        skill.path,
        skill.sha256,
        by.who,
        by.now,
    )
    tx.agents.assign(given)
    log(tx, by, "skill.assign", skill.name, agent)
    return given


def unassign(tx: CoreTx, agent: str, name: str, by: By) -> None:
    """Take a skill from an agent. Raises NotFound, Refused (it does not have it)."""
    agents.need(tx, agent)
    if not tx.agents.unassign(agent, name):
        raise Refused("skill.not_assigned", agent=agent, name=name[:64])
    log(tx, by, "skill.unassign", name, agent)


def withdraw(tx: CoreTx, name: str, by: By) -> list[str]:
    """Take a skill from everybody (it was demoted); give who had it."""
    had = [each.agent for each in tx.agents.assignments() if each.skill == name]
    for agent in had:
        unassign(tx, agent, name, by)
    return had


def holders(tx: CoreTx, name: str) -> list[Assignment]:
    """Give who has a skill, as it was given."""
    return [each for each in tx.agents.assignments() if each.skill == name]


def record(profile: Profile) -> dict[str, object]:
    """Give an agent as `list_agents` and the command line write it; how it is started is not in it."""
    return {
        "id": profile.agent.id,
        "name": profile.agent.name,
        "kind": profile.agent.kind.value,
        "project": profile.agent.project,
        "capabilities": [
            {"name": each.name, "description": each.description, "kind": each.kind.value}
            for each in profile.capabilities
        ],
        "skills": list(profile.skills),
    }
