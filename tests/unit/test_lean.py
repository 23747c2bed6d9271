"""What the bot imports, and what it leaves out (reliability.md 4)."""

import subprocess
import sys

import pytest

from bot.lean import OPTIONAL, without

SCRIPT = "import sys, bot.serve; print([name for name in sys.argv[1:] if name in sys.modules])"


def test_an_idle_bot_holds_no_optional_part_of_its_libraries() -> None:
    """Passports and colours are 10 MB where another package has them installed."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *OPTIONAL], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_what_was_hidden_can_be_imported_afterwards() -> None:
    """A package that seemed absent is there for whoever asks next."""
    sys.modules.pop("colorsys", None)
    with without(("colorsys",)), pytest.raises(ImportError):
        import colorsys

    import colorsys

    assert colorsys.rgb_to_hsv(0, 0, 0) == (0.0, 0.0, 0)


def test_what_is_imported_already_stays() -> None:
    """Nobody loses a module they hold."""
    with without(("json",)):
        assert sys.modules["json"] is not None
