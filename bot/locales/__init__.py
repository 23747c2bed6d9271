"""What the chat says, by key, in English and French; `core.texts` says the rest."""

from pathlib import Path

from core.texts import catalogue, language_of

FOLDER = Path(__file__).parent

__all__ = ["FOLDER", "language_of", "say"]


def say(key: str, language: str, /, **values: object) -> str:
    """Say a text of the chat. Raises KeyError for an unknown key, or a value that is missing."""
    return catalogue(language_of(language), FOLDER)[key].format_map(values)
