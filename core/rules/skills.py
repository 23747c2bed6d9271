"""Write and read a SKILL.md (learning.md 8, reliability.md S10, S11, S13); texts only, no files.

What is read may be anybody's: it is parsed by a real YAML parser, without tags, anchors or aliases, within
limits that are checked before anything is built. Names and descriptions follow Pi's rules.
"""

import json
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final, TypeVar

from core.errors import Invalid
from core.model.skill import Skill, SkillKind, SkillScope
from core.rules.context import one_line

MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1024
MAX_BODY: Final = 2000
MAX_FILE_BYTES: Final = 256 * 1024
MAX_HEAD_CHARS: Final = 16 * 1024
_MAX_NODES, _MAX_DEPTH = 500, 8
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FENCE: Final = re.compile(r"---[ \t]*")
_NO_TEXT: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")

E = TypeVar("E", bound=StrEnum)


def name_fault(name: str) -> str | None:
    """Say by key what is wrong with a name; None where it follows Pi's rules."""
    if not name:
        return "skill.name_missing"
    if len(name) > MAX_NAME:
        return "skill.name_long"
    return None if _NAME.fullmatch(name) else "skill.name_form"


def check_name(name: str) -> str:
    """Give the name. Raises Invalid."""
    fault = name_fault(name)
    if fault is not None:
        raise Invalid(fault, name=_shown(name), most=MAX_NAME)
    return name


def slug(text: str) -> str:
    """Make a name of any text: "bash:npm:test" is "bash-npm-test"; "skill" where nothing is left."""
    return _NOT_IN_NAMES.sub("-", text.lower()).strip("-")[:MAX_NAME].strip("-") or "skill"


def check(skill: Skill, *, max_body: int = MAX_BODY) -> Skill:
    """Give the skill with its description on one line. Raises Invalid: name, description or body."""
    check_name(skill.name)
    description = _description(skill.description)
    if not skill.body.strip():
        raise Invalid("skill.body_missing", name=skill.name)
    if len(skill.body) > max_body:
        raise Invalid("skill.body_long", name=skill.name, found=len(skill.body), most=max_body)
    return Skill(
        skill.name,
        description,
        skill.body.strip("\n"),
        skill.kind,
        skill.scope,
        skill.project if skill.scope is SkillScope.PROJECT else None,
        one_line(skill.origin),
    )


def compile_text(skill: Skill, *, max_body: int = MAX_BODY) -> str:
    """Write a SKILL.md: fixed keys, every scalar JSON-quoted, then the body. Raises Invalid."""
    checked = check(skill, max_body=max_body)
    head = {
        "name": checked.name,
        "description": checked.description,
        "kind": checked.kind.value,
        "scope": checked.scope.value,
        "project": checked.project,
        "origin": checked.origin,
    }
    lines = [f"{key}: {quote(value)}" for key, value in head.items() if value]
    return "\n".join(("---", *lines, "---", "", checked.body, ""))


def quote(text: str) -> str:
    """Quote a scalar as JSON that is YAML too: what does not print is escaped, the rest stays as it is."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else _escaped(char) for char in quoted)


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def fenced(text: str) -> str:
    """Put a text of somebody else's into a body: a code block that it cannot close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{_NO_TEXT.sub('', text).strip()}\n{fence}"


def parse(text: str, folder: str | None = None) -> Skill:
    """Read a SKILL.md; `folder` is the name of its folder, which the name must equal.

    A file without `kind` is a workflow, one without `name` is called as its folder. Raises Invalid with one
    clear line.
    """
    head, body = _split(text)
    fields = _fields(head)
    name = check_name(_text(fields, "name") or folder or "")
    if folder is not None and name != folder:
        raise Invalid("skill.name_folder", name=name, folder=_shown(folder))
    project = _text(fields, "project") or None
    scope = _choice(SkillScope, fields, "scope", SkillScope.GLOBAL)
    if scope is SkillScope.PROJECT and project is None:
        raise Invalid("skill.no_project", name=name)
    return Skill(
        name,
        _description(_text(fields, "description")),
        body,
        _choice(SkillKind, fields, "kind", SkillKind.WORKFLOW),
        scope,
        project if scope is SkillScope.PROJECT else None,
        one_line(_text(fields, "origin")),
    )


