"""The catalogues of the chat: complete in both languages, and nothing is said that is not in them."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Formatter

import pytest

import bot
from bot.app import routes
from bot.locales import FOLDER, say
from core import texts
from core.model.lesson import Scope
from core.model.proposal import Origin, State, Verdict
from core.rules.mining import State as PatternState
from core.services.feedback import REASONS
from core.texts import LANGUAGES, catalogue

BOT = Path(next(iter(bot.__path__)))
ENGLISH, FRENCH = (catalogue(language, FOLDER) for language in LANGUAGES)
TABLES = {key.partition(".")[0] for key in ENGLISH}
KEY = re.compile(r"([a-z]+)\.[a-z_]+")
NOT_TEXTS = {"answer.md", "context.md"}

EXPANDED: dict[str, Iterable[str]] = {
    "pattern.": list(PatternState),
    "pattern.done_": ["accept", "reject", "reopen", "everywhere", "promote", "demote"],
    "button.": ("words", "write", "retry", "yes", "no", "as_wording", "as_remark"),
    "button.scope_": Scope,
    "command.": [command.name for command in routes().commands if command.group != "hidden"],
    "first.": ("positive", "negative"),
    "help.group_": {command.group for command in routes().commands} - {"hidden"},
    "lessons.": ("off", "on"),
    "origin.": [origin.value.replace(" ", "_") for origin in Origin],
    "people.welcome_": ("owner", "guest"),
    "proposal.": {*State, "contradicts", "pushes_out"} - {State.PENDING, State.APPROVED, State.REJECTED},
    "proposal.asks_": ("wording", "remark"),
    "proposal.title_": Verdict,
    "reason.": (*REASONS, "other", "note"),
    "scope.": Scope,
    "trust.": ("yes", "no"),
    "verdict.": (Verdict.VIOLATED, Verdict.NONE),
    "vote.": (State.REJECTED, State.WITHDRAWN, State.EXPIRED),
}
"""Every key that is put together while the bot runs: how it begins, and how it may go on."""


def trees() -> Iterator[tuple[str, ast.AST]]:
    """Give each module of the chat, parsed."""
    for path in BOT.rglob("*.py"):
        if "local" not in path.relative_to(BOT).parts:
            yield path.name, ast.parse(path.read_text(encoding="utf-8"))


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Give the calls of a function by its plain name, and where they are."""
    for file, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name and node.args:
                yield f"{file}:{node.lineno}", node


def placeholders(sentence: str) -> set[str]:
    """Give the names in braces."""
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def test_both_languages_have_the_same_keys() -> None:
    """What is said in one language is said in the other."""
    assert set(ENGLISH) == set(FRENCH)


@pytest.mark.parametrize("key", sorted(ENGLISH))
def test_both_languages_have_the_same_placeholders(key: str) -> None:
    """A translation neither loses nor invents a value."""
    assert placeholders(ENGLISH[key]) == placeholders(FRENCH[key])


def test_every_key_that_is_said_exists() -> None:
    """`say` of a key that nobody wrote would fail in a person's chat."""
    said = [
        (where, call.args[0].value) for where, call in calls("say") if isinstance(call.args[0], ast.Constant)
    ]

    assert [(where, key) for where, key in said if key not in ENGLISH] == []
    assert len(said) > 50


def test_every_text_that_looks_like_a_key_is_one() -> None:
    """Keys also come by variables; names of steps are no keys."""
    found = []
    for file, tree in (each for each in trees() if _speaks(each[1])):
        steps = {id(node.args[0]) for node in ast.walk(tree) if _is_probe(node)}  # type: ignore[attr-defined]
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in steps:
                match = KEY.fullmatch(node.value)
                if match and match[1] in TABLES and not _is_known(node.value):
                    found.append(f"{node.value} at {file}:{node.lineno}")

    assert found == []


def _speaks(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.ImportFrom) and node.module == "bot.locales" for node in ast.walk(tree))


def _is_known(key: str) -> bool:
    is_beginning = key.endswith(("_", "."))
    return is_beginning or key in ENGLISH or key in NOT_TEXTS or texts.has(key) or texts.has(f"cli.{key}")


def _is_probe(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call) and "probe" in (getattr(node.func, "attr", "") or "") and bool(node.args)
    )


def test_every_key_that_is_put_together_is_known_here() -> None:
    """A new one has to be added to `EXPANDED`."""
    beginnings = set()
    for _, call in calls("say"):
        if isinstance(call.args[0], ast.JoinedStr):
            first = call.args[0].values[0]
            beginnings.add(first.value if isinstance(first, ast.Constant) else "")

    assert beginnings - EXPANDED.keys() == set()


@pytest.mark.parametrize("beginning", EXPANDED)
def test_every_member_of_a_closed_set_has_a_text(beginning: str) -> None:
    """Keys that are put together exist for every name."""
    assert [name for name in EXPANDED[beginning] if f"{beginning}{name}" not in ENGLISH] == []


def test_every_button_that_is_made_by_name_has_a_text() -> None:
    """The short forms `key("approve", …)` mean `button.approve`."""
    named = [
        (where, call.args[0].value)
        for where, call in calls("key")
        if isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)
    ]

    assert [(where, name) for where, name in named if f"button.{name}" not in ENGLISH] == []
    assert len(named) > 15


def test_every_value_a_text_needs_is_given() -> None:
    """A forgotten value would be a KeyError in a person's chat."""
    missing = []
    for where, call in calls("say"):
        key = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
        given = {keyword.arg for keyword in call.keywords}
        if key in ENGLISH and None not in given and placeholders(ENGLISH[key]) - given:
            missing.append((where, key))

    assert missing == []


def test_no_text_is_left_over() -> None:
    """What nothing says any more is taken out of both catalogues."""
    constants = {
        node.value for _, tree in trees() for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }  # fmt: skip
    made = {f"{beginning}{name}" for beginning, names in EXPANDED.items() for name in names}
    made |= {f"button.{name}" for name in constants}

    assert sorted(set(ENGLISH) - constants - made) == []


def test_values_are_never_read_as_placeholders() -> None:
    """Braces in what a person or an agent wrote are text."""
    assert "{0.__class__} {name}" in say("help.unknown", "en", name="{0.__class__} {name}")


@pytest.mark.parametrize(
    ("code", "word"), [("fr", "Réservé"), ("fr-CA", "Réservé"), ("en", "Only"), ("de", "Only")]
)
def test_french_phones_read_french_and_everybody_else_english(code: str, word: str) -> None:
    """Telegram's language codes carry regions."""
    assert say("help.owner_only", code).startswith(word)
