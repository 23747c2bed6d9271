"""Render what an agent is told: lessons, observed failures, skills (learning.md 6).

One function for every surface, so that bot, terminal, MCP and the ready files show the same bytes. The text
depends on nothing but what people decided: no counts, no times. Whatever stands in it is data: each text is
one line, behind a marker, and cannot open a section.
"""

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Protocol, TypeVar

from core.model.lesson import Domain, Lesson, Scope


@dataclass(frozen=True, slots=True)
class Headings:
    """The headings in one language; the other lines of the block are fixed (learning.md 6)."""

    lessons: str
    failures: str


ENGLISH = Headings("## Lessons learned (auto-improve)", "## Observed failures (auto-improve)")
FRENCH = Headings("## Leçons apprises (auto-improve)", "## Échecs observés (auto-improve)")
FIRST_LINE = "Approved by the person; ranks below the request at hand."
SKILLS_HEADING = "# Available skills"
_SHORTEST_LINE = len("- x: y\n")
_AROUND = len("- [] \n")  # what a lesson's line adds to domain and rule
_ID, _SIZE = itemgetter(0), itemgetter(1)


@dataclass(frozen=True, slots=True)
class Budgets:
    """The most characters of each section, headings included, and the most patterns."""

    lessons_chars: int = 6000
    patterns: int = 12
    patterns_chars: int = 2400
    skills_chars: int = 1200


@dataclass(frozen=True, slots=True)
class Failure:
    """A pattern as the block says it.

    Accepted ones carry the quoted error, the recovery and the note as shown at acceptance; candidates the
    error class alone in `error`, never output. `decided` is the sequence number of the person's decision.
    """

    id: str
    command: str
    error: str
    worked: str = ""
    note: str = ""
    decided: int = 0
    is_candidate: bool = False


@dataclass(frozen=True, slots=True)
class Skill:
    """A capability of the agent, as `resolve_capabilities` gives it."""

    name: str
    kind: str
    description: str

    @property
    def id(self) -> str:
        """Return the name, which is unique among the skills of an agent."""
        return self.name


@dataclass(frozen=True, slots=True)
class Reading:
    """How a body is read (`{name}` being the skill), how the rest is seen, and both without MCP."""

    how: str = 'skill_read("{name}")'
    more: str = "More skills: ask list_agents"
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """The text, the ids of lessons and patterns in it, those that found no place, and the text's hash."""

    text: str
    told_ids: tuple[str, ...]
    waiting_ids: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class _Section:
    """A rendered section; without text when there is nothing to say."""

    text: str = ""
    told: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


def headings(language: str) -> Headings:
    """Return the headings of the store's language; English for any other than French."""
    return FRENCH if language.startswith("fr") else ENGLISH


def told_to(lessons: Iterable[Lesson], project: str | None) -> list[Lesson]:
    """Choose the lessons that every run of a project is told: global ones and its own, active."""
    return [
        each for each in lessons if each.active and each.scope is not Scope.DOMAIN and each.reaches(project)
    ]


def on_demand(lessons: Iterable[Lesson]) -> list[Domain]:
    """Choose the domains that have active lessons of their own, in the order of `Domain`."""
    found = {each.domain for each in lessons if each.active and each.scope is Scope.DOMAIN}
    return [domain for domain in Domain if domain in found]


def choose(
    sizes: Sequence[tuple[str, int]],
    domain_files: Mapping[Domain, str],
    *,
    language: str = "en",
    chars: int = 6000,
) -> tuple[list[str], list[str]]:
    """Choose which lessons a block of that many characters has room for, without reading them.

    `sizes` are ids with the characters of domain and rule, newest decision first. Gives the ids that fit and
    those that wait: `render` comes to the same choice.
    """
    room = chars - _size((headings(language).lessons, FIRST_LINE, *_pointers(domain_files)))
    room -= _AROUND
    least = min(map(_SIZE, sizes), default=0)
    fitting: list[str] = []
    waiting: list[str] = []
    for number, (id, size) in enumerate(sizes):
        if room < least:  # of thousands, hardly more are looked at than fit
            waiting += map(_ID, sizes[number:])
            break
        if size <= room:
            fitting.append(id)
            room -= size + _AROUND
        else:
            waiting.append(id)
    return fitting, waiting


def in_order(ids: Iterable[str]) -> tuple[str, ...]:
    """Give ids by their number: l-999 before l-1000. By text, then by length: quick where many wait."""
    return tuple(sorted(sorted(ids), key=len))


def _pointers(files: Mapping[Domain, str]) -> list[str]:
    return [f"More on {domain}: read {one_line(path)}" for domain, path in files.items()]


def render(
    lessons: Sequence[Lesson],
    *,
    domain_files: Mapping[Domain, str] | None = None,
    failures: Sequence[Failure] = (),
    skills: Sequence[Skill] = (),
    language: str = "en",
    budgets: Budgets | None = None,
    reading: Reading | None = None,
) -> Block:
    """Render the block; empty text where there is nothing to tell.

    `lessons` are those of `told_to`, `domain_files` the file to read for each of `on_demand`. Candidates
    among `failures` come last, in the order given.
    """
    limits, titles = budgets or Budgets(), headings(language)
    sections = (
        _lessons_section(lessons, domain_files or {}, titles.lessons, limits.lessons_chars),
        _failures_section(failures, titles.failures, limits),
        _skills_section(skills, reading or Reading(), limits.skills_chars),
    )
    return _joined(sections)


def render_domain(
    domain: Domain, lessons: Iterable[Lesson], *, language: str = "en", chars: int = 6000
) -> Block:
    """Render the file of one domain: its active lessons of scope `domain`, read on demand."""
    own = [each for each in lessons if each.active and each.scope is Scope.DOMAIN and each.domain is domain]
    return _joined((_lessons_section(own, {}, headings(language).lessons, chars),))


