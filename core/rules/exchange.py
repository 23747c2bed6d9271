"""The exchange files: what is written byte for byte, what is refused with file and line (learning.md 9).

A file is taken whole or not at all. The values of a good file are never looked up by line: only a fault is
located, by walking the text once more.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NoReturn, cast

from core.errors import Invalid
from core.model.feedback import Feedback
from core.model.lesson import Domain, Lesson, Scope, project_hash
from core.rules.schema import FEEDBACK, HEAD, LESSON, Field

FEEDBACK_FILE: Final = "feedback.jsonl"
GLOBAL_FILE: Final = "lessons/global.json"
MAX_DEPTH: Final = 8
MAX_DIGITS: Final = 15
MAX_LINE_CHARS: Final = 8_000_000

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_DOMAIN_FILE: Final = re.compile(r"lessons/domain-([a-z]+)\.json")
_PROJECT_FILE: Final = re.compile(r"projects/[0-9a-f]{8}\.json")

Path = tuple[str | int, ...]


class _Fault(ValueError):
    """Something json itself does not refuse."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A lesson as its file has it."""

    file: str
    lesson: Lesson


# -- writing -------------------------------------------------------------------------------------------------


def file_of(lesson: Lesson) -> str:
    """Name the file a lesson stands in."""
    match lesson.scope:
        case Scope.PROJECT:
            return f"projects/{project_hash(lesson.project or '')}.json"
        case Scope.DOMAIN:
            return f"lessons/domain-{lesson.domain}.json"
    return GLOBAL_FILE


def lesson_fields(lesson: Lesson) -> dict[str, object]:
    """Give the nine fields of learning.md 2."""
    return {
        "id": lesson.id,
        "created": lesson.created,
        "domain": lesson.domain.value,
        "rule": lesson.rule,
        "rationale": lesson.rationale,
        "source_feedback": list(lesson.source_feedback),
        "positive_examples": lesson.positive_examples,
        "violations": lesson.violations,
        "active": lesson.active,
    }


def feedback_fields(vote: Feedback) -> dict[str, object]:
    """Give the nine fields of learning.md 1."""
    return {
        "id": vote.id,
        "timestamp": vote.timestamp,
        "type": vote.type.value,
        "source": vote.source.value,
        "session": vote.session,
        "project": vote.project,
        "domain": vote.domain.value,
        "context": vote.context,
        "user_comment": vote.user_comment,
    }


def lessons_file(lessons: Sequence[Lesson]) -> str:
    """Write one file; its lessons share their place, in id order."""
    first = lessons[0]
    home = {Scope.GLOBAL: "global", Scope.DOMAIN: first.domain.value, Scope.PROJECT: first.project}
    newest = max((each.updated or each.created for each in lessons), key=instant)
    told = {
        "project": home[first.scope],
        "updated": newest,
        "lessons": [lesson_fields(each) for each in lessons],
    }
    return json.dumps(told, ensure_ascii=False, indent=2) + "\n"


def feedback_file(votes: Iterable[Feedback]) -> str:
    """Write the votes, one a line."""
    return "".join(json.dumps(feedback_fields(each), ensure_ascii=False) + "\n" for each in votes)


def instant(text: str) -> datetime:
    """Read a time; one without a zone is UTC. Raises ValueError."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


# -- reading -------------------------------------------------------------------------------------------------


def is_name(file: str) -> bool:
    """Say whether a file may be called so."""
    found = _DOMAIN_FILE.fullmatch(file)
    return (
        file in (FEEDBACK_FILE, GLOBAL_FILE)
        or bool(found and found[1] in set(Domain))
        or bool(_PROJECT_FILE.fullmatch(file))
    )


def read_lessons(file: str, data: bytes) -> list[Entry]:
    """Read a file of lessons. Raises Invalid with file and line."""
    text = _decoded(file, data)
    value = _parsed(file, text)
    head = _checked(file, text, value, HEAD, ())
    scope, domain, project = _place(file, text, str(head["project"]))
    items = cast(list[object], head["lessons"])
    if not items:
        _refuse("exchange.empty", file, _line_of(text, ("lessons",)))
    entries: dict[str, Entry] = {}
    for number, item in enumerate(items):
        path: Path = ("lessons", number)
        fields = _checked(file, text, item, LESSON, path)
        lesson = Lesson(
            **{**fields, "source_feedback": tuple(cast(list[str], fields["source_feedback"]))},  # type: ignore[arg-type]
            scope=scope,
            project=project,
            updated=str(head["updated"]),
        )
        if domain is not None and lesson.domain is not domain:
            _refuse("exchange.domain", file, _line_of(text, (*path, "domain")), domain=domain.value)
        if lesson.id in entries:
            _refuse("exchange.twice", file, _line_of(text, (*path, "id")), id=lesson.id)
        entries[lesson.id] = Entry(file, lesson)
    return list(entries.values())


def read_feedback(file: str, data: bytes) -> list[Feedback]:
    """Read the votes. Raises Invalid with file and line."""
    votes: dict[str, Feedback] = {}
    lines = _decoded(file, data).split("\n")
    if lines[-1]:
        _refuse("exchange.unfinished", file, len(lines))
    for number, line in enumerate(lines[:-1], 1):
        if len(line) > MAX_LINE_CHARS:
            _refuse("exchange.too_large", file, number)
        value = _parsed(file, line, number - 1)
        vote = Feedback(**_checked(file, line, value, FEEDBACK, (), number - 1))  # type: ignore[arg-type]
        if vote.id in votes:
            _refuse("exchange.twice", file, number, id=vote.id)
        votes[vote.id] = vote
    return list(votes.values())


def _refuse(key: str, file: str, line: int, **values: object) -> NoReturn:
    raise Invalid(key, file=file, line=line, **values)


def _decoded(file: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse("exchange.encoding", file, data.count(b"\n", 0, error.start) + 1)


def _parsed(file: str, text: str, before: int = 0) -> object:
    """Read JSON that names nothing twice and holds no number beyond reason; `before` lines came before."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_single,
            parse_int=_whole,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
    except json.JSONDecodeError as error:
        _refuse("exchange.json", file, before + error.lineno, reason=error.msg)
    except RecursionError:
        _refuse("exchange.too_deep", file, before + _deep_line(text))
    except _Fault as error:
        _refuse("exchange.json", file, before + _fault_line(text), reason=str(error))


