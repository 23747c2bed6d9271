"""What the bot can be told beyond core's settings (product.md 5)."""

from pathlib import Path

from pydantic import Field, SecretStr, field_validator

from core.errors import SettingsError
from core.settings import CoreSettings, Seconds, split
from core.texts import language_of

_CLOCK_OR_OFF = r"^([01]\d|2[0-3]):[0-5]\d$|^off$"

UserIds = tuple[int, ...]


class BotSettings(CoreSettings):
    """Every setting of `auto-improve run`."""

    telegram_token: SecretStr | None = Field(None, description="bot token, from @BotFather")
    telegram_token_file: Path | None = Field(None, description="file that holds the token instead")
    telegram_base_url: str = Field("https://api.telegram.org/bot", description="Bot API server")
    telegram_base_file_url: str = Field("https://api.telegram.org/file/bot", description="its file server")
    allowed_users: UserIds = Field((), description="user ids, comma-separated; the first is the owner")
    allowed_chats: UserIds = Field((), description="group ids it works in; none: private chats only")
    approvers: UserIds = Field((), description="user ids who decide on lessons; none: all allowed")
    digest: str = Field(
        "09:00", pattern=r"^([01]\d|2[0-3]):[0-5]\d$|^off$", description="daily digest, or off"
    )
    timezone: str = Field("", description="of the digest, like Europe/Paris; none: the machine's")
    silence_s: Seconds = Field(300, description="a run silent for so long is asked about")
    run_deadline_s: Seconds = Field(7200, description="a run longer than this is stopped")
    idle_s: Seconds = Field(900, description="an idle agent process ends after this")

    @field_validator("allowed_users", "allowed_chats", "approvers", mode="before")
    @classmethod
    def _split_ids(cls, value: object) -> object:
        return tuple(int(part) for part in split((value,) if isinstance(value, int) else value))

    def token(self) -> str:
        """Give the bot token. Raises SettingsError where there is none."""
        if self.telegram_token is not None:
            return self.telegram_token.get_secret_value().strip()
        if self.telegram_token_file is not None:
            try:
                return self.telegram_token_file.expanduser().read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise SettingsError(
                    "settings.unreadable", file=self.telegram_token_file, reason=error
                ) from None
        raise SettingsError("settings.missing", name="AUTO_IMPROVE_TELEGRAM_TOKEN")

    def speak(self, code: str | None) -> str:
        """Give the language to speak to somebody whose client says `code`."""
        return language_of(code) if self.language == "auto" else self.language
