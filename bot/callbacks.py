"""The codec of `callback_data`: `1:<kind>:<opaque id>[:<choice>]`, at most 64 bytes (telegram.md 5).

The id is a random token; everything it stands for is in the store. Nothing here can be forged into meaning:
a string either matches completely or is not ours.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

MAX_BYTES = 64
_CURRENT = re.compile(r"1:([a-z]):([A-Za-z0-9_-]{11,24})(?::([a-z0-9_]{1,24}))?")


class Kind(StrEnum):
    """What a button is about."""

    VOTE = "v"
    PROPOSAL = "p"
    RUN = "r"  # stop, retry, run next, clear
    AGENT = "a"  # a hidden button that the agent wrote
    DIALOG = "d"  # the agent waits for an answer
    ANALYSIS = "f"  # an analysis that failed
    LESSONS = "l"  # pages and cards
    SKILLS = "s"  # pages and cards of skills
    ANNOUNCEMENT = "n"  # what was changed outside the chat
    PATTERN = "t"  # a failure that recurs
    REVIEW = "w"  # the deck of what waits
    REMARK = "m"  # a reply that may be a wording or a remark


_KINDS = frozenset(kind.value for kind in Kind)


@dataclass(frozen=True, slots=True)
class Callback:
    """What a tap says."""

    kind: Kind
    token: str
    choice: str = ""


def encode(kind: Kind, token: str, choice: str = "") -> str:
    """Write callback data. Raises ValueError for what could not be read back."""
    data = f"1:{kind.value}:{token}" + (f":{choice}" if choice else "")
    if decode(data) is None or len(data.encode()) > MAX_BYTES:
        raise ValueError(f"not callback data: {data!r}")
    return data


def decode(data: str) -> Callback | None:
    """Read callback data; None for another version or somebody else's."""
    match = _CURRENT.fullmatch(data)
    if match is None or match[1] not in _KINDS:
        return None
    return Callback(Kind(match[1]), match[2], match[3] or "")
