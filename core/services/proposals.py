"""The human gate: proposals come in, people decide, and nothing is a lesson before (product.md 1.4)."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from core.errors import Invalid, NotFound, Refused, Stale
from core.model.feedback import Vote
from core.model.ids import FeedbackId, LessonId, ProposalId, RunId, number_of
from core.model.lesson import Domain, Lesson, Scope
from core.model.proposal import Finding, Proposal, State, Verdict
from core.rules import approval
from core.rules.approval import Step
from core.services import opposition
from core.services.application import put_in_force, take_out
from core.services.changes import By, log, need
from core.services.wording import examined, reason
from core.tables import CoreTx

_PROPOSABLE = (Verdict.NEW, Verdict.MERGE, Verdict.HARMFUL)


@dataclass(frozen=True, slots=True)
class Basis:
    """Where a proposal comes from. `key` makes it unique; `project` is the one the evidence is from.

    `evidence` is shown on the card: the person's words, the failing command.
    """

    key: str
    project: str | None = None
    feedback: FeedbackId | None = None
    run: RunId | None = None
    evidence: str = ""
    absorbs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided. `lesson` is what became of it; None for a rejection."""

    proposal: Proposal
    lesson: Lesson | None = None


def propose(
    tx: CoreTx,
    finding: Finding,
    basis: Basis,
    now: float,
    who: str = "analyst",
    surface: str = "analysis",
) -> Proposal:
    """Put a finding before the people; a second one of the same key gives the first.

    Raises Invalid (nothing to propose, rule empty or too long, lesson out of reach).
    """
    known = tx.proposals.by_key(basis.key)
    if known is not None:
        return known
    if finding.verdict not in _PROPOSABLE:
        raise Invalid("proposal.verdict", verdict=finding.verdict)
    proposal = _drafted(finding, basis, now)
    if finding.verdict is not Verdict.NEW:
        proposal = _on_lesson(tx, proposal, finding, basis)
    proposal = opposition.compared(tx, replace(proposal, id=tx.proposals.next_id()))
    tx.proposals.put(proposal)
    log(tx, By(who, now, surface), "propose", proposal.id, finding.verdict)
    return proposal


def _drafted(finding: Finding, basis: Basis, now: float) -> Proposal:
    wording = examined(finding.rule) if finding.verdict is not Verdict.HARMFUL else None
    is_homeless = finding.scope is Scope.PROJECT and basis.project is None
    return Proposal(
        id=ProposalId(""),
        key=basis.key,
        state=State.PENDING,
        version=1,
        verdict=finding.verdict,
        rule=wording.text if wording else "",
        rationale=reason(finding.rationale),
        domain=finding.domain,
        scope=Scope.GLOBAL if is_homeless else finding.scope,
        project=basis.project,
        origin=finding.origin,
        created=now,
        relation=finding.relation,
        evidence=basis.evidence,
        cause=reason(finding.cause),
        flags=wording.flags if wording else (),
        feedback=basis.feedback,
        run=basis.run,
        is_by_rules=finding.is_by_rules,
        original_rule=wording.text if wording else "",
    )


def _on_lesson(tx: CoreTx, proposal: Proposal, finding: Finding, basis: Basis) -> Proposal:
    """Ground a merge or a harmful verdict on its lesson; the oldest id of a merge survives."""
    named = sorted({str(finding.lesson or ""), *basis.absorbs} - {""}, key=number_of)
    involved = [need(tx, each) for each in named]
    if not involved or any(not each.active or not each.reaches(basis.project) for each in involved):
        raise Invalid("proposal.lesson", lesson=finding.lesson)
    first, *rest = involved
    if any((each.scope, each.project) != (first.scope, first.project) for each in rest):
        raise Invalid("proposal.scopes", lesson=first.id)  # a project's lesson is given to nobody else
    placed = replace(
        proposal, domain=first.domain, scope=first.scope, project=first.project or proposal.project
    )
    if proposal.verdict is Verdict.HARMFUL:
        placed = replace(placed, rule=first.rule, original_rule=first.rule, rationale=first.rationale)
    return approval.grounded(replace(placed, absorbs=tuple(each.id for each in rest)), first)


def need_proposal(tx: CoreTx, id: str) -> Proposal:
    """Give that proposal. Raises NotFound."""
    proposal = tx.proposals.get(ProposalId(id))
    if proposal is None:
        raise NotFound("proposal.not_found", id=id)
    return proposal


