"""Which words of a rule exclude each other, in French and English; data for the polarity guard.

A group lists its sides apart by `|`: words of one side agree, words of two sides cannot both be wanted.
Words are compared by stem and concept, so each needs one form and one language where the lexicon joins them.
"""

import re
from functools import cache

from core.rules.lexicon import STOP_WORDS, concepts
from core.rules.stemming import fold, stem

_GROUPS = """
tab tabulation | space espace
tab tabulation | espaces
single simple | double
single one | several
one once | each
once end | each step
small | large long detailed
small | several
big large huge | small several tiny
brief quick | detailed thorough exhaustive
verbose | terse minimal
more plus | less moins fewer
maximum max | minimum min
with avec | sans without
all full | only affected concerned concerne changed touche
always toujours systematically systematiquement | sometimes rarely rarement parfois never jamais
first | end last
early tot | late tard
immediately immediatement now | later ulterieurement
ask approval | automatically directly directement immediately silently autonomously autonome freely librement
plan | directly directement immediately
automatically auto | manually
sync synchronous synchrone | async asynchronous asynchrone
sync synchronous synchrone | await
mutable | immutable immuable readonly const
explicit | implicit implicite inferred
static statique | dynamic dynamique
public expose exported | private internal interne
global globally | local locally
absolute | relative
default | name
strict | loose lax relaxed permissive souple
safe | unsafe
secure | insecure
simple | complex complexe
composition | inheritance heritage
functional fonctionnel | imperative imperatif
function functional fonctionnel | class
hook | class
interface | typealias alias
sequential sequentiel sequentiellement serial | parallel parallele concurrent concurrently
eager | lazy lazily paresseux
nested imbrique | flat plat
split | group
split | single file
together | separate
next beside colocate proche pres | separate
inline | extract extraire
monolith monolithe | microservice
server | client cote-client
frontend | backend
ascending croissant | descending decroissant
left gauche | right droite
top | bottom
horizontal | vertical
inside interieur | outside exterieur dehors
light clair | dark sombre
old | new
keep | rewrite reecrire
keep | rename
keep | squash
duplicate | reuse share partager
real reel vrai actual | mock simuler fake stub
mock | integration
internal | external externe
optional optionnel facultatif | required obligatoire mandatory
upper uppercase majuscule | lower lowercase minuscule
english | french | german allemand | spanish espagnol
formal formel vouvoyer vouvoiement | informal informel tutoyer tutoiement
formal formel | casual familier
singular singulier | plural pluriel
present | past passe
imperative | past
utc | local
npm | pnpm | yarn | bun | deno
pip | poetry | uv | conda | pipenv | pdm
jest | vitest | mocha | jasmine
pytest | unittest | nose
cypress | playwright | selenium | puppeteer
black | ruff | yapf | autopep
eslint | biome | tslint
mypy | pyright
merge | rebase
merge | squash
postgresql postgres | mysql | sqlite | mongodb mongo
rest | graphql | grpc | trpc
react | vue | angular | svelte
redux | zustand | mobx
tailwind | bootstrap | sass
prisma | drizzle | sequelize | typeorm
orm | sql raw
fetch | axios
typescript | javascript
python | javascript | ruby | golang
bash | zsh | fish
json | yaml | toml | xml
markdown | html
markdown | plain plaintext
docker | podman
gradle | maven
make | cmake
webpack | vite | rollup | esbuild
camel camelcase | snake snakecase | kebab kebabcase | pascal pascalcase
var | let | const
error throw raise lever | silently
exception throw | code
promise | callback
async await | callback
async await | promise
arrow flechee | declaration
hard | soft
mobile | desktop
debug | info
sudo root | unprivileged
"""

# Words that turn what a clause says into its opposite. `fold`ed, any inflection by stem.
REFUSALS = """
avoid eviter skip sauter omit omettre disable desactiver remove supprimer delete effacer enlever retirer drop
stop arreter cesser forbid interdire interdit interdiction ban bannir prohibit proscrire disallow prevent
empecher exclude exclure ignore ignorer forget oublier refrain abstenir reject refuser minimize minimiser
eliminate eliminer absence refuse discourage deconseiller decourager swallow violate violer
break casser strip ditch
"""

# The closed classes: any of them once, whatever their number ("ne … jamais"), negates the clause.
NEGATIONS = frozenset(
    "not never no none nor neither cannot nothing nobody ne n pas jamais rien aucun aucune ni non".split()
)


