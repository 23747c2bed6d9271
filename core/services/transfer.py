"""Export and import: the exchange files of learning.md 9. Nothing is silently newer, all of it or nothing."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from core.errors import Refused
from core.model.feedback import Feedback
from core.model.ids import LessonId, ProposalId, number_of
from core.model.lesson import Lesson, Scope
from core.model.proposal import Finding, Origin, Proposal, Verdict
from core.rules import approval, exchange
from core.rules.exchange import FEEDBACK_FILE, Entry, file_of, lesson_fields
from core.rules.redact import redact
from core.rules.safety import Flag, examine
from core.services import opposition, proposals
from core.services.changes import By, log, record
from core.services.proposals import Basis
from core.tables import CoreTx

_ALL_VOTES = 10**9
_PROPOSED = frozenset({Flag.SECRET, Flag.INVISIBLE})


@dataclass(frozen=True, slots=True)
class Parcel:
    """What a folder of exchange files holds, checked; `flagged` are entries with a secret or hidden text."""

    votes: tuple[Feedback, ...] = ()
    entries: tuple[Entry, ...] = ()
    flagged: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Conflict:
    """An entry that differs from ours: which fields do, and the proposal it became, if it can be one."""

    file: str
    id: str
    fields: tuple[str, ...]
    proposal: ProposalId | None = None


@dataclass(slots=True)
class Report:
    """What an import did."""

    added: list[LessonId] = field(default_factory=list)
    renumbered: list[tuple[str, str, LessonId]] = field(default_factory=list)  # file, their id, ours
    known: int = 0
    conflicts: list[Conflict] = field(default_factory=list)
    proposed: list[ProposalId] = field(default_factory=list)
    votes: int = 0


def export(tx: CoreTx) -> dict[str, str]:
    """Give every exchange file by its name; a place without lessons has none. Raises Refused."""
    files = {FEEDBACK_FILE: exchange.feedback_file(reversed(tx.feedback.newest(_ALL_VOTES)))}
    places: dict[str, list[Lesson]] = defaultdict(list)
    for lesson in tx.lessons.all():
        places[file_of(lesson)].append(lesson)
    for name, lessons in sorted(places.items()):
        if len({each.project for each in lessons}) > 1:  # two paths with the same 8 hex digits
            raise Refused("exchange.collision", file=name)
        files[name] = exchange.lessons_file(lessons)
    return files


def read(files: Mapping[str, bytes]) -> Parcel:
    """Check files without a store: wording as it would be told, secrets masked. Raises Invalid."""
    votes: tuple[Feedback, ...] = ()
    entries: list[Entry] = []
    flagged: list[Entry] = []
    for name, data in sorted(files.items()):
        if name == FEEDBACK_FILE:
            votes = tuple(_masked(each) for each in exchange.read_feedback(name, data))
            continue
        for entry in exchange.read_lessons(name, data):
            settled, is_flagged = _examined(entry)
            (flagged if is_flagged else entries).append(settled)
    return Parcel(votes, tuple(entries), tuple(flagged))


def _masked(vote: Feedback) -> Feedback:
    return replace(vote, context=redact(vote.context), user_comment=redact(vote.user_comment))


def _examined(entry: Entry) -> tuple[Entry, bool]:
    """Give an entry as it would be stored, and whether only a person may let it in."""
    rule, why = examine(entry.lesson.rule), examine(entry.lesson.rationale)
    lesson = replace(entry.lesson, rule=rule.text, rationale=why.text)
    return Entry(entry.file, lesson), bool(_PROPOSED & {*rule.flags, *why.flags}) or not rule.text


def import_(tx: CoreTx, parcel: Parcel, by: By) -> Report:
    """Take a parcel in, states as they are in the files: the owner's own act. `by.batch` undoes it."""
    report = Report()
    _add_votes(tx, parcel.votes, report)
    ours = {(file_of(each), approval.folded(each.rule)) for each in tx.lessons.all()}
    clashing: list[Entry] = []
    for entry in sorted(parcel.entries, key=_by_creation):
        held = tx.lessons.get(entry.lesson.id)
        if held is not None and file_of(held) == entry.file:
            _compare(tx, entry, held, by, report)
        elif (entry.file, approval.folded(entry.lesson.rule)) in ours:
            report.known += 1
        elif held is not None:
            clashing.append(entry)
        else:
            report.added.append(_add(tx, entry.lesson, by))
    for entry in clashing:  # after all others, so that no new number is one of theirs
        number = tx.lessons.next_id()
        report.renumbered.append((entry.file, entry.lesson.id, number))
        report.added.append(_add(tx, replace(entry.lesson, id=number), by))
    if report.added:
        opposition.compare_all(tx)
    report.proposed += [made.id for entry in parcel.flagged for made in _proposed(tx, entry, by)]
    return report