def _open(tx: CoreTx, id: str, version: int) -> Proposal:
    """Give a proposal that can be decided at that version. Raises NotFound, Stale."""
    proposal = need_proposal(tx, id)
    approval.require(proposal, version)
    return proposal


def _swap(tx: CoreTx, proposal: Proposal, version: int, by: By, verb: str) -> Proposal:
    """Put the next state in place of the version that was decided on, and log it. Raises Stale."""
    if proposal.state is State.PENDING:
        proposal = opposition.compared(tx, proposal)
    if not tx.proposals.swap(proposal, version):
        raise Stale("proposal.changed", proposal=need_proposal(tx, proposal.id))
    log(tx, by, verb, proposal.id, f"v{version}")
    return proposal


def approve(
    tx: CoreTx,
    id: str,
    version: int,
    who: str,
    now: float,
    surface: str = "telegram",
    batch: str = "",
    *,
    chosen: Collection[str] = (),
) -> Decision:
    """Make the proposal what agents are told: word for word what that version showed.

    A harmful lesson is disabled by it. `chosen` are the lessons it may contradict that the person chose about
    (`core.services.choices`). Raises NotFound, Stale with the current proposal, Refused (no choice made).
    """
    by, proposal = By(who, now, surface, batch), _open(tx, id, version)
    opposition.require_choice(tx, proposal, chosen)
    done = approval.decided(proposal, Step.APPROVE, who, now)
    # The swap comes first: once decided, the lesson's own change no longer makes a new version of it.
    _swap(tx, done, version, by, "approve")
    lesson = put_in_force(tx, proposal, by)
    done = replace(done, result=lesson.id)
    tx.proposals.put(done)
    return Decision(done, lesson)


def reject(
    tx: CoreTx,
    id: str,
    version: int,
    who: str,
    now: float,
    surface: str = "telegram",
    batch: str = "",
) -> Decision:
    """Decide against the proposal: nothing is stored as a lesson. Raises NotFound, Stale."""
    by, proposal = By(who, now, surface, batch), _open(tx, id, version)
    done = approval.decided(proposal, Step.REJECT, who, now)
    return Decision(_swap(tx, done, version, by, "reject"))


def _harmful(tx: CoreTx, id: str) -> None:
    if need_proposal(tx, id).verdict is not Verdict.HARMFUL:
        raise Refused("proposal.not_harmful", id=id)


def disable(
    tx: CoreTx, id: str, version: int, who: str, now: float, surface: str = "telegram", batch: str = ""
) -> Decision:
    """Disable the lesson that an analysis found harmful."""
    _harmful(tx, id)
    return approve(tx, id, version, who, now, surface, batch)


def keep(
    tx: CoreTx, id: str, version: int, who: str, now: float, surface: str = "telegram", batch: str = ""
) -> Decision:
    """Keep the lesson that an analysis found harmful."""
    _harmful(tx, id)
    return reject(tx, id, version, who, now, surface, batch)


def edit(
    tx: CoreTx,
    id: str,
    version: int,
    rule: str,
    who: str,
    now: float,
    surface: str = "telegram",
    batch: str = "",
) -> Proposal:
    """Give the proposal the person's own wording: a new version. Raises NotFound, Stale, Invalid."""
    proposal, wording = _open(tx, id, version), examined(rule)
    if proposal.verdict is Verdict.HARMFUL:  # another wording for the lesson instead of disabling it
        proposal = replace(proposal, verdict=Verdict.MERGE)
    changed = approval.reworded(proposal, wording.text, wording.flags)
    return _swap(tx, changed, version, By(who, now, surface, batch), "edit")


def set_scope(
    tx: CoreTx,
    id: str,
    version: int,
    scope: Scope | None,
    who: str,
    now: float,
    surface: str = "telegram",
    batch: str = "",
) -> Proposal:
    """Give the proposal another scope, None the next one. Raises NotFound, Stale, Invalid (no project)."""
    proposal = _open(tx, id, version)
    target = scope or approval.next_scope(proposal.scope, proposal.project)
    if target is Scope.PROJECT and proposal.project is None:
        raise Invalid("lesson.no_project")
    changed = replace(proposal, scope=target, version=version + 1)
    return _swap(tx, changed, version, By(who, now, surface, batch), "scope")


def set_domain(
    tx: CoreTx,
    id: str,
    version: int,
    domain: Domain | None,
    who: str,
    now: float,
    surface: str = "telegram",
    batch: str = "",
) -> Proposal:
    """Give the proposal another domain, None the next one. Raises NotFound, Stale."""
    proposal = _open(tx, id, version)
    target = domain or approval.next_domain(proposal.domain)
    changed = replace(proposal, domain=target, version=version + 1)
    return _swap(tx, changed, version, By(who, now, surface, batch), "domain")


