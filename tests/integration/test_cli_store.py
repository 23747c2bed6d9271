"""Similar, consolidate, choices, purge, export, import, backup and restore as a shell sees them."""

import json
from pathlib import Path

import pytest

from tests.integration.shell import Shell, sit_down


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Seat a person in a project; give the folder of the store."""
    sit_down(tmp_path, monkeypatch)
    return tmp_path / "home"


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Give the command line."""
    assert not home.exists()
    return Shell(capsys, monkeypatch)


def propose(run: Shell, rule: str) -> str:
    """Hand in a finding; give the proposal's id."""
    finding = json.dumps(
        {"verdict": "new", "rule": rule, "rationale": "", "domain": "general", "scope": "global"}
    )
    return str(run.one("proposals", "propose", stdin=finding)["id"])


def test_similar_lists_the_nearest_with_its_warning(run: Shell) -> None:
    """As a table, as JSON, and as a filter."""
    run("lessons", "add", "Use npm instead of pnpm")
    run("lessons", "add", "Answer in French")

    rows = run.rows("lessons", "similar", "use pnpm instead of npm")
    shown = run("lessons", "similar", "use pnpm instead of npm")
    lines = run("lessons", "similar", "--stdin", "--limit", "1", stdin='"use pnpm instead of npm"\n"zebra"\n')

    assert [(each["id"], each["warning"]) for each in rows] == [("l-001", "may contradict")]
    assert "may contradict" in shown and "Use npm instead of pnpm" in shown
    assert [json.loads(line) for line in lines.splitlines()] == [rows, []]


def test_similar_wants_a_text_or_stdin(run: Shell) -> None:
    """Wrong usage, one line."""
    run("lessons", "similar")

    assert (run.code, "--stdin" in run.err) == (2, True)


def test_similar_says_which_lesson_says_the_same(run: Shell) -> None:
    """It is no near one."""
    run("lessons", "add", "Answer in French")

    assert "l-001 says this already" in run("lessons", "similar", "answer in FRENCH.")
    assert run.rows("lessons", "similar", "answer in FRENCH.") == []


def test_consolidate_proposes_and_says_how_to_decide(run: Shell) -> None:
    """Twice finds nothing new."""
    run("lessons", "add", "Use tabs for indentation")
    run("lessons", "add", "Use spaces for indentation")

    made, again = run.rows("lessons", "consolidate"), run.rows("lessons", "consolidate")

    assert [(each["lesson"], each["absorbs"], each["conflicts"]) for each in made] == [
        ("l-001", ["l-002"], ["l-001"])
    ]
    assert again == []


def test_a_contradiction_asks_for_a_choice(run: Shell) -> None:
    """A bare approval is refused and names the choices; replacing keeps the id."""
    run("lessons", "add", "Use tabs for indentation")
    id = propose(run, "Use spaces for indentation")

    run("proposals", "approve", id)
    refused = (run.code, run.err)
    run("proposals", "approve", id, "--replace", "l-001")

    assert refused[0] == 1 and "--replace l-001" in refused[1] and "--keep-both" in refused[1]
    assert [(each["id"], each["rule"]) for each in run.rows("lessons")] == [
        ("l-001", "Use spaces for indentation")
    ]


def test_both_may_be_kept(run: Shell) -> None:
    """Two lessons then; the card shows the warning."""
    run("lessons", "add", "Use tabs for indentation")
    id = propose(run, "Use spaces for indentation")

    card = run("proposals", "show", id)
    run("proposals", "approve", id, "--keep-both")

    assert "may contradict l-001" in card
    assert len(run.rows("lessons")) == 2


def test_lessons_show_gives_the_effect_with_intervals(run: Shell) -> None:
    """Never a bare percentage."""
    run("lessons", "add", "Answer in French")

    found = run.one("lessons", "show", "l-001")["effect"]

    assert isinstance(found, dict)
    assert found["told"] == {"negative": 0, "runs": 0, "share": {"low": 0.0, "estimate": 0.0, "high": 1.0}}
    assert "no voted runs yet" in run("lessons", "show", "l-001")


def test_every_change_brings_the_files_up_to_date(run: Shell, home: Path) -> None:
    """Context for agents, the mirror for people."""
    run("lessons", "add", "Answer in French")

    assert "- [general] Answer in French" in (home / "context" / "global.md").read_text()
    assert "Answer in French" in (home / "mirror" / "lessons" / "global.json").read_text()


