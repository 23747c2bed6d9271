"""The command `auto-improve demo`: a place, a link, and a clean end."""

import asyncio
import contextlib
import tempfile
from pathlib import Path

import click

from bot.demo import words
from bot.demo.stage import CHAT_FILE, settings_for, show
from bot.demo.world import World
from bot.logs import configure
from bot.serve import only_one, protect
from core.app import PI, SCRIPTED
from core.cli.speech import language, tell
from core.cli.spoken import SpokenCommand
from core.errors import SettingsError


@click.command("demo", cls=SpokenCommand, help=tell("help.demo"))
@click.option("--port", default=0, type=click.IntRange(0, 65535), help=tell("option.port"))
@click.option("--home", type=click.Path(path_type=Path, file_okay=False), help=tell("option.demo_home"))
@click.option("--agent", default=SCRIPTED, type=click.Choice([SCRIPTED, PI]), help=tell("option.demo_agent"))
def demo(port: int, home: Path | None, agent: str) -> None:
    """Show the whole loop in a browser until told to stop."""
    with contextlib.ExitStack() as stack:
        kept = home.expanduser().absolute() if home is not None else None
        place = kept or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="auto-improve-demo-")))
        refuse_real(place)
        world = World(place / CHAT_FILE)
        settings = settings_for(place, agent, world.state.token)
        configure(settings.log_level, (settings.token(),))
        protect()
        stack.enter_context(only_one(place, settings.token()))

        def announce(link: str) -> None:
            key = "command.open" if kept is None else "command.kept"
            click.echo(words.tell(key, language(), url=link, home=kept))

        try:
            asyncio.run(show(world, settings, port, announce))
        except OSError as error:
            if port == 0:
                raise
            raise SettingsError("settings.port", port=port, reason=error.strerror or error) from None


def refuse_real(home: Path) -> None:
    """Raise SettingsError for a folder that people's lessons live in: what is learned here is made up."""
    if (home / "store.db").exists() and not (home / CHAT_FILE).exists():
        raise SettingsError("settings.demo_home", home=home)
