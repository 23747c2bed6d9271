"""Where the agent works, in which language the chat speaks, and the service that keeps the bot running."""

import shlex
import shutil
import sys
from pathlib import Path

import click

from bot.setup import unit
from bot.setup.answers import Answers
from bot.setup.words import confirm, heading, show, tell
from core.settings import DEFAULT_HOME

LANGUAGES = ("auto", "en", "fr")


def ask_project(answers: Answers, folder: Path) -> None:
    """Ask for the folder the agent works in until it is one."""
    heading("project.heading")
    default = answers.get("PROJECT") or str(folder)
    while True:
        given: str = click.prompt(tell("project.ask"), default=default)
        path = Path(given.strip()).expanduser().absolute()
        if path.is_dir():
            answers.keep({"PROJECT": str(path)})
            return
        show("project.wrong", folder=path)


def ask_language(answers: Answers) -> None:
    """Ask for the chat's language."""
    heading("language.heading")
    default = answers.get("LANGUAGE")
    while True:
        given: str = click.prompt(tell("language.ask"), default=default if default in LANGUAGES else "auto")
        if (word := given.strip().lower()) in LANGUAGES:
            answers.keep({"LANGUAGE": word})
            return
        show("language.wrong", choices=", ".join(LANGUAGES))


def offer_service(answers: Answers) -> None:
    """Offer a user service of systemd, and say how to start it."""
    heading("service.heading")
    if shutil.which("systemctl") is None:
        show("service.none")
        return
    file = unit.path()
    if not confirm(tell("service.ask", file=file), default=False):
        return
    home = None if answers.home == Path(DEFAULT_HOME).expanduser() else answers.home
    text = unit.render(_command(), unit.search_path(shlex.split(answers.get("PI_COMMAND"))), home)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        show("wrong", text=error)
        return
    show("service.done", file=file)


def _command() -> list[str]:
    """Give the command line of this program, by full path."""
    script = Path(sys.argv[0]).absolute()
    if script.name == "auto-improve" and script.is_file():
        return [str(script), "run"]
    return [sys.executable, "-m", "bot", "run"]
