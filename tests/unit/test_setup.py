"""What setup writes and finds, without its questions."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from string import Formatter

import pytest
from dotenv import dotenv_values
from hypothesis import given
from hypothesis import strategies as st

import bot.locales
from bot.doctor import finding
from bot.setup import agent, dotfile, unit, words
from core.texts import catalogue

FOLDERS = (bot.locales.FOLDER, words.FOLDER, finding.FOLDER)
VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), min_size=1).filter(dotfile.is_writable)


@given(value=VALUES)
def test_every_value_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, value: str) -> None:
    """Quotes, hashes, blanks and backslashes included."""
    file = tmp_path_factory.mktemp("home") / ".env"

    dotfile.change(file, {"NAME": value, "NEXT": "1"})

    assert dotenv_values(file) == {"NAME": value, "NEXT": "1"}


@pytest.mark.parametrize("value", ["a\nb", "${HOME}", "a\x00b", "\x1b[31m"])
def test_what_would_not_come_back_is_known(value: str) -> None:
    """It is left out, and said."""
    assert not dotfile.is_writable(value)


def test_other_lines_stay_as_they_are(tmp_path: Path) -> None:
    """Comments, order, spelling; a name set twice is set once afterwards."""
    file = tmp_path / ".env"
    file.write_text("# mine\nexport A = 'x'\n\nB=1\nC=3\nB=2\n")

    dotfile.change(file, {"B": "9", "D": "4"})

    assert file.read_text() == "# mine\nexport A = 'x'\n\nB=9\nC=3\nD=4\n"


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    """Also one that was open to others, and nothing is left beside it."""
    file = tmp_path / ".env"
    file.write_text("A=1\n")
    file.chmod(0o644)

    dotfile.change(file, {"A": "2"})

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [".env"]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    """Text that no encoding takes breaks off before anything is replaced."""
    file = tmp_path / ".env"
    file.write_text("A=1\n")

    with pytest.raises(UnicodeEncodeError):
        dotfile.change(file, {"B": "\ud800"})

    assert file.read_text() == "A=1\n"
    assert [each.name for each in tmp_path.iterdir()] == [".env"]


def program(file: Path, text: str) -> Path:
    """Write a program."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def test_pi_and_node_get_their_full_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pi` is a link to a script of node: a service finds neither by its name."""
    node = program(tmp_path / "bin" / "node", "#!/bin/sh\n")
    script = program(tmp_path / "lib" / "cli.js", "#!/usr/bin/env node\n")
    (tmp_path / "bin" / "pi").symlink_to(script)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    assert agent.absolute("pi") == (str(node), str(tmp_path / "bin" / "pi"))


def test_a_program_of_another_kind_is_started_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrapper in shell is no script of node."""
    program(tmp_path / "bin" / "node", "#!/bin/sh\n")
    wrapper = program(tmp_path / "bin" / "pi", "#!/bin/sh\nexec node x\n")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    assert agent.absolute("pi") == (str(wrapper),)
    assert agent.absolute("pi --model 'a b'") == (str(wrapper), "--model", "a b")


@pytest.mark.parametrize("command", ["", "   ", "'"])
def test_what_is_no_command_line_is_none(command: str) -> None:
    """Nothing is started."""
    assert agent.absolute(command) == ()


def test_keys_of_providers_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other variables that look like keys follow; ours and an outer agent's are no candidates."""
    found = {"ZED_API_KEY": "1", "OPENAI_API_KEY": "1", "GROQ_API_KEY": "", "EDITOR": "vi"}

    assert agent.candidates({**found, "AUTO_IMPROVE_X_API_KEY": "1"}) == ["OPENAI_API_KEY", "ZED_API_KEY"]


@pytest.mark.parametrize(
    ("text", "chosen"),
    [("1", ["A"]), ("2, 1 2", ["B", "A"]), ("all", ["A", "B"]), ("None", []), ("3", None), ("0", None)],
)
def test_keys_are_chosen_by_number(text: str, chosen: list[str] | None) -> None:
    """Or all, or none."""
    assert agent.choose(["A", "B"], text) == chosen


def test_the_unit_that_is_shipped_is_current() -> None:
    """Mend with: python deploy/systemd_unit.py --write."""
    shipped = Path(__file__).parents[2] / "deploy" / "systemd" / unit.NAME

    assert shipped.read_text(encoding="utf-8") == unit.usual()


def test_systemd_takes_the_unit_with_odd_paths(tmp_path: Path) -> None:
    """Blanks, per cent and dollars in a path; it takes no quotes in a program's."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is absent")
    there = tmp_path / "a b%c$e"
    command = program(there / "auto-improve", "#!/bin/sh\n")
    file = tmp_path / unit.NAME
    file.write_text(unit.render([str(command), "run"], [str(there), "/bin"], there / "home"))
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}

    checked = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(file)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_unit_is_for_this_program() -> None:
    """By full path, and HOME only where it is not the usual one."""
    text = unit.render([sys.executable, "-m", "bot", "run"], ["/opt/node/bin", "/bin"], None)

    assert f"ExecStart={sys.executable} -m bot run\n" in text
    assert "Environment=PATH=/opt/node/bin:/bin\n" in text
    assert "AUTO_IMPROVE_HOME" not in text


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parent.name)
def test_both_languages_have_the_same_keys_and_placeholders(folder: Path) -> None:
    """No text is missing in French, no value is lost in it."""

    def shape(language: str) -> dict[str, set[str]]:
        texts = catalogue(language, folder).items()
        return {key: {name for _, name, _, _ in Formatter().parse(text) if name} for key, text in texts}

    assert shape("en") == shape("fr")