_IMPERATIVES = """
use prefer favor favour always only run write ask keep add create edit check read test explain commit answer
update install return log handle call choose show move document format group name make ensure put validate
throw follow provide include define declare store set split merge propose fix search copy send load plan wait
work start utiliser privilegier preferer toujours faire suivre definir fournir inclure travailler stocker
"""
_PREFERENCES = "prefer preferer favor favour favoriser privilegier choose preference"

# Words that stand for stop words in search but tell sides apart here.
_TELLING = frozenset("more less plus moins with avec always toujours never never jamais early tard tot".split())

# Spellings made one before words are read; they work on folded text, in this order.
SPELLINGS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), spelling)
    for pattern, spelling in (
        (r"\b(?:do|does|did|is|are|must|should|would|could|has|have|had|ca|wo)n'?t\b", "not"),
        (r"\bcan ?not\b", "not"),
        (r"\bno longer\b", "not"),
        (r"\bdon t\b", "not"),
        (r"\bleave (?:the )?(.{2,30}?) (?:alone|untouched|unchanged)\b", r"not change \1"),
        (r"\b(?:keep|garder) (.{2,30}?) (?:out of|hors de|hors du|hors des)\b", r"not add \1 to"),
        (r"\bne (?:pas |jamais )?touche\w* (?:pas )?(?:a|au|aux)\b", "ne pas modifier"),
        (r"\bnon[- ]utilisation\b", "ne pas"),
        (r"\bnot only\b|\bpas (?:seulement|uniquement)\b", " "),
        (r"\btant que? (.{2,40}?) n'(.{2,20}?) pas\b", r"tant que \1 \2"),
        (r"\btant qu'(.{2,40}?) n'(.{2,20}?) pas\b", r"tant que \1 \2"),
        (r"\btant que? ce n'est pas\b", "tant que"),
        (r"\b(snake|camel|pascal|kebab)[_ -]?case\b", r"\1case"),
        (r"\b(auto|re|co|pre|anti|non)-(?=[a-z])", r"\1"),
        (r"\bsign[- ]off\b", "approval"),
        (r"\b(?:tous|toutes|tout|toute) (?:les|la|le)\b|\bwhole\b|\bentire\b", " all "),
        (r"\ben entier\b", " all "),
        (r"\b(?:a la|en) fin\b", " end "),
        (r"\bpar defaut\b", " default "),
        (r"\bright away\b|\btout de suite\b|\bstraight away\b", " immediately "),
        (r"\b(?:mise|mises|mis|mettre|mettez|mets|met) a jour\b", " update "),
    )
)


@cache
def exclusions() -> dict[str, frozenset[str]]:
    """Map a term to all terms that cannot be wanted with it; symmetric, built once."""
    table: dict[str, set[str]] = {}
    for group in _GROUPS.strip().split("\n"):
        sides = [frozenset(concept(word) for word in side.split()) for side in group.split("|")]
        for side in sides:
            others = frozenset().union(*sides) - side
            for term in side:
                table.setdefault(term, set()).update(others)
    return {term: frozenset(others) for term, others in table.items()}


def concept(word: str) -> str:
    """Return the concept of one word as written or folded."""
    cut = stem(fold(word))
    return concepts().get(cut, cut)


IMPERATIVES = frozenset(concept(word) for word in _IMPERATIVES.split())
PREFERENCES = frozenset(concept(word) for word in _PREFERENCES.split())
_REFUSALS = frozenset(concept(word) for word in REFUSALS.split())


def is_refusal(word: str) -> bool:
    """Tell whether a folded word turns its clause round: avoid, skip, supprimer, interdit."""
    return word not in STOP_WORDS and concept(word) in _REFUSALS


def is_content(word: str) -> bool:
    """Tell whether a folded word is about something, rather than grammar or polarity."""
    if word in _TELLING or word.isdigit():
        return True
    return word.isalnum() and word not in STOP_WORDS and word not in NEGATIONS and not is_refusal(word)

# Verbs and nouns that most rules have: to share them says nothing.
LIGHT = frozenset(
    concept(word)
    for word in (
        "add write run create put keep include perform provide do give donner have follow project code use only"
        " always toujours never jamais each all manage handle set define new directly with avec thing element"
        " prefer preferer favor favour privilegier choose possible proper properly appropriate correctly place"
    ).split()
)
