"""Traces, patterns and the report at the command line, as a shell sees them (product.md 3)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.calls import ID, MISSING, write_lines
from tests.integration.shell import Shell, sit_down

FIELDS = {
    "key", "id", "tool", "verb", "error_class", "state", "failures", "total", "sessions", "last_error",
    "last_recovery", "note", "score",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person in a project."""
    return sit_down(tmp_path, monkeypatch)


@pytest.fixture
def shell(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shell]:
    """The command line with two sessions of a failing command taken in."""
    shell = Shell(capsys, monkeypatch)
    records = [
        {"ts": 1_790_000_000 + n, "session": f"s{n // 2}", "turn": n % 2, "tool": "bash",
         "project": str(folder), "is_error": n % 2 == 0, "exit_code": 1 - n % 2,
         "cmd": "npm run test:unit" if n % 2 else "npm test", "snippet": "" if n % 2 else MISSING}
        for n in range(6)
    ]  # fmt: skip
    shell("traces", "import", str(write_lines(folder / "events.jsonl", records)))
    assert shell.code == 0
    yield shell


def test_patterns_list_as_json_has_the_agreed_fields(shell: Shell) -> None:
    """Scripts rely on them."""
    (row,) = shell.rows("patterns", "list")

    assert set(row) == FIELDS
    assert (row["id"], row["key"], row["state"], row["failures"], row["total"]) == (
        ID, "bash:npm:test", "candidate", 3, 3,
    )  # fmt: skip


def test_an_accepted_pattern_is_in_the_context_and_in_the_ready_file(shell: Shell, folder: Path) -> None:
    """From the next run on, on every surface."""
    before = shell("context")
    said = shell("patterns", "accept", ID)
    after = shell("context")

    assert before == ""
    assert "Agents are told: npm test: fails with" in said
    assert "- npm test: fails with" in after
    ready = list((folder.parent / "home" / "context").glob("*.md"))
    assert after in [path.read_text() for path in ready]


def test_a_note_is_what_agents_are_told(shell: Shell) -> None:
    """Words after the id are the note, as in pi-evolver."""
    shell("patterns", "accept", ID, "Use", "test:unit", "here.")

    assert "- npm test: Use test:unit here.\n" in shell("context")


def test_rejecting_and_reopening_work_by_the_id_as_typed(shell: Shell) -> None:
    """Without a class it is everything of that command."""
    shell("patterns", "reject", "bash:npm:test")
    hidden = shell.rows("patterns", "list")
    everything = shell.rows("patterns", "list", "--all")
    shell("patterns", "reopen", "bash:npm:test")

    assert hidden == []
    assert [row["state"] for row in everything] == ["rejected"]
    assert [row["state"] for row in shell.rows("patterns", "list")] == ["candidate"]


def test_promoting_writes_a_skill_and_demoting_removes_it(shell: Shell, folder: Path) -> None:
    """As pi-evolver's commands of these names."""
    more = [
        {"ts": 1_790_000_100 + n, "session": f"m{n}", "tool": "bash", "project": str(folder),
         "cmd": "npm test", "is_error": False, "exit_code": 0}
        for n in range(2)
    ]  # fmt: skip
    shell("traces", "import", str(write_lines(folder / "more.jsonl", more)))
    shell("patterns", "promote", ID)
    file = folder.parent / "home" / "skills" / "npm-test-usage" / "SKILL.md"
    is_there = file.exists()
    shell("patterns", "demote", "npm-test-usage")

    assert (is_there, file.exists()) == (True, False)
    assert "npm test" in shell("context")


