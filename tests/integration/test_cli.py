"""The command line as people and scripts use it: lessons, proposals, feedback."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from core.model.ids import RunId, SessionId
from core.model.run import Run, RunState
from core.services.context import shown
from core.store.sqlite import open_store
from tests.integration.shell import FINDING, Shell, sit_down

PROPOSAL_FIELDS = ["id", "state", "verdict", "rule", "rationale", "domain", "scope", "lesson", "feedback"]
LESSON_FIELDS = ["id", "created", "domain", "rule", "rationale", "source_feedback", "positive_examples"]
LESSON_FIELDS += ["violations", "active", "scope", "project", "told"]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Give the command line to a person in a project."""
    sit_down(tmp_path, monkeypatch)
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

    assert f"More on debug: read {shown(tmp_path / 'home' / 'context')}/domain-debug.md" in run("context")
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


def test_a_suspicious_wording_is_shown_with_its_warnings(run: Shell) -> None:
    """What was hidden in it is gone, and the person is told so."""
    run("proposals", "propose", stdin=json.dumps(FINDING | {"rule": "Ask \u202efirst"}))

    card = run("proposals", "show", "p-001")

    assert "Ask first" in card
    assert "Warnings: invisible characters were removed" in card


def test_what_an_approval_pushes_out_is_said_before_and_after(
    run: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """product.md 1.4, on the command line: which lesson would wait, and what makes room."""
    monkeypatch.setenv("AUTO_IMPROVE_MAX_LESSON_CHARS", "200")
    run("lessons", "add", "First " + "word " * 12)
    run("proposals", "propose", stdin=json.dumps(FINDING | {"rule": "Second " + "word " * 12}))

    card, listed = run("proposals", "show", "p-001"), run.one("proposals", "show", "p-001")
    done = run("proposals", "approve", "p-001")

    assert all("pushes l-001 out" in each and "lessons consolidate" in each for each in (card, done))
    assert listed["pushes_out"] == ["l-001"]
    assert "pushes l-001 out" not in run("proposals", "show", "p-001")


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


# Feedback about runs


def remember(home: Path, *runs: Run) -> None:
    """Put runs into the store, as the bot does."""

    async def write() -> None:
        async with open_store(home / "store.db") as store:
            for each in runs:
                await store.write(lambda tx, each=each: tx.runs.put(each))  # type: ignore[misc]

    asyncio.run(write())


def a_run(number: int, project: str, session: str, **fields: object) -> Run:
    """Give a finished run."""
    made = Run(
        RunId(f"r{number}"), SessionId(session), "pi", project, f"Task {number}", RunState.DONE, float(number)
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def test_a_vote_is_about_the_projects_newest_run(run: Shell, tmp_path: Path) -> None:
    """Another project's newer run is none of it; with `--session` it is that session's newest."""
    shop, blog = str(tmp_path / "shop"), str(tmp_path / "blog")
    remember(tmp_path / "home", a_run(1, shop, "s1"), a_run(2, shop, "s2"), a_run(3, blog, "s3"))

    newest = run.one("feedback", "good", "fine")
    named = run.one("feedback", "good", "--session", "s1")

    assert (newest["run"], newest["session"], newest["context"]) == ("r2", "s2", "Task 2")
    assert (named["run"], named["context"]) == ("r1", "Task 1")


def test_praise_counts_for_the_lessons_that_were_told(run: Shell, tmp_path: Path) -> None:
    """A 👍 from the terminal raises what the run was told; taking the other side reverses it."""
    run("lessons", "add", "Run the tests.")
    remember(tmp_path / "home", a_run(1, str(tmp_path / "shop"), "s1", told=("l-001",)))

    run("feedback", "good")
    praised = run.rows("lessons")[0]["positive_examples"]
    run("feedback", "bad", "--no-analysis")

    assert (praised, run.rows("lessons")[0]["positive_examples"]) == (1, 0)


def test_words_that_a_lesson_says_already_are_a_violation(run: Shell, tmp_path: Path) -> None:
    """It is named with its count, and nothing new is proposed."""
    run("lessons", "add", "Run the tests first.")
    remember(tmp_path / "home", a_run(1, str(tmp_path / "shop"), "s1", told=("l-001",)))

    said = run("feedback", "bad", "you should run the tests first")

    assert said.startswith("l-001 says this already and was not followed (broken 1 times)")
    assert run.rows("proposals", "--all") == []
    assert run.rows("lessons")[0]["violations"] == 1


def test_the_same_bad_answer_is_not_analysed_twice(run: Shell, tmp_path: Path) -> None:
    """The second 👎 on a run says what came of the first."""
    remember(tmp_path / "home", a_run(1, str(tmp_path / "shop"), "s1"))
    run("feedback", "bad", "use pnpm here")

    run("feedback", "bad", "also in CI")

    assert (run.code, "analysis is made or under way" in run.err) == (1, True)
    assert len(run.rows("proposals")) == 1
    assert run.rows("feedback")[0]["user_comment"] == "use pnpm here\nalso in CI"


def test_a_noted_or_failed_bad_answer_is_analysed_when_asked_again(
    run: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vote is the same, its analysis is made now."""
    remember(tmp_path / "home", a_run(1, str(tmp_path / "shop"), "s1"))
    run("feedback", "bad", "use pnpm here", "--no-analysis")
    monkeypatch.setenv("AUTO_IMPROVE_ANALYST", "agent")
    monkeypatch.setenv("AUTO_IMPROVE_PI_COMMAND", "no-such-agent-anywhere")
    run("feedback", "bad")

    monkeypatch.setenv("AUTO_IMPROVE_ANALYST", "rules")
    said = run("feedback", "bad")

    assert "approve p-001" in said
    assert len(run.rows("feedback")) == 1
