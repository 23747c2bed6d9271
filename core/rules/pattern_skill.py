"""Compile an accepted pattern into a skill, by a fixed template and no model (learning.md 8)."""

from core.model.lesson import project_hash
from core.model.ruling import Ruling
from core.model.skill import Skill, SkillKind, SkillScope
from core.rules.context import one_line
from core.rules.mining import PatternKey
from core.rules.skills import MAX_BODY, MAX_NAME, fenced, slug

_SHORT = 120
_HASH_CHARS = 8


def skill_of(ruling: Ruling, key: PatternKey, max_body: int = MAX_BODY) -> Skill:
    """Give the skill of a pattern, word for word what was shown when it was accepted."""
    is_global = ruling.is_global
    return Skill(
        name=slug(f"{ruling.verb}-{ruling.error_class}"),
        description=_description(ruling),
        body=_body(ruling, max_body),
        kind=SkillKind.REFERENCE,
        scope=SkillScope.GLOBAL if is_global else SkillScope.PROJECT,
        project=None if is_global else ruling.project,
        origin=origin_of(key),
    )


def origin_of(key: PatternKey) -> str:
    """Say where such a skill comes from."""
    return f"pattern {key.id}"


def name_apart(name: str, project: str) -> str:
    """Give a name to the skill of a project where another one has its name already."""
    kept = name[: MAX_NAME - _HASH_CHARS - 1].rstrip("-")
    return f"{kept}-{project_hash(project)[:_HASH_CHARS]}"


def _description(ruling: Ruling) -> str:
    command, error = _short(ruling.command), _short(ruling.error)
    return f"Use before running {command}, or when it fails with: {error}. Says what worked instead."


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"


def _body(ruling: Ruling, most: int) -> str:
    """Fill the template; where it is too long the texts are cut, never the template."""
    room = most
    while True:
        body = "\n\n".join(_sections(ruling, room))
        if len(body) <= most or room < 40:
            return body[:most]
        room = room * 3 // 4


def _sections(ruling: Ruling, room: int) -> list[str]:
    def data(text: str) -> str:
        return fenced(text if len(text) <= room else text[: room - 1] + "…")

    worked = (
        data(ruling.worked) if ruling.worked else "Nothing has been seen to work yet: look before you retry."
    )
    sections = [
        f"# {one_line(ruling.verb)}: {ruling.error_class}",
        "## When to use this\n\nBefore running this command here, and when it failed with the error below.",
        f"## The command that fails\n\n{data(ruling.command)}",
        f"## The error\n\nClass: {ruling.error_class}\n\n{data(ruling.error)}",
        f"## What worked\n\n{worked}",
    ]
    if ruling.note:
        sections.append(f"## What the person says about it\n\n{data(ruling.note)}")
    return [*sections, "A person approved this text; it ranks below the request at hand."]
