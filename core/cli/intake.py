"""Before a command: take in what Pi's extension wrote in the terminal, so that votes find their run."""

import asyncio

import click

from core.cli.speech import language, tell
from core.errors import AutoImproveError
from core.texts import say_error

WITHOUT = frozenset({"demo", "doctor", "inspect", "install", "mine", "run", "setup", "uninstall"})
"""Commands that look at no run, or do this themselves."""


def before(command: str | None) -> None:
    """Take in what is there, if anything; what fails is said in one line on stderr, and waits."""
    from core.cli import access  # noqa: PLC0415  # only what reaches the store pays for the imports

    if command is None or command in WITHOUT:
        return
    try:
        settings = access.settings()
    except (AutoImproveError, OSError):  # the command itself says what is wrong
        return
    if not (settings.home / "spool").is_dir():
        return
    try:
        asyncio.run(_take_in())
    except (AutoImproveError, OSError) as error:
        reason = say_error(error, language()) if isinstance(error, AutoImproveError) else str(error)
        click.echo(tell("not_taken_in", reason=reason), err=True)


async def _take_in() -> None:
    from core.cli import access  # noqa: PLC0415
    from core.services import spool  # noqa: PLC0415
    from core.services.journal import journal  # noqa: PLC0415
    from core.services.spooled import Desk  # noqa: PLC0415
    from core.store.sqlite import open_store  # noqa: PLC0415
    from core.store.traces import open_traces  # noqa: PLC0415

    ours = access.settings()
    if not spool.has_news(ours.home / spool.FOLDER):
        return
    async with open_store(ours.store_path) as store, open_traces(ours.traces_path) as traces:
        desk = Desk(store, traces, ours, language(), journal(ours.debug))
        await spool.take_in(desk, access.CLOCK.now())
