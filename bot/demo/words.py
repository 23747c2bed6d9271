"""What the demo says, by key, in English and French; `bot.locales` says what the bot itself says."""

from collections.abc import Mapping
from pathlib import Path

from core.texts import catalogue, language_of

FOLDER = Path(__file__).parent / "locales"


def tell(key: str, language: str, /, **values: object) -> str:
    """Say a text of the demo. Raises KeyError for an unknown key."""
    sentence = catalogue(language_of(language), FOLDER)[key]
    return sentence.format_map(values) if values else sentence


def section(prefix: str, language: str) -> Mapping[str, str]:
    """Give every text under a prefix, by the rest of its key."""
    texts = catalogue(language_of(language), FOLDER)
    return {key.removeprefix(prefix): text for key, text in texts.items() if key.startswith(prefix)}
