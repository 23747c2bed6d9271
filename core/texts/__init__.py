"""What core says to people, by key, in English and French.

A catalogue is a TOML file of nested tables; `say("error.no_lesson", "fr", lesson="l-001")` fills the
placeholders of the sentence at that path. `tests/unit/test_texts.py` proves that both have equal keys and
placeholders, and that every key `core` uses exists.
"""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from core.errors import AutoImproveError

LANGUAGES = ("en", "fr")
FOLDER = Path(__file__).parent


class _Values(dict[str, object]):
    """Keep a placeholder visible where a value is missing: a half-filled line beats a traceback."""

    def __missing__(self, name: str) -> str:
        return "{" + name + "}"


def language_of(tag: str | None) -> str:
    """Give the catalogue for a language tag or locale (`fr-CA`, `fr_FR.UTF-8`); English where none fits."""
    return "fr" if (tag or "").replace("_", "-").split(".")[0].split("-")[0].lower() == "fr" else "en"


def say(key: str, language: str, /, **values: object) -> str:
    """Say a text in that language; an error among the values is said too. Raises KeyError."""
    sentence = catalogue(language_of(language))[key]
    try:
        return sentence.format_map(
            _Values({name: _spoken(value, language) for name, value in values.items()})
        )
    except (AttributeError, ValueError):  # a part of a value that is not there: `{proposal.id}` without one
        return sentence


def say_error(error: AutoImproveError, language: str) -> str:
    """Say what happened, why and what to do, in one line; a key without a sentence is shown as it is."""
    try:
        return say(error.key, language, **error.values)
    except KeyError:
        return str(error)


def has(key: str) -> bool:
    """Say whether there is a text of that key."""
    return key in catalogue("en")


@cache
def catalogue(language: str, folder: Path = FOLDER) -> Mapping[str, str]:
    """Read a catalogue once, flattened to dotted keys; the bot keeps its own beside ours."""
    with (folder / f"{language}.toml").open("rb") as file:
        return dict(_flatten(tomllib.load(file), ""))


def _flatten(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, str(value)


def _spoken(value: object, language: str) -> object:
    return say_error(value, language) if isinstance(value, AutoImproveError) else value
