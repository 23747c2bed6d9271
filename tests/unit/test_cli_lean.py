"""Optional parts of libraries are left out while a command is imported, and only then."""

import importlib
import subprocess
import sys

import pytest

from core.cli.lean import OPTIONAL, without_optional_parts


def test_what_is_hidden_cannot_be_imported_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wants colours later gets them."""
    monkeypatch.delitem(sys.modules, "pygments", raising=False)

    with without_optional_parts(), pytest.raises(ImportError):
        importlib.import_module("pygments")

    assert "pygments" not in sys.modules or sys.modules["pygments"] is not None


def test_what_was_imported_already_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another library may hold it."""
    held = type(sys)("rich")
    monkeypatch.setitem(sys.modules, "rich", held)

    with without_optional_parts():
        assert sys.modules["rich"] is held

    assert sys.modules["rich"] is held


def test_an_idle_bot_holds_none_of_them() -> None:
    """They are 10 MB where another package has them installed."""
    script = (
        "import sys; from bot.__main__ import COMMANDS, root; root(COMMANDS).get_command(None, 'run');"
        "print([name for name in sys.argv[1:] if name in sys.modules])"
    )
    argv = [sys.executable, "-c", script, *OPTIONAL]

    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip() == "[]"
