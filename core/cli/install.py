"""`auto-improve install pi`, `uninstall pi`: the same loop inside Pi's terminal (product.md 2)."""

import os
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import click

from core.cli import access, show
from core.cli.group import LazyGroup
from core.cli.speech import tell
from core.cli.spoken import SpokenCommand
from core.services import installing
from core.services.installing import Change, Filled, Step

NAME = "auto-improve"
DISTRIBUTION = "auto-improve"


@click.group("install", cls=LazyGroup, prefix="install_", help=tell("help.install"))
def install() -> None:
    """Group what can be put into an agent."""


@click.group("uninstall", cls=LazyGroup, prefix="uninstall_", help=tell("help.uninstall"))
def uninstall() -> None:
    """Group what can be taken out of an agent."""


def dry_option(command: show.F) -> show.F:
    """Add `--dry-run`."""
    return click.option("--dry-run", "is_dry", is_flag=True, help=tell("option.dry_run"))(command)


@install.command("pi", cls=SpokenCommand, help=tell("help.install_pi"))
@dry_option
@show.json_option
def install_pi(is_dry: bool, is_json: bool) -> None:
    """Put extension and skill where this user's Pi finds them."""
    access.require_person()
    filled = Filled(version(DISTRIBUTION), access.settings().home, own_command(sys.argv[0]))
    folder = installing.agent_dir(os.environ)
    steps = installing.install(folder, filled, is_dry=is_dry)
    _report(steps, is_dry, is_json)
    if not is_json:
        show.line(tell("install.next" if shutil.which("pi") else "install.no_pi", folder=folder))


@uninstall.command("pi", cls=SpokenCommand, help=tell("help.uninstall_pi"))
@dry_option
@show.json_option
def uninstall_pi(is_dry: bool, is_json: bool) -> None:
    """Take extension and skill out of this user's Pi."""
    access.require_person()
    _report(installing.uninstall(installing.agent_dir(os.environ), is_dry=is_dry), is_dry, is_json)


def own_command(called_as: str) -> tuple[str, ...]:
    """Give the absolute command line that starts us, whatever folder it is started in.

    `-P` keeps a project's own `bot` folder from being taken for ours.
    """
    script = Path(called_as).absolute()
    if script.name == NAME and script.exists():
        return (str(script),)
    beside = Path(sys.executable).with_name(NAME)
    if beside.exists():
        return (str(beside),)
    return (sys.executable, "-P", "-m", script.parent.name)


def _report(steps: list[Step], is_dry: bool, is_json: bool) -> None:
    if is_json:
        rows = [{"path": str(each.path), "change": each.change, "was": each.was} for each in steps]
        show.as_json({"dry_run": is_dry, "files": rows})
        return
    for each in steps:
        show.line(tell(f"install.{_key(each, is_dry)}", path=each.path))


def _key(step: Step, is_dry: bool) -> str:
    is_change = step.change in (Change.WRITTEN, Change.REMOVED)
    return f"would_be_{step.change}" if is_dry and is_change else step.change