def _split(text: str) -> tuple[str, str]:
    """Part head and body at the two fences."""
    if len(text) > MAX_FILE_BYTES:
        raise Invalid("skill.file_large", most=MAX_FILE_BYTES // 1024)
    if _NO_TEXT.search(text):
        raise Invalid("skill.no_text")
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if not _FENCE.fullmatch(lines[0]):
        raise Invalid("skill.no_head")
    for number, line in enumerate(lines[1:], 1):
        if _FENCE.fullmatch(line):
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]).strip("\n")
    raise Invalid("skill.no_head")


def _fields(head: str) -> dict[str, object]:
    """Read the head as a mapping; what is no plain YAML is refused before it is built."""
    import yaml  # noqa: PLC0415 -- only who reads a skill pays for it

    if len(head) > MAX_HEAD_CHARS:
        raise Invalid("skill.head_large", most=MAX_HEAD_CHARS // 1024)
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the fast one where there is libyaml
        _inspect(yaml.parse(head, Loader=loader))
        read = yaml.load(head, Loader=loader)  # noqa: S506 -- both are safe loaders
    except yaml.YAMLError as error:
        raise Invalid("skill.yaml", reason=_reason(error)) from None
    except (ValueError, RecursionError, OverflowError) as error:  # a date or number that none is
        raise Invalid("skill.yaml", reason=one_line(str(error))[:120]) from None
    if not isinstance(read, dict):
        raise Invalid("skill.no_mapping")
    return {str(key): value for key, value in read.items()}


def _inspect(events: Iterable[object]) -> None:
    """Look at the events of the parser: no tag, anchor, alias or second document, no depth, no equal keys."""
    import yaml  # noqa: PLC0415 -- as above

    documents, stack = 0, list[_Level]()
    for nodes, event in enumerate(events):
        documents += isinstance(event, yaml.DocumentStartEvent)
        if nodes > _MAX_NODES or len(stack) > _MAX_DEPTH or documents > 1:
            raise Invalid("skill.yaml_large")
        if isinstance(event, yaml.NodeEvent) and (event.anchor or getattr(event, "tag", None)):
            raise Invalid("skill.yaml_tricks")
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            if stack:
                stack[-1].take(event.value if isinstance(event, yaml.ScalarEvent) else None)
            if isinstance(event, yaml.CollectionStartEvent):
                stack.append(_Level(is_mapping=isinstance(event, yaml.MappingStartEvent)))


class _Level:
    """A collection being read: in a mapping every other node is a key."""

    def __init__(self, *, is_mapping: bool) -> None:
        self._is_mapping, self._is_key, self._keys = is_mapping, True, set[str]()

    def take(self, scalar: str | None) -> None:
        if self._is_mapping and self._is_key:
            if scalar is None or scalar in self._keys:
                raise Invalid("skill.yaml_twice", field=_shown(scalar or "?"))
            self._keys.add(scalar)
        self._is_key = not self._is_key


def _text(fields: dict[str, object], key: str) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid("skill.not_text", field=key)
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise Invalid("skill.no_text")
    return value.strip()


def _description(text: str) -> str:
    line = one_line(text)
    if not line:
        raise Invalid("skill.description_missing")
    if len(line) > MAX_DESCRIPTION:
        raise Invalid("skill.description_long", found=len(line), most=MAX_DESCRIPTION)
    return line


def _choice(kind: type[E], fields: dict[str, object], key: str, default: E) -> E:
    value = _text(fields, key)
    if not value:
        return default
    try:
        return kind(value)
    except ValueError:
        choices = ", ".join(each.value for each in kind)
        raise Invalid("skill.not_one_of", field=key, value=_shown(value), choices=choices) from None


def _reason(error: Exception) -> str:
    problem = getattr(error, "problem", None) or type(error).__name__
    mark = getattr(error, "problem_mark", None)
    where = f" (line {mark.line + 2})" if mark is not None else ""
    return one_line(f"{problem}{where}")[:160]


def _shown(text: str) -> str:
    """Show a strange name so that nothing in it hides: letters of other scripts as their code points."""
    cut = text[:80]
    return (
        cut.encode("ascii", "backslashreplace").decode()
        if not cut.isascii() or not cut.isprintable()
        else cut
    )
