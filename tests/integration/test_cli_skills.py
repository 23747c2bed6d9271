"""`auto-improve skills` and `agents`: people give, an agent reads what it was given (learning.md 8)."""

import json
import os
from pathlib import Path

import pytest

from core.cli import access, ancestry
from core.services import shelf
from core.services.changes import By
from core.tables import Tx
from tests.integration.shell import MARKERS, Shell, sit_down

DEPLOY = "---\nname: deploy\ndescription: How to deploy\nkind: reference\n---\n\nStep 1.\nStep 2.\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with one skill, and a person in a project."""
    sit_down(tmp_path, monkeypatch)
    home = tmp_path / "user"
    put(home, "deploy", DEPLOY)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)
    monkeypatch.delenv("AUTO_IMPROVE_AGENT_ID", raising=False)
    return home


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Give the command line to that person."""
    return Shell(capsys, monkeypatch)


def put(home: Path, name: str, text: str) -> Path:
    """Write a skill into the folder that agents share."""
    path = home / ".agents" / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_found_skills_are_listed_and_the_others_told_of(run: Shell, home: Path) -> None:
    """One clear line on stderr for what is no skill."""
    put(home, "evil", "---\nname: ../../evil\ndescription: d\n---\n")

    listed = run.rows("skills")

    assert [(each["name"], each["kind"], each["origin"], each["assigned"]) for each in listed] == [
        ("deploy", "reference", "agents", [])
    ]
    assert run.err.count("\n") == 1
    assert "../../evil is no name of a skill" in run.err


def test_a_skill_is_given_shown_read_and_taken_back(run: Shell) -> None:
    """The whole way of one skill."""
    assert run("skills", "assign", "deploy") == "pi has deploy from now on.\n"
    assert run("skills", "read", "deploy") == "Step 1.\nStep 2.\n"

    shown = run.one("skills", "show", "deploy")
    assert (shown["assigned"], shown["reads"], shown["body"]) == (["pi"], 1, "Step 1.\nStep 2.")

    run("skills", "unassign", "deploy")
    assert run("skills", "read", "deploy") == ""
    assert (run.code, run.err) == (1, "not found\n")


@pytest.mark.parametrize("name", ["deploy", "missing", "../deploy", "/etc/passwd", "dеploy"])
def test_what_an_agent_does_not_have_is_not_found_whether_it_exists_or_not(run: Shell, name: str) -> None:
    """The answer does not tell which."""
    run("skills", "read", name)

    assert (run.code, run.err) == (1, "not found\n")


def test_who_reads_is_what_the_host_says_and_no_argument(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names the agent; there is no option for it."""
    run("agents", "add", "helper", "--kind", "claude")
    run("skills", "assign", "deploy", "helper")
    assert run("skills", "read", "deploy") == ""

    monkeypatch.setenv("AUTO_IMPROVE_AGENT_ID", "helper")
    assert run("skills", "read", "deploy") == "Step 1.\nStep 2.\n"

    run("skills", "read", "deploy", "--agent", "helper")
    assert run.code == 2


