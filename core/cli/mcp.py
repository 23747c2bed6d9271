"""`auto-improve mcp --agent ID`: one agent's surface on stdio (learning.md 8)."""

import asyncio

import click

from core.cli import access, show
from core.cli.speech import tell
from core.cli.spoken import SpokenCommand
from core.errors import Refused


@click.command("mcp", cls=SpokenCommand, help=tell("help.mcp"))
@click.option("--agent", metavar="ID", required=True, help=tell("option.agent_served"))
@show.project_option
def mcp(agent: str, project: str | None) -> None:
    """Serve until the client is gone; stdout is the protocol's alone."""
    try:
        from core.mcp import serve  # noqa: PLC0415  # an extra, and 0.8 s to import
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise Refused("cli.mcp.missing") from None
    asyncio.run(serve(access.settings(), agent, access.project(project), access.CLOCK))
