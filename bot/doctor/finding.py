"""What a check found, in words for a person and as JSON for a script."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from core.errors import AutoImproveError
from core.texts import catalogue, say_error

FOLDER = Path(__file__).with_name("locales")


class Level(StrEnum):
    """How bad it is; only a failure makes the exit code 1."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    FAILURE = "failure"


MARKS = {Level.OK: "✓", Level.NOTE: "·", Level.WARNING: "!", Level.FAILURE: "✗"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: `key` names its text, `<key>_do` its remedy, where it has one."""

    check: str
    level: Level
    key: str
    values: Mapping[str, object] = field(default_factory=dict)

    def text(self, language: str) -> str:
        """Say what was found."""
        return self._say(self.key, language)

    def remedy(self, language: str) -> str:
        """Say what to do, "" where nothing has to be done."""
        key = f"{self.key}_do"
        return self._say(key, language) if key in catalogue(language, FOLDER) else ""

    def record(self, language: str) -> dict[str, str]:
        """Give it for a script."""
        return {
            "check": self.check,
            "level": self.level.value,
            "finding": self.key,
            "text": self.text(language),
            "remedy": self.remedy(language),
        }

    def _say(self, key: str, language: str) -> str:
        values = {
            name: say_error(value, language) if isinstance(value, AutoImproveError) else value
            for name, value in self.values.items()
        }
        return " ".join(catalogue(language, FOLDER)[key].format_map(values).split())