def one_line(text: str) -> str:
    """Fence a text: one line, nothing invisible, no chat template, single spaces."""
    if not text.isprintable():
        text = "".join(_visible(char) for char in text)
    return " ".join(text.replace("<|", "< |").split())


_JOINERS = "\u200c\u200d"  # meant, within emoji and Persian words
_OPENERS = tuple("#`~>-+*=_|<![")  # what opens something in Markdown at the start of a list item


def _visible(char: str) -> str:
    """Keep what is seen; a control or line separator becomes a space, a format character nothing."""
    if char.isprintable() or char in _JOINERS:
        return char
    return "" if unicodedata.category(char) == "Cf" else " "


def _item(text: str) -> str:
    """Fence a text that stands first in its line: as code where it would open something."""
    line = one_line(text)
    return f"`{line.replace('`', chr(39))}`" if line.startswith(_OPENERS) else line


def _joined(sections: Iterable[_Section]) -> Block:
    filled = [section for section in sections if section.text]
    text = "\n".join(section.text for section in filled)
    return Block(
        text,
        tuple(each for section in filled for each in section.told),
        tuple(each for section in sections for each in section.waiting),
        hashlib.sha256(text.encode()).hexdigest(),
    )


def _lessons_section(
    lessons: Sequence[Lesson],
    domain_files: Mapping[Domain, str],
    heading: str,
    chars: int,
) -> _Section:
    pointers = _pointers(domain_files)
    room = chars - _size((heading, FIRST_LINE, *pointers))
    in_order = sorted(lessons, key=_numbered)
    newest_first = sorted(in_order, key=attrgetter("decided"), reverse=True)
    lines = _fitting(newest_first, _lesson_line, room)
    waiting = tuple(each.id for each in in_order if each.id not in lines)
    if not lines and not pointers:
        return _Section(waiting=waiting)
    told = tuple(each.id for each in in_order if each.id in lines)
    return _Section(_lined((heading, FIRST_LINE, *(lines[each] for each in told), *pointers)), told, waiting)


def _lesson_line(lesson: Lesson) -> str:
    return f"- [{lesson.domain}] {one_line(lesson.rule)}"


def _failures_section(failures: Sequence[Failure], heading: str, limits: Budgets) -> _Section:
    accepted = sorted((each for each in failures if not each.is_candidate), key=lambda each: each.id)
    candidates = [each for each in failures if each.is_candidate]
    newest_first = sorted(accepted, key=lambda each: -each.decided)
    room = limits.patterns_chars - _size((heading,))
    lines = _fitting((*newest_first, *candidates), failure_line, room, limits.patterns)
    waiting = tuple(each.id for each in accepted if each.id not in lines)
    told = tuple(each.id for each in (*accepted, *candidates) if each.id in lines)
    if not told:
        return _Section(waiting=waiting)
    return _Section(_lined((heading, *(lines[each] for each in told))), told, waiting)


def failure_line(failure: Failure) -> str:
    """Give the line of a pattern, word for word as an agent is told it."""
    command = _item(failure.command)
    if failure.note and not failure.is_candidate:
        return f"- {command}: {one_line(failure.note)}"
    error = one_line(failure.error)
    worked = f". What worked: {one_line(failure.worked)}" if failure.worked else ""
    if failure.is_candidate:
        return f"- (candidate: unverified) {command}: fails with {error}{worked}"
    quoted = error.replace('"', "'")
    return f'- {command}: fails with "{quoted}"{worked}'


def _skills_section(skills: Sequence[Skill], reading: Reading, chars: int) -> _Section:
    """List skills by name; when they do not all fit, a line says how to see the rest; the hint comes last."""
    if not skills:
        return _Section()
    by_name = sorted(skills, key=lambda each: each.name)
    more, hint = one_line(reading.more), one_line(reading.hint)
    rest = (hint,) if hint else ()
    room = chars - _size((SKILLS_HEADING, *rest))
    lines = _fitting(by_name, lambda each: _skill_line(each, reading.how), room)
    if len(lines) < len(by_name):
        lines = _fitting(by_name, lambda each: _skill_line(each, reading.how), room - _size((more,)))
        rest = (more, *rest)
    return _Section(_lined((SKILLS_HEADING, *lines.values(), *rest)))


def _skill_line(skill: Skill, read_skill: str) -> str:
    description = one_line(skill.description).rstrip(".")
    how = read_skill.replace("{name}", one_line(skill.name))
    return f"- {_item(skill.name)} ({one_line(skill.kind)}): {description}. Read: {how}"


class _Identified(Protocol):
    """Whatever has an id and a line in the block."""

    @property
    def id(self) -> str: ...


_Entry = TypeVar("_Entry", bound=_Identified)


def _fitting(
    entries: Iterable[_Entry], line_of: Callable[[_Entry], str], room: int, most: int | None = None
) -> dict[str, str]:
    """Choose in the order given what fits whole, as line by id; one too long leaves its room to others."""
    chosen: dict[str, str] = {}
    for each in entries:
        if room < _SHORTEST_LINE or len(chosen) == most:
            break
        line = line_of(each)
        if _size((line,)) <= room:
            chosen[each.id] = line
            room -= _size((line,))
    return chosen


def _size(lines: Iterable[str]) -> int:
    """Count characters with the line ends."""
    return sum(len(line) + 1 for line in lines)


def _lined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _numbered(lesson: Lesson) -> tuple[int, str]:
    """Order ids by their number without parsing it: l-999 before l-1000."""
    return (len(lesson.id), lesson.id)
