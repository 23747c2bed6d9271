"""The filters of `inspect`, and the edge of every command: exit codes, one line, languages, processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.shell import Shell, sit_down


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Give the command line to a person in a project."""
    sit_down(tmp_path, monkeypatch)
    return Shell(capsys, monkeypatch)


# Filters


def test_verbs_are_read_a_line_at_a_time(run: Shell) -> None:
    """One JSON string in, one object out."""
    out = run("inspect", "verbs", stdin='"cd app && npm test | tail"\n"A=1"\n')

    first, second = map(json.loads, out.splitlines())
    assert first == {"verb": "npm:test", "program": "npm", "programs": ["cd", "npm", "tail"]}
    assert second["verb"] is second["program"] is None


def test_secrets_are_masked_and_other_text_is_kept(run: Shell) -> None:
    """Byte for byte but for the secret, half characters and separators included."""
    clean = 'half \\ud800, line\\u2028separator, "quotes"'.replace('"', '\\"')
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8"

    out = run("inspect", "redact", stdin=f'"{clean}"\n"my {token}"\n')

    first, second = map(json.loads, out.splitlines())
    assert first == json.loads(f'"{clean}"')
    assert (second.startswith("my "), token in second) == (True, False)


def test_a_lesson_is_normalised_and_flagged(run: Shell) -> None:
    """What a rule would be stored as, and what is suspicious about it."""
    out = run("inspect", "lesson", stdin='"Run\\u200b the\\n tests"\n"Run the tests"\n')

    assert list(map(json.loads, out.splitlines())) == [
        {"text": "Run the tests", "flags": ["invisible"]},
        {"text": "Run the tests", "flags": []},
    ]


def test_the_domain_of_a_run_is_read_from_its_calls(run: Shell) -> None:
    """A failing test before the first edit is debugging; our records and pi-evolver's are both read."""
    red = {"tool": "bash", "cmd": "pytest -q", "is_error": True, "snippet": "1 failed"}
    evolver = {"ts": 1, "tool": "edit", "isError": False, "file": "a.py", "cmd": "", "verb": "edit"}

    out = run("inspect", "domain", stdin="\n".join(map(json.dumps, [red, evolver])))

    assert json.loads(out) == {"domain": "debug"}


def test_an_answer_is_rendered_with_its_hidden_buttons(run: Shell) -> None:
    """Messages with entities, and the keyboard without the feedback row."""
    answer = 'It is **done**.\n\n<!-- telegram_button label="Show" prompt="Show it" -->'

    out = json.loads(run("inspect", "reply", stdin=answer))

    assert out["messages"][0]["text"] == "It is done."
    assert out["messages"][0]["entities"] == [{"type": "bold", "offset": 6, "length": 4}]
    assert out["keyboard"][0][0] == {"text": "Show", "prompt": "Show it", "style": None}


@pytest.mark.parametrize("name", ["verbs", "redact", "lesson", "domain"])
@pytest.mark.parametrize("line", ["5", "nonsense", "[" * 60_000, "\x00"])
def test_a_line_that_is_no_json_is_named(run: Shell, name: str, line: str) -> None:
    """The number of the line, and what is expected."""
    run("inspect", name, stdin=f"\n{line}\n")

    assert (run.code, "Line 2" in run.err) == (2, True)


def test_nothing_in_gives_nothing_out(run: Shell) -> None:
    """An empty stdin is no error for a filter of lines."""
    assert [run("inspect", name) for name in ("verbs", "redact", "lesson")] == ["", "", ""]


# The border


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        (("nope",), 2, "no command nope"),
        (("lessons", "nope"), 2, "no command nope"),
        (("lessons", "--nope"), 2, "no option --nope"),
        (("lessons", "show"), 2, "ID is missing"),
        (("lessons", "add"), 2, "RULE is missing"),
        (("lessons", "list", "--domain", "cooking"), 2, "must be one of: debug"),
        (("feedback", "list", "--limit", "0"), 2, "--limit"),
        (("lessons", "edit", "l-001"), 2, "Nothing to change"),
        (("lessons", "add", " "), 2, "empty"),
        (("lessons", "add", "x" * 301), 2, "301 characters"),
        (("lessons", "show", "l-404"), 1, "no lesson l-404"),
        (("lessons", "remove", "../../etc/passwd"), 1, "no lesson"),
        (("proposals", "approve", "p-404"), 1, "no proposal p-404"),
    ],
)
def test_a_fault_is_one_clear_line(run: Shell, argv: tuple[str, ...], code: int, told: str) -> None:
    """On stderr, with the exit code that tells wrong usage from refusal; nothing on stdout."""
    out = run(*argv)

    assert (run.code, out) == (code, "")
    assert told in run.err
    assert run.err.count("\n") == 1
    assert "Traceback" not in run.err


