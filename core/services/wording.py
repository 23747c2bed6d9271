"""What a rule must be like before it can stand at the gate or in the block (reliability.md S4, S6)."""

from dataclasses import dataclass
from typing import Final

from core.errors import Invalid, Refused
from core.model.lesson import MAX_RULE_CHARS
from core.rules import safety
from core.rules.safety import Flag

_REFUSED: Final = (Flag.INVISIBLE, Flag.SECTION)


@dataclass(frozen=True, slots=True)
class Wording:
    """A rule as it would be told, secrets masked, and what `core.rules.safety` says about it."""

    text: str
    flags: tuple[str, ...] = ()


def examined(rule: str) -> Wording:
    """Give a rule that waits for a person; its flags are on the card. Raises Invalid (empty, too long)."""
    findings = safety.examine(rule)
    if Flag.EMPTY in findings.flags:
        raise Invalid("rule.empty")
    if Flag.TOO_LONG in findings.flags:
        raise Invalid("rule.too_long", chars=len(findings.text), most=MAX_RULE_CHARS)
    return Wording(findings.text, tuple(flag.value for flag in findings.flags))


def typed(rule: str) -> str:
    """Give a rule that counts at once because a person typed it; no card would show a warning.

    Raises Invalid, Refused (text that cannot be seen, or that would open a section of the block).
    """
    wording = examined(rule)
    for flag in _REFUSED:
        if flag.value in wording.flags:
            raise Refused(f"rule.{flag.value}")
    return wording.text


def reason(text: str) -> str:
    """Give a rationale: one line, secrets masked, cut to the length of a rule."""
    return safety.examine(text).text[:MAX_RULE_CHARS]


def is_usable(rule: str) -> bool:
    """Say whether a rule could stand at the gate at all."""
    found = safety.examine(rule).flags
    return Flag.EMPTY not in found and Flag.TOO_LONG not in found
