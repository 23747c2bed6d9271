"""`auto-improve install pi`: two files, nothing else, and back again (product.md 2)."""

import json
import re
from pathlib import Path

import pytest

from core.services.installing import Filled, install, uninstall
from tests.integration.shell import Shell, sit_down


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this person's Pi, with things of their own in it."""
    folder = tmp_path / "pi" / "agent"
    (folder / "skills" / "mine").mkdir(parents=True)
    (folder / "settings.json").write_text('{"defaultModel": "x"}')
    (folder / "skills" / "mine" / "SKILL.md").write_text("---\nname: mine\n---\n")
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(folder))
    return folder


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A person's command line."""
    sit_down(tmp_path, monkeypatch)
    return Shell(capsys, monkeypatch)


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything under a folder; None for folders."""
    found = folder.rglob("*")
    return {str(each.relative_to(folder)): None if each.is_dir() else each.read_bytes() for each in found}


def values_of(extension: Path) -> dict[str, object]:
    """What the installed copy was told."""
    found = re.search(r"const INSTALLED: Installed \| null = JSON\.parse\((.*)\);", extension.read_text())
    assert found is not None
    told: dict[str, object] = json.loads(json.loads(found[1]))
    return told


def test_extension_and_skill_are_put_where_pi_finds_them(shell: Shell, agent: Path, tmp_path: Path) -> None:
    """And it says what it did; what the person has stays as it was."""
    before = tree(agent)

    printed = shell("install", "pi")

    new = {name for name, data in tree(agent).items() if name not in before and data is not None}
    assert new == {"extensions/auto-improve.ts", "skills/auto-improve/SKILL.md"}
    assert {name: data for name, data in tree(agent).items() if name in before} == before
    assert all(f"Written: {agent / name}" in printed for name in new)
    assert shell.code == 0


def test_the_copy_knows_our_folder_the_command_and_the_table(
    shell: Shell, agent: Path, tmp_path: Path
) -> None:
    """Absolute paths, so that it works in any folder and under any PATH."""
    shell("install", "pi")

    told = values_of(agent / "extensions" / "auto-improve.ts")
    command = told["command"]
    assert told["home"] == str(tmp_path / "home")
    assert isinstance(command, list)
    assert Path(command[0]).is_absolute()
    assert isinstance(told["table"], dict)
    assert told["table"]["rules"]


def test_installing_again_changes_nothing(shell: Shell, agent: Path) -> None:
    """Idempotent: not even the time of the files."""
    shell("install", "pi")
    stamps = {each: each.stat().st_mtime_ns for each in agent.rglob("*")}

    printed = shell("install", "pi")

    assert {each: each.stat().st_mtime_ns for each in agent.rglob("*")} == stamps
    assert printed.count("There already: ") == 2


def test_uninstalling_leaves_what_was_there_before(shell: Shell, agent: Path) -> None:
    """Folders made for us go too, those of the person stay."""
    before = tree(agent)
    shell("install", "pi")
    shell("install", "pi")

    printed = shell("uninstall", "pi")

    assert tree(agent) == before
    assert printed.count("Removed: ") == 2
    assert shell("uninstall", "pi").count("Not there: ") == 2
    assert shell.code == 0


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_dry_run_says_what_would_be_done_and_does_nothing(shell: Shell, agent: Path, verb: str) -> None:
    """For both directions."""
    if verb == "uninstall":
        shell("install", "pi")
    before = tree(agent)

    printed = shell(verb, "pi", "--dry-run")

    assert tree(agent) == before
    assert printed.count("Would be ") == 2


def test_scripts_read_what_was_done(shell: Shell, agent: Path) -> None:
    """--json."""
    made = shell.one("install", "pi")

    files = made["files"]
    assert isinstance(files, list)
    assert [(each["change"], each["was"]) for each in files] == [("written", None)] * 2


def test_without_the_variable_it_is_pis_usual_folder(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """~/.pi/agent, made where Pi never ran, and gone again afterwards."""
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)
    (tmp_path / "ada" / ".pi").mkdir(parents=True)

    shell("install", "pi")
    assert (tmp_path / "ada/.pi/agent/extensions/auto-improve.ts").exists()
    shell("uninstall", "pi")
    assert tree(tmp_path / "ada") == {".pi": None}


@pytest.mark.parametrize("name", ["extensions/auto-improve.ts", "skills/auto-improve/SKILL.md"])
@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_file_of_that_name_that_is_not_ours_is_left_alone(
    shell: Shell, agent: Path, name: str, verb: str
) -> None:
    """Nothing is changed then, not even the other file."""
    theirs = agent / name
    theirs.parent.mkdir(parents=True)
    theirs.write_text("export default () => {};\n")
    before = tree(agent)

    shell(verb, "pi")

    assert (shell.code, str(theirs) in shell.err, tree(agent)) == (1, True, before)


def test_a_link_to_a_file_elsewhere_is_left_alone(shell: Shell, agent: Path, tmp_path: Path) -> None:
    """S10: a person who links a working copy keeps it."""
    elsewhere = tmp_path / "mine.ts"
    elsewhere.write_text("// auto-improve 0.0.1, by `auto-improve install pi`\n")
    (agent / "extensions").mkdir()
    (agent / "extensions" / "auto-improve.ts").symlink_to(elsewhere)

    shell("install", "pi")

    assert (shell.code, elsewhere.read_text()) == (1, "// auto-improve 0.0.1, by `auto-improve install pi`\n")


def test_another_version_is_replaced(agent: Path, tmp_path: Path) -> None:
    """Older or newer: the one whose command is called; the folders it made are still known."""
    before = tree(agent)
    install(agent, Filled("0.0.9", tmp_path, ("/old/auto-improve",)))

    steps = install(agent, Filled("1.2.3", tmp_path, ("/new/auto-improve",)))

    assert [(each.change, each.was) for each in steps] == [("written", "0.0.9")] * 2
    assert "/old/" not in (agent / "extensions" / "auto-improve.ts").read_text()
    uninstall(agent)
    assert tree(agent) == before


def test_a_folder_that_is_a_file_is_one_clear_line(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing can be made under it."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "file"))

    shell("install", "pi")

    assert (shell.code, shell.err.count("\n"), "cannot be changed" in shell.err) == (1, 1, True)


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_an_agent_changes_nothing_of_this(
    shell: Shell, agent: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise 3: what an agent is told goes through this file."""
    monkeypatch.setenv("PI_SESSION_ID", "1")
    before = tree(agent)

    shell(verb, "pi")

    assert (shell.code, shell.err.startswith("People decide this"), tree(agent)) == (1, True, before)


def test_the_skill_is_what_the_agreement_says(shell: Shell, agent: Path) -> None:
    """Name and description are fixed; its command line is one that exists here."""
    shell("install", "pi")

    text = (agent / "skills" / "auto-improve" / "SKILL.md").read_text()
    description = (
        "Use when the user gives negative feedback (thumbs down, /bad) or asks to analyze a failure. "
        "Handles failure analysis, lesson generation, and lesson consolidation."
    )
    assert text.startswith(f'---\nname: auto-improve\ndescription: "{description}"\n---\n')
    assert all(f"**{duty}" in text for duty in ("Analyse", "Formulate", "Detect", "Propose", "Consolidate"))
    assert "{command}" not in text
    # It stands in every system prompt: one character beyond Latin-1 makes Pi's whole request two bytes a
    # character, 3 ms a request slower in a long session. Hence "thumbs down", not the sign.
    assert max(description) <= "\xff"
