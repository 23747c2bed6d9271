"""`auto-improve proposals`: what waits for a decision, and deciding it (product.md 1.4, 3)."""

import hashlib
import sys
from collections.abc import Callable, Sequence
from functools import partial

import click

from core.analysis import reply
from core.cli import access, show
from core.cli.group import ListGroup
from core.cli.speech import language, tell
from core.errors import Invalid, MalformedReply
from core.model.evidence import Evidence
from core.model.lesson import Domain, Lesson, Scope
from core.model.proposal import Finding, Proposal, State, Verdict
from core.rules.approval import folded
from core.services import choices
from core.services import proposals as service
from core.services.proposals import Basis, Decision
from core.tables import Tx
from core.texts import say

MAX_INPUT_BYTES = 1_000_000

Deciding = tuple[str, float, str, str]
"""Who decides, when, on which surface, in which batch."""


LAZY = {"purge": "core.cli.purging:proposals"}


@click.group("proposals", cls=ListGroup, lazy=LAZY, prefix="proposals_", help=tell("help.proposals"))
def proposals() -> None:
    """Group the commands about proposals."""


@proposals.command("list", help=tell("help.proposals_list"))
@click.option("--all", "is_all", is_flag=True, help=tell("option.all_proposals"))
@show.json_option
def list_(is_all: bool, is_json: bool) -> None:
    """List what waits, or everything."""
    found = access.read(lambda tx: tx.proposals.all(pending_only=not is_all))
    if is_json:
        show.as_json([record(each) for each in found])
    elif not found:
        show.line(tell("proposals.none"))
    else:
        show.table([(each.id, tell(f"state.{each.state}"), each.verdict, _wording(each)) for each in found])


def record(proposal: Proposal) -> dict[str, object]:
    """Give the fields of product.md 3."""
    return {
        "id": proposal.id,
        "state": proposal.state,
        "verdict": proposal.verdict,
        "rule": proposal.rule,
        "rationale": proposal.rationale,
        "domain": proposal.domain,
        "scope": proposal.scope,
        "lesson": proposal.lesson,
        "feedback": proposal.feedback,
    }


def _wording(proposal: Proposal) -> str:
    return f"{proposal.lesson}: {proposal.rule}" if proposal.lesson else proposal.rule


@proposals.command("show", help=tell("help.proposals_show"))
@click.argument("id", metavar="ID")
@show.json_option
def show_(id: str, is_json: bool) -> None:
    """Show one proposal: the exact text agents would be told, and where it comes from."""
    found, pushed = access.read(lambda tx: _looked_up(tx, id))
    if is_json:
        show.as_json(record(found) | details(found) | {"pushes_out": [each.id for each in pushed]})
    else:
        card(found)
        _warn(pushed)


def _looked_up(tx: Tx, id: str) -> tuple[Proposal, tuple[Lesson, ...]]:
    found = service.need_proposal(tx, id)
    return found, _pushed_out(tx, found)


def _pushed_out(tx: Tx, proposal: Proposal) -> tuple[Lesson, ...]:
    """Give what would no longer be told; nothing where there is nothing to decide."""
    if proposal.state is not State.PENDING:
        return ()
    from core.services import room  # noqa: PLC0415  # only who looks at a card pays for it

    return room.pushed_out(tx, proposal, access.settings())


def _warn(pushed: Sequence[Lesson]) -> None:
    """Say what is pushed out of the block, and what makes room."""
    for each in pushed:
        show.field("warning", tell("proposals.pushes_out", lesson=each.id, rule=each.rule))


def details(proposal: Proposal) -> dict[str, object]:
    """Give what a card shows beyond the list."""
    return {
        "version": proposal.version,
        "project": proposal.project,
        "origin": proposal.origin,
        "evidence": proposal.evidence,
        "cause": proposal.cause,
        "old_rule": proposal.old_rule,
        "relation": proposal.relation,
        "flags": list(proposal.flags),
        "conflicts": list(proposal.conflicts),
        "by_rules": proposal.is_by_rules,
        "decided_by": proposal.decided_by,
        "result": proposal.result,
    }


def card(proposal: Proposal) -> None:
    """Print a proposal for a person."""
    show.line(f"{proposal.id}  {tell(f'state.{proposal.state}')}  {tell(f'verdict.{proposal.verdict}')}")
    show.line(proposal.rule)
    show.field("why", proposal.rationale)
    show.field("lesson", proposal.lesson)
    show.field("old_rule", proposal.old_rule)
    show.field("domain", proposal.domain)
    show.field("scope", proposal.scope)
    show.field("project", proposal.project if proposal.scope is Scope.PROJECT else None)
    show.field("cause", proposal.cause)
    show.field("evidence", proposal.evidence)
    show.field("origin", tell(f"origin.{proposal.origin.name.lower()}"))
    show.field("flags", "; ".join(say(f"flag.{each}", language()) for each in proposal.flags))
    for each in proposal.conflicts:
        show.field("warning", f"{tell('lessons.may_contradict')} {each}")
    show.field("note", tell("proposals.by_rules") if proposal.is_by_rules else "")
    show.field("version", proposal.version)
    show.field("decided_by", proposal.decided_by)
    show.field("result", proposal.result)


