"""Agents and the skills they were given, in SQL (see `core.tables.AgentTable` for what each promises)."""

import sqlite3

from core.model.agent import Agent, Assignment
from core.store.rows import Rows, run

_KEY = "agent, skill"


class SqlAgents:
    """The registry of agents, and who has which skill."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._agents = Rows(connection, "agent", Agent)
        self._assignments = Rows(connection, "assignment", Assignment)

    def get(self, id: str) -> Agent | None:
        return self._agents.one("agent_get", id=id)

    def all(self) -> list[Agent]:
        return self._agents.many("agent_all")

    def put(self, agent: Agent) -> None:
        self._agents.put(agent)

    def drop(self, id: str) -> None:
        run(self._connection, "assignment_drop_agent", agent=id)
        run(self._connection, "agent_drop", id=id)

    def assign(self, assignment: Assignment) -> None:
        self._assignments.put(assignment, key=_KEY)

    def assignment(self, agent: str, skill: str) -> Assignment | None:
        return self._assignments.one("assignment_get", agent=agent, skill=skill)

    def assigned_to(self, agent: str) -> list[Assignment]:
        return self._assignments.many("assignment_of", agent=agent)

    def assignments(self) -> list[Assignment]:
        return self._assignments.many("assignment_all")

    def unassign(self, agent: str, skill: str) -> bool:
        return run(self._connection, "assignment_drop", agent=agent, skill=skill) > 0

    def count_read(self, agent: str, skill: str, at: float) -> None:
        run(self._connection, "assignment_read", agent=agent, skill=skill, at=at)
