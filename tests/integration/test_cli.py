"""The command line as people and scripts use it: what it prints, what it refuses, what it changes."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.__main__ import COMMANDS, FILTERS
from core.cli import ancestry, border
from core.cli.group import root

MARKERS = ("PI_SESSION_ID", "CLAUDECODE", "AUTO_IMPROVE_AGENT_RUN")
FINDING = {
    "verdict": "new",
    "rule": "Ask before deleting files.",
    "rationale": "Work was lost.",
    "domain": "feature",
    "scope": "project",
}
PROPOSAL_FIELDS = ["id", "state", "verdict", "rule", "rationale", "domain", "scope", "lesson", "feedback"]
LESSON_FIELDS = ["id", "created", "domain", "rule", "rationale", "source_feedback", "positive_examples"]
LESSON_FIELDS += ["violations", "active", "scope", "project", "told"]
Row = dict[str, object]


class Shell:
    """Runs commands in this process, through the border that a shell sees."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        self.code = 0
        self.err = ""

    def __call__(self, *argv: str, stdin: str = "") -> str:
        """Run one command; give what it printed, keep exit code and stderr."""
        with self._monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            self.code = border.run(root(COMMANDS, FILTERS), argv)
        printed = self._capsys.readouterr()
        self.err = printed.err
        return printed.out

    def rows(self, *argv: str) -> list[Row]:
        """Run a command that lists, with `--json`."""
        found = json.loads(self(*argv, "--json"))
        assert isinstance(found, list)
        return found

    def one(self, *argv: str, stdin: str = "") -> Row:
        """Run a command about one thing, with `--json`."""
        found = json.loads(self(*argv, "--json", stdin=stdin))
        assert isinstance(found, dict)
        return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sit a person down in a project of their own, whoever runs these tests."""
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    for name in [*MARKERS, *(each for each in os.environ if each.startswith("AUTO_IMPROVE_"))]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AUTO_IMPROVE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AUTO_IMPROVE_ANALYST", "rules")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setattr(ancestry, "environments", lambda: iter([os.environ]))
    return folder


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Give the command line to a person in a project."""
    return Shell(capsys, monkeypatch)


# Lessons


def test_a_lesson_that_is_added_is_listed_and_told(run: Shell) -> None:
    """The list has the nine fields of the exchange format, then scope, project, told."""
    run("lessons", "add", "Run", "the", "tests", "first.", "--domain", "debug", "--why", "They break.")

    (lesson,) = run.rows("lessons", "list")

    assert list(lesson) == LESSON_FIELDS
    assert (lesson["id"], lesson["rule"], lesson["domain"]) == ("l-001", "Run the tests first.", "debug")
    assert (lesson["active"], lesson["told"], lesson["scope"]) == (True, True, "global")
    assert "- [debug] Run the tests first." in run("context")


def test_a_group_without_a_command_lists(run: Shell) -> None:
    """`lessons`, `proposals` and `feedback` alone, and with the options of the list."""
    run("lessons", "add", "Run the tests first.")

    assert "l-001" in run("lessons")
    assert run.rows("lessons") != []
    assert run.rows("proposals") == run.rows("feedback") == []


def test_the_same_rule_again_is_the_same_lesson(run: Shell) -> None:
    """Equal but for case and the final point: nothing is added."""
    run("lessons", "add", "Run the tests first.")

    said = run("lessons", "add", "run the TESTS first")

    assert "l-001 says this already" in said
    assert len(run.rows("lessons")) == 1


def test_a_lesson_is_edited_disabled_and_restored_with_its_history(run: Shell) -> None:
    """Every wording is kept, with who and when."""
    run("lessons", "add", "Run the tests.")

    run("lessons", "edit", "l-001", "Run the unit tests.", "--domain", "debug")
    run("lessons", "remove", "l-001")
    gone = (run.rows("lessons"), run("context"), len(run.rows("lessons", "--inactive")))
    restored = run.one("lessons", "restore", "l-001")

    assert gone == ([], "", 1)
    assert (restored["rule"], restored["active"], restored["told"]) == ("Run the unit tests.", True, True)
    history = run.rows("lessons", "history", "l-001")
    assert [each["rule"] for each in history] == ["Run the tests."] + ["Run the unit tests."] * 4
    assert str(history[0]["who"]).startswith("cli:")


def test_a_project_lesson_stays_in_its_project(run: Shell, tmp_path: Path) -> None:
    """Another project neither lists it nor is told it; the owner may look at everything."""
    (tmp_path / "other").mkdir()
    run("lessons", "add", "Use pnpm.", "--scope", "project")

    elsewhere = ("--project", str(tmp_path / "other"))

    assert run("context") != ""
    assert run("context", *elsewhere) == ""
    assert run.rows("lessons", *elsewhere) == []
    assert len(run.rows("lessons", "--all", *elsewhere)) == 1


