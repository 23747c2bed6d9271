"""Agents and the skills they were given, in memory (see `core.tables.AgentTable`)."""

from dataclasses import replace

from core.model.agent import Agent, Assignment
from core.store.memory_mail import Table


class MemoryAgents(Table):
    """The registry of agents, and who has which skill."""

    def __init__(self) -> None:
        self._agents: dict[str, Agent] = {}
        self._assigned: dict[tuple[str, str], Assignment] = {}

    def get(self, id: str) -> Agent | None:
        return self._agents.get(id)

    def all(self) -> list[Agent]:
        return sorted(self._agents.values(), key=lambda each: each.id)

    def put(self, agent: Agent) -> None:
        self._agents[agent.id] = agent

    def drop(self, id: str) -> None:
        self._agents.pop(id, None)
        self._assigned = {key: each for key, each in self._assigned.items() if each.agent != id}

    def assign(self, assignment: Assignment) -> None:
        self._assigned[assignment.agent, assignment.skill] = assignment

    def assignment(self, agent: str, skill: str) -> Assignment | None:
        return self._assigned.get((agent, skill))

    def assigned_to(self, agent: str) -> list[Assignment]:
        return [each for each in self.assignments() if each.agent == agent]

    def assignments(self) -> list[Assignment]:
        return [self._assigned[key] for key in sorted(self._assigned)]

    def unassign(self, agent: str, skill: str) -> bool:
        return self._assigned.pop((agent, skill), None) is not None

    def count_read(self, agent: str, skill: str, at: float) -> None:
        held = self._assigned.get((agent, skill))
        if held is not None:
            self._assigned[agent, skill] = replace(held, reads=held.reads + 1, read_at=at)
