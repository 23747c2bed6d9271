"""In which language the command line speaks, and its help texts."""

import os

from core.texts import language_of, say

_LOCALES = ("LC_ALL", "LC_MESSAGES", "LANG")


def language() -> str:
    """Give the person's language: the setting where it names one, else the locale's."""
    chosen = os.environ.get("AUTO_IMPROVE_LANGUAGE", "")
    if chosen in ("en", "fr"):
        return chosen
    return language_of(next((tag for name in _LOCALES if (tag := os.environ.get(name))), None))


def tell(key: str, /, **values: object) -> str:
    """Say a text of the command line in the person's language."""
    return say(f"cli.{key}", language(), **values)


def is_text(value: str) -> bool:
    """Say whether it can be stored and shown; what a shell passes may be any bytes."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
