"""Click's own words in the person's language: usage line and help option."""

import click

from core.cli.speech import tell


class SpokenFormatter(click.HelpFormatter):
    """Write help with our usage line."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the usage line."""
        super().write_usage(prog, args, prefix if prefix is not None else f"{tell('usage.prefix')} ")


class SpokenContext(click.Context):
    """A call whose help is written so."""

    formatter_class = SpokenFormatter


class SpokenCommand(click.Command):
    """A command whose help speaks the person's language."""

    context_class = SpokenContext

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Give `--help` with our text."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.help = tell("option.help")
        return option


class SpokenGroup(SpokenCommand, click.Group):
    """The same for a group and the commands made in it."""

    command_class = SpokenCommand
