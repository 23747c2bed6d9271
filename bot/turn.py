"""One update's turn: what a handler hands back instead of acting itself.

A handler calls `context.commit(effect)` with one function of the transaction. The lane runs it in the
transaction that marks the update done, then does what the effect's `Reply` says. A handler never calls
Telegram.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from telegram.ext import Application, CallbackContext, JobQueue

from bot.api import Api
from bot.settings import BotSettings
from core.model.ids import SessionId
from core.ports import Clock, Ids
from core.services.patterns import Seen
from core.tables import Tx
from core.trace_tables import Usage


@dataclass(frozen=True, slots=True)
class Stop:
    """End the run of a session."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class Steer:
    """Hand a message into the running run of a session."""

    session: SessionId
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer what the agent of a session asked; None cancels."""

    session: SessionId
    request: str
    value: str | bool | None


@dataclass(frozen=True, slots=True)
class Forget:
    """End the agent process of a session: it has been replaced."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class Release:
    """Let a silent run of a session go on: the person wants to wait."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class ShowOutput:
    """Show the last thing the agent of a session did or said."""

    session: SessionId


Signal = Stop | Steer | Answer | Forget | Release | ShowOutput


@dataclass(frozen=True, slots=True)
class Reply:
    """What follows the commit: a toast for the tap, and signals for the runner."""

    toast: str = ""
    is_alert: bool = False
    signals: tuple[Signal, ...] = ()
    gone_skills: tuple[str, ...] = ()  # whose files are to go too


Effect = Callable[[Tx], Reply | None]


@dataclass(slots=True)
class Turn:
    """One update as it came, and what it led to so far."""

    raw: dict[str, Any]
    effect: Effect | None = None
    error: BaseException | None = None


_turn: ContextVar[Turn] = ContextVar("turn")


def begin(raw: dict[str, Any]) -> Turn:
    """Open the turn that handlers of this task write into."""
    turn = Turn(raw)
    _turn.set(turn)
    return turn


@dataclass(slots=True)
class Sightings:
    """What was counted of failures at the last look; a transaction cannot wait for the other file."""

    seen: Seen = field(default_factory=Seen)
    weeks: Mapping[int, Usage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Desk:
    """What every handler may use."""

    settings: BotSettings
    clock: Clock
    ids: Ids
    folder: Path
    project: str
    username: str = ""
    sightings: Sightings = field(default_factory=Sightings)


class Context(CallbackContext[Api, dict[object, object], dict[object, object], dict[object, object]]):
    """The context of our handlers."""

    @property
    def raw(self) -> dict[str, Any]:
        """Give the update as it came; to turn the parsed one back costs more than all else a tap does."""
        return _turn.get().raw

    def commit(self, effect: Effect) -> None:
        """Hand over the one thing this update does."""
        _turn.get().effect = effect


async def remember_error(_update: object, context: Context) -> None:
    """Keep what a handler raised for the lane, which decides about another try."""
    _turn.get().error = cast(BaseException, context.error)


_Nothing = dict[object, object]
App = Application[Api, Context, _Nothing, _Nothing, _Nothing, JobQueue[Context]]
