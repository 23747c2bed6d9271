"""Where a lesson belongs by default, from what the evidence names (learning.md 2)."""

import pytest

from core.model.lesson import Scope
from core.model.run import Call
from core.rules.placement import default_scope
from tests.factories import PROJECT

CALLS = (
    Call("bash", "cd web && pnpm run build src/cart.ts", is_error=False),
    Call("bash", "git status && ./scripts/deploy.sh prod", is_error=True),
    Call("read", "docs/CONVENTIONS.md", is_error=False),
)


@pytest.mark.parametrize(
    "words",
    [
        "use pnpm, not npm",
        "never call deploy.sh without asking",
        "read conventions.md first.",
        "don't touch cart.ts",
        "in this repo we squash",
        "Dans ce projet on écrit en français",
        "we use tabs here",
        "look at src/main.py before",
    ],
)
def test_what_names_the_project_belongs_to_it(words: str) -> None:
    """Its programs, scripts and files, or "this repo"."""
    assert default_scope((words, "Do so."), CALLS, PROJECT) is Scope.PROJECT


@pytest.mark.parametrize(
    "words",
    [
        "make small commits with git",
        "run the tests before you answer",
        "répondre en français",
        "use and/or sparingly",
        "there is too much of it",
        "",
    ],
)
def test_what_names_nothing_of_it_is_global(words: str) -> None:
    """Programs that every project uses, and plain words."""
    assert default_scope((words, "Do so."), CALLS, PROJECT) is Scope.GLOBAL


def test_without_a_project_it_is_global() -> None:
    """There is no place to put it."""
    assert default_scope(("in this repo use pnpm",), CALLS, None) is Scope.GLOBAL
