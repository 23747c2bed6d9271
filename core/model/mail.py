"""What came in and what goes out, as neutral rows: the store knows no Telegram (reliability.md 1)."""

from dataclasses import dataclass
from enum import StrEnum


class MailState(StrEnum):
    """Where a row of the inbox or the outbox stands."""

    WAITING = "waiting"
    SENDING = "sending"  # handed to the network: after a restart its outcome is unknown
    DONE = "done"
    DEAD = "dead"  # given up, visible in `doctor`


@dataclass(frozen=True, slots=True)
class Incoming:
    """One stored update: `raw` is its JSON, blanked once it is done."""

    id: int
    lane: str
    raw: str
    attempts: int
    received: float


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One call to make.

    `body` is opaque JSON, `ref` what the message will be known as, `key` what it replaces.
    Of two waiting rows with the same `key` only the newer is kept. A lower `rank` goes first within a lane;
    equal ranks keep their order.
    """

    lane: str
    body: str
    key: str | None = None
    ref: str | None = None
    rank: int = 1
    not_before: float = 0.0
    state: MailState = MailState.WAITING
    attempts: int = 0
    error: str = ""
    created: float = 0.0
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the other side calls a message we sent; a ref may have several, in the order of `seq`."""

    lane: str
    external: str
    ref: str
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Button:
    """What stands behind an inline button: everything but its opaque id stays in the store.

    `payload` is opaque JSON; `ref` what the button is about and `version` that thing's version; `message` the
    message it is bound to ("" until known); `expires` in seconds since the epoch.
    """

    id: str
    kind: str
    lane: str
    payload: str
    created: float
    expires: float
    ref: str = ""
    version: int = 0
    message: str = ""
    is_used: bool = False
