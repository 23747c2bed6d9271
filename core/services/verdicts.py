"""Apply an analyst's verdict: it may be late, wrong about the lessons, or known already (learning.md 3)."""

from dataclasses import dataclass, replace

from core.errors import Invalid, NotFound, Stale
from core.model.evidence import Evidence
from core.model.feedback import CreditKind, Feedback, Source
from core.model.ids import LessonId
from core.model.lesson import Lesson, Scope
from core.model.proposal import Analysis, AnalysisState, Finding, Proposal, State, Verdict
from core.rules import approval
from core.rules.placement import default_scope
from core.services import counting, lessons, proposals
from core.services.cases import MAX_TRIES, again, basis_of, end, fail, key_of, need_analysis, restart, vote_of
from core.services.changes import need
from core.services.evidence import gather, project_of
from core.tables import CoreTx


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What came of an analysis. `verdict` is the one that was applied, not always the analyst's.

    `lesson` is the one that says it already (violated), caused it (harmful) or is reworded (merge);
    `violations` its count. `note` is the analyst's one line; `why` a text key where a rule of ours decided.
    `is_stale`: nothing was applied, since the vote was taken back or what was read has changed; `analysis`
    says whether it is made again.
    """

    analysis: Analysis
    feedback: Feedback
    verdict: Verdict
    proposal: Proposal | None = None
    lesson: Lesson | None = None
    violations: int = 0
    note: str = ""
    why: str = ""
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class _Case:
    """What a verdict is applied to."""

    analysis: Analysis
    vote: Feedback
    known: Evidence
    now: float

    @property
    def project(self) -> str | None:
        return project_of(self.known.run, self.vote)


def conclude(tx: CoreTx, id: str, finding: Finding, now: float, seen: Evidence | None = None) -> Conclusion:
    """Apply a verdict, if it is still about what it read. `seen` is the evidence the analyst was given.

    Lessons are read again here: a finding about an old wording, or without words that came meanwhile, is made
    again (three tries), never applied; after a withdrawal nothing is. Raises NotFound.
    """
    analysis = need_analysis(tx, id)
    vote = vote_of(tx, analysis)
    if analysis.state is not AnalysisState.RUNNING:
        return _unapplied(tx, analysis, vote)
    case = _Case(analysis, vote, gather(tx, analysis), now)
    if seen is not None and _is_outdated(tx, seen, case, finding):
        return Conclusion(again(tx, analysis, now), vote, Verdict.NONE, is_stale=True)
    try:
        return _apply(tx, case, finding)
    except (Invalid, Stale, NotFound):  # the analyst's own fault: a rule too long, no such lesson
        return Conclusion(fail(tx, id, "analysis.unusable", now), vote, Verdict.NONE)


def _unapplied(tx: CoreTx, analysis: Analysis, vote: Feedback) -> Conclusion:
    proposal = tx.proposals.by_key(key_of(analysis))
    return Conclusion(analysis, vote, Verdict.NONE, proposal, is_stale=True)


def _is_outdated(tx: CoreTx, seen: Evidence, case: _Case, finding: Finding) -> bool:
    """Say whether the words, the draft or a lesson that the verdict is about are others by now.

    New words alone do not hold a verdict up for ever; a draft that a person changed is never overwritten.
    """
    known = case.known
    if known.draft != seen.draft:
        return True
    said = (known.words, known.reasons, known.remark)
    if said != (seen.words, seen.reasons, seen.remark) and case.analysis.tries < MAX_TRIES:
        return True
    read = {each.id: each.revision for each in (*seen.in_scope, *seen.told)}
    if seen.sharpen is not None:
        read[seen.sharpen.id] = seen.sharpen.revision
    draft = tx.proposals.get(case.analysis.proposal) if case.analysis.proposal else None
    about = (finding.lesson, case.analysis.sharpen, draft.lesson if draft else None)
    return any(_revision(tx, each) != read[each] for each in about if each and each in read)


def _revision(tx: CoreTx, id: LessonId) -> int | None:
    """Give how often a lesson changed by now; None for one that a person erased meanwhile."""
    lesson = tx.lessons.get(id)
    return lesson.revision if lesson is not None else None


def _apply(tx: CoreTx, case: _Case, finding: Finding) -> Conclusion:
    finding = _placed(case, finding)
    existing = tx.proposals.by_key(key_of(case.analysis))
    if existing is not None:
        return _reworded(tx, case, existing, finding)
    if case.analysis.sharpen is not None:
        return _sharpened(tx, case, tx.lessons.get(case.analysis.sharpen), finding)
    settled, why = _settled(tx, case, finding)
    match settled.verdict:
        case Verdict.NONE:
            return _nothing(tx, case, finding.cause or finding.rationale, why)
        case Verdict.VIOLATED:
            return _violated(tx, case, need(tx, settled.lesson or ""), finding)
        case _:
            return _proposed(tx, case, settled)


def _placed(case: _Case, finding: Finding) -> Finding:
    """Give a new lesson whose scope nobody named the one that the evidence speaks for (learning.md 2)."""
    if finding.is_placed or finding.verdict is not Verdict.NEW or finding.scope is not Scope.GLOBAL:
        return finding
    calls = case.known.run.calls if case.known.run else ()
    scope = default_scope((case.known.words, finding.rule), calls, case.project)
    return replace(finding, scope=scope, is_placed=True)


def _nothing(
    tx: CoreTx, case: _Case, note: str, why: str = "", proposal: Proposal | None = None
) -> Conclusion:
    ended = end(tx, case.analysis, note=note)
    return Conclusion(ended, case.vote, Verdict.NONE, proposal, note=note, why=why)


def _proposed(tx: CoreTx, case: _Case, finding: Finding) -> Conclusion:
    made = _handed_in(tx, case, finding)
    ended = end(tx, case.analysis, made)
    lesson = tx.lessons.get(made.lesson) if made.lesson else None
    violations = lesson.violations if lesson else 0
    return Conclusion(ended, case.vote, made.verdict, made, lesson, violations, finding.cause)


def _handed_in(tx: CoreTx, case: _Case, finding: Finding) -> Proposal:
    """Put a finding before the people; one from the terminal says so, and the chat shows it too."""
    surface = "analysis" if case.vote.source is Source.TELEGRAM else case.vote.source.value
    return proposals.propose(tx, finding, basis_of(tx, case.analysis, case.vote), case.now, surface=surface)


def _reworded(tx: CoreTx, case: _Case, existing: Proposal, finding: Finding) -> Conclusion:
    """Give the one proposal of the vote another wording; one that was decided meanwhile stays."""
    if existing.state is not State.PENDING:
        return _nothing(tx, case, "", "analysis.decided", existing)
    if finding.verdict is Verdict.NONE or not finding.rule.strip():
        return _nothing(tx, case, finding.cause or finding.rationale, "", existing)
    made = proposals.reword(tx, existing, finding, case.now)
    ended = end(tx, case.analysis, made)
    lesson = tx.lessons.get(made.lesson) if made.lesson else None
    return Conclusion(ended, case.vote, made.verdict, made, lesson, note=finding.cause)


def _sharpened(tx: CoreTx, case: _Case, lesson: Lesson | None, finding: Finding) -> Conclusion:
    """Propose a sharper wording of a lesson that was broken, if it is still in force."""
    is_in_force = lesson is not None and lesson.active and finding.verdict is not Verdict.NONE
    if lesson is None or not is_in_force or not _is_reworded(finding, lesson):
        return _nothing(tx, case, finding.cause or finding.rationale, "none.not_sharper")
    return _proposed(tx, case, replace(finding, verdict=Verdict.MERGE, lesson=lesson.id))


def _is_reworded(finding: Finding, lesson: Lesson) -> bool:
    return bool(finding.rule.strip()) and approval.folded(finding.rule) != approval.folded(lesson.rule)


def _violated(tx: CoreTx, case: _Case, lesson: Lesson, finding: Finding) -> Conclusion:
    """Count that a lesson was broken; from the third time on a sharper wording is offered unasked."""
    is_new = counting.credit(tx, case.vote.id, [lesson], CreditKind.VIOLATION) > 0
    lesson = need(tx, lesson.id)
    made, ended = None, end(tx, case.analysis, lesson=lesson)
    if is_new and lesson.violations >= approval.SHARPEN_FROM:
        if _is_reworded(finding, lesson):
            sharper = replace(finding, verdict=Verdict.MERGE, lesson=lesson.id)
            made = _handed_in(tx, case, sharper)
            ended = end(tx, ended, made)
        else:
            ended = restart(tx, ended, case.now, sharpen=lesson.id)
    return Conclusion(ended, case.vote, Verdict.VIOLATED, made, lesson, lesson.violations, finding.cause)


def _settled(tx: CoreTx, case: _Case, finding: Finding) -> tuple[Finding, str]:
    """Give the verdict that holds against the lessons as they are now, and why it is another."""
    lesson = _named(tx, case, finding)
    if finding.verdict is Verdict.NONE:
        return finding, ""
    if finding.verdict is Verdict.VIOLATED and lesson is not None:
        return finding, ""
    if finding.verdict is Verdict.HARMFUL:  # only what was told can have caused it
        is_told = lesson is not None and lesson in case.known.told
        return finding if is_told else replace(finding, verdict=Verdict.NONE), ""
    if not finding.rule.strip():
        return replace(finding, verdict=Verdict.NONE), "none.no_rule"
    said = _said(tx, case, finding, lesson)
    if said is not None:
        return replace(finding, verdict=Verdict.VIOLATED, lesson=said.id), ""
    if _is_rejected(tx, case, finding):
        return replace(finding, verdict=Verdict.NONE), "none.rejected_before"
    if finding.verdict is Verdict.MERGE and lesson is not None:
        return finding, ""
    return replace(finding, verdict=Verdict.NEW, lesson=None, relation=None), ""


def _named(tx: CoreTx, case: _Case, finding: Finding) -> Lesson | None:
    """Give the lesson a finding names, if it is active and may be compared with that run."""
    lesson = tx.lessons.get(LessonId(finding.lesson)) if finding.lesson else None
    is_usable = lesson is not None and lesson.active and lesson.reaches(case.project)
    return lesson if is_usable else None


def _said(tx: CoreTx, case: _Case, finding: Finding, lesson: Lesson | None) -> Lesson | None:
    """Give the active lesson that says the same word for word (learning.md 3.4)."""
    if lesson is not None and approval.folded(lesson.rule) == approval.folded(finding.rule):
        return lesson
    home = case.project if finding.scope is Scope.PROJECT else None
    return lessons.equal(tx, finding.rule, finding.scope, home, finding.domain)


def _is_rejected(tx: CoreTx, case: _Case, finding: Finding) -> bool:
    """Say whether people rejected the same there and this vote brings no new words."""
    words, rule = approval.folded(case.vote.user_comment), approval.folded(finding.rule)
    return any(
        approval.folded(each.rule) == rule and words in ("", approval.folded(each.evidence))
        for each in tx.proposals.all()
        if each.state is State.REJECTED and (each.scope is not Scope.PROJECT or each.project == case.project)
    )