def _single(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Fault("a name stands twice")
    return found


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _Fault("a number has too many digits")
    return int(digits)


def _no_number(text: str) -> float:
    raise _Fault(f"{text[:20]} is no whole number")


def _checked(
    file: str, text: str, value: object, fields: Mapping[str, Field], path: Path, before: int = 0
) -> dict[str, object]:
    """Give the values of an object that has exactly those fields. Raises Invalid."""
    if not isinstance(value, dict):
        _refuse("exchange.no_object", file, before + _line_of(text, path))
    for name in [*fields.keys() - value.keys(), *value.keys() - fields.keys()]:
        key = "exchange.missing" if name in fields else "exchange.unknown"
        _refuse(key, file, before + _line_of(text, (*path, name)), field=name[:40])
    read: dict[str, object] = {}
    for name, field in fields.items():
        try:
            read[name] = field.read(value[name])
        except (ValueError, TypeError):
            _refuse(
                "exchange.field",
                file,
                before + _line_of(text, (*path, name)),
                field=name,
                wanted=field.wanted,
            )
    return read


def _place(file: str, text: str, project: str) -> tuple[Scope, Domain | None, str | None]:
    """Say where the lessons of a file belong; its `project` must be the one its name says."""
    found = _DOMAIN_FILE.fullmatch(file)
    if file == GLOBAL_FILE and project == "global":
        return Scope.GLOBAL, None, None
    if found and project == found[1]:
        return Scope.DOMAIN, Domain(project), None
    if (
        _PROJECT_FILE.fullmatch(file)
        and _is_path(project)
        and file == f"projects/{project_hash(project)}.json"
    ):
        return Scope.PROJECT, None, project
    _refuse("exchange.project", file, _line_of(text, ("project",)))


def _is_path(text: str) -> bool:
    """Say whether a text is a real path as we write one: whole, without detours or hidden characters."""
    parts = text[1:].split("/") if text != "/" else []
    is_hiding = any(unicodedata.category(char) in ("Cc", "Cf") for char in text)
    return text.startswith("/") and not {".", "..", ""} & set(parts) and not is_hiding


# -- where a fault is ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Frame:
    is_object: bool
    key: str | int = 0
    is_key_next: bool = True


def positions(text: str) -> Iterator[tuple[Path, int]]:
    """Give the path and the line of every value, in reading order; of what is no JSON as far as it goes."""
    stack: list[_Frame] = []
    line, at = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at, part = match.start(), match[0]
        frame = stack[-1] if stack else None
        if part in "}]":
            stack = stack[:-1]
        elif part == ",":
            _go_on(frame)
        elif part == ":":
            if frame is not None:
                frame.is_key_next = False
        elif frame is not None and frame.is_object and frame.is_key_next:
            frame.key = part.strip('"')
        else:
            yield tuple(each.key for each in stack), line
            if part in "{[":
                stack.append(_Frame(part == "{"))


def _go_on(frame: _Frame | None) -> None:
    if frame is not None:
        frame.is_key_next = frame.is_object
        if not frame.is_object:
            frame.key = int(frame.key) + 1


def _line_of(text: str, path: Path) -> int:
    """Give the line of a value, of what holds it where there is none."""
    found: dict[Path, int] = {}
    for each, line in positions(text):
        if each == path:
            return line
        if each == path[: len(each)]:
            found[each] = line
    return max(found.items(), key=lambda pair: len(pair[0]), default=((), 1))[1]


def _deep_line(text: str) -> int:
    return next((line for path, line in positions(text) if len(path) > MAX_DEPTH), 1)


def _fault_line(text: str) -> int:
    """Give the line of the first name that stands twice, or of the first number that is none of ours."""
    seen: set[Path] = set()
    for path, line in positions(text):
        if path in seen:
            return line
        seen.add(path)
    pattern = re.compile(rf"[-\d][\d.eE+-]{{{MAX_DIGITS},}}|-?\d+[.eE]|NaN|Infinity")
    strings_out = _TOKEN.finditer(text)
    number = next((each for each in strings_out if pattern.match(each[0])), None)
    return text.count("\n", 0, number.start()) + 1 if number else 1
