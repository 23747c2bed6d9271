"""What a rule must be like before it can stand at the gate or in the block (reliability.md S4, S6)."""

import unicodedata
from dataclasses import dataclass

from core.errors import Invalid
from core.model.lesson import MAX_RULE_CHARS
from core.rules.redact import redact


@dataclass(frozen=True, slots=True)
class Wording:
    """A normalised rule and what `core.rules.safety` says about it."""

    text: str
    flags: tuple[str, ...] = ()


def examined(rule: str) -> Wording:
    """Normalise a rule that waits for a person, secrets masked. Raises Invalid (empty, too long)."""
    text = " ".join(unicodedata.normalize("NFC", redact(rule)).split())
    if not text:
        raise Invalid("rule.empty")
    if len(text) > MAX_RULE_CHARS:
        raise Invalid("rule.too_long", chars=len(text), most=MAX_RULE_CHARS)
    return Wording(text)


def typed(rule: str) -> str:
    """Normalise a rule that counts at once because a person typed it."""
    return examined(rule).text


def reason(text: str) -> str:
    """Normalise a rationale: one line, secrets masked, cut to the length of a rule."""
    return " ".join(redact(text).split())[:MAX_RULE_CHARS]
