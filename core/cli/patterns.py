"""`auto-improve patterns`: failures that recur, and the person's gate (product.md 3 and 4)."""

from collections.abc import Sequence

import click

from core.cli import access, show, stores
from core.cli.group import ListGroup
from core.cli.speech import tell
from core.model.ruling import Ruling
from core.rules.context import failure_line
from core.rules.mining import State
from core.rules.pattern_text import approved
from core.services import patterns as service
from core.services.changes import By
from core.services.pattern_gate import Gate
from core.services.patterns import SHOWN, Standing
from core.services.report import record
from core.services.rulings import key_of


@click.group("patterns", cls=ListGroup, prefix="patterns_", help=tell("help.patterns"))
def patterns() -> None:
    """Group the commands about patterns."""


def _global_option(command: show.F) -> show.F:
    return click.option("--global", "is_global", is_flag=True, help=tell("option.global"))(command)


def _by() -> By:
    return By(access.who(), access.CLOCK.now(), access.SURFACE, access.IDS.new())


@patterns.command("list", help=tell("help.patterns_list"))
@show.project_option
@click.option("--all", "is_all", is_flag=True, help=tell("option.all_states"))
@show.json_option
def list_(project: str | None, is_all: bool, is_json: bool) -> None:
    """List patterns, best first."""
    where = None if is_all and project is None else access.project(project)
    states, now = (tuple(State) if is_all else SHOWN), access.CLOCK.now()
    found = stores.look(lambda gate: gate.listing(where, now, states))
    if is_json:
        show.as_json([record(each) for each in found])
    elif not found:
        show.line(tell("patterns.none"))
    else:
        show.table([_row(each) for each in found])


def _row(one: Standing) -> tuple[str, ...]:
    return (one.id, one.state, f"{one.pattern.failures}/{one.calls}", one.line.removeprefix("- "))


@patterns.command("show", help=tell("help.patterns_show"))
@click.argument("id", metavar="ID")
@show.project_option
@show.json_option
def show_(id: str, project: str | None, is_json: bool) -> None:
    """Show what an id addresses, with its evidence."""
    home, now = access.project(project), access.CLOCK.now()

    async def find(gate: Gate) -> list[Standing]:
        seen, limits = await gate.seen(home), service.thresholds_of(gate.settings)
        return await gate.store.read(lambda tx: service.find(tx, seen, id, home, now, limits))

    found = stores.look(find)
    if is_json:
        show.as_json([record(each) for each in found])
        return
    for each in found:
        _show_one(each)


def _show_one(one: Standing) -> None:
    show.line(f"{one.id}  {one.state}")
    counts = {"failures": one.pattern.failures, "calls": one.calls, "sessions": one.pattern.sessions}
    show.line(tell("patterns.counts", **counts))
    key = "told" if one.ruling is not None and one.state is not State.REJECTED else "would_tell"
    show.line(tell(f"patterns.{key}", line=one.line.removeprefix("- ")))
    show.field("last_command", one.pattern.last_cmd)
    show.line(one.pattern.last_error)
    show.field("worked", one.pattern.last_recovery)


@patterns.command(help=tell("help.patterns_accept"))
@click.argument("id", metavar="ID")
@click.argument("note", nargs=-1, metavar="NOTE")
@_global_option
@show.project_option
@show.json_option
def accept(id: str, note: tuple[str, ...], is_global: bool, project: str | None, is_json: bool) -> None:
    """Let agents be told a pattern."""
    home, by = access.project(project), _by()
    done = stores.decide(lambda gate: gate.accept(id, home, by, note=" ".join(note), is_global=is_global))
    if _is_told_as_json(done, is_json):
        return
    for each in done:
        line = failure_line(approved(each, key_of(each))).removeprefix("- ")
        key = "accepted_skill" if each.skill else "accepted"
        show.line(tell(f"patterns.{key}", id=key_of(each).id, skill=each.skill, line=line))


@patterns.command(help=tell("help.patterns_reject"))
@click.argument("id", metavar="ID")
@show.project_option
@show.json_option
def reject(id: str, project: str | None, is_json: bool) -> None:
    """Be silent about it until it is reopened."""
    home, by = access.project(project), _by()
    _tell("rejected", stores.decide(lambda gate: gate.reject(id, home, by)), is_json)


@patterns.command(help=tell("help.patterns_reopen"))
@click.argument("id", metavar="ID")
@show.project_option
@show.json_option
def reopen(id: str, project: str | None, is_json: bool) -> None:
    """Take a decision back."""
    home, by = access.project(project), _by()
    _tell("reopened", stores.decide(lambda gate: gate.reopen(id, home, by)), is_json)


@patterns.command(help=tell("help.patterns_promote"))
@click.argument("id", metavar="ID")
@_global_option
@show.project_option
@show.json_option
def promote(id: str, is_global: bool, project: str | None, is_json: bool) -> None:
    """Make a skill of it, or tell it everywhere."""
    home, by = access.project(project), _by()
    if is_global:
        _tell("everywhere", stores.decide(lambda gate: gate.spread(id, home, by, is_global=True)), is_json)
    else:
        _tell("promoted", stores.decide(lambda gate: gate.promote(id, home, by)), is_json)


@patterns.command(help=tell("help.patterns_demote"))
@click.argument("id", metavar="NAME")
@_global_option
@show.project_option
@show.json_option
def demote(id: str, is_global: bool, project: str | None, is_json: bool) -> None:
    """Remove its skill, or tell it in its own project only."""
    home, by = access.project(project), _by()
    if is_global:
        _tell("here_only", stores.decide(lambda gate: gate.spread(id, home, by, is_global=False)), is_json)
    else:
        _tell("demoted", stores.decide(lambda gate: gate.demote(id, home, by)), is_json)


@patterns.command(help=tell("help.patterns_purge"))
@click.argument("id", metavar="ID")
@click.option("--yes", "is_sure", is_flag=True, help=tell("option.yes"))
@show.project_option
def purge(id: str, is_sure: bool, project: str | None) -> None:
    """Erase what is kept of a pattern."""
    access.require_person()
    if not is_sure:
        click.confirm(tell("patterns.sure", id=id), abort=True, err=True)
    home, by = access.project(project), _by()
    done, is_clean = stores.erase(lambda gate: gate.purge(id, home, by))
    show.line(tell("patterns.purged", ids=", ".join(done)))
    if not is_clean:
        click.echo(tell("purge.in_use"), err=True)


def _tell(what: str, done: Sequence[Ruling], is_json: bool) -> None:
    if _is_told_as_json(done, is_json):
        return
    for each in done:
        show.line(tell(f"patterns.{what}", id=key_of(each).id, skill=each.skill))


def _is_told_as_json(done: Sequence[Ruling], is_json: bool) -> bool:
    if is_json:
        show.as_json(
            [
                {"id": key_of(each).id, "decision": each.decision, "note": each.note or None,
                 "global": each.is_global, "skill": each.skill or None}
                for each in done
            ]
        )  # fmt: skip
    return is_json
