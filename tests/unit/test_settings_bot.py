"""The bot's settings: who is allowed, where the token comes from."""

import os
from pathlib import Path

import pytest

from bot.settings import BotSettings
from core.errors import SettingsError
from core.settings import PREFIX, load

TOKEN = "42:synthetic-token-of-nobody"


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own and no settings from outside."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv(f"{PREFIX}HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def given(monkeypatch: pytest.MonkeyPatch, **values: str) -> BotSettings:
    """Load the settings from an environment."""
    for name, value in values.items():
        monkeypatch.setenv(PREFIX + name.upper(), value)
    return load(BotSettings)


@pytest.mark.parametrize(
    ("text", "ids"),
    [("", ()), ("7", (7,)), ("7,8", (7, 8)), (" 7 , 8 ,", (7, 8)), ("-1001234,5", (-1001234, 5))],
)
def test_ids_come_as_a_list_with_commas(
    monkeypatch: pytest.MonkeyPatch, text: str, ids: tuple[int, ...]
) -> None:
    """Spaces and empty places do not matter."""
    assert given(monkeypatch, allowed_users=text).allowed_users == ids


@pytest.mark.parametrize("text", ["ada", "7;8", "1e3", "@ada"])
def test_a_name_is_no_id(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """S1: people are told apart by numeric ids only; the error names the setting."""
    with pytest.raises(SettingsError) as raised:
        given(monkeypatch, allowed_users=text)

    assert "ALLOWED_USERS" in str(raised.value.values).upper()


def test_the_token_comes_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """S8: a service credential, with the line end that editors leave."""
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")

    assert given(monkeypatch, telegram_token_file=str(file)).token() == TOKEN


def test_the_token_itself_goes_before_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file that is not there does not matter then."""
    assert (
        given(monkeypatch, telegram_token=TOKEN, telegram_token_file=str(tmp_path / "none")).token() == TOKEN
    )


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_token_file_that_cannot_be_read_is_a_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    """Absent, or not text."""
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(SettingsError) as raised:
        given(monkeypatch, telegram_token_file=str(file)).token()

    assert raised.value.key == "settings.unreadable"


def test_no_token_at_all_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says which variable to set."""
    with pytest.raises(SettingsError) as raised:
        given(monkeypatch).token()

    assert raised.value.values["name"] == "AUTO_IMPROVE_TELEGRAM_TOKEN"


def test_the_token_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """S9: not in what a traceback or a log line would print."""
    settings = given(monkeypatch, telegram_token=TOKEN)

    assert TOKEN not in repr(settings) + str(settings) + settings.model_dump_json()


@pytest.mark.parametrize(
    ("language", "code", "spoken"),
    [
        ("auto", "fr-CA", "fr"),
        ("auto", "de", "en"),
        ("auto", None, "en"),
        ("fr", "en", "fr"),
        ("en", "fr", "en"),
    ],
)
def test_the_language_of_the_chat_is_the_senders_unless_set(
    monkeypatch: pytest.MonkeyPatch, language: str, code: str | None, spoken: str
) -> None:
    """French and English are spoken."""
    assert given(monkeypatch, language=language).speak(code) == spoken
