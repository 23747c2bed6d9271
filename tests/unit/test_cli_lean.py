"""Optional parts of libraries are left out while a command is imported, and only then."""

import importlib
import sys

import pytest

from core.cli.lean import without_colours


def test_what_is_hidden_cannot_be_imported_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wants colours later gets them."""
    monkeypatch.delitem(sys.modules, "pygments", raising=False)

    with without_colours(), pytest.raises(ImportError):
        importlib.import_module("pygments")

    assert "pygments" not in sys.modules or sys.modules["pygments"] is not None


def test_what_was_imported_already_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another library may hold it."""
    held = type(sys)("rich")
    monkeypatch.setitem(sys.modules, "rich", held)

    with without_colours():
        assert sys.modules["rich"] is held

    assert sys.modules["rich"] is held
