"""The catalogues of core: complete in both languages, and said without surprises."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Formatter

import pytest

import bot.__main__ as bot
import core
from core import errors, texts
from core.cli.group import FILTERS, LAZY
from core.errors import AgentMissing, AnalysisFailed, AutoImproveError, Refused
from core.model.proposal import State, Verdict
from core.rules.safety import Flag

CORE = Path(core.__file__).parent if core.__file__ else Path("core")


def placeholders(sentence: str) -> set[str]:
    """Give the names in braces."""
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def used_keys() -> Iterator[tuple[str, str]]:
    """Give each constant key an error of core, `say` or `tell` is called with, and where."""
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type)} | {"say", "tell"}
    for path in CORE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name, key = getattr(node.func, "id", getattr(node.func, "attr", "")), node.args[0].value
                if name in kinds and isinstance(key, str):
                    yield f"cli.{key}" if name == "tell" else key, f"{path.name}:{node.lineno}"


def test_both_languages_have_the_same_keys() -> None:
    """A text that exists in one language exists in the other."""
    assert texts.catalogue("en").keys() == texts.catalogue("fr").keys()


@pytest.mark.parametrize("key", sorted(texts.catalogue("en")))
def test_both_languages_have_the_same_placeholders(key: str) -> None:
    """A translation neither loses nor invents a value."""
    english, french = (placeholders(texts.catalogue(language)[key]) for language in texts.LANGUAGES)

    assert english == french


def test_every_key_that_core_uses_has_a_text() -> None:
    """No error reaches a person as a bare key."""
    unknown = [f"{key} at {where}" for key, where in used_keys() if not texts.has(key)]

    assert unknown == []


@pytest.mark.parametrize(
    ("prefix", "names"),
    [
        ("cli.state.", State),
        ("cli.verdict.", Verdict),
        ("flag.", Flag),
        ("rule.", ("invisible", "section")),
        ("cli.help.", (*LAZY, *bot.COMMANDS)),
        ("cli.help.inspect_", (*FILTERS, *bot.FILTERS)),
    ],
)
def test_every_member_of_a_closed_set_has_a_text(prefix: str, names: Iterable[str]) -> None:
    """Keys that are put together from a name exist for every name."""
    assert [name for name in names if not texts.has(prefix + name)] == []


def test_no_text_runs_over_a_line() -> None:
    """Every text is one line, without stray space around it."""
    for language in texts.LANGUAGES:
        assert [
            text for text in texts.catalogue(language).values() if text != text.strip() or "\n" in text
        ] == []


def test_values_fill_the_placeholders() -> None:
    """The sentence carries the values it was given."""
    said = texts.say("agent.missing", "fr", command="pi")

    assert said.startswith("Le programme de l'agent pi est introuvable.")


def test_a_missing_value_stays_visible() -> None:
    """A value that was forgotten does not turn a message into a traceback."""
    assert "{command}" in texts.say("agent.missing", "en")


def test_values_are_never_read_as_placeholders() -> None:
    """Braces in a value are text."""
    assert "{0.__class__} {x}" in texts.say("agent.missing", "en", command="{0.__class__} {x}")


def test_an_error_among_the_values_is_said_in_the_same_language() -> None:
    """A cause inside an error is no English island in a French line."""
    error = AnalysisFailed("analysis.not_started", reason=AgentMissing("agent.missing", command="pi"))

    assert "introuvable" in texts.say_error(error, "fr")


def test_an_error_without_a_text_is_shown_by_its_key() -> None:
    """A key that nobody wrote a sentence for still says something."""
    assert texts.say_error(Refused("nothing.like_it", id="l-001"), "en") == "nothing.like_it id='l-001'"


@pytest.mark.parametrize("tag", ["fr", "fr-CA", "fr_FR.UTF-8", "FR"])
def test_every_kind_of_french_reads_french(tag: str) -> None:
    """Regions, encodings and case do not matter."""
    assert texts.language_of(tag) == "fr"


@pytest.mark.parametrize("tag", ["en", "en_GB.UTF-8", "de", "fro", "C", "", None])
def test_everybody_else_reads_english(tag: str | None) -> None:
    """A language without a catalogue falls back."""
    assert texts.language_of(tag) == "en"


def test_an_unknown_key_of_ours_is_a_fault_of_ours() -> None:
    """`say` does not hide a missing text from the tests."""
    with pytest.raises(KeyError):
        texts.say("nothing.like_it", "en")


def test_the_base_error_speaks_too() -> None:
    """Every error of the tree is sayable."""
    assert texts.say_error(AutoImproveError("store.full"), "en").startswith("Storage is full")