def test_what_an_agent_s_shell_sets_itself_does_not_count(
    run: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outermost process under the host decides who it is."""
    run("agents", "add", "helper", "--kind", "claude")
    run("skills", "assign", "deploy", "helper")
    host = {"PI_SESSION_ID": "1", "AUTO_IMPROVE_AGENT_ID": "pi"}
    forged = {"PI_SESSION_ID": "1", "AUTO_IMPROVE_AGENT_ID": "helper"}

    monkeypatch.setattr(ancestry, "environments", lambda: iter([forged, host, {}]))
    run("skills", "read", "deploy")

    assert (run.code, run.err) == (1, "not found\n")


@pytest.mark.parametrize("marker", MARKERS)
def test_an_agent_reads_its_skills_and_sees_who_can_what(
    run: Shell, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without MCP the same bounded surface: no body of others, no command lines."""
    run("skills", "assign", "deploy")
    monkeypatch.setenv(marker, "1")

    assert run("skills", "read", "deploy") == "Step 1.\nStep 2.\n"
    agents = run.rows("agents")

    capability = {"name": "deploy", "description": "How to deploy", "kind": "reference"}
    assert agents == [
        {
            "id": "pi",
            "name": "Pi",
            "kind": "pi",
            "project": None,
            "capabilities": [capability],
            "skills": ["deploy"],
        }
    ]


def test_agents_are_added_listed_and_removed(run: Shell, tmp_path: Path) -> None:
    """With the command that starts it, split as a shell would."""
    added = run.one("agents", "add", "helper", "--kind", "other", "--command", "helper 'two words'")
    assert added["command"] == ["helper", "two words"]
    assert [each["id"] for each in run.rows("agents")] == ["pi", "helper"]

    run("agents", "add", "helper")
    assert (run.code, "already" in run.err) == (1, True)
    run("agents", "add", "broken", "--command", "'")
    assert run.code == 2

    assert run("agents", "remove", "helper") == "helper is forgotten, with what it was given.\n"
    run("agents", "remove", "helper")
    assert run.code == 1


def test_a_changed_skill_is_told_and_given_again(run: Shell, home: Path) -> None:
    """Approved was what was shown; a person looks at the new text and gives it again."""
    run("skills", "assign", "deploy")
    path = home / ".agents" / "skills" / "deploy" / "SKILL.md"
    path.write_text(DEPLOY + "Step 3.\n")

    run("skills", "read", "deploy")
    assert run.err == "not found\n"
    assert run.one("skills", "show", "deploy")["changed"] == ["pi"]

    run("skills", "assign", "deploy")
    assert run("skills", "read", "deploy") == "Step 1.\nStep 2.\nStep 3.\n"


def test_a_skill_whose_file_is_gone_is_shown_until_it_is_taken_back(run: Shell, home: Path) -> None:
    """People see what an agent was given and can no longer read."""
    run("skills", "assign", "deploy")
    (home / ".agents" / "skills" / "deploy" / "SKILL.md").unlink()

    assert [each["there"] for each in run.rows("skills")] == [False]
    assert "The file is gone" in run("skills", "show", "deploy")

    run("skills", "unassign", "deploy")
    assert run.rows("skills") == []


def test_the_block_of_the_terminal_lists_what_pi_was_given_and_no_body(run: Shell) -> None:
    """Name, kind and description; the body is read on demand."""
    run("skills", "assign", "deploy")

    text = run("context")

    assert '- deploy (reference): How to deploy. Read: skill_read("deploy")\n' in text
    assert "auto-improve skills read NAME" in text
    assert "Step 1." not in text


def test_another_agent_s_block_has_its_own_skills(run: Shell) -> None:
    """An agent nobody registered is refused."""
    run("agents", "add", "helper", "--kind", "codex")
    run("skills", "assign", "deploy", "helper")

    assert "deploy" in run("context", "--agent", "helper")
    assert run("context") == ""
    run("context", "--agent", "nobody")
    assert run.code == 1


def test_three_hundred_skills_keep_the_block_within_its_cap(run: Shell, home: Path) -> None:
    """It says how to see the rest; every one is in the list of agents."""
    run("agents", "add", "helper", "--kind", "opencode")
    for number in range(300):
        name = f"skill-{number:03}"
        put(home, name, f"---\nname: {name}\ndescription: What number {number} is for\n---\n\nBody.\n")
    give_all(home)

    text = run("context", "--agent", "helper")

    assert len(text) <= 1200
    assert text.endswith("More skills: ask list_agents\n")
    helper = run.rows("agents")[1]
    assert isinstance(helper["capabilities"], list) and len(helper["capabilities"]) == 301


def give_all(home: Path) -> None:
    """Give every skill to the helper in one transaction, as a person's script would one by one."""
    settings, by = access.settings(), By("1001", 1.0, "cli")

    def give(tx: Tx) -> None:
        found = shelf.look(tx, settings, None, os.environ)
        for each in found.entries:
            shelf.assign(tx, found, each.skill.name, "helper", by)

    access.hand_in(give)


def test_output_is_json_that_scripts_can_read(run: Shell) -> None:
    """`--json` on every command."""
    run("skills", "assign", "deploy", "--json")
    read = json.loads(run("skills", "read", "deploy", "--json"))

    assert read == {
        "name": "deploy",
        "kind": "reference",
        "description": "How to deploy",
        "body": "Step 1.\nStep 2.",
    }
