"""What was answered so far: kept in HOME/.env at once, so that Ctrl-C loses nothing."""

import os
from collections.abc import Mapping
from pathlib import Path

from bot.setup import dotfile
from bot.setup.words import tell
from core.errors import SettingsError
from core.settings import PREFIX, home_folder


class Answers:
    """The settings as they stand. The environment and the folder's `.env` are stronger than HOME/.env."""

    def __init__(self, folder: Path) -> None:
        """Read what is set already. Raises SettingsError."""
        self.home = home_folder(folder).absolute()
        self.file = self.home / ".env"
        try:
            self._stored = dotfile.read(self.file)
            self._stronger = dotfile.read(folder / ".env") if folder != self.home else {}
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError("settings.unreadable", file=self.file, reason=error) from None
        self._stronger |= {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
        self._given: dict[str, str] = {}

    def get(self, name: str) -> str:
        """Give a setting by its short name (`PROJECT`), "" where it is not set."""
        return self._given.get(name) or self._stronger.get(PREFIX + name) or self.stored(PREFIX + name)

    def stored(self, name: str) -> str:
        """Give what the file says about any variable."""
        return self._stored.get(name, "")

    def keep(self, values: Mapping[str, str]) -> None:
        """Write settings (by their short names) to the file. Raises SettingsError."""
        self._given |= values
        self.write({PREFIX + name: value for name, value in values.items()})

    def write(self, values: Mapping[str, str]) -> None:
        """Write variables to the file. Raises SettingsError."""
        try:
            dotfile.change(self.file, values)
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError("settings.unwritable", file=self.file, reason=error) from None
        self._stored |= values

    def overruled(self) -> list[str]:
        """Give the settings answered here that a stronger place sets otherwise."""
        names = ((PREFIX + name, value) for name, value in self._given.items())
        return [name for name, value in names if self._stronger.get(name, value) not in ("", value)]


def secret(value: str) -> str:
    """Show enough of a secret to know it again."""
    return tell("secret", head=value[:4], tail=value[-2:]) if len(value) > 12 else "…"