@proposals.command(help=tell("help.proposals_propose"))
@show.project_option
@show.json_option
def propose(project: str | None, is_json: bool) -> None:
    """Hand in an analyst's reply on stdin: a proposal, never a lesson; an agent may do this."""
    home, now = access.project(project), access.CLOCK.now()
    text = sys.stdin.buffer.read(MAX_INPUT_BYTES).decode("utf-8", "replace")

    def change(tx: Tx) -> Proposal:
        finding = _read(tx, text, home)
        who = access.agent() or access.who()
        return service.propose(tx, finding, Basis(_key(finding, home), home), now, who, access.SURFACE)

    made = access.hand_in(change)
    if is_json:
        show.as_json(record(made))
    else:
        show.line(tell("proposals.proposed", id=made.id, state=tell(f"state.{made.state}"), rule=made.rule))


def _read(tx: Tx, text: str, project: str) -> Finding:
    """Check the reply against the lessons of the project; what it says of itself counts for nothing."""
    active = tuple(tx.lessons.active(project))
    try:
        return reply.parse(text, Evidence(None, told=active, in_scope=active), project)
    except MalformedReply as error:
        raise Invalid("cli.proposals.malformed", reason=error.values["reason"]) from None


def _key(finding: Finding, project: str) -> str:
    """Name a finding by what it says: handing in the same twice, also after a rejection, gives the first."""
    said = "\0".join((finding.verdict, finding.lesson or "", folded(finding.rule), project))
    return "hand:" + hashlib.sha256(said.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def version_option(command: show.F) -> show.F:
    """Add `--version`: decide only on what was shown."""
    return click.option("--version", type=click.IntRange(1), metavar="N", help=tell("option.version"))(
        command
    )


@proposals.command(help=tell("help.proposals_approve"))
@click.argument("id", metavar="ID")
@version_option
@click.option("--replace", "lesson", metavar="LESSON", help=tell("option.replace"))
@click.option("--keep-both", "is_both", is_flag=True, help=tell("option.keep_both"))
@show.json_option
def approve(id: str, version: int | None, lesson: str | None, is_both: bool, is_json: bool) -> None:
    """Make a proposal what agents are told; where it may contradict a lesson, the person chooses."""
    if lesson and is_both:
        raise Invalid("cli.proposals.one_choice")

    if lesson:
        _decide(partial(_replace, lesson), id, version, is_json)
    elif is_both:
        _decide(choices.keep_both, id, version, is_json)
    else:
        _decide(service.approve, id, version, is_json)


def _replace(lesson: str, tx: Tx, id: str, version: int, *by: *Deciding) -> Decision:
    return choices.replace_lesson(tx, id, version, lesson, *by)


@proposals.command(help=tell("help.proposals_reject"))
@click.argument("id", metavar="ID")
@version_option
@show.json_option
def reject(id: str, version: int | None, is_json: bool) -> None:
    """Decide against a proposal."""
    _decide(service.reject, id, version, is_json)


def _decide(decide: Callable[..., Decision], id: str, version: int | None, is_json: bool) -> None:
    now, batch = access.CLOCK.now(), access.IDS.new()

    def change(tx: Tx) -> tuple[Decision, tuple[Lesson, ...]]:
        known = service.need_proposal(tx, id)
        pushed = () if decide is service.reject else _pushed_out(tx, known)
        shown = version or known.version
        return decide(tx, id, shown, access.who(), now, access.SURFACE, batch), pushed

    decision, pushed = access.write(change)
    done = decision.proposal
    if is_json:
        show.as_json(record(done) | {"result": done.result})
    elif done.state is State.APPROVED:
        what = "disabled" if done.verdict is Verdict.HARMFUL else "approved"
        show.line(tell(f"proposals.{what}", id=done.id, lesson=done.result, rule=done.rule))
        _warn(pushed)
    else:
        show.line(tell("proposals.rejected", id=done.id))


@proposals.command(help=tell("help.proposals_edit"))
@click.argument("id", metavar="ID")
@click.argument("rule", nargs=-1, metavar="RULE")
@click.option("--domain", type=click.Choice([each.value for each in Domain]), help=tell("option.domain"))
@click.option("--scope", type=click.Choice([each.value for each in Scope]), help=tell("option.scope"))
@version_option
@show.json_option
def edit(
    id: str,
    rule: tuple[str, ...],
    domain: str | None,
    scope: str | None,
    version: int | None,
    is_json: bool,
) -> None:
    """Give a proposal another wording, domain or scope; it still waits for a decision."""
    if not (rule or domain or scope):
        raise Invalid("cli.proposals.nothing_to_edit")
    now, who, batch = access.CLOCK.now(), access.who(), access.IDS.new()

    def change(tx: Tx) -> Proposal:
        known = service.need_proposal(tx, id)
        shown = version or known.version
        if rule:
            known = service.edit(tx, id, shown, " ".join(rule), who, now, access.SURFACE, batch)
            shown = known.version
        if domain:
            known = service.set_domain(tx, id, shown, Domain(domain), who, now, access.SURFACE, batch)
            shown = known.version
        if scope:
            known = service.set_scope(tx, id, shown, Scope(scope), who, now, access.SURFACE, batch)
        return known

    changed = access.write(change)
    if is_json:
        show.as_json(record(changed))
    else:
        card(changed)
