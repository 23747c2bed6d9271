"""The documented entries of other agents name our command as it is (deploy/mcp/README.md)."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

import core
from core.cli.mcp import mcp
from core.model.agent import AgentKind
from tests.integration.shell import Shell, sit_down

README = Path(__file__).parents[2] / "deploy" / "mcp" / "README.md"
_BLOCK = re.compile(r"^## (\w+).*?^```(json|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
AGENTS = {"Pi": "pi", "Claude": "claude", "Codex": "codex", "OpenCode": "opencode"}


def entries() -> dict[str, list[str]]:
    """Give by program the whole command line of its entry."""
    found = {}
    for name, language, text in _BLOCK.findall(README.read_text(encoding="utf-8")):
        read = json.loads(text) if language == "json" else tomllib.loads(text)
        (servers,) = read.values()
        (entry,) = servers.values()
        command = entry["command"]
        found[name] = command if isinstance(command, list) else [command, *entry["args"]]
    return found


def test_there_is_an_entry_for_each_of_the_four() -> None:
    """Pi, Claude Code, Codex and OpenCode."""
    assert set(entries()) == set(AGENTS)


@pytest.mark.parametrize("program", AGENTS)
def test_an_entry_starts_our_server_for_its_own_agent(program: str) -> None:
    """The words parse as the command takes them."""
    name, *words = entries()[program]

    context = mcp.make_context("mcp", words[1:])

    assert (name, words[0]) == ("auto-improve", "mcp")
    assert context.params == {"agent": AGENTS[program], "project": None}
    assert AgentKind(AGENTS[program])


def test_without_the_extra_one_line_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback where the SDK is missing."""
    sit_down(tmp_path, monkeypatch)
    monkeypatch.delitem(sys.modules, "core.mcp", raising=False)
    monkeypatch.delattr(core, "mcp", raising=False)  # an earlier test may have imported it
    for name in ["mcp", *(each for each in sys.modules if each.startswith("mcp."))]:
        monkeypatch.setitem(sys.modules, name, None)
    run = Shell(capsys, monkeypatch)

    run("mcp", "--agent", "pi")

    assert (run.code, "pip install 'auto-improve[mcp]'" in run.err, run.err.count("\n")) == (1, True, 1)


def test_an_agent_that_nobody_registered_is_not_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One clear line, before anything is said on stdout."""
    sit_down(tmp_path, monkeypatch)
    run = Shell(capsys, monkeypatch)

    assert run("mcp", "--agent", "nobody") == ""

    assert (run.code, run.err.startswith("There is no agent nobody.")) == (1, True)
