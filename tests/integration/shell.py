"""The command line in this process, as a shell sees it, with a person of its own in front of it."""

import io
import json
import os
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


def sit_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Seat a person in a project of their own, whoever runs these tests; give its folder."""
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    for name in [*MARKERS, *(each for each in os.environ if each.startswith("AUTO_IMPROVE_"))]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AUTO_IMPROVE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AUTO_IMPROVE_ANALYST", "rules")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setattr(ancestry, "environments", lambda: iter([os.environ]))
    monkeypatch.setattr(ancestry, "outermost_pi", lambda: None)
    return folder
