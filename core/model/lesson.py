"""A lesson: one approved rule that agents are told from then on (learning.md 2)."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from core.model.ids import LessonId

MAX_RULE_CHARS = 300


class Domain(StrEnum):
    """What kind of work a run or a lesson is about."""

    DEBUG = "debug"
    REFACTORING = "refactoring"
    FEATURE = "feature"
    REVIEW = "review"
    GENERAL = "general"


class Scope(StrEnum):
    """Who is told a lesson: every run, runs of one project, or whoever consults its domain's file."""

    GLOBAL = "global"
    PROJECT = "project"
    DOMAIN = "domain"


@dataclass(frozen=True, slots=True)
class Lesson:
    """The current wording and state of a lesson.

    `project` is the real path for scope `project`, else None. `source_feedback` are the ids of the votes
    behind it. `decided` is the sequence number of the newest decision of a person about it (the block chooses
    by it), `revision` counts every change. `merged_into` names the lesson that took this one over.
    """

    id: LessonId
    created: str
    domain: Domain
    rule: str
    rationale: str
    source_feedback: tuple[str, ...] = ()
    positive_examples: int = 0
    violations: int = 0
    active: bool = True
    scope: Scope = Scope.GLOBAL
    project: str | None = None
    decided: int = 0
    revision: int = 1
    updated: str = ""
    merged_into: LessonId | None = None

    def reaches(self, project: str | None) -> bool:
        """Say whether runs of that project may be told or compared with this lesson (scope is strict)."""
        return self.scope is not Scope.PROJECT or (project is not None and self.project == project)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which lessons a list shows: those that reach `project`, or every project's (the owner's own tools)."""

    project: str | None = None
    scope: Scope | None = None
    domain: Domain | None = None
    is_active: bool = True
    is_everywhere: bool = False

    def takes(self, lesson: Lesson) -> bool:
        """Say whether that lesson is one of them."""
        return (
            lesson.active is self.is_active
            and (self.is_everywhere or lesson.reaches(self.project))
            and self.scope in (None, lesson.scope)
            and self.domain in (None, lesson.domain)
        )


@dataclass(frozen=True, slots=True)
class Revision:
    """One wording in the history of a lesson: what it was, who made it so, when and why.

    `decided` and `source_feedback` are the lesson's of then, so that an undo restores it exactly.
    """

    lesson: LessonId
    revision: int
    rule: str
    rationale: str
    domain: Domain
    scope: Scope
    project: str | None
    active: bool
    who: str
    at: str
    why: str
    decided: int = 0
    source_feedback: tuple[str, ...] = ()


def project_hash(path: str) -> str:
    """Give the 8 hex digits that name a project in file names; the full path stands inside the file."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:8]
