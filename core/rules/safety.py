"""Say what a lesson may not contain, and bring its text into the one form that is shown, stored and told.

What is shown is what is stored is what is injected: all three use `examine(...).text` (S4). Flags warn
the person who decides; they approve and reject nothing (S3).
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from core.rules import characters, orders, terminal
from core.rules.redact import Redactor

RULE_CHARS_MAX: Final = 300  # learning.md 2
_EXAMINED_CHARS: Final = 8_000  # far beyond any lesson: a longer text is cut, and says that it is too long


class Flag(StrEnum):
    """What a person must know before approving; the order is that of printing."""

    ORDER = "order"
    SECRET = "secret"  # noqa: S105 - a flag's name
    INVISIBLE = "invisible"
    LOOKALIKE = "lookalike"
    SECTION = "section"
    TOO_LONG = "too_long"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Findings:
    """A lesson's text as it would be told, and what is suspicious about it as it came."""

    text: str
    flags: tuple[Flag, ...]


# What could open a section, close a fence, or pass for our own words in the block (learning.md 6).
_SECTION: Final = re.compile(
    r"(?m)^\s{0,3}(?:#{1,6}(?:\s|$)|-{3,}\s*$|={3,}\s*$|\+{3,}\s*$|(?:[-*]\s*)?(?:```|~~~))"
    r"|```|~~~|(?:^|\s)#{2,6}\s+\w|<!--|-->|<!\[CDATA|\]\]>|%%%\s?\w|(?:^|\s)---\s+\w{1,20}\s?:"
    r"|[=*_#~-]{4}\s?\w[\w ]{0,30}\s?[=*_#~-]{4}|\[\[\s?\w{1,20}\s?[:.]|<\|\w|\|>|\[/?INST\]"
    r"|\n\s{0,3}-\s+\[\w+\]\s"
)
_TAG: Final = re.compile(
    r"(?i)</?\s?(?:auto[_-]?improve|system|assistant|human|user|developer|tools?|tool[_-]\w{1,20}|function\w{0,20}"
    r"|instructions?|lessons?|rules?|memory|untrusted\w{0,20}|prompt|reminder|system-reminder|admin|skills?|data"
    r"|nonce|fence|example|documents?|results?)\b[^>]{0,200}>"
)
_OUR_WORDS: Final = re.compile(  # the block's own headings and first line (learning.md 6)
    r"(?i)\(auto-improve\)|approved by the person|ranks below the request|#\s?lessons learned"
    r"|#\s?available skills|#\s?observed failures|#\s?le[çc]ons apprises|#\s?[ée]checs observ[ée]s"
)
_FIELD: Final = re.compile(
    r"(?im)^\s{0,8}['\"]?(?:rule|active|scope|priority|status|state|approved|name|description|domain|rationale|allowed-tools|kind|id|lesson"
    r"|verdict|source_feedback|violations|positive_examples|told)['\"]?\s?:"
)
_FIELDS_INLINE: Final = re.compile(
    r"(?i)['\"](?:verdict|rule|active|scope|status|approved|rationale)['\"]\s?:"
)
# What the block stands in (pi-protocol.md 6): shown, stored and told alike without its angle bracket.
_OUR_TAG: Final = re.compile(r"<(?=\s*/?\s*auto[_-]improve)", re.IGNORECASE)
_SPACES: Final = re.compile(r"[\s\x1c-\x1f\x85]+")
_BEFORE_MARK: Final = re.compile(r"\s+([;:!?»])|(«)\s+")
_FINAL_MARKS: Final = " .!?…;:,。！？"


def normalise(text: str) -> str:
    """Return the text in NFC, on one line, single-spaced, without escapes, controls or hidden characters."""
    return _normalised(text)[0]


def examine(text: str, own_secrets: Iterable[str] = ()) -> Findings:
    """Return a lesson's text as it would be told (secrets masked), and its flags."""
    redactor = Redactor(own_secrets)
    capped = text[:_EXAMINED_CHARS]
    shown, hides = _normalised(redactor.redact(capped))
    masked = redactor.redact(shown)
    bare = _normalised(capped)[0]
    told = {
        Flag.ORDER: orders.found(capped),
        Flag.SECRET: masked != bare,
        Flag.INVISIBLE: hides or _normalised(capped)[1],
        Flag.LOOKALIKE: characters.has_lookalike(bare),
        Flag.SECTION: _opens_section(terminal.strip(capped)),
        Flag.TOO_LONG: len(masked) > RULE_CHARS_MAX or len(text) > _EXAMINED_CHARS,
        Flag.EMPTY: not any(char.isalnum() for char in masked),
    }
    return Findings(masked, tuple(flag for flag in Flag if told[flag]))


def fold(text: str) -> str:
    """Return what two lessons have in common when they are equal (learning.md 3.4).

    Case, spacing, accents and final punctuation do not count.
    """
    decomposed = unicodedata.normalize("NFD", normalise(text).casefold().replace("\u2019", "'"))
    letters = "".join(char for char in decomposed if not "\u0300" <= char <= "\u036f")
    spaced = _BEFORE_MARK.sub(r"\1\2", unicodedata.normalize("NFC", letters))
    return spaced.rstrip(_FINAL_MARKS)


def _normalised(text: str) -> tuple[str, bool]:
    visible = terminal.strip(text)
    hides = _SPACES.sub("", visible) != _SPACES.sub("", text)
    while True:  # composing may put a joiner beside another letter: until nothing changes
        cleaned, has_hidden = characters.clean(unicodedata.normalize("NFC", visible))
        settled = " ".join(_SPACES.sub(" ", unicodedata.normalize("NFC", cleaned)).split())
        settled = _OUR_TAG.sub("‹", settled)
        hides = hides or has_hidden
        if settled == visible:
            return settled, hides
        visible = settled


def _opens_section(text: str) -> bool:
    composed = unicodedata.normalize("NFKC", text)
    patterns = (_SECTION, _TAG, _OUR_WORDS, _FIELDS_INLINE)
    return any(pattern.search(composed) for pattern in patterns) or len(_FIELD.findall(composed)) > 1