def test_a_lesson_of_scope_domain_is_told_by_its_file(run: Shell, tmp_path: Path) -> None:
    """The block has a pointer line; the list does not call it waiting."""
    run("lessons", "add", "Reproduce it first.", "--scope", "domain", "--domain", "debug")

    assert f"More on debug: read {tmp_path / 'home' / 'context' / 'domain-debug.md'}" in run("context")
    assert run.rows("lessons")[0]["told"] is True


def test_what_does_not_fit_is_shown_as_waiting(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of 200 characters has room for the newest lesson only."""
    monkeypatch.setenv("AUTO_IMPROVE_MAX_LESSON_CHARS", "200")
    run("lessons", "add", "First " + "word " * 12)
    run("lessons", "add", "Second " + "word " * 12)

    assert [each["told"] for each in run.rows("lessons")] == [False, True]
    assert "waiting" in run("lessons")


def test_lists_can_be_narrowed(run: Shell) -> None:
    """By domain, scope and words."""
    run("lessons", "add", "Run the tests.", "--domain", "debug")
    run("lessons", "add", "Use pnpm.", "--scope", "project")

    assert [each["id"] for each in run.rows("lessons", "--domain", "debug")] == ["l-001"]
    assert [each["id"] for each in run.rows("lessons", "--scope", "project")] == ["l-002"]
    assert [each["id"] for each in run.rows("lessons", "--search", "PNPM")] == ["l-002"]


def test_a_card_shows_what_is_known_of_a_lesson(run: Shell) -> None:
    """Rule, reason, counters, since when."""
    run("lessons", "add", "Run the tests.", "--why", "They break.")

    card = run("lessons", "show", "l-001")

    assert all(part in card for part in ("l-001", "Run the tests.", "Why: They break.", "0 👍", "told"))
    assert run.one("lessons", "show", "l-001")["rationale"] == "They break."


def test_escapes_in_a_text_do_not_reach_the_terminal(run: Shell) -> None:
    """A title or colour hidden in what was typed has no effect where it is listed."""
    run("feedback", "good", "nice \x1b]0;owned\x07\x1b[31mred")

    assert "\x1b" not in run("feedback", "list")


# Proposals


def test_a_finding_on_stdin_becomes_a_proposal_and_no_lesson(run: Shell) -> None:
    """Nothing is told before a person approves it."""
    made = run.one("proposals", "propose", stdin=json.dumps(FINDING))

    assert (made["id"], made["state"], made["verdict"]) == ("p-001", "pending", "new")
    assert run.rows("lessons") == []
    assert [list(each) for each in run.rows("proposals")] == [PROPOSAL_FIELDS]


def test_an_approved_proposal_is_told_word_for_word(run: Shell) -> None:
    """It becomes a lesson of its scope, and is no longer listed as waiting."""
    run("proposals", "propose", stdin=json.dumps(FINDING))

    said = run("proposals", "approve", "p-001")

    assert "l-001" in said
    assert "- [feature] Ask before deleting files." in run("context")
    assert run.rows("proposals") == []
    assert [each["state"] for each in run.rows("proposals", "--all")] == ["approved"]


def test_a_rejected_proposal_stores_nothing_and_does_not_come_back(run: Shell) -> None:
    """Handing in the same again gives the rejected one."""
    run("proposals", "propose", stdin=json.dumps(FINDING))
    run("proposals", "reject", "p-001")

    again = run.one("proposals", "propose", stdin=json.dumps(FINDING))

    assert (again["id"], again["state"]) == ("p-001", "rejected")
    assert run.rows("lessons", "--all") == []


def test_a_decision_on_another_version_is_refused(run: Shell) -> None:
    """What was edited meanwhile is shown first."""
    run("proposals", "propose", stdin=json.dumps(FINDING))
    run("proposals", "edit", "p-001", "Ask twice.", "--scope", "global")

    run("proposals", "approve", "p-001", "--version", "1")

    assert (run.code, "changed meanwhile" in run.err) == (1, True)
    assert run.rows("lessons") == []


def test_an_edited_proposal_is_told_as_edited(run: Shell) -> None:
    """The card shows the new wording, and that is what is stored."""
    run("proposals", "propose", stdin=json.dumps(FINDING))

    card = run("proposals", "edit", "p-001", "Ask", "twice.")
    run("proposals", "approve", "p-001")

    assert "Ask twice." in card
    assert run.rows("lessons")[0]["rule"] == "Ask twice."


def test_a_decision_is_made_once(run: Shell) -> None:
    """The second one says what it is already."""
    run("proposals", "propose", stdin=json.dumps(FINDING))
    run("proposals", "approve", "p-001")

    run("proposals", "reject", "p-001")

    assert (run.code, run.err) == (1, "p-001 no longer waits: it is approved. Nothing was changed.\n")


@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        ("", "not valid JSON"),
        ("I propose to ask first", "not valid JSON"),
        (json.dumps(FINDING | {"verdict": "merge", "lesson": "l-404"}), "l-404"),
        (json.dumps(FINDING | {"rule": "x" * 301}), "301 characters"),
        (json.dumps(FINDING | {"verdict": "none", "cause": "fine"}), "none proposes nothing"),
    ],
)
def test_an_unusable_finding_is_refused_with_its_reason(run: Shell, stdin: str, told: str) -> None:
    """The analyst reads on stderr what to mend."""
    run("proposals", "propose", stdin=stdin)

    assert run.code == 2
    assert told in run.err
    assert run.rows("proposals", "--all") == []


# Feedback


def test_a_bad_answer_is_analysed_at_once(run: Shell) -> None:
    """The 👎 is stored, the proposal printed, and how to decide on it."""
    said = run("feedback", "bad", "You should use pnpm here")

    assert "Use pnpm here" in said
    assert "approve p-001" in said
    (vote,) = run.rows("feedback")
    assert (vote["type"], vote["source"], vote["user_comment"]) == (
        "negative",
        "cli",
        "You should use pnpm here",
    )


def test_without_words_the_analyst_by_rules_asks_for_them(run: Shell) -> None:
    """Nothing is proposed."""
    done = run.one("feedback", "bad")

    assert (done["verdict"], done["proposal"]) == ("none", None)
    assert "few words" in str(done["note"])


def test_a_vote_can_be_just_noted(run: Shell) -> None:
    """`--no-analysis` stores it and proposes nothing."""
    run("feedback", "bad", "use pnpm here", "--no-analysis")
    run("feedback", "good", "nice")

    assert [each["type"] for each in run.rows("feedback")] == ["positive", "negative"]
    assert run.rows("proposals", "--all") == []


def test_a_failed_analysis_keeps_the_vote(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """No agent there: one line says so and what to do; the 👎 stands."""
    monkeypatch.setenv("AUTO_IMPROVE_ANALYST", "agent")
    monkeypatch.setenv("AUTO_IMPROVE_PI_COMMAND", "no-such-agent-anywhere")

    run("feedback", "bad", "use pnpm here")

    assert run.code == 1
    assert "no-such-agent-anywhere was not found" in run.err
    assert [each["type"] for each in run.rows("feedback")] == ["negative"]


def test_a_session_without_runs_is_named(run: Shell) -> None:
    """A vote about a session that is not known is refused."""
    run("feedback", "good", "--session", "nope")

    assert (run.code, "session nope" in run.err) == (1, True)


# Under an agent


CHANGES = [
    ("lessons", "add", "Obey me."),
    ("lessons", "edit", "l-001", "Obey me."),
    ("lessons", "remove", "l-001"),
    ("lessons", "restore", "l-001"),
    ("proposals", "approve", "p-001"),
    ("proposals", "reject", "p-001"),
    ("proposals", "edit", "p-001", "Obey me."),
    ("feedback", "good"),
    ("feedback", "bad", "use pnpm here"),
    ("feedback", "bad", "use pnpm here", "--no-analysis"),
]


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("argv", CHANGES, ids=" ".join)
def test_an_agent_cannot_decide(
    run: Shell, argv: tuple[str, ...], marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command that votes or changes something refuses under a marker, and changes nothing."""
    run("lessons", "add", "Run the tests.")
    run("proposals", "propose", stdin=json.dumps(FINDING))
    before = (run.rows("lessons"), run.rows("proposals"), run.rows("feedback"))

    monkeypatch.setenv(marker, "1")
    run(*argv)

    assert (run.code, run.err.startswith("People decide this")) == (1, True)
    assert (run.rows("lessons"), run.rows("proposals"), run.rows("feedback")) == before


def test_an_agent_may_hand_in_a_proposal_and_read(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the skill needs works under a marker."""
    monkeypatch.setenv("PI_SESSION_ID", "1")

    made = run.one("proposals", "propose", stdin=json.dumps(FINDING))

    assert made["state"] == "pending"
    assert run("context") == ""


def test_an_agent_cannot_hide_by_clearing_its_environment(
    run: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A marker on any process above counts."""
    monkeypatch.setattr(ancestry, "environments", lambda: iter([{}, {"PI_SESSION_ID": "1"}]))

    run("lessons", "add", "Obey me.")

    assert (run.code, run.err.startswith("People decide this")) == (1, True)


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


def test_a_process_refuses_under_an_agents_shell_that_cleared_its_environment(tmp_path: Path) -> None:
    """The marker stands on the shell above; the command itself has none of it."""
    command = f"env -u PI_SESSION_ID {sys.executable} -m bot lessons add Obey me; echo $?"

    done = subprocess.run(
        ["sh", "-c", command],
        env={"PATH": os.environ["PATH"], "AUTO_IMPROVE_HOME": str(tmp_path), "PI_SESSION_ID": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert (done.stdout.strip(), done.stderr.startswith("People decide this")) == ("1", True)


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
