"""`auto-improve context`: what an agent is told, byte for byte (product.md 3)."""

import click

from core.cli import access, show
from core.cli.speech import tell
from core.cli.spoken import SpokenCommand
from core.services import agents
from core.services import context as service


@click.command("context", cls=SpokenCommand, help=tell("help.context"))
@show.project_option
@click.option("--agent", metavar="ID", help=tell("option.agent"))
@show.json_option
def context(project: str | None, agent: str | None, is_json: bool) -> None:
    """Print the block; nothing where there is nothing to tell."""
    settings = access.settings()
    home = access.project(project)
    who = agent or access.AGENT
    made = access.read(lambda tx: service.current(tx, home, settings, agent=agents.need(tx, who).id))
    if is_json:
        told = {"text": made.text, "told": made.told_ids, "waiting": made.waiting_ids, "sha256": made.sha256}
        show.as_json(told)
    else:
        click.echo(made.text, nl=False)
