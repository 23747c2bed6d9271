"""The human gate of patterns: what is seen, and what a person decides about it (learning.md 5.3).

What was counted is in the traces' file and is read first (`look`); decisions are made in the store, on what
was shown: `version` names it, and a decision on something that has changed since is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from core.errors import Invalid, NotFound, Refused, Stale
from core.model.ruling import Decision, Ruling
from core.rules.context import Failure, failure_line
from core.rules.mining import Pattern, PatternKey, State, Thresholds, rank, score, state_of
from core.rules.pattern_text import approved, told, tried
from core.services.changes import By, log
from core.services.rulings import Rulings, is_accepted, key_of
from core.services.wording import typed
from core.settings import CoreSettings
from core.tables import CoreTx
from core.trace_tables import TraceTx

SHOWN = (State.REGRESSION, State.CANDIDATE, State.ACCEPTED, State.RESOLVED)
"""The states that a list shows unasked."""


USUAL = Thresholds()
States = Iterable[State]


@dataclass(frozen=True, slots=True)
class Seen:
    """What was counted: patterns, and all calls by key without class."""

    patterns: tuple[Pattern, ...] = ()
    calls: Mapping[PatternKey, int] | None = None

    def calls_of(self, key: PatternKey) -> int:
        """Give all calls of a pattern's verb in its project."""
        return (self.calls or {}).get(key.whole, 0)


@dataclass(frozen=True, slots=True)
class Standing:
    """A pattern as it stands now. `line` is what agents are, or would be, told of it."""

    pattern: Pattern
    state: State
    calls: int
    score: float
    line: str
    ruling: Ruling | None = None

    @property
    def key(self) -> PatternKey:
        """Give what it is about."""
        return self.pattern.key

    @property
    def id(self) -> str:
        """Give its id as people type it."""
        return self.pattern.key.id

    @property
    def version(self) -> str:
        """Name what is shown, so that a decision is about just that."""
        return sha256(self.line.encode()).hexdigest()[:8]


def look(tx: TraceTx, project: str | None) -> Seen:
    """Read what was counted in a project, or in all."""
    return Seen(tuple(tx.patterns.of(project)), tx.usage.calls(project))


def thresholds_of(settings: CoreSettings) -> Thresholds:
    """Give the thresholds of a candidate that are set."""
    return Thresholds(settings.min_failures, settings.min_failure_ratio, settings.min_runs)


def listing(
    tx: CoreTx,
    seen: Seen,
    project: str | None,
    now: float,
    thresholds: Thresholds = USUAL,
    states: States = SHOWN,
) -> list[Standing]:
    """Give the patterns in those states, best first; decided ones also where nothing is counted any more."""
    rulings, wanted = Rulings(tx.rulings.of(project)), frozenset(states)
    judged = [rulings.judged(each) for each in seen.patterns]
    judged += _uncounted(rulings, {each.key for each in judged})
    ranked = rank(judged, seen.calls or {}, now)
    standing = (_stand(each, rulings, seen, now, thresholds) for each in ranked)
    return [each for each in standing if each.state in wanted]


def _uncounted(rulings: Rulings, counted: set[PatternKey]) -> list[Pattern]:
    """Give what was accepted or rejected and is not (or no longer) counted here."""
    gone = [each for each in rulings.all if each.error_class and key_of(each) not in counted]
    return [
        rulings.judged(
            Pattern(
                key_of(each),
                failures=each.failures,
                last_ts=each.decided_ts,
                last_cmd=each.command or None,
                last_error=each.error,
                last_recovery=each.worked or None,
            )
        )
        for each in gone
    ]


def _stand(pattern: Pattern, rulings: Rulings, seen: Seen, now: float, limits: Thresholds) -> Standing:
    ruling, calls = rulings.of(pattern.key), seen.calls_of(pattern.key)
    calls = max(calls, pattern.failures)
    failure = approved(ruling, pattern.key) if ruling and is_accepted(ruling) else told(pattern)
    state = state_of(pattern, calls, now, limits)
    return Standing(pattern, state, calls, score(pattern, calls, now), failure_line(failure), ruling)


def find(
    tx: CoreTx, seen: Seen, id: str, project: str, now: float, thresholds: Thresholds = USUAL
) -> list[Standing]:
    """Give what an id as typed addresses: one class, or without `#class` all of them.

    Raises NotFound, Invalid (not an id).
    """
    key = _parse(project, id)
    found = [
        each
        for each in listing(tx, seen, project, now, thresholds, State)
        if (each.key.tool, each.key.verb) == (key.tool, key.verb)
        and key.error_class in (None, each.key.error_class)
    ]
    if not found:
        raise NotFound("pattern.not_found", id=id)
    return found


def _parse(project: str, id: str) -> PatternKey:
    try:
        return PatternKey.parse(project, id)
    except ValueError:
        raise Invalid("pattern.not_an_id", id=id) from None


def accept(
    tx: CoreTx,
    seen: Seen,
    id: str,
    project: str,
    by: By,
    *,
    note: str = "",
    is_global: bool = False,
    version: str | None = None,
) -> list[Ruling]:
    """Let agents be told a pattern, as it is shown now; an id without `#class` means each class there is.

    `note` replaces the generic text. Raises NotFound, Invalid, Refused (note), Stale (another text than at
    `version`).
    """
    text = typed(note) if note.strip() else ""
    found = find(tx, seen, id, project, by.now)
    if version is not None and [each.version for each in found] != [version]:
        raise Stale("pattern.changed", id=id)
    return [_accept(tx, each, project, by, text, is_global) for each in found]


