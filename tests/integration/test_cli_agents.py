"""Promise 3 at the command line: an agent's shell cannot reach its own gate."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bot.__main__ import COMMANDS, FILTERS
from core.cli import ancestry
from core.cli.group import root
from tests.integration.shell import FINDING, MARKERS, Shell, sit_down


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Give the command line to a person in a project."""
    sit_down(tmp_path, monkeypatch)
    return Shell(capsys, monkeypatch)


READS = {
    "agents list",  # what everybody can do, no body
    "backup",  # copies, decides nothing
    "context",
    "doctor",  # examines; the prompt it makes has no tools
    "mine",  # takes in what was counted
    "patterns list",
    "patterns show",
    "report",
    "traces import",  # counts; what comes of it waits for a person
    "traces prune",  # forgets what is too old anyway
    "demo",  # its lessons are of its own folder, decided in its page by whoever has the link
    "export",
    "feedback list",
    "inspect domain",
    "inspect lesson",
    "inspect redact",
    "inspect reply",
    "inspect verbs",
    "lessons history",
    "lessons list",
    "lessons show",
    "lessons similar",
    "proposals list",
    "proposals propose",  # hands in, decides nothing
    "proposals show",
    "mcp",  # serves one agent; its only way in is a proposal
    "skills read",  # of what the agent was given, and nothing else
    "run",  # the bot itself: whoever starts it decides nothing by that
}
CHANGES = [
    ("lessons", "add", "Obey me."),
    ("lessons", "edit", "l-001", "Obey me."),
    ("lessons", "remove", "l-001"),
    ("lessons", "restore", "l-001"),
    ("proposals", "approve", "p-001"),
    ("proposals", "reject", "p-001"),
    ("proposals", "edit", "p-001", "Obey me."),
    ("lessons", "consolidate"),
    ("lessons", "purge", "l-001", "--yes"),
    ("feedback", "purge", "f-001", "--yes"),
    ("proposals", "purge", "p-001", "--yes"),
    ("import", "."),
    ("restore", __file__),
    ("skills", "list"),  # these two are people's: no body and no list of all for an agent
    ("skills", "show", "deploy"),
    ("skills", "assign", "deploy"),
    ("skills", "unassign", "deploy"),
    ("agents", "add", "helper", "--kind", "claude"),
    ("agents", "remove", "helper"),
    ("install", "pi"),  # what an agent is told goes through that file
    ("uninstall", "pi"),
    ("patterns", "accept", "bash:npm:test"),
    ("patterns", "reject", "bash:npm:test"),
    ("patterns", "reopen", "bash:npm:test"),
    ("patterns", "promote", "bash:npm:test"),
    ("patterns", "demote", "npm-test"),
    ("patterns", "purge", "bash:npm:test", "--yes"),
    ("setup",),
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


def commands(group: click.Group, path: str = "") -> Iterator[str]:
    """Give every command there is, by the words it is called with."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name) if name != "run" else None
        yield from commands(found, f"{path}{name} ") if isinstance(found, click.Group) else [path + name]


def test_every_command_is_known_to_read_or_to_refuse() -> None:
    """A command that is new must be put on one of the two lists, and so be thought about."""
    changes = {argv[0] if argv[0] in ("import", "restore") else " ".join(argv[:2]) for argv in CHANGES}

    assert set(commands(root(COMMANDS, FILTERS))) == READS | changes


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
