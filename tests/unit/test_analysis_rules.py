"""What the analyst without a model makes of people's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis import wording
from core.analysis.by_rules import judge
from core.model.evidence import Evidence
from core.model.ids import LessonId, RunId
from core.model.lesson import MAX_RULE_CHARS, Domain, Lesson
from core.model.proposal import Origin, Verdict
from core.model.run import Run, RunState

LESSON = Lesson(
    LessonId("l-007"), "2026-01-01T00:00:00Z", Domain.DEBUG, "Run the tests first.", "They break."
)


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("You should always run the tests first", "Always run the tests first"),
        ("you shouldn't edit lock files", "Do not edit lock files"),
        ("No. Use pnpm instead of npm!", "Use pnpm instead of npm!"),
        ("I told you to use pnpm", "Use pnpm"),
        ("I asked you not to touch main", "Do not touch main"),
        ("you forgot to run the tests", "Do not forget to run the tests"),
        ("why didn't you run the tests?", "Run the tests"),
        ("can you please keep commits small?", "Keep commits small"),
        ("You didn't read the file", "Read the file"),
        ("Il faut lancer les tests", "Lancer les tests"),
        ("il ne faut pas toucher aux migrations", "Ne pas toucher aux migrations"),
        ("Tu n'aurais pas dû modifier le lockfile", "Ne pas modifier le lockfile"),
        ("tu ne dois jamais pousser sur main", "Ne jamais pousser sur main"),
        ("Tu aurais dû lancer les tests", "Lancer les tests"),
        ("Tu as oublié de lancer les tests", "Ne pas oublier de lancer les tests"),
        ("je t'ai demandé de ne pas toucher à README", "Ne pas toucher à README"),
        ("la prochaine fois, commence par lire le fichier", "commence par lire le fichier"),
    ],
)
def test_a_remark_becomes_an_order(said: str, rule: str) -> None:
    """The usual ways to lead in an order are taken off, in both languages."""
    assert wording.word(said) == rule


@pytest.mark.parametrize(
    "said",
    [
        "no secrets in logs",
        "stop editing generated files",
        "non-regression tests must pass",
        "well tested code only",
        "You should have run the tests",
        "toujours découper les refactors en petites étapes",
        "npm test fails; use npm run test:unit",
        "先に再現してください",
    ],
)
def test_words_that_are_an_order_already_stay(said: str) -> None:
    """Nothing that carries meaning is taken off: 'no secrets in logs' is not 'secrets in logs'."""
    assert wording.word(said) == said


@pytest.mark.parametrize(
    "said",
    [
        "",
        "  \n",
        "👎",
        "no",
        "non",
        "wrong!",
        "This is wrong.",
        "c'est faux",
        "ce n'est pas ça",
        "not good",
        "?!",
    ],
)
def test_a_bare_complaint_gives_no_rule(said: str) -> None:
    """Nothing in it says what to do."""
    assert wording.word(said) == ""


def test_two_sentences_at_most_are_kept() -> None:
    """A lesson is one or two sentences; complaints between them do not count."""
    said = "Never push to main. That was bad. Ask first. And another thing. And one more."

    assert wording.word(said) == "Never push to main. Ask first."


def test_lines_become_sentences() -> None:
    """A comment and the correction typed next, or a list."""
    assert wording.word("- run the linter\n- run the tests") == "run the linter. run the tests"


def test_a_long_remark_is_cut_after_a_word() -> None:
    """At most 300 characters, with a sign that something is missing."""
    rule = wording.word("always check " + "word " * 200)

    assert len(rule) <= MAX_RULE_CHARS
    assert rule.endswith("word…")


@given(st.text(max_size=700))
def test_no_words_make_a_rule_too_long(said: str) -> None:
    """Whatever was typed, the rule is one line of at most 300 characters."""
    rule = wording.word(said)

    assert len(rule) <= MAX_RULE_CHARS
    assert rule == " ".join(rule.split())


def test_words_make_a_new_lesson_in_the_persons_name() -> None:
    """The finding says who said it and that no model was asked."""
    run = Run(RunId("r"), None, "pi", None, "Fix", RunState.DONE, 0.0, domain=Domain.DEBUG)

    found = judge(Evidence(run, words="You should run the tests"))

    assert (found.verdict, found.rule, found.domain) == (Verdict.NEW, "Run the tests", Domain.DEBUG)
    assert (found.origin, found.is_by_rules) == (Origin.PERSON, True)
    assert found.rationale


@pytest.mark.parametrize(("language", "part"), [("en", "few words"), ("fr", "quelques mots")])
def test_without_words_it_asks_for_them(language: str, part: str) -> None:
    """Reasons alone say nothing about what to do instead."""
    found = judge(Evidence(None, language, reasons=("Too slow",)))

    assert found.verdict is Verdict.NONE
    assert part in found.cause


def test_the_words_of_a_lesson_are_a_violation_of_it() -> None:
    """Equal but for case, accents and the final point: it was said before."""
    found = judge(Evidence(None, words="you should run the TESTS first", in_scope=(LESSON,)))

    assert (found.verdict, found.lesson) == (Verdict.VIOLATED, "l-007")


def test_sharpening_rewords_that_lesson() -> None:
    """The person's words become the new wording of the lesson they want sharpened."""
    found = judge(Evidence(None, remark="Run the unit tests before anything else", sharpen=LESSON))

    assert (found.verdict, found.lesson, found.domain) == (Verdict.MERGE, "l-007", Domain.DEBUG)
    assert found.rule == "Run the unit tests before anything else"


def test_secrets_in_the_words_are_masked() -> None:
    """A pasted key does not become part of a rule, also not half of it at the cut."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8"

    found = judge(Evidence(None, words=f"{'use a token ' * 23} {secret} here"))

    assert "ghp_a1B2" not in found.rule


def test_the_remark_counts_before_the_words() -> None:
    """Rewording follows what the person asks for now."""
    assert judge(Evidence(None, words="use npm here", remark="use pnpm here")).rule == "use pnpm here"
