"""The words that carry polarity in a rule, in French and English; data for `clauses`.

All are folded (lower case, no accents).
"""

import re
from functools import cache

from core.rules.lexicon import STOP_WORDS, concept

# Grammar: any of them, whatever their number ("ne … jamais"), negates its clause once.
_NEGATIONS = "not never no none nor neither cannot nothing nobody ne n pas jamais rien aucun aucune ni non"
# Verbs that turn what their clause says into its opposite …
_BARE_REFUSALS = """
avoid eviter cesser forbid forbidden interdire interdit interdiction ban bannir prohibit proscrire disallow
prevent empecher forget oublier refrain abstenir absence discourage deconseiller decourager
"""
# … and those that are something to do themselves: each counts as a term too.
_ACTING_REFUSALS = """
skip sauter omit omettre disable desactiver remove stop arreter drop exclude exclure ignore ignorer reject
refuser refuse minimize minimiser eliminate eliminer swallow violate violer break casser ditch mix melanger
exceed depasser
"""
# What may open a clause of its own after "and" or a comma.
_IMPERATIVES = """
use prefer favor favour always only run write ask keep add create edit check read test explain commit answer
update install return log handle call choose show move document format group name make ensure put validate
throw follow provide include define declare store set split merge propose fix search copy send load plan wait
work start utiliser privilegier preferer toujours faire suivre definir fournir inclure travailler stocker
"""
_PREFERENCES = "prefer preferer favor favour favoriser privilegier choose preference"
# Stop words in search that tell sides apart here.
_TELLING = """
more less plus moins with avec always toujours early tard tot same meme let then other others autre autres
"""
# Verbs and nouns that most rules have: to share them says nothing.
_LIGHT = """
add write run create put keep include perform provide do give donner have follow project code use only
always toujours never jamais each all manage handle set define new directly with avec thing element
let then first work travailler prefer preferer favor favour privilegier choose limit everything possible
proper properly appropriate correctly place
"""

# Spellings made one before words are read, in this order.
_SPELLINGS: tuple[tuple[str, str], ...] = (
    (r"\b(?:do|does|did|is|are|must|should|would|could|has|have|had|ca|wo)n'?t\b", "not"),
    (r"\bcan ?not\b", "not"),
    (r"\bno longer\b", "not"),
    (r"\bdon t\b", "not"),
    (r"\bleave (?:the )?(.{2,30}?) (?:alone|untouched|unchanged)\b", r"not \1"),
    (r"\bleave (?:the )?(.{2,30}?) as (?:it is|they are|is)\b", r"not \1"),
    (
        r"\blaisse[rz]? (?:les? |la |l')?(.{2,30}?) (?:tels? quels?|telles? quelles?|intact\w*)\b",
        r"ne pas \1",
    ),
    (r"\bone by one\b|\bone at a time\b|\bune? par une?\b|\bune? a la fois\b", "sequential"),
    (r"\b(?:keep|garder) (.{2,30}?) (?:out of|hors de|hors du|hors des)\b", r"not \1 in"),
    (r"\bne (?:pas |jamais )?touche\w* (?:pas )?(?:a|au|aux)\b", "ne pas modifier"),
    (r"\bnon[- ]utilisation\b", "ne pas"),
    (r"\b(?:or not|ou non|ou pas|whether or not)\b", " "),
    (r"\bn(?:e |')((?:(?!pas\b|jamais\b|plus\b|rien\b)\w+ ){1,4}?)qu(?:e\b|')", r"\1 only "),
    (r"\bnot only\b|\bpas (?:seulement|uniquement)\b", " "),
    (r"\btant que? (.{2,40}?) n'(.{2,20}?) pas\b", r"tant que \1 \2"),
    (r"\btant qu'(.{2,40}?) n'(.{2,20}?) pas\b", r"tant que \1 \2"),
    (r"\btant que? ce n'est pas\b", "tant que"),
    (r"\b(snake|camel|pascal|kebab)[_ -]?case\b", r"\1case"),
    (r"\b(auto|re|co|pre|anti|non)-(?=[a-z])", r"\1"),
    (r"\bsign[- ]off\b", "approval"),
    (r"\b(?:tous|toutes|tout|toute) (?:les|la|le)\b|\bwhole\b|\bentire\b", " all "),
    (r"\ben entier\b|\bau complet\b", " "),
    (
        r"\b(use|using|allow|forbid|ban|utiliser|autoriser|interdire|eviter|avoid) any"
        r"(?= ?(?:[.,;]|$|in |dans |type|when |if |for |as |unless |quand |si |pour |sauf ))",
        r"\1 anytype",
    ),
    (r"\b(?:a la|en) fin\b", " end "),
    (r"\bbases? de donnees\b", " database "),
    (r"\bfall(?:s|ing)? back\b", "fallback"),
    (r"\bas soon as possible\b|\bdes que possible\b|\bau plus tot\b", " early "),
    (
        r"\b(?:per|par) (?=(?:file|fichier|step|etape|feature|fonctionnalite|task|tache|commit|bug|classe?"
        r"|line|ligne|function|fonction|module|test|component|composant)\b)",
        "each ",
    ),
    (r"\b(?:free|devoid|exempte?s?|depourvue?s?) (?:of|from|de|d')", "without "),
    (r"\b(one|une?|un seul|a single) (\w+) (?:at a time|a la fois)\b", r"single \2"),
    (r"\ba la main\b|\bby hand\b", " manually "),
    (r"\b(?:pull|merge)[ -]requests?\b|\b[mp]rs?\b", " pullrequest "),
    (r"\barriere[- ]plan\b", "background"),
    (r"\bpremier plan\b", "foreground"),
    (r"\bpar defaut\b|\bby default\b", " default "),
    (r"\b(?:afterwards?|ensuite|par la suite|puis)\b", " then "),
    (r"\ba cote d[eu]s?\b|\bnext to\b|\balongside\b", " beside "),
    (r"\bright away\b|\btout de suite\b|\bstraight away\b", " immediately "),
    (r"\b(?:mise|mises|mis|mettre|mettez|mets|met) a jour\b", " update "),
)


def _concepts_of(words: str) -> frozenset[str]:
    return frozenset(concept(word) for word in words.split())


NEGATIONS = frozenset(_NEGATIONS.split())
TELLING = frozenset(_TELLING.split())
ASKING = _concepts_of("ask approval")
IMPERATIVES = _concepts_of(_IMPERATIVES)
PREFERENCES = _concepts_of(_PREFERENCES)
LIGHT = _concepts_of(_LIGHT)
ACTING_REFUSALS = _concepts_of(_ACTING_REFUSALS)
REFUSALS = ACTING_REFUSALS | _concepts_of(_BARE_REFUSALS)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), spelling) for pattern, spelling in _SPELLINGS)


def respell(folded: str) -> str:
    """Write what is spelled in several ways in one: "don't", "at the end", "snake_case", "un par un"."""
    for pattern, spelling in _patterns():
        folded = pattern.sub(spelling, folded)
    return folded


def is_refusal(word: str) -> bool:
    """Tell whether a word turns its clause round: avoid, skip, supprimer, interdit."""
    return word not in STOP_WORDS and concept(word) in REFUSALS


def is_content(word: str) -> bool:
    """Tell whether a word is about something, rather than grammar or polarity."""
    if word in TELLING or word.isdigit():
        return True
    if not word.isalnum() or word in STOP_WORDS or word in NEGATIONS:
        return False
    return not is_refusal(word) or concept(word) in ACTING_REFUSALS
