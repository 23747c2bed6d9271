"""Feedback: what a person thinks of a run (learning.md 1)."""

from dataclasses import dataclass
from enum import StrEnum

from core.model.ids import FeedbackId, RunId, SessionId
from core.model.lesson import Domain


class Vote(StrEnum):
    """The type of a feedback record; a withdrawal is a record too, since the log is append-only."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    WITHDRAWN = "withdrawn"


class Source(StrEnum):
    """Where the person said it."""

    CLI = "cli"
    TELEGRAM = "telegram"


@dataclass(frozen=True, slots=True)
class Feedback:
    """One vote. `timestamp` is ISO 8601 UTC; `context` one line on the task, at most 200 characters.

    Append-only: a changed mind is a new record whose `supersedes` names the old one. `is_current` is False on
    a record that was superseded or withdrawn.
    """

    id: FeedbackId
    timestamp: str
    type: Vote
    source: Source
    session: SessionId | None
    project: str | None
    domain: Domain
    context: str
    user_comment: str
    run: RunId | None = None
    user: str | None = None
    reasons: tuple[str, ...] = ()
    supersedes: FeedbackId | None = None
    is_current: bool = True


class CreditKind(StrEnum):
    """What a vote added to a lesson."""

    POSITIVE = "positive"
    VIOLATION = "violation"


@dataclass(frozen=True, slots=True)
class Credit:
    """What one vote counted for one lesson, kept so that it can be taken back exactly.

    `lesson` follows merges; `origin` is the lesson that was told when the vote came.
    """

    feedback: FeedbackId
    origin: str
    kind: CreditKind
    lesson: str
