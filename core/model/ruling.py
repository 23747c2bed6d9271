"""What a person decided about a pattern, with what was shown at that moment (learning.md 5.3)."""

from dataclasses import dataclass
from enum import StrEnum


class Decision(StrEnum):
    """What a person decided about a pattern; none yet is None."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision about one error class of a verb, or (empty `error_class`) about everything of it.

    `command`, `error`, `worked` and `note` are told as they were shown; `decided` orders decisions.
    `failures` and `calls` are what had been counted at that moment, so that before and after can be compared.
    `skill` is the name of the skill that was compiled of it, empty without one.
    """

    project: str
    tool: str
    verb: str
    error_class: str
    decision: Decision
    decided: int
    decided_ts: float
    who: str
    note: str = ""
    command: str = ""
    error: str = ""
    worked: str = ""
    is_global: bool = False
    failures: int = 0
    calls: int = 0
    skill: str = ""
