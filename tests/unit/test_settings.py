"""Where settings come from, and what a wrong one is answered with."""

from pathlib import Path

import pytest

from core import settings, texts
from core.errors import SettingsError
from core.settings import CoreSettings, load


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a HOME of our own and an environment without our names."""
    for name in CoreSettings.model_fields:
        monkeypatch.delenv(settings.PREFIX + name.upper(), raising=False)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("AUTO_IMPROVE_HOME", str(folder))
    return folder


def test_nothing_set_gives_the_documented_defaults(tmp_path: Path) -> None:
    """The defaults are those of product.md 5."""
    found = load(CoreSettings, tmp_path)

    assert (found.agent, found.pi_command, found.analyst, found.analysis_delay_s) == (
        "pi",
        ("pi",),
        "agent",
        20,
    )
    assert (found.max_lesson_chars, found.max_injected, found.max_injected_chars) == (6000, 12, 2400)
    assert (found.min_failures, found.min_failure_ratio, found.min_runs) == (2, 0.3, 2)


def test_the_environment_wins_over_both_files(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Environment, then the working directory's .env, then HOME's."""
    (home / ".env").write_text(
        "AUTO_IMPROVE_MIN_RUNS=7\nAUTO_IMPROVE_MIN_FAILURES=7\nAUTO_IMPROVE_MAX_INJECTED=7\n"
    )
    (tmp_path / ".env").write_text("AUTO_IMPROVE_MIN_RUNS=8\nAUTO_IMPROVE_MIN_FAILURES=8\n")
    monkeypatch.setenv("AUTO_IMPROVE_MIN_RUNS", "9")

    found = load(CoreSettings, tmp_path)

    assert (found.min_runs, found.min_failures, found.max_injected) == (9, 8, 7)


def test_the_working_directory_may_say_where_home_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A HOME named in .env is read too."""
    monkeypatch.delenv("AUTO_IMPROVE_HOME")
    other = tmp_path / "other"
    other.mkdir()
    (other / ".env").write_text("AUTO_IMPROVE_MAX_INJECTED=3\n")
    (tmp_path / ".env").write_text(f"AUTO_IMPROVE_HOME={other}\n")

    found = load(CoreSettings, tmp_path)

    assert (found.home, found.max_injected) == (other, 3)


def test_an_empty_value_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`NAME=` in a file of settings means: not set."""
    monkeypatch.setenv("AUTO_IMPROVE_MIN_RUNS", "")

    assert load(CoreSettings, tmp_path).min_runs == 2


def test_lists_and_command_lines_are_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commas separate names, a command is split as a shell would."""
    monkeypatch.setenv("AUTO_IMPROVE_AGENT_ENV", "MY_KEY, OTHER,")
    monkeypatch.setenv("AUTO_IMPROVE_PI_COMMAND", "node '/opt/my pi/cli.js'")
    monkeypatch.setenv("AUTO_IMPROVE_PROJECT_ROOTS", "/srv/a,/srv/b")

    found = load(CoreSettings, tmp_path)

    assert found.agent_env == ("MY_KEY", "OTHER")
    assert found.pi_command == ("node", "/opt/my pi/cli.js")
    assert found.project_roots == (Path("/srv/a"), Path("/srv/b"))


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("MIN_RUNS", "many", "no number"),
        ("MIN_RUNS", "0", "less than 1"),
        ("MIN_FAILURE_RATIO", "3", "more than 1"),
        ("ANALYSIS_DELAY_S", "nan", "no number"),
        ("LANGUAGE", "de", "auto, en, fr"),
        ("MIRROR", "perhaps", "on, off"),
        ("PI_COMMAND", "pi 'open", "not a valid value"),
        ("AGENT_ENV", "AUTO_IMPROVE_TELEGRAM_TOKEN", "not a valid value"),
        ("AGENT_ENV", "A=1", "not a valid value"),
        ("SKILLS_SUBDIR", "../out", "not a valid value"),
        ("SKILLS_SUBDIR", "..", "not a valid value"),
        ("AGENT", "pi; rm", "not a valid value"),
    ],
)
def test_a_wrong_value_is_one_clear_line(
    name: str, value: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which name, which value, what is allowed, what to do."""
    monkeypatch.setenv(settings.PREFIX + name, value)

    with pytest.raises(SettingsError) as caught:
        load(CoreSettings, tmp_path)

    said = texts.say_error(caught.value, "en")
    assert all(part in said for part in (settings.PREFIX + name, told, "default"))


@pytest.mark.parametrize(("value", "expected"), [("off", False), ("on", True), ("0", False), ("TRUE", True)])
def test_switches_are_said_in_words(
    value: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On and off, as people write them."""
    monkeypatch.setenv("AUTO_IMPROVE_CANDIDATES", value)

    assert load(CoreSettings, tmp_path).candidates is expected


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    """A binary .env is one clear line too."""
    (tmp_path / ".env").write_bytes(b"AUTO_IMPROVE_AGENT=\xff\xfe\n")

    with pytest.raises(SettingsError) as caught:
        load(CoreSettings, tmp_path)

    assert str(tmp_path / ".env") in texts.say_error(caught.value, "en")


def test_paths_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tilde and a relative path mean the same wherever they are read later."""
    monkeypatch.setenv("AUTO_IMPROVE_HOME", "~/elsewhere")

    found = load(CoreSettings, tmp_path)

    assert found.home == Path("~/elsewhere").expanduser()
    assert found.store_path.parent == found.home


def test_every_setting_is_explained_in_the_example() -> None:
    """The example file names each setting with a meaning."""
    lines = settings.example(CoreSettings).splitlines()

    for name, field in CoreSettings.model_fields.items():
        assert field.description
        assert any(line.startswith(f"# AUTO_IMPROVE_{name.upper()}=") for line in lines)


def test_a_project_is_the_nearest_folder_with_git(tmp_path: Path) -> None:
    """A folder inside a repository belongs to it, also through a link; one outside stands for itself."""
    inside = tmp_path / "shop" / "src"
    inside.mkdir(parents=True)
    (tmp_path / "shop" / ".git").mkdir()
    (tmp_path / "link").symlink_to(inside)

    assert settings.project_of(inside) == settings.project_of(tmp_path / "link") == str(tmp_path / "shop")
    assert settings.project_of(tmp_path / "home") == str(tmp_path / "home")


def test_names_are_taken_in_any_case_and_an_empty_one_hides_nothing(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`NAME=` in the environment or the nearer file leaves the value of the next source."""
    (home / ".env").write_text("auto_improve_min_runs=7\nAUTO_IMPROVE_MAX_INJECTED=5\nOTHER=1\n")
    (tmp_path / ".env").write_text("AUTO_IMPROVE_MIN_RUNS=\nAUTO_IMPROVE_MIN_FAILURES\n")
    monkeypatch.setenv("AUTO_IMPROVE_MAX_INJECTED", "")

    found = load(CoreSettings, tmp_path)

    assert (found.min_runs, found.max_injected, found.min_failures) == (7, 5, 2)
