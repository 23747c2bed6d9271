"""Search terms of rules, in French and English, and safe questions to FTS5."""

import sqlite3
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rules.consolidation import MOST_TERMS, Neighbours, query, shared, terms
from core.rules.stemming import fold, stem


@pytest.mark.parametrize(
    "words",
    [
        "modify modified modifying modifies modifier modification modifié modifications",
        "commit commits committing committed commiter",
        "validate validating validation valider validé",
        "generate generated generating générer généré générés",
        "dependency dependencies dépendance dépendances",
        "automatic automatically automatique automatiquement",
        "document documents documentation documenter",
        "confirm confirmation confirmer confirmed",
    ],
)
def test_forms_of_a_word_meet_in_one_stem(words: str) -> None:
    """Also across the two languages where the roots are one."""
    assert len({stem(fold(word)) for word in words.split()}) == 1


@pytest.mark.parametrize("word", ["run", "git", "npm", "v2", "80", "ready", "class"])
def test_short_words_and_names_stay_as_they_are(word: str) -> None:
    """A stem is no abbreviation."""
    assert stem(word) == word


def test_accents_case_and_ligatures_do_not_matter() -> None:
    """`Œuvre Équipée` is `oeuvre equipee`, composed or decomposed."""
    assert fold("Œuvre Équipée") == "oeuvre equipee" == fold("OEUVRE E\u0301quipe\u0301e")


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("Ask before deleting a file", "Demander avant de supprimer un fichier"),
        ("Run the tests", "Lancer les tests"),
        ("Edit the generated files", "Modifier les fichiers générés"),
        ("Keep functions short", "Garder des fonctions courtes"),
    ],
)
def test_translations_have_the_same_terms(english: str, french: str) -> None:
    """What the table of concepts is for."""
    assert set(terms(english)) == set(terms(french))


def test_stop_words_are_no_terms() -> None:
    """Grammar finds nothing."""
    assert terms("It should be done with the, and pour les des aux") == ()


def test_identifiers_are_split_into_their_words() -> None:
    """`get_userName` is found by "user name"."""
    assert terms("get_userName") == terms("user name")


def test_repeated_words_are_kept_for_ranking() -> None:
    """bm25 counts them."""
    assert terms("test the test") == ("test", "test")


def test_query_quotes_every_term_once() -> None:
    """Operators in a rule are words."""
    assert query("pytest AND pytest NOT near") == '"pytest" OR "near"'


def test_query_of_no_terms_is_empty() -> None:
    """There is nothing to ask."""
    assert query("") == query("de la") == query("!!! ***") == ""


def test_query_keeps_the_rarest_terms_when_there_are_too_many() -> None:
    """The common ones say least."""
    text = " ".join(f"w{chr(97 + i // 26)}{chr(97 + i % 26)}q" for i in range(100))
    common = set(terms(text)[:50])

    asked = query(text, lambda term: 1000 if term in common else 1).split(" OR ")

    assert len(asked) == MOST_TERMS
    assert sum(term.strip('"') in common for term in asked) == MOST_TERMS - 50


@given(st.text(max_size=200))
def test_no_text_breaks_the_index_or_the_question(text: str) -> None:
    """Raw user text raises in FTS5; ours never does, and a rule always finds itself."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE rules USING fts5(terms)")
    database.execute("INSERT INTO rules VALUES (?)", (" ".join(terms(text)),))

    asked = query(text)
    found = database.execute("SELECT 1 FROM rules WHERE rules MATCH ?", (asked,)).fetchall() if asked else []
    database.close()

    assert bool(found) == bool(asked)


WORDS = ["file", "test", "commit", "branch", "error", "name", "build", "review"]
some_rules = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=30)


@given(some_rules, st.sampled_from([0.3, 0.5, 0.6, 1.0]))
def test_neighbours_are_those_that_comparing_all_with_all_finds(rules: list[str], least: float) -> None:
    """The index leaves none out, at its threshold neither; those that share most come first."""
    words = [frozenset(terms(each)) for each in rules]
    neighbours = Neighbours(rules, least)

    for number, own in enumerate(words):
        later = [(at, shared(own, words[at])) for at in range(number + 1, len(rules))]
        near = [each for each in later if each[1] >= least]
        assert neighbours.later(number) == sorted(near, key=lambda each: (-each[1], each[0]))


def test_the_neighbours_of_ten_thousand_rules_take_seconds() -> None:
    """Measured 0.4 s of processor time; the limit leaves room for a busy machine."""
    steps = (1, 7, 61, 409, 2003)
    rules = [" ".join(f"word{(number * step) % 3001}" for step in steps) for number in range(10_000)]
    begun = process_time()

    neighbours = Neighbours(rules, 0.3)
    found = [neighbours.later(number) for number in range(len(rules))]

    assert process_time() - begun < 5.0
    assert len(found) == 10_000
