"""What commands print: JSON for scripts, aligned lines for people, nothing that moves a terminal."""

import json
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from core.cli.speech import is_text, tell
from core.rules.terminal import strip

F = TypeVar("F", bound=Callable[..., None])


def as_json(value: object) -> None:
    """Print a value as indented JSON."""
    click.echo(encode(value, indent=2))


def encode(value: object, indent: int | None = None) -> str:
    """Write JSON in UTF-8, in ASCII where it holds half a character that UTF-8 cannot."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text if is_text(text) else json.dumps(value, indent=indent)


def line(text: str) -> None:
    """Print one text on one line."""
    click.echo(" ".join(strip(text).split()))


def text(value: str) -> None:
    """Print a text of several lines as it is, nothing in it that moves a terminal."""
    click.echo(strip(value))


def field(key: str, value: object) -> None:
    """Print a named value, unless it is empty."""
    if value not in (None, "", ()):
        line(f"{tell(f'field.{key}')}: {value}")


def table(rows: Sequence[Sequence[object]]) -> None:
    """Print rows in aligned columns; the last column takes what is left."""
    texts = [[" ".join(strip(str(cell)).split()) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)] if texts else []
    for row in texts:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        click.echo("  ".join([*cells, row[-1]]).rstrip())


def json_option(command: F) -> F:
    """Add `--json`."""
    return click.option("--json", "is_json", is_flag=True, help=tell("option.json"))(command)


def project_option(command: F) -> F:
    """Add `--project`."""
    return click.option("--project", metavar="DIR", help=tell("option.project"))(command)
