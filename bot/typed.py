"""What a person typed: as Markdown again (Telegram takes it out of the text), and what a bare word says.

The rules are telegram.md 4 and product.md 1.4.
"""

import re
from collections.abc import Iterable, Mapping

_TICKS = re.compile("`+")
_APPROVING = frozenset({"approve", "ok", "okay", "yes", "yep", "oui", "d'accord", "👍"})
_REJECTING = frozenset({"reject", "no", "nope", "non", "👎"})
_CHOICES = {
    "merge": frozenset({"merge", "merge it", "fusionner", "fusionne", "fusion"}),
    "wait": frozenset({"keep waiting", "let it wait", "laisser attendre", "garder en attente"}),
    "replace": frozenset({"replace", "replace it", "remplacer", "remplace"}),
    "both": frozenset({"keep both", "both", "garder les deux", "les deux"}),
}
_NAMED = re.compile(
    r"(?:(disable|désactiver|désactive)|(replace|remplacer|remplace)) (l-\d{1,12})(?: first| d'abord)?"
)
_SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff\ufe0f]")
_ENDS = " \t\n.!…"


def as_markdown(text: str, entities: Iterable[Mapping[str, object]]) -> str:
    """Put code, code blocks and links back into the text. Offsets are in UTF-16 units."""
    units = text.encode("utf-16-le")
    marks: list[tuple[int, int, str]] = []
    for order, entity in enumerate(entities):
        start = int(str(entity.get("offset", 0)))
        end = start + int(str(entity.get("length", 0)))
        before, after = _marks(entity, units[2 * start : 2 * end].decode("utf-16-le", "replace"))
        if before:
            marks += [(start, order, before), (end, -order - 1, after)]
    for position, _, mark in sorted(marks, reverse=True):
        units = units[: 2 * position] + mark.encode("utf-16-le") + units[2 * position :]
    return units.decode("utf-16-le", "replace")


def _marks(entity: Mapping[str, object], inside: str) -> tuple[str, str]:
    match entity.get("type"):
        case "code":
            fence, gap = _fence(inside, 1), " " if "`" in (inside[:1], inside[-1:]) else ""
            return fence + gap, gap + fence
        case "pre":
            fence = _fence(inside, 3)
            return f"{fence}{entity.get('language') or ''}\n", f"\n{fence}"
        case "text_link":
            return "[", f"]({entity.get('url')})"
        case _:
            return "", ""


def word_of(text: str) -> str | None:
    """Say whether a text is a bare approving or rejecting word: "approve", "reject" or None."""
    word = _SKIN_TONES.sub("", text).strip(_ENDS).lower().replace("’", "'")
    if word in _APPROVING:
        return "approve"
    return "reject" if word in _REJECTING else None


def choice_of(text: str) -> tuple[str, str] | None:
    """Say which offer of a card a reply takes and what it names: ("disable", "l-012"), ("both", "")."""
    word = " ".join(text.strip(_ENDS).lower().replace("’", "'").split())
    named = _NAMED.fullmatch(word)
    if named is not None:
        return ("disable" if named[1] else "replace", named[3])
    return next(((choice, "") for choice, words in _CHOICES.items() if word in words), None)


def _fence(inside: str, least: int) -> str:
    """Give more backticks than any run of them inside."""
    longest = max((len(run) for run in _TICKS.findall(inside)), default=0)
    return "`" * max(least, longest + 1)
