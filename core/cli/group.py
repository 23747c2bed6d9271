"""Groups that import a command only when it is called: start-up time counts (architecture.md 2)."""

from collections.abc import Mapping
from importlib import import_module
from typing import cast

import click

from core.cli import intake
from core.cli.lean import without_optional_parts
from core.cli.speech import tell
from core.cli.spoken import SpokenGroup

LAZY = {
    "agents": "core.cli.agents:agents",
    "backup": "core.cli.transfer:backup",
    "context": "core.cli.context:context",
    "export": "core.cli.transfer:export",
    "feedback": "core.cli.feedback:feedback",
    "install": "core.cli.install:install",
    "import": "core.cli.transfer:import_",
    "lessons": "core.cli.lessons:lessons",
    "mcp": "core.cli.mcp:mcp",
    "mine": "core.cli.traces:mine",
    "patterns": "core.cli.patterns:patterns",
    "proposals": "core.cli.proposals:proposals",
    "report": "core.cli.report:report",
    "restore": "core.cli.transfer:restore",
    "skills": "core.cli.skills:skills",
    "traces": "core.cli.traces:traces",
    "uninstall": "core.cli.install:uninstall",
}
"""Name of a command to `module:attribute`; its one-line help is `cli.help.<name>`."""

FILTERS = {
    "domain": "core.cli.filters:domain",
    "lesson": "core.cli.filters:lesson",
    "redact": "core.cli.filters:redact",
    "verbs": "core.cli.filters:verbs",
}
"""The same for `inspect`; the help is `cli.help.inspect_<name>`."""


class LazyGroup(SpokenGroup):
    """A group whose help names its commands without importing them."""

    def __init__(
        self, name: str, lazy: Mapping[str, str] | None = None, prefix: str = "", **attrs: object
    ) -> None:
        super().__init__(name, **attrs)  # type: ignore[arg-type]
        self._lazy = lazy or {}
        self._prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names in alphabetical order."""
        return sorted({*super().list_commands(ctx), *self._lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command that is called."""
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self._lazy[cmd_name].partition(":")
        with without_optional_parts():
            return cast(click.Command, getattr(import_module(module), attribute))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the catalogue."""
        names = self.list_commands(ctx)
        with formatter.section(tell("commands")):
            formatter.write_dl([(name, tell(f"help.{self._prefix}{name}")) for name in names])


class ListGroup(LazyGroup):
    """A group that lists where no command is named: `auto-improve lessons --json`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Call `list` where the first argument is an option of its own or nothing."""
        if not args or (args[0].startswith("-") and args[0] not in ("-h", "--help")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.pass_context
def _before(ctx: click.Context) -> None:
    """Take in what the terminal did meanwhile."""
    intake.before(ctx.invoked_subcommand)


def root(more: Mapping[str, str] | None = None, filters: Mapping[str, str] | None = None) -> LazyGroup:
    """Build the group `auto-improve`; `more` and `filters` come from another package."""
    group = LazyGroup(
        "auto-improve",
        {**LAZY, **(more or {})},
        help=tell("help.root"),
        context_settings=CONTEXT,
        callback=_before,
    )
    group.add_command(
        LazyGroup("inspect", {**FILTERS, **(filters or {})}, "inspect_", help=tell("help.inspect"))
    )
    return click.version_option(
        package_name="auto-improve", prog_name="auto-improve", help=tell("option.version_of_us")
    )(group)
