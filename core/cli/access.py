"""What every command needs: settings, the store, who asks, and whether a person does."""

import asyncio
import getpass
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from core.cli import ancestry, ticket
from core.cli.speech import is_text, language, tell
from core.clock import SystemClock, SystemIds
from core.errors import AutoImproveError, Invalid, PeopleDecide, Refused
from core.services import gate
from core.settings import CoreSettings, load, project_of
from core.store.sqlite import open_store
from core.tables import Tx
from core.texts import say_error

if TYPE_CHECKING:  # importing the ports costs a tenth of the start
    from core.ports import Store

T = TypeVar("T")

SURFACE = "cli"
AGENT = "pi"  # who asks where no host says otherwise
CLOCK = SystemClock()
IDS = SystemIds()


def settings() -> CoreSettings:
    """Read the settings. Raises SettingsError."""
    return load(CoreSettings, folder())


def folder() -> Path:
    """Give the folder we are in. Raises Refused where it was deleted under us."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Refused("cli.no_folder") from None


def read(fn: Callable[[Tx], T]) -> T:
    """Open the store, look at one consistent state of it, close it."""

    async def run() -> T:
        async with open_store(settings().store_path) as store:
            _tell_recovery(store.recovered_from)
            return await store.read(fn)

    return asyncio.run(run())


def write(fn: Callable[[Tx], T]) -> T:
    """Let a person change the store in one transaction. Raises PeopleDecide under an agent."""
    require_person()
    return hand_in(fn)


def hand_in(fn: Callable[[Tx], T]) -> T:
    """Change the store without deciding anything: what an agent may do too.

    The files that others read are brought up to date; where they cannot be, the change stands all the same.
    """

    async def run() -> T:
        ours = settings()
        async with open_store(ours.store_path) as store:
            _tell_recovery(store.recovered_from)
            value = await store.write(fn)
            await publish(store, ours)
            return value

    return asyncio.run(run())


async def publish(store: "Store", ours: CoreSettings) -> None:
    """Write context files and mirror; say on stderr what a hand edit came to. Raises nothing."""
    from core.services import publishing  # noqa: PLC0415  # only who writes pays for it
    from core.services.changes import By  # noqa: PLC0415

    try:
        done = await publishing.publish(store, ours, By(who(), CLOCK.now(), "mirror", IDS.new()))
    except (OSError, AutoImproveError) as error:
        reason = say_error(error, language()) if isinstance(error, AutoImproveError) else str(error)
        click.echo(tell("not_published", reason=reason), err=True)
        return
    for fault in done.refused:
        click.echo(tell("mirror_refused", reason=say_error(fault, language())), err=True)
    if done.proposed:
        click.echo(tell("mirror_proposed", ids=", ".join(done.proposed)), err=True)


def _tell_recovery(backup: Path | None) -> None:
    """Say on stderr that a damaged store gave way to a backup."""
    if backup is not None:
        click.echo(tell("recovered", backup=backup.name), err=True)


def require_person() -> None:
    """Raise PeopleDecide where an agent's shell asks (promise 3).

    What runs inside Pi without the mark of its shell needs the ticket of a person's own command there.
    """
    gate.refuse_under_agent(os.environ, ancestry.environments())
    if not ticket.is_person(ancestry.outermost_pi()):
        raise PeopleDecide("gate.no_ticket")


def agent() -> str | None:
    """Give the identity of the agent under whose marker we run, None for a person."""
    is_marked = gate.marker_of(os.environ, ancestry.environments()) is not None
    if not is_marked and ticket.is_person(ancestry.outermost_pi()):
        return None
    return os.environ.get("AUTO_IMPROVE_AGENT_ID") or AGENT


def identity() -> str:
    """Give whose skills may be read here: the agent that the host named, else Pi.

    What an agent's shell sets itself does not count: of all processes below the host the outermost is asked.
    """
    mine = AGENT
    for environ in ancestry.environments():
        if gate.marker_of(environ) is not None or environ is os.environ:
            mine = environ.get("AUTO_IMPROVE_AGENT_ID") or AGENT
    return mine


def who() -> str:
    """Name the person at this terminal, for the history and the audit log."""
    try:
        return f"cli:{getpass.getuser()}"
    except (OSError, KeyError):  # a user id without a name, as in some containers
        return f"cli:{os.getuid()}"


def project(given: str | None) -> str:
    """Give the project that is meant: the one given, else this folder's. Raises Invalid (no UTF-8 path)."""
    found = project_of(Path(given) if given else folder())
    if not is_text(found):
        raise Invalid("cli.project_no_text")
    return found