def test_the_mirror_can_be_off(run: Shell, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Context files are written all the same."""
    monkeypatch.setenv("AUTO_IMPROVE_MIRROR", "off")
    run("lessons", "add", "Answer in French")

    assert not (home / "mirror").exists() and (home / "context" / "global.md").exists()


def test_a_hand_edit_is_told_with_the_next_command(run: Shell, home: Path) -> None:
    """A good one becomes a proposal, a malformed one names file and line."""
    run("lessons", "add", "Answer in French")
    file = home / "mirror" / "lessons" / "global.json"
    file.write_text(file.read_text().replace("Answer in French", "Answer in Breton"))
    run("lessons", "add", "Ask first")
    proposed = run.err
    file.write_text(file.read_text().replace("{", "[", 1))
    run("lessons", "add", "Ask twice")

    assert run.code == 0 and "lessons/global.json, line 2" in run.err
    assert "p-001" in proposed and run.rows("proposals")[0]["rule"] == "Answer in Breton"


def written(folder: Path) -> dict[str, bytes]:
    """Give the files of a folder."""
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def test_export_and_import_give_the_same_bytes(
    run: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into an empty store."""
    run("lessons", "add", "Répondre en français — toujours")
    run("lessons", "add", "Use pnpm", "--scope", "project")
    run("feedback", "good", "bien")
    run("export", str(tmp_path / "one"))
    monkeypatch.setenv("AUTO_IMPROVE_HOME", str(tmp_path / "other"))

    report = run.one("import", str(tmp_path / "one"))
    run("export", str(tmp_path / "two"))

    one, two = (written(tmp_path / name) for name in ("one", "two"))
    assert one == two and len(one) == 3
    assert (report["added"], report["votes"]) == (["l-001", "l-002"], 1)


def test_a_bad_import_changes_nothing(run: Shell, tmp_path: Path) -> None:
    """Exit code 2, file and line on stderr."""
    run("lessons", "add", "Answer in French")
    run("export", str(tmp_path / "out"))
    file = tmp_path / "out" / "lessons" / "global.json"
    file.write_text(file.read_text().replace('"active": true', '"active": 1'))
    (tmp_path / "out" / "lessons" / "domain-debug.json").write_text(
        file.read_text().replace('"global"', '"debug"').replace('"active": 1', '"active": true')
    )

    run("import", str(tmp_path / "out"))

    assert (run.code, len(run.err.splitlines())) == (2, 1)
    assert "lessons/" in run.err and "line" in run.err
    assert len(run.rows("lessons")) == 1


def test_backup_and_restore(run: Shell, home: Path, tmp_path: Path) -> None:
    """The store of then is back, that of before is kept beside."""
    run("lessons", "add", "Answer in French")
    run("backup", str(tmp_path / "copy.db"))
    run("lessons", "add", "Answer in Breton")

    shown = run("restore", str(tmp_path / "copy.db"))

    assert "store.db.replaced-1" in shown
    assert [each["rule"] for each in run.rows("lessons")] == ["Answer in French"]
    assert "Breton" not in (home / "context" / "global.md").read_text()


def test_what_is_no_backup_is_not_restored(run: Shell, tmp_path: Path) -> None:
    """The store stays."""
    run("lessons", "add", "Answer in French")
    (tmp_path / "copy.db").write_bytes(b"SQLite format 3\x00" + b"x" * 5_000)

    run("restore", str(tmp_path / "copy.db"))

    assert run.code == 1 and len(run.rows("lessons")) == 1


def test_a_purge_leaves_no_byte_of_the_text(run: Shell, home: Path) -> None:
    """Store, history, search index, mirror, context, backups; the log says it was done."""
    run("lessons", "add", "The password is xylophone42")
    run("lessons", "edit", "l-001", "Never say xylophone42")
    run("lessons", "add", "Answer in French")
    run("backup", str(home / "backups" / "store-20260101.db"))

    shown = run("lessons", "purge", "l-001", "--yes")

    left = [each for each in home.rglob("*") if each.is_file() and b"xylophone" in each.read_bytes()]
    assert (run.code, left) == (0, [])
    assert "l-001 erased" in shown and len(list((home / "backups").glob("*.db"))) == 1
    assert [each["id"] for each in run.rows("lessons")] == ["l-002"]


def test_a_purge_asks_first(run: Shell) -> None:
    """No answer is a no."""
    run("lessons", "add", "Answer in French")

    run("lessons", "purge", "l-001")

    assert run.code == 1 and len(run.rows("lessons")) == 1


@pytest.mark.parametrize("group", ["lessons", "feedback", "proposals"])
def test_purging_what_is_not_there_is_one_clear_line(run: Shell, group: str) -> None:
    """Nothing is erased."""
    run(group, "purge", "l-999", "--yes")

    assert (run.code, len(run.err.splitlines())) == (1, 1)


def test_the_words_of_a_vote_are_purged(run: Shell, home: Path) -> None:
    """The vote stays."""
    run("feedback", "good", "the", "key", "is", "xylophone42")
    [vote] = run.rows("feedback")

    run("feedback", "purge", str(vote["id"]), "--yes")

    [held] = run.rows("feedback")
    assert held["user_comment"] == ""
    assert not [each for each in home.rglob("*") if each.is_file() and b"xylophone" in each.read_bytes()]


def test_a_damaged_store_is_mended_and_said(run: Shell, home: Path) -> None:
    """From the newest backup; without one the command refuses and leaves the file."""
    run("lessons", "add", "Answer in French")
    run("backup", str(home / "backups" / "store-20260101.db"))
    (home / "store.db").write_bytes(b"")

    rows = run.rows("lessons")
    said = run.err
    (home / "store.db").write_bytes(b"")
    (home / "backups" / "store-20260101.db").unlink()
    run("lessons")

    assert [each["rule"] for each in rows] == ["Answer in French"]
    assert "store-20260101.db" in said
    assert (run.code, (home / "store.db").read_bytes()) == (1, b"")