def keep_separate(
    tx: CoreTx, id: str, version: int, who: str, now: float, surface: str = "telegram", batch: str = ""
) -> Proposal:
    """Make a merge a new lesson beside the existing one. Raises NotFound, Stale, Refused (no merge)."""
    proposal = _open(tx, id, version)
    if proposal.verdict is not Verdict.MERGE or proposal.absorbs:
        raise Refused("proposal.no_merge", id=id)
    return _swap(tx, approval.separated(proposal), version, By(who, now, surface, batch), "separate")


def reword(tx: CoreTx, proposal: Proposal, finding: Finding, now: float) -> Proposal:
    """Give a pending proposal the wording that an analysis found for it: a new version."""
    wording = examined(finding.rule)
    changed = replace(
        approval.reworded(proposal, wording.text, wording.flags),
        rationale=reason(finding.rationale) or proposal.rationale,
        verdict=Verdict.MERGE if proposal.verdict is Verdict.HARMFUL else proposal.verdict,
        origin=finding.origin,
        is_by_rules=finding.is_by_rules,
        original_rule=wording.text,
    )
    return _swap(tx, changed, proposal.version, By("analyst", now, "analysis"), "reword")


def await_text(tx: CoreTx, id: str, version: int, asks: Literal["wording", "remark", ""]) -> Proposal:
    """Say which text the card waits for as a reply; what it shows stays the same version."""
    waiting = replace(_open(tx, id, version), asks=asks)
    tx.proposals.put(waiting)
    return waiting


def undo(tx: CoreTx, id: str, who: str, now: float, surface: str = "telegram", batch: str = "") -> Decision:
    """Take a decision back within 10 minutes: lessons, merges and counters are as before.

    The proposal waits again, or is withdrawn if its vote was taken back meanwhile. Raises NotFound, Stale
    (not decided, or a lesson changed since), Refused (too late).
    """
    by, proposal = By(who, now, surface, batch), need_proposal(tx, id)
    waiting = approval.undone(proposal, now)
    if proposal.state is State.APPROVED:
        take_out(tx, proposal, by)
    waiting = opposition.compared(tx, _grounded_again(tx, waiting))
    tx.proposals.put(waiting)
    log(tx, by, "undo", proposal.id)
    lesson = tx.lessons.get(proposal.result) if proposal.result else None
    return Decision(waiting, lesson)


def _grounded_again(tx: CoreTx, proposal: Proposal) -> Proposal:
    """Let a proposal that waits again stand on its lesson and its vote as they are now."""
    vote = tx.feedback.get(proposal.feedback) if proposal.feedback else None
    if vote is not None and not (vote.is_current and vote.type is Vote.NEGATIVE):
        return replace(proposal, state=State.WITHDRAWN)
    for id in (proposal.lesson, *proposal.absorbs):
        lesson = tx.lessons.get(LessonId(id)) if id else None
        if lesson is not None and approval.names(proposal, lesson.id):
            proposal = approval.follow(proposal, lesson)
    return proposal


def withdraw(tx: CoreTx, feedback: FeedbackId, by: By) -> tuple[ProposalId, ...]:
    """Take back what waits for a decision because of that vote."""
    pending = [each for each in tx.proposals.by_feedback(feedback) if each.state is State.PENDING]
    for each in pending:
        tx.proposals.put(replace(each, state=approval.step(each, Step.WITHDRAW), decided_at=by.now))
        log(tx, by, "withdraw", each.id)
    return tuple(each.id for each in pending)


def expire(tx: CoreTx, now: float) -> list[Proposal]:
    """Close what nobody decided for 14 days; give it."""
    due = [each for each in tx.proposals.all(pending_only=True) if approval.is_expired(each, now)]
    closed = [replace(each, state=approval.step(each, Step.EXPIRE), decided_at=now) for each in due]
    for each in closed:
        tx.proposals.put(each)
        log(tx, By("clock", now, "job"), "expire", each.id)
    return closed


def remind(tx: CoreTx, now: float) -> list[Proposal]:
    """Give, once each, what has been waiting for 2 days."""
    due = [each for each in tx.proposals.all(pending_only=True) if approval.is_to_be_reminded(each, now)]
    for each in due:
        tx.proposals.put(replace(each, reminded=True))
    return due