@pytest.mark.parametrize("verb", ["accept", "reject", "reopen", "promote", "demote"])
def test_an_agent_cannot_decide_about_patterns(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """Promise 3: people decide this."""
    monkeypatch.setenv("PI_SESSION_ID", "s")
    shell("patterns", verb, ID)

    assert shell.code == 1
    assert "People decide this" in shell.err


def test_an_unknown_pattern_is_refused_in_one_line(shell: Shell) -> None:
    """What, why, what to do."""
    shell("patterns", "accept", "bash:nope")

    assert shell.code == 1
    assert shell.err.count("\n") == 1
    assert "patterns list" in shell.err


def test_a_second_import_says_that_nothing_is_new(shell: Shell, folder: Path) -> None:
    """Idempotent, and it says so."""
    (row,) = shell.rows("traces", "import", str(folder / "events.jsonl"))

    assert (row["new"], row["format"]) == (0, "events")


def test_a_broken_line_is_reported_with_file_and_line(shell: Shell, folder: Path) -> None:
    """On stderr, so that scripts are not disturbed."""
    said = shell("traces", "import", str(write_lines(folder / "bad.jsonl", [{"tool": "read"}, "{"])))

    assert "1 broken lines skipped" in said
    assert shell.err.startswith("bad.jsonl:2: skipped:")


def test_mine_takes_the_spool_in(shell: Shell, folder: Path) -> None:
    """What terminals left behind counts like everything else."""
    spool = folder.parent / "home" / "spool"
    spool.mkdir()
    line = {"v": 1, "kind": "trace", "ts": 1_790_000_500.0, "session": "t1", "run": "r1", "turn": 1,
            "call": "c", "tool": "bash", "cmd": "npm test", "is_error": True, "exit_code": 1,
            "snippet": MISSING, "project": str(folder), "cwd": str(folder), "agent": "pi"}  # fmt: skip
    write_lines(spool / "t1.jsonl", [line, {"v": 1, "kind": "run", "ts": 1.0, "session": "t1"}])

    assert shell.one("mine") == {"new": 1, "candidates": 1, "accepted": 0}
    assert shell.one("mine")["new"] == 0


def test_the_report_says_weeks_tools_candidates_and_what_was_accepted(shell: Shell) -> None:
    """For people as text, for scripts as JSON."""
    shell("patterns", "accept", ID)
    made = shell.one("report")
    said = shell("report")

    assert set(made) == {"weeks", "tools", "states", "patterns", "candidates", "accepted", "skills"}
    assert made["tools"] == [{"tool": "bash", "calls": 6, "failures": 3, "rate": 0.5}]
    assert ID in said
    assert "100 %" in said


def test_prune_forgets_old_traces_and_undecided_evidence(shell: Shell) -> None:
    """30 and 90 days; what a person accepted stays."""
    shell("patterns", "accept", ID)
    done = shell.one("traces", "prune")

    assert done["traces"] == 6
    assert [row["state"] for row in shell.rows("patterns", "list")] == ["accepted"]


def test_purge_erases_a_pattern_for_good(shell: Shell, folder: Path) -> None:
    """After a leaked secret: no byte of it stays in either file."""
    shell("patterns", "accept", ID)
    home = folder.parent / "home"
    before = b"".join(each.read_bytes() for each in home.glob("*.db*"))
    shell("patterns", "purge", ID, "--yes")
    after = b"".join(each.read_bytes() for each in home.glob("*.db*"))

    assert shell.rows("patterns", "list", "--all") == []
    assert shell("context") == ""
    assert b"Missing script" in before
    assert b"Missing script" not in after


def test_the_debug_file_gets_each_step(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """AUTO_IMPROVE_DEBUG: trace, mine, inject, promote."""
    debug = folder / "debug.jsonl"
    monkeypatch.setenv("AUTO_IMPROVE_DEBUG", str(debug))
    shell = Shell(capsys, monkeypatch)
    records = [
        {"ts": 1_790_000_000 + n, "session": f"s{n}", "tool": "bash", "cmd": "npm test", "is_error": True,
         "exit_code": 1, "snippet": MISSING, "project": str(folder)}
        for n in range(5)
    ]  # fmt: skip
    shell("traces", "import", str(write_lines(folder / "e.jsonl", records)))
    shell("patterns", "accept", ID)

    steps = {json.loads(line)["step"] for line in debug.read_text().splitlines()}
    assert steps >= {"trace", "mine", "inject", "promote"}
