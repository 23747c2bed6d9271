"""The command `auto-improve setup`: its steps in order, each kept as soon as it is answered."""

import os
from pathlib import Path

import click

from bot.setup.agent import ask_command, ask_keys
from bot.setup.answers import Answers
from bot.setup.place import ask_language, ask_project, offer_service
from bot.setup.telegram import ask_owner, ask_token
from bot.setup.words import show
from core.cli import access
from core.cli.speech import tell
from core.cli.spoken import SpokenCommand


@click.command("setup", cls=SpokenCommand, help=tell("help.setup"))
def setup() -> None:
    """Ask for what the bot needs."""
    access.require_person()
    answers = Answers(Path.cwd())
    show("begin", file=answers.file)
    try:
        _ask(answers)
    except (click.Abort, KeyboardInterrupt):
        click.echo()
        show("interrupted", file=answers.file)
        raise
    for name in answers.overruled():
        show("overruled", name=name, file=answers.file)
    show("end")


def _ask(answers: Answers) -> None:
    token, name = ask_token(answers)
    ask_owner(answers, token, name)
    ask_command(answers)
    ask_keys(answers, os.environ)
    ask_project(answers, Path.cwd())
    ask_language(answers)
    offer_service(answers)
