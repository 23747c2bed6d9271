"""What a person typed, as Markdown again: Telegram takes code and links out of the text (telegram.md 4)."""

from collections.abc import Iterable, Mapping

_FENCE = "```"


def as_markdown(text: str, entities: Iterable[Mapping[str, object]]) -> str:
    """Put code, code blocks and links back into the text. Offsets are in UTF-16 units."""
    units = text.encode("utf-16-le")
    marks: list[tuple[int, int, str]] = []
    for order, entity in enumerate(entities):
        start = int(str(entity.get("offset", 0)))
        end = start + int(str(entity.get("length", 0)))
        before, after = _marks(entity)
        if before:
            marks += [(start, order, before), (end, -order - 1, after)]
    for position, _, mark in sorted(marks, reverse=True):
        units = units[: 2 * position] + mark.encode("utf-16-le") + units[2 * position :]
    return units.decode("utf-16-le", "replace")


def _marks(entity: Mapping[str, object]) -> tuple[str, str]:
    match entity.get("type"):
        case "code":
            return "`", "`"
        case "pre":
            return f"{_FENCE}{entity.get('language') or ''}\n", f"\n{_FENCE}"
        case "text_link":
            return "[", f"]({entity.get('url')})"
        case _:
            return "", ""
