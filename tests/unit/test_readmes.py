"""What the READMEs say of the tree is true."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READMES = [path for path in ROOT.glob("**/README.md") if not {".venv", ".pi-cache"} & set(path.parts)]


@pytest.mark.parametrize("readme", READMES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_test_and_link_that_a_readme_names_exists(readme: Path) -> None:
    """A promise names the test that holds it; a link leads somewhere."""
    text = readme.read_text(encoding="utf-8")

    named = set(re.findall(r"`(tests/[\w/]+\.py)`", text))
    linked = set(re.findall(r"\]\((?!https?:|#)([^)\s]+)\)", text))

    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
    assert [name for name in sorted(linked) if not (readme.parent / name).exists()] == []


def test_every_invariant_is_named_by_the_test_that_holds_it() -> None:
    """Rows like `| D16 | … | tests/… |`: the letter stands in that file."""
    rows = re.findall(r"^\| ([DPS]\d+(?:, [DPS]\d+)*) \|.*\| `(tests/[\w/]+\.py)` \|$", _core(), re.MULTILINE)

    missing = [
        (letter, file)
        for letters, file in rows
        for letter in letters.split(", ")
        if not re.search(rf"\b{letter}\b", (ROOT / file).read_text(encoding="utf-8"))
    ]

    assert missing == []
    assert len(rows) > 10


def _core() -> str:
    return (ROOT / "core" / "README.md").read_text(encoding="utf-8")
