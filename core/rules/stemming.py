"""Cut French and English words to a common stem, without guessing the language first.

A store mixes both languages, often within one rule ("commiter le fix"), so one table of endings serves
both: `modify`, `modified`, `modifier` and `modification` all become `modif`. It is cruder than Snowball on
purpose: the stem is a search key, never shown.
"""

import unicodedata
from functools import lru_cache

_LIGATURES = str.maketrans({"œ": "oe", "æ": "ae", "’": "'", "ʼ": "'", "‘": "'"})

# Endings as (letters, fewest letters that must remain), longest first within the table.
_ENDINGS: tuple[tuple[str, int], ...] = tuple(
    sorted(
        [
            *((ending, 3) for ending in ("ing", "ication", "ifi", "ied", "ier", "iee", "iant", "iez")),
            *((ending, 3) for ending in ("ed", "es", "ee", "ez", "ons", "ait", "ant", "able", "ible")),
            *((ending, 4) for ending in ("isation", "ization", "ation", "ateur", "atrice", "ition", "ion")),
            *((ending, 4) for ending in ("iser", "izer", "ise", "ize", "ising", "izing", "ised", "ized")),
            *(
                (ending, 4)
                for ending in ("amment", "emment", "est", "ness", "ance", "ence", "ency", "ancy", "ity")
            ),
            *((ending, 4) for ending in ("ically", "iquement", "ique", "ical", "ic", "ly", "al", "ally")),
            *((ending, 4) for ending in ("if", "ive", "ivement", "ively", "er", "or", "eur", "euse", "ir")),
            *((ending, 4) for ending in ("age", "ful", "less", "aire", "ary", "ure", "ate", "ated", "ating")),
            ("ement", 5),  # explicitement, but not implement
            ("ent", 4),
        ],
        key=lambda pair: -len(pair[0]),
    )
)
_DOUBLED = frozenset("bcdfglmnprtz")
_FEWEST_LETTERS = 4  # shorter words are names and stems already: run, git, api


def fold(text: str) -> str:
    """Lower the case and drop accents and ligatures: `Œuvre Équipée` becomes `oeuvre equipee`."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_LIGATURES).casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char)).translate(_LIGATURES)


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """Return the stem of one folded word; digits and words of three letters stay as they are."""
    if len(word) < _FEWEST_LETTERS or not word.isalpha():
        return word
    return _undouble(_cut_ending(_cut_plural(word)))


def _cut_plural(word: str) -> str:
    """Drop a plural: `dependencies`, `classes`, `tests`, `journaux`."""
    if word.endswith("aux") and len(word) > 5:
        return word[:-3] + "al"
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")) and len(word) > 4:
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _cut_ending(word: str) -> str:
    """Drop the longest known ending, then a last mute letter."""
    for ending, remaining in _ENDINGS:
        if word.endswith("ment") and ending == "ent":
            continue  # document, comment: the ending belongs to the stem
        if word.endswith(ending) and len(word) - len(ending) >= remaining:
            word = word[: -len(ending)]
            break
    if len(word) > 5 and word[-1] == "y":  # verify, but not ready and query
        word = word[:-1]
    while len(word) > 3 and word[-1] in "ei":
        word = word[:-1]
    return word


def _undouble(word: str) -> str:
    """Make `commit` of `committ` and `debug` of `debugg`."""
    if len(word) > 3 and word[-1] == word[-2] and word[-1] in _DOUBLED:
        return word[:-1]
    return word
