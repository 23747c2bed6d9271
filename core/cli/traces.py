"""`auto-improve traces|mine`: what agents did, taken in and forgotten (product.md 3)."""

import sys
from dataclasses import asdict
from pathlib import Path

import click

from core.cli import access, show, stores
from core.cli.group import LazyGroup
from core.cli.speech import language, tell
from core.cli.spoken import SpokenCommand
from core.errors import Invalid
from core.rules.mining import State
from core.services import retention, spool
from core.services.importing.files import FORMATS, Progress, Watch, import_file
from core.services.pattern_gate import Gate
from core.services.rulings import Rulings
from core.services.spooled import Desk

_FILE = click.Path(dir_okay=False, path_type=Path)
_BAR_EVERY = 5_000


@click.group("traces", cls=LazyGroup, prefix="traces_", help=tell("help.traces"))
def traces() -> None:
    """Group the commands about traces."""


@traces.command("import", help=tell("help.traces_import"))
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@click.option("--format", "format_", type=click.Choice(["auto", *FORMATS]), default="auto",
              help=tell("option.format"))  # fmt: skip
@show.project_option
@show.json_option
def import_(files: tuple[Path, ...], format_: str, project: str | None, is_json: bool) -> None:
    """Take files in; what is known already is left out."""
    home = access.project(project)
    done = stores.look(lambda gate: _import_all(gate, files, format_, home))
    if is_json:
        show.as_json([{**asdict(each), "path": str(each.path)} for each in done])
        return
    for each in done:
        told = {**asdict(each), "file": each.path.name}
        show.line(tell("traces.imported", **told))


async def _import_all(gate: Gate, files: tuple[Path, ...], format_: str, home: str) -> list[Progress]:
    rulings = Rulings(await gate.store.read(lambda tx: tx.rulings.of()))
    now = access.CLOCK.now()
    done = []
    for path in files:
        bar = _Bar(path)
        watch = Watch(bar.show, bar.complain, gate.journal)
        done.append(
            await import_file(gate.traces, path, home, now, format=format_, rulings=rulings, watch=watch)
        )
        bar.clear()
    return done


class _Bar:
    """One line on a terminal that says how far a file was read; nothing where stderr is none."""

    def __init__(self, path: Path) -> None:
        self._path, self._is_seen = path, sys.stderr.isatty()
        try:
            self._size = max(1, path.stat().st_size)
        except OSError as error:
            raise Invalid("traces.unreadable", file=path, reason=error.strerror) from None

    def show(self, done: Progress) -> None:
        """Write the line anew."""
        if self._is_seen:
            percent = min(100, 100 * done.offset // self._size)
            told = {"file": self._path.name, "percent": percent, "calls": done.calls}
            click.echo(f"\r\x1b[K{tell('traces.progress', **told)}", nl=False, err=True)

    def complain(self, path: Path, number: int, reason: str) -> None:
        """Say which line was skipped, and why."""
        self.clear()
        click.echo(tell("traces.broken", file=path.name, number=number, reason=reason), err=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._is_seen:
            click.echo("\r\x1b[K", nl=False, err=True)


@traces.command(help=tell("help.traces_prune"))
@show.json_option
def prune(is_json: bool) -> None:
    """Forget what is too old, as the bot does every day."""
    access.require_person()
    now = access.CLOCK.now()
    done = stores.look(lambda gate: retention.prune(gate.store, gate.traces, gate.settings, now))
    if is_json:
        show.as_json(asdict(done))
    else:
        show.line(tell("traces.pruned", **asdict(done)))


@click.command("mine", cls=SpokenCommand, help=tell("help.mine"))
@show.project_option
@show.json_option
def mine(project: str | None, is_json: bool) -> None:
    """Take the spool in and say what recurs; calls are counted as they come, so nothing is mined twice."""
    home, now = access.project(project), access.CLOCK.now()

    async def run(gate: Gate) -> dict[str, int]:
        desk = Desk(gate.store, gate.traces, gate.settings, language(), gate.journal)
        done = await spool.take_in(desk, now)
        found = await gate.listing(home, now)
        candidates = [each for each in found if each.state is State.CANDIDATE]
        for each in candidates:
            gate.journal("candidate", id=each.id, failures=each.pattern.failures, score=each.score)
        return {
            "new": done.calls,
            "candidates": len(candidates),
            "accepted": len(found) - len(candidates),
        }

    told = stores.look(run)
    if is_json:
        show.as_json(told)
    else:
        show.line(tell("traces.mined", **told))