def _by_creation(entry: Entry) -> tuple[object, ...]:
    return exchange.instant(entry.lesson.created), number_of(entry.lesson.id), entry.file


def _add_votes(tx: CoreTx, votes: Iterable[Feedback], report: Report) -> None:
    for vote in votes:
        held = tx.feedback.get(vote.id)
        if held is None:
            tx.feedback.add(vote)
            report.votes += 1
        elif exchange.feedback_fields(held) != exchange.feedback_fields(vote):
            theirs, own = exchange.feedback_fields(vote), exchange.feedback_fields(held)
            differing = tuple(name for name in own if own[name] != theirs[name])
            report.conflicts.append(Conflict(FEEDBACK_FILE, vote.id, differing))


def _add(tx: CoreTx, lesson: Lesson, by: By) -> LessonId:
    tx.lessons.reserve(number_of(lesson.id))
    placed = replace(lesson, decided=tx.lessons.next_decision())
    record(tx, placed, by, by.batch)
    log(tx, by, "import", placed.id, by.batch)
    return placed.id


def _compare(tx: CoreTx, entry: Entry, held: Lesson, by: By, report: Report) -> None:
    theirs, ours = lesson_fields(entry.lesson), lesson_fields(held)
    differing = tuple(name for name in ours if ours[name] != theirs[name])
    if not differing:
        report.known += 1
        return
    made = list(differ(tx, entry, held, by))
    report.proposed += [each.id for each in made]
    report.conflicts.append(Conflict(entry.file, held.id, differing, made[0].id if made else None))


def differ(tx: CoreTx, entry: Entry, held: Lesson, by: By) -> Iterator[Proposal]:
    """Propose what an entry would change of ours: its wording and place, or whether it is told.

    Counters and sources are counted, not decided: where only they differ, nothing is proposed.
    """
    theirs = entry.lesson
    if held.active and not theirs.active:
        yield disable(tx, held, by, _key(entry, held))
        return
    said = (theirs.rule, theirs.rationale, theirs.domain)
    if held.active and said != (held.rule, held.rationale, held.domain):
        made = _put(tx, entry, by, Verdict.MERGE, held)
        if made.domain is not theirs.domain and held.scope is not Scope.DOMAIN:
            made = proposals.set_domain(
                tx, made.id, made.version, theirs.domain, by.who, by.now, by.surface, by.batch
            )
        yield made
    elif theirs.active and not held.active:
        yield _put(tx, entry, by, Verdict.NEW)


def disable(tx: CoreTx, held: Lesson, by: By, key: str) -> Proposal:
    """Propose that a lesson is no longer told, as a file says it."""
    finding = Finding(
        Verdict.HARMFUL, lesson=held.id, domain=held.domain, scope=held.scope, origin=Origin.PERSON
    )
    return proposals.propose(tx, finding, Basis(key, held.project), by.now, by.who, by.surface)


def _proposed(tx: CoreTx, entry: Entry, by: By) -> Iterator[Proposal]:
    """Put an entry that only a person may let in before the people."""
    if not entry.lesson.active or not entry.lesson.rule:
        return
    held = tx.lessons.get(entry.lesson.id)
    if held is not None and file_of(held) == entry.file:
        yield from differ(tx, entry, held, by)
    else:
        yield add(tx, entry, by)


def add(tx: CoreTx, entry: Entry, by: By) -> Proposal:
    """Propose an entry as a lesson of its own."""
    return _put(tx, entry, by, Verdict.NEW)


def _put(tx: CoreTx, entry: Entry, by: By, verdict: Verdict, held: Lesson | None = None) -> Proposal:
    lesson = entry.lesson
    finding = Finding(
        verdict,
        rule=lesson.rule,
        rationale=lesson.rationale,
        domain=lesson.domain,
        scope=lesson.scope,
        lesson=held.id if held else None,
        origin=Origin.PERSON,
    )
    basis = Basis(_key(entry, held), lesson.project, evidence=f"{entry.file}: {lesson.id}")
    return proposals.propose(tx, finding, basis, by.now, by.who, by.surface)


def _key(entry: Entry, held: Lesson | None) -> str:
    """Name an edit by what it says and what it is about: the same is not proposed twice."""
    lesson = entry.lesson
    said = (entry.file, lesson.id, lesson.rule, lesson.rationale, lesson.domain, str(lesson.active))
    about = str(held.revision) if held else ""
    text = "\0".join((*said, about))
    return "file:" + hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
