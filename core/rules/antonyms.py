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
always toujours systematically systematiquement | sometimes rarely rarement parfois occasionally
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
split | single everything
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
old existing | new
keep | rewrite reecrire
keep | rename
keep | squash
duplicate | reuse share partager
real reel vrai actual | mock
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
throw raise lever | ignore swallow silently
promise | callback
async await | callback
async await | promise
arrow flechee | declaration
hard | soft
mobile | desktop
debug | info
stop | continue proceed poursuivre avancer
ask | assume continue
show reveal expose | hide masquer cacher conceal
preserve keep | trim discard strip jeter
keep | drop abandon
same meme identical | separate different distinct
together | apart separately separement
fallback | fast crash
simple | complete exhaustive
pin fixed figer fige epingler lock | latest recent recente unpinned caret range
latest recent | old
superieur ceil | inferieur floor
up | down
increase augmenter raise | decrease reduce diminuer baisser
workaround contournement quick | root cause
draft brouillon | ready pret final
catch attraper intercepter | bubble propagate propager remonter
string chaine text | integer entier int
functional fonctionnel | object objet oriented
loop boucle iteration | recursion recursif recursive
atomic atomique | big large
frequent often souvent frequemment regularly | rarely rarement
start begin debut | end
open | close
accept accepter | reject refuser decline
whitelist allowlist | blacklist denylist
upgrade | downgrade pin
grant accorder | deny revoke refuser
blocking bloquant | nonblocking asynchronous
stateful | stateless
centralized centraliser centralise | distributed distribuer disperser
abstract abstrait | concrete concret
generic generique | specific specifique
esm import | commonjs require
union | enum
null | undefined
concatenation concatenate | template interpolation
pathlib | os
print | logger logging
argparse | click typer
request | httpx aiohttp
flask | django | fastapi
develop dev | main production prod
staging preproduction | production
trunk | branch
flexbox flex | grid
px pixel | rem em percent
uuid | autoincrement incremental
active | passive passif
bullet puce list | prose paragraph paragraphe
prose paragraph paragraphe | table tableau
high haut | low bas
fast rapide rapidement | slow lent lentement
strong fort | weak faible
wide | narrow etroit
true vrai | false faux
high eleve | low faible
human humain person | machine robot bot
interactive interactif | batch unattended
pessimistic | optimistic
once | repeatedly regularly
daily quotidien | weekly hebdomadaire | monthly mensuel
metric | imperial
copy duplicate | share reference
guess | ask
mono monorepo | multi multirepo
expand developper | collapse condense condenser
plaintext clair | encrypted chiffre crypter
compact dense | spaced aere
modern moderne | old
raw brut | escaped
unit unitaire | end
unit unitaire | integration
constructor constructeur | setter
early | single
ternary ternaire | if
switch | if
sudo root | unprivileged
"""

# Words that turn what a clause says into its opposite; the acting ones are something to do themselves.
_BARE_REFUSALS = """
avoid eviter cesser forbid interdire interdit interdiction ban bannir prohibit proscrire disallow prevent
empecher forget oublier refrain abstenir absence discourage deconseiller decourager
"""
_ACTING_REFUSALS = """
skip sauter omit omettre disable desactiver remove stop arreter drop exclude exclure ignore ignorer reject
refuser refuse minimize minimiser eliminate eliminer swallow violate violer break casser ditch mix melanger
exceed depasser
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
_TELLING = frozenset(
    "more less plus moins with avec always toujours never never jamais early tard tot same meme".split()
)

# Spellings made one before words are read; they work on folded text, in this order.
SPELLINGS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), spelling)
    for pattern, spelling in (
        (r"\b(?:do|does|did|is|are|must|should|would|could|has|have|had|ca|wo)n'?t\b", "not"),
        (r"\bcan ?not\b", "not"),
        (r"\bno longer\b", "not"),
        (r"\bdon t\b", "not"),
        (r"\bleave (?:the )?(.{2,30}?) (?:alone|untouched|unchanged)\b", r"not \1"),
        (
            r"\blaisse[rz]? (?:les? |la |l')?(.{2,30}?) (?:tel quel|telle quelle|tels quels|telles quelles|intact\w*)\b",
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
            r"\b(use|using|allow|forbid|ban|utiliser|autoriser|interdire|eviter|avoid) any(?= ?(?:[.,;]|$|in |dans |type))",
            r"\1 anytype",
        ),
        (r"\b(?:a la|en) fin\b", " end "),
        (r"\bbases? de donnees\b", " database "),
        (r"\bfall(?:s|ing)? back\b", "fallback"),
        (r"\bas soon as possible\b|\bdes que possible\b|\bau plus tot\b", " early "),
        (
            r"\b(?:per|par) (?=(?:file|fichier|step|etape|feature|fonctionnalite|task|tache|commit|bug|classe?|line"
            r"|ligne|function|fonction|module|test|component|composant)\b)",
            "each ",
        ),
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


ASKING = frozenset(concept(word) for word in ("ask", "approval"))
IMPERATIVES = frozenset(concept(word) for word in _IMPERATIVES.split())
PREFERENCES = frozenset(concept(word) for word in _PREFERENCES.split())
ACTING_REFUSALS = frozenset(concept(word) for word in _ACTING_REFUSALS.split())
_REFUSALS = ACTING_REFUSALS | frozenset(concept(word) for word in _BARE_REFUSALS.split())


def is_refusal(word: str) -> bool:
    """Tell whether a folded word turns its clause round: avoid, skip, supprimer, interdit."""
    return word not in STOP_WORDS and concept(word) in _REFUSALS


def is_content(word: str) -> bool:
    """Tell whether a folded word is about something, rather than grammar or polarity."""
    if word in _TELLING or word.isdigit():
        return True
    if not word.isalnum() or word in STOP_WORDS or word in NEGATIONS:
        return False
    return not is_refusal(word) or concept(word) in ACTING_REFUSALS


# Verbs and nouns that most rules have: to share them says nothing.
LIGHT = frozenset(
    concept(word)
    for word in (
        "add write run create put keep include perform provide do give donner have follow project code use only"
        " always toujours never jamais each all manage handle set define new directly with avec thing element"
        " prefer preferer favor favour privilegier choose limit everything possible proper properly appropriate correctly place"
    ).split()
)
