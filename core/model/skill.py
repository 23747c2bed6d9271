"""What an agent can be given to read on demand (learning.md 8)."""

from dataclasses import dataclass
from enum import StrEnum


class SkillKind(StrEnum):
    """A procedure that is run on demand, or knowledge that is consulted."""

    WORKFLOW = "workflow"
    REFERENCE = "reference"


class SkillScope(StrEnum):
    """Whose runs it is for."""

    GLOBAL = "global"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class Skill:
    """A SKILL.md.

    `origin` says where it comes from: "pattern <id>" for a compiled one, else where it was found. `project`
    is the real path of its project, None for a global one; `path` is the file, `sha256` that of its bytes:
    both empty before it is written.
    """

    name: str
    description: str
    body: str
    kind: SkillKind = SkillKind.WORKFLOW
    scope: SkillScope = SkillScope.GLOBAL
    project: str | None = None
    origin: str = ""
    path: str = ""
    sha256: str = ""

    def reaches(self, project: str | None) -> bool:
        """Say whether runs of that project may have it."""
        return self.scope is SkillScope.GLOBAL or self.project == project


@dataclass(frozen=True, slots=True)
class Capability:
    """What an agent has, as every surface shows it."""

    name: str
    description: str
    kind: SkillKind
