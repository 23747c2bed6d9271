"""Which words of a rule exclude each other, in French and English; data for the polarity guard.

A group lists its sides apart by `|`: words of one side agree, words of two sides cannot both be wanted.
Words are compared by stem and concept, so each needs one form and one language where the lexicon joins them.
"""

from functools import cache

from core.rules.lexicon import concept

_GROUPS = """
tab tabulation | space espace
single simple | double
single one | several all
one once | each
once end | each step
small | large long detailed
small | several
big large huge | small several tiny
brief quick | detailed thorough exhaustive
small | all thorough exhaustive
verbose | terse minimal minimum
only | other unrelated
return null | throw raise lever
more plus | less moins fewer
maximum max | minimum min
with avec | sans without
all full each | only affected concerned concerne changed touche
always toujours systematically systematiquement | sometimes rarely rarement parfois occasionally
first | end last
early tot | late tard
immediately immediatement now | later ulterieurement
ask approval propose | automatically directly directement immediately silently autonomously freely librement
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
real reel vrai vrais actual | mock
mock | integration
internal | external externe
optional optionnel facultatif | required obligatoire mandatory
upper uppercase majuscule | lower lowercase minuscule
english | french | german allemand | spanish espagnol | language
pure pur | effect effet
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
branch pullrequest | main trunk
pullrequest | directly
back restore | forward
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
american | british
background | foreground
throwaway | reusable
raw brut | escaped
unit unitaire | end
unit unitaire | integration
constructor constructeur | setter
early | single
ternary ternaire | if
switch | if
sudo root | unprivileged
"""


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
