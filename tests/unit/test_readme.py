"""README says what the code says: its generated parts, and the errors people meet."""

import re
import runpy
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import bot
import core
from core import texts
from core.agents.pi.providers import NO_KEY

REPOSITORY = Path(__file__).parents[2]
README = REPOSITORY / "README.md"
TROUBLE = "## When something is wrong"


def met() -> list[str]:
    """Give the errors that the table of troubles quotes."""
    section = README.read_text(encoding="utf-8").partition(TROUBLE)[2].partition("\n## ")[0]
    return re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)


@cache
def said() -> tuple[list[re.Pattern[str]], str]:
    """Give the first sentences of the catalogue as patterns, and all sources in one text."""
    firsts = [re.split(r"[.:] ", text.rstrip("."))[0] for text in texts.catalogue("en").values()]
    patterns = [re.compile(re.sub(r"\\\{.*?\\\}", ".{1,60}", re.escape(text))) for text in firsts]
    folders = (Path(str(bot.__file__)).parent, Path(str(core.__file__)).parent)
    sources = (path.read_text("utf-8") for folder in folders for path in folder.rglob("*.py"))
    return patterns, "\n".join(sources)


def test_the_generated_parts_are_current() -> None:
    """Mend with: python deploy/readme.py --write."""
    text = README.read_text(encoding="utf-8")
    current: Callable[[str], str] = runpy.run_path(str(REPOSITORY / "deploy" / "readme.py"))["current"]

    assert text == current(text)


def test_troubles_are_told() -> None:
    """The table is found."""
    assert len(met()) > 8


@pytest.mark.parametrize("error", met())
def test_every_trouble_is_an_error_that_exists(error: str) -> None:
    """Of the catalogue, of our log, or of Pi."""
    patterns, sources = said()

    is_ours = any(pattern.fullmatch(error) for pattern in patterns) or error in sources

    assert is_ours or error.startswith(NO_KEY)
