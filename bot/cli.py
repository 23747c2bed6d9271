"""What the bot adds to the command line: `inspect reply`."""

import sys

import click

from bot.answer import render
from core.cli.show import encode
from core.cli.speech import language, tell
from core.cli.spoken import SpokenCommand


@click.command("reply", cls=SpokenCommand, help=tell("help.inspect_reply"))
def reply() -> None:
    """Write the messages and buttons that an answer in Markdown becomes, without the feedback row."""
    answer = sys.stdin.buffer.read().decode("utf-8", "replace")
    click.echo(encode(render(answer, language()).as_dict()))
