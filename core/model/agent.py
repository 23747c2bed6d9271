"""The agents that people registered, and which skills each was given (learning.md 8)."""

from dataclasses import dataclass
from enum import StrEnum

from core.model.skill import SkillKind, SkillScope


class AgentKind(StrEnum):
    """Which program it is; it decides how it is started and how it reads skills."""

    PI = "pi"
    CLAUDE = "claude"
    CODEX = "codex"
    OPENCODE = "opencode"
    SCRIPTED = "scripted"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent. `command` is the argv that starts it, empty for the usual one; `project` binds it to one."""

    id: str
    name: str
    kind: AgentKind
    command: tuple[str, ...] = ()
    project: str | None = None
    created: float = 0.0


@dataclass(frozen=True, slots=True)
class Assignment:
    """A skill that a person gave to an agent, as it was shown to them then.

    Name, description, kind and the hash of the file are kept with the decision: what the file becomes later
    is not what was approved (promise 1). `reads` counts how often the agent read the body.
    """

    agent: str
    skill: str
    description: str
    kind: SkillKind
    scope: SkillScope
    project: str | None
    origin: str
    path: str
    sha256: str
    who: str
    at: float
    reads: int = 0
    read_at: float | None = None

    def reaches(self, project: str | None) -> bool:
        """Say whether runs of that project may have it."""
        return self.scope is SkillScope.GLOBAL or self.project == project