def _accept(tx: CoreTx, one: Standing, project: str, by: By, note: str, is_global: bool) -> Ruling:
    held, shown = one.ruling, told(one.pattern)
    if held is not None and is_accepted(held):
        if (not note or note == held.note) and (held.is_global or not is_global):
            return held  # twice is once: what is told does not move
        changed = replace(held, note=note or held.note, is_global=held.is_global or is_global)
        return _decide(tx, changed, by, "pattern.accept")
    return _decide(
        tx,
        Ruling(
            project=one.key.project or project,
            tool=one.key.tool,
            verb=one.key.verb or one.key.tool,
            error_class=one.key.error_class or "",
            decision=Decision.ACCEPTED,
            decided=0,
            decided_ts=by.now,
            who=by.who,
            note=note,
            command=shown.command,
            error=shown.error,
            worked=shown.worked,
            is_global=is_global,
            failures=one.pattern.failures,
            calls=one.calls,
        ),
        by,
        "pattern.accept",
    )


def reject(tx: CoreTx, seen: Seen, id: str, project: str, by: By) -> list[Ruling]:
    """Be silent about one error, or (an id without `#class`) about everything of that verb; never expires.

    What had been accepted of it is no longer told. Raises NotFound, Invalid.
    """
    key, found = _parse(project, id), find(tx, seen, id, project, by.now)
    if key.error_class is None:
        for each in _of_verb(tx, key):
            tx.rulings.drop(each)
        keys = [key]
    else:
        keys = [each.key for each in found]
    return [_decide(tx, _rejected(each, by), by, "pattern.reject") for each in keys]


def _rejected(key: PatternKey, by: By) -> Ruling:
    verb, error_class = key.verb or key.tool, key.error_class or ""
    return Ruling(key.project, key.tool, verb, error_class, Decision.REJECTED, 0, by.now, by.who)


def reopen(tx: CoreTx, id: str, project: str, by: By) -> list[Ruling]:
    """Take decisions back: what is counted decides again; give those taken back.

    Raises NotFound, Invalid.
    """
    key = _parse(project, id)
    found = [each for each in _of_verb(tx, key) if key.error_class in (None, each.error_class or None)]
    if not found:
        raise NotFound("pattern.not_decided", id=id)
    for each in found:
        tx.rulings.drop(each)
        log(tx, by, "pattern.reopen", key_of(each).id, str(each.decided))
    return found


def spread(tx: CoreTx, id: str, project: str, by: By, *, is_global: bool = True) -> list[Ruling]:
    """Tell an accepted pattern in every project, or in its own only. Raises NotFound, Refused, Invalid."""
    found = need_accepted(tx, id, project)
    verb = "pattern.global" if is_global else "pattern.local"
    changed = [each for each in found if each.is_global is not is_global]
    for each in changed:
        _decide(tx, replace(each, is_global=is_global), by, verb)
    return [replace(each, is_global=is_global) for each in found]


def need_accepted(tx: CoreTx, id: str, project: str) -> list[Ruling]:
    """Give the accepted decisions an id addresses. Raises NotFound, Refused (not accepted), Invalid."""
    key = _parse(project, id)
    of_verb = [each for each in _of_verb(tx, key) if key.error_class in (None, each.error_class or None)]
    found = [each for each in of_verb if is_accepted(each)]
    if not found:
        raise Refused("pattern.not_accepted", id=id)
    return found


def _of_verb(tx: CoreTx, key: PatternKey) -> list[Ruling]:
    return [
        each
        for each in tx.rulings.of(key.project)
        if (each.tool, each.verb) == (key.tool, key.verb) and (each.project == key.project or each.is_global)
    ]


def _decide(tx: CoreTx, ruling: Ruling, by: By, verb: str) -> Ruling:
    decided = replace(ruling, decided=tx.rulings.next_decision())
    tx.rulings.put(decided)
    log(tx, by, verb, key_of(decided).id, str(decided.decided))
    return decided


# What the block says


def accepted(tx: CoreTx, project: str | None) -> list[Failure]:
    """Give the accepted patterns that a project's runs are told; its own hides a global one of that id."""
    found: dict[str, Failure] = {}
    rulings = [each for each in tx.rulings.of(project or "") if is_accepted(each)]
    for each in sorted(rulings, key=lambda one: (one.project != project, -one.decided)):
        key = key_of(each)
        found.setdefault(key.id, approved(each, key))
    return list(found.values())


def candidates(
    tx: CoreTx, seen: Seen, project: str | None, now: float, thresholds: Thresholds = USUAL
) -> list[Failure]:
    """Give the candidates as they may be told to an agent that the bot hosts, best first."""
    found = listing(tx, seen, project, now, thresholds, (State.CANDIDATE,))
    return [tried(each.pattern) for each in found]


def undecided(tx: CoreTx, project: str | None, failures: Sequence[Failure]) -> list[Failure]:
    """Leave out the candidates that a person has decided on since they were chosen."""
    rulings = Rulings(tx.rulings.of(project))
    return [each for each in failures if rulings.of(PatternKey.parse(project or "", each.id)) is None]
