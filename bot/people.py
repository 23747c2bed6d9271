"""Who is who: the people of the settings, and those who came in by a one-time link (product.md 5).

The one place that says who is allowed, who decides and who owns the bot; what is stored counts at once,
without a restart. A link's code is kept as its hash, works once and for a day.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from bot.settings import BotSettings
from core.model.run import Activity
from core.ports import Ids
from core.tables import CoreTx

INVITATION_S = 86_400.0
MAX_OPEN = 20  # invitations at a time; the oldest gives way

_JOINED, _INVITATIONS = "people", "invitations"
_SURFACE = "telegram"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who came in by a link. `by` is who invited them, "" for the terminal."""

    id: int
    name: str
    by: str
    at: float
    is_owner: bool = False


@dataclass(frozen=True, slots=True)
class Invitation:
    """A link that was not used yet."""

    hash: str
    by: str
    expires: float
    is_for_owner: bool = False


def owner(tx: CoreTx, settings: BotSettings) -> int | None:
    """Give the owner: the first of the settings, else who paired at the terminal."""
    if settings.allowed_users:
        return settings.allowed_users[0]
    return next((person.id for person in joined(tx) if person.is_owner), None)


def is_allowed(tx: CoreTx, settings: BotSettings, user: int) -> bool:
    """Say whether that person may prompt and vote."""
    return user in settings.allowed_users or any(person.id == user for person in joined(tx))


def may_decide(tx: CoreTx, settings: BotSettings, user: int) -> bool:
    """Say whether that person decides on lessons."""
    is_approver = not settings.approvers or user in settings.approvers
    return is_approver and is_allowed(tx, settings, user)


def joined(tx: CoreTx) -> list[Person]:
    """Give who came in by a link, in that order."""
    return [Person(**each) for each in json.loads(tx.settings.get(_JOINED) or "[]")]


def invite(tx: CoreTx, ids: Ids, by: str, now: float, *, is_for_owner: bool = False) -> str:
    """Give a new one-time code of 128 random bits; a new code for the owner ends the one before."""
    code = ids.token() + ids.token()
    kept = [each for each in invitations(tx, now) if not (is_for_owner and each.is_for_owner)]
    made = Invitation(_hash(code), by, now + INVITATION_S, is_for_owner)
    _put(tx, _INVITATIONS, [*kept, made][-MAX_OPEN:])
    return code


def invitations(tx: CoreTx, now: float) -> list[Invitation]:
    """Give the invitations that can still be used, oldest first."""
    found = (Invitation(**each) for each in json.loads(tx.settings.get(_INVITATIONS) or "[]"))
    return [each for each in found if now < each.expires]


def redeem(
    tx: CoreTx, settings: BotSettings, code: str, user: int, name: str, now: float
) -> Invitation | None:
    """Let somebody in by a code, which is used up; None where it is not worth anything (any more)."""
    wanted = _hash(code)
    current = invitations(tx, now)
    found = next((each for each in current if each.hash == wanted), None)
    if found is None or (is_allowed(tx, settings, user) and not found.is_for_owner):
        return None
    _put(tx, _INVITATIONS, [each for each in current if each != found])
    others = [each for each in joined(tx) if each.id != user]
    if found.is_for_owner:
        others = [replace(each, is_owner=False) for each in others]
    _put(tx, _JOINED, [*others, Person(user, name, found.by, now, found.is_for_owner)])
    verb = "pair" if found.is_for_owner else "join"
    tx.runs.log(Activity(now, str(user), _SURFACE, verb, str(user), found.by))
    return found


def remove(tx: CoreTx, user: int, by: str, now: float) -> Person | None:
    """Show somebody out who came in by a link; None where there is nobody like that, or it is the owner."""
    everybody = joined(tx)
    found = next((each for each in everybody if each.id == user and not each.is_owner), None)
    if found is not None:
        _put(tx, _JOINED, [each for each in everybody if each != found])
        tx.runs.log(Activity(now, by, _SURFACE, "leave", str(user), found.name))
    return found


def link(username: str, code: str) -> str:
    """Give the link that opens the bot with a code."""
    return f"https://t.me/{username}?start={code}"


def _put(tx: CoreTx, name: str, records: Sequence[Person | Invitation]) -> None:
    tx.settings.put(name, json.dumps([asdict(each) for each in records], ensure_ascii=False))


def _hash(code: str) -> str:
    # Looked up by hash: neither the time of a comparison nor the store's file gives a code away.
    return hashlib.sha256(code.encode()).hexdigest()
