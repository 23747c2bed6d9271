"""Write the generated parts of README.md: `python deploy/readme.py --write`; without it, print it all.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click

from bot.__main__ import COMMANDS, FILTERS
from bot.app import routes
from bot.handlers.start import GROUPS
from bot.locales import say
from bot.settings import BotSettings
from core.cli.group import root
from core.settings import PREFIX, shown
from core.texts import say as say_core

FILE = Path(__file__).parents[1] / "README.md"
_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def chat_commands() -> Iterator[str]:
    """Give the table of the chat's commands, group by group."""
    yield from ("| in the chat | |", "| --- | --- |")
    for group in GROUPS:
        for command in routes().commands:
            if command.group == group:
                yield f"| `/{command.name}` | {say(f'command.{command.name}', 'en')} |"


def shell_commands() -> Iterator[str]:
    """Give the table of the command line, with the commands of each group."""
    yield from ("| `auto-improve …` | |", "| --- | --- |")
    group = root(COMMANDS, FILTERS)
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        names = command.list_commands(context) if isinstance(command, click.Group) else []
        inner = f" `{' | '.join(names)}`".replace("|", "\\|") if names else ""
        yield f"| `{name}`{inner} | {say_core(f'cli.help.{name}', 'en')} |"


def settings() -> Iterator[str]:
    """Give the table of settings with their defaults."""
    yield from ("| setting | default | meaning |", "| --- | --- | --- |")
    for name, field in BotSettings.model_fields.items():
        default = f"`{shown(field)}`" if shown(field) else ""
        yield f"| `{PREFIX}{name.upper()}` | {default} | {field.description} |"


PARTS: Mapping[str, Callable[[], Iterator[str]]] = {
    "chat": chat_commands,
    "commands": shell_commands,
    "settings": settings,
}


def current(text: str) -> str:
    """Give the text with every generated part made anew."""
    return _PART.sub(lambda part: part[1] + "\n".join(PARTS[part[2]]()) + "\n" + part[3], text)


def main(argv: list[str]) -> int:
    """Print or write the file."""
    text = current(FILE.read_text(encoding="utf-8"))
    if "--write" in argv:
        FILE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
