"""`purge`: erase a text everywhere we know of, after a question (product.md 3)."""

import asyncio
from collections.abc import Callable

import click

from core.cli import access, show
from core.cli.speech import tell
from core.cli.spoken import SpokenCommand
from core.services import publishing, purging
from core.services.changes import By
from core.store import backup
from core.store.sqlite import open_store
from core.tables import Tx

Erase = Callable[[Tx, str, By], object]


def _yes_option(command: show.F) -> show.F:
    return click.option("--yes", "is_sure", is_flag=True, help=tell("option.yes"))(command)


@click.command("purge", cls=SpokenCommand, help=tell("help.lessons_purge"))
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@_yes_option
def lessons(ids: tuple[str, ...], is_sure: bool) -> None:
    """Erase lessons with every wording they had."""
    _purge(purging.lesson, ids, is_sure)


@click.command("purge", cls=SpokenCommand, help=tell("help.feedback_purge"))
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@_yes_option
def feedback(ids: tuple[str, ...], is_sure: bool) -> None:
    """Erase the words of votes and what came of them."""
    _purge(purging.vote, ids, is_sure)


@click.command("purge", cls=SpokenCommand, help=tell("help.proposals_purge"))
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@_yes_option
def proposals(ids: tuple[str, ...], is_sure: bool) -> None:
    """Erase the texts of proposals."""
    _purge(purging.proposal, ids, is_sure)


def _purge(erase: Erase, ids: tuple[str, ...], is_sure: bool) -> None:
    access.require_person()
    if not is_sure:
        click.confirm(tell("purge.sure", ids=", ".join(ids)), abort=True, err=True)
    copies, is_clean = asyncio.run(_erase(erase, ids))
    show.line(tell("purge.done", ids=", ".join(ids), copies=copies))
    if not is_clean:
        click.echo(tell("purge.in_use"), err=True)


async def _erase(erase: Erase, ids: tuple[str, ...]) -> tuple[int, bool]:
    """Erase in the store, write it and the files beside it anew, put one fresh backup in place of all old."""
    settings = access.settings()
    by = By(access.who(), access.CLOCK.now(), access.SURFACE, access.IDS.new())

    def change(tx: Tx) -> None:
        for each in ids:
            erase(tx, each, by)

    async with open_store(settings.store_path) as store:
        await store.write(change)
        is_clean = await store.scrub()
        await publishing.publish(store, settings, by)
        copies = backup.forget(settings.store_path, settings.backup_folder)
        if copies:
            await asyncio.to_thread(backup.daily, settings.store_path, settings.backup_folder, by.now)
    return copies, is_clean