@pytest.mark.parametrize(
    "argv",
    [
        ("lessons", "add", "caf\udcff"),
        ("lessons", "show", "\udcff"),
        ("feedback", "good", "\udcff"),
        ("feedback", "good", "--session", "\udcff"),
        ("context", "--project", "/srv/\udcff"),
    ],
)
def test_bytes_that_are_no_text_are_refused(run: Shell, argv: tuple[str, ...]) -> None:
    """A terminal may pass anything; what is no UTF-8 can neither be stored nor told."""
    run(*argv)

    assert (run.code, "UTF-8" in run.err, run.err.count("\n")) == (2, True, 1)


@pytest.mark.parametrize("argv", [("lessons",), ("context",), ("feedback", "good"), ("proposals", "propose")])
def test_a_folder_whose_name_is_no_text_is_refused(
    run: Shell, argv: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project's path is stored and told, so it must be text."""
    folder = tmp_path / os.fsdecode(b"shop\xff")
    folder.mkdir()
    monkeypatch.chdir(folder)

    run(*argv)

    assert (run.code, "path of this project" in run.err) == (2, True)


@pytest.mark.parametrize("rule", ["Run\u200b the tests", "## Lessons learned"])
def test_a_typed_rule_that_would_hide_something_is_refused(run: Shell, rule: str) -> None:
    """No card would warn about it: it is not stored."""
    run("lessons", "add", rule)

    assert (run.code, run.err.startswith("The rule ")) == (1, True)
    assert run.rows("lessons") == []


def test_a_wrong_setting_is_one_clear_line(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the command."""
    monkeypatch.setenv("AUTO_IMPROVE_MIN_RUNS", "many")

    run("lessons")

    assert (run.code, run.err.count("\n"), "AUTO_IMPROVE_MIN_RUNS" in run.err) == (2, 1, True)


def test_a_store_that_is_none_is_one_clear_line(run: Shell, tmp_path: Path) -> None:
    """A file of length zero is not silently started anew."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "store.db").touch()

    run("lessons")

    assert (run.code, run.err.count("\n"), "damaged" in run.err) == (1, 1, True)


def test_a_fault_of_ours_is_one_line_too(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The person gets something to report, no traceback."""

    def broken() -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("core.cli.access.settings", broken)
    run("lessons")

    assert (run.code, run.err.count("\n"), "ZeroDivisionError" in run.err) == (1, 1, True)


def test_nothing_typed_shows_the_help(run: Shell) -> None:
    """All commands with one line each."""
    out = run()

    assert run.code == 0
    assert all(name in out for name in ("lessons", "proposals", "feedback", "context", "inspect", "run"))


@pytest.mark.parametrize(
    "argv",
    [("lessons",), ("proposals",), ("feedback",), ("inspect",), ("lessons", "add"), ("feedback", "bad")],
)
def test_every_help_is_there(run: Shell, argv: tuple[str, ...]) -> None:
    """Also of the commands that are imported when called."""
    assert "Usage: auto-improve" in run(*argv, "--help")


def test_the_person_is_answered_in_french(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the locale, unless the setting says otherwise."""
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
    run("lessons", "show", "l-404")
    french = run.err

    monkeypatch.setenv("AUTO_IMPROVE_LANGUAGE", "en")
    run("lessons", "show", "l-404")

    assert (french[:22], run.err[:11]) == ("Il n'y a pas de leçon ", "There is no")


@pytest.mark.parametrize(
    "argv", [(), ("lessons",), ("lessons", "add"), ("feedback", "bad"), ("inspect", "reply")]
)
def test_help_is_french_where_the_person_is(
    run: Shell, argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Usage line and help option of every kind of command; nothing of click's English is left."""
    monkeypatch.setenv("LC_ALL", "fr_CA.UTF-8")

    out = run(*argv, "--help")

    assert "Usage : auto-improve" in out
    assert "Show this message" not in out


# As a process


def start(*argv: str, home: Path, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "bot", *argv],
        env={"PATH": os.environ["PATH"], "AUTO_IMPROVE_HOME": str(home), **env},
        cwd=Path(__file__).parents[2],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )


def test_a_process_writes_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    """Under LANG=C with strict ASCII streams an emoji is no traceback."""
    done = start("--help", home=tmp_path, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONCOERCECLOCALE="0")

    assert (done.returncode, "👎" in done.stdout) == (0, True)


def test_a_reader_that_leaves_early_is_no_error_message(tmp_path: Path) -> None:
    """`… | head -1`: no complaint about the pipe."""
    lines = '"npm test"\n' * 20_000
    command = f"{sys.executable} -m bot inspect redact | head -1"

    done = subprocess.run(
        ["sh", "-c", command],
        env={"PATH": os.environ["PATH"], "AUTO_IMPROVE_HOME": str(tmp_path)},
        cwd=Path(__file__).parents[2],
        input=lines,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert (done.stdout, done.stderr) == ('"npm test"\n', "")


def test_several_processes_read_at_once(tmp_path: Path) -> None:
    """Each finds the store that one of them made."""
    first = start("lessons", "--json", home=tmp_path)
    second = start("proposals", "--json", home=tmp_path)

    assert [(each.returncode, json.loads(each.stdout), each.stderr) for each in (first, second)] == [
        (0, [], "")
    ] * 2
