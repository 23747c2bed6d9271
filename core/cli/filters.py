"""`auto-improve inspect`: filters that show what the system makes of a text (product.md 3)."""

import json
import sys
from collections.abc import Callable, Iterator
from typing import cast

import click

from core.cli import show
from core.cli.speech import tell
from core.cli.spoken import SpokenCommand
from core.errors import Invalid
from core.model.trace import ErrorClass
from core.rules.domains import Call, domain_of
from core.rules.redact import Redactor
from core.rules.safety import examine
from core.rules.shell import describe


@click.command("verbs", cls=SpokenCommand, help=tell("help.inspect_verbs"))
def verbs() -> None:
    """Write verb and programs of each command line."""
    _each(describe)


@click.command("redact", cls=SpokenCommand, help=tell("help.inspect_redact"))
def redact() -> None:
    """Write each text with its secrets masked."""
    _each(Redactor().redact)


@click.command("lesson", cls=SpokenCommand, help=tell("help.inspect_lesson"))
def lesson() -> None:
    """Write each text as it would be told, and what is suspicious about it."""

    def look(text: str) -> object:
        found = examine(text)
        return {"text": found.text, "flags": list(found.flags)}

    _each(look)


@click.command("domain", cls=SpokenCommand, help=tell("help.inspect_domain"))
def domain() -> None:
    """Write the domain of one run. A line without a tool may carry the run's prompt."""
    calls, prompt = [], ""
    for number, value in values("inspect.no_events"):
        if not isinstance(value, dict):
            raise Invalid("cli.inspect.no_events", number=number, reason=type(value).__name__)
        event = cast(dict[str, object], value)
        if isinstance(event.get("tool"), str):
            calls.append(_call(event))
        else:
            prompt = prompt or _text(event, "prompt")
    click.echo(show.encode({"domain": domain_of(calls, prompt)}))


def _call(event: dict[str, object]) -> Call:
    """Read a record of learning.md 5, or a line of pi-evolver's (`isError`)."""
    code = event.get("exit_code")
    is_flagged = bool(event.get("is_error", event.get("isError")))
    return Call(
        tool=_text(event, "tool"),
        file=_text(event, "file") or None,
        cmd=_text(event, "cmd") or None,
        # A red test run is no mistake, but it is what debugging begins with.
        is_error=is_flagged or event.get("error_class") == ErrorClass.TEST_FAILURE or code not in (None, 0),
        output=_text(event, "snippet"),
        exit_code=code if isinstance(code, int) else None,
    )


def _text(event: dict[str, object], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _each(make: Callable[[str], object]) -> None:
    """Write a line of JSON for each JSON string that is read, as it comes."""
    for number, value in values("inspect.no_json"):
        if not isinstance(value, str):
            raise Invalid("cli.inspect.no_json", number=number, reason=type(value).__name__)
        click.echo(show.encode(make(value)))


def values(key: str) -> Iterator[tuple[int, object]]:
    """Read the lines of stdin as JSON; a line ends at a newline and nowhere else, empty ones do not count."""
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            try:
                yield number, json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError) as error:
                raise Invalid(f"cli.{key}", number=number, reason=error) from None
