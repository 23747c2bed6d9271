"""`auto-improve export|import|backup|restore`: out and in, as text or as a whole (learning.md 9)."""

import asyncio
from dataclasses import asdict
from pathlib import Path

import click

from core.cli import access, show
from core.cli.speech import tell
from core.cli.spoken import SpokenCommand
from core.errors import Refused
from core.services import folders
from core.services import transfer as service
from core.services.changes import By, log
from core.services.transfer import Report
from core.store import backup as backups
from core.store.database import locked, open_lock
from core.store.sqlite import open_store

_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("export", cls=SpokenCommand, help=tell("help.export"))
@click.argument("folder", type=_FOLDER, metavar="DIR")
@show.json_option
def export(folder: Path, is_json: bool) -> None:
    """Write the exchange files of every project."""
    files = access.read(service.export)
    try:
        folders.write(folder, files)
    except OSError as error:
        raise Refused("cli.transfer.unwritable", path=folder, reason=error.strerror) from None
    if is_json:
        show.as_json(sorted(files))
    else:
        show.line(tell("transfer.exported", count=len(files), path=folder))


@click.command("import", cls=SpokenCommand, help=tell("help.import"))
@click.argument("folder", type=_FOLDER, metavar="DIR")
@show.json_option
def import_(folder: Path, is_json: bool) -> None:
    """Take in what `export` wrote: all of it or nothing."""
    access.require_person()
    parcel = service.read(folders.read(folder))
    by = By(access.who(), access.CLOCK.now(), access.SURFACE, access.IDS.new())
    report = access.write(lambda tx: service.import_(tx, parcel, by))
    if is_json:
        show.as_json(asdict(report))
    else:
        _show(report)


def _show(report: Report) -> None:
    show.line(tell("transfer.imported", lessons=len(report.added), votes=report.votes, known=report.known))
    for file, theirs, ours in report.renumbered:
        show.line(tell("transfer.renumbered", file=file, theirs=theirs, ours=ours))
    for each in report.conflicts:
        key = "conflict_proposed" if each.proposal else "conflict"
        fields = ", ".join(each.fields)
        show.line(tell(f"transfer.{key}", file=each.file, id=each.id, fields=fields, proposal=each.proposal))
    if report.proposed:
        show.line(tell("transfer.proposed", count=len(report.proposed)))


@click.command("backup", cls=SpokenCommand, help=tell("help.backup"))
@click.argument("file", type=_FILE, metavar="FILE")
def backup(file: Path) -> None:
    """Write a verified copy of the store."""

    store, target = access.settings().store_path, file.absolute()

    async def run() -> None:
        async with open_store(store):
            await asyncio.to_thread(backups.back_up, store, target)

    try:
        asyncio.run(run())
    except OSError as error:
        raise Refused("cli.transfer.unwritable", path=file, reason=error.strerror) from None
    show.line(tell("transfer.backed_up", path=file))


@click.command("restore", cls=SpokenCommand, help=tell("help.restore"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
def restore(file: Path) -> None:
    """Put a backup in the place of the store, which is kept beside."""
    access.require_person()
    settings = access.settings()
    handle = open_lock(settings.store_path)
    with locked(handle):
        aside = backups.restore(file, settings.store_path)
    who, batch = access.who(), access.IDS.new()
    by = By(who, access.CLOCK.now(), access.SURFACE, batch)
    access.write(lambda tx: log(tx, by, "restore", "store", batch))
    show.line(tell("transfer.restored", path=file, aside=aside or "-"))
