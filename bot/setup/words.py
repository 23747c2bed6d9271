"""What `setup` says, in the person's language."""

from pathlib import Path

import click

from core.cli.speech import language
from core.texts import catalogue

FOLDER = Path(__file__).with_name("locales")


def tell(key: str, /, **values: object) -> str:
    """Give a text. Raises KeyError for an unknown key, or a value that is missing."""
    return catalogue(language(), FOLDER)[key].format_map(values)


def show(key: str, /, **values: object) -> None:
    """Print a text."""
    click.echo(tell(key, **values))


def confirm(question: str, *, default: bool) -> bool:
    """Ask for yes or no in the person's language."""
    marks = tell("yes.marks_yes" if default else "yes.marks_no")
    while True:
        given: str = click.prompt(f"{question} {marks}", default="", show_default=False)
        word = given.strip().lower()
        if not word:
            return default
        if word in ("y", "yes", "o", "oui", "n", "no", "non"):
            return word[0] in "yo"
        show("yes.wrong")


def heading(key: str) -> None:
    """Print a step's name."""
    click.echo()
    click.secho(tell(key), bold=True)
