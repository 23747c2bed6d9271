"""`auto-improve lessons`: what agents are told, and changing it by hand (product.md 3)."""

from dataclasses import asdict

import click

from core.cli import access, block, show
from core.cli.group import ListGroup
from core.cli.speech import tell
from core.errors import Invalid
from core.model.lesson import Domain, Lesson, Revision, Scope
from core.services import lessons as service
from core.services.changes import iso
from core.services.lessons import Filters
from core.tables import Tx

DOMAINS = click.Choice([domain.value for domain in Domain])
SCOPES = click.Choice([scope.value for scope in Scope])


LAZY = {
    "consolidate": "core.cli.searching:consolidate",
    "purge": "core.cli.purging:lessons",
    "show": "core.cli.lesson_card:show_",
    "similar": "core.cli.searching:similar",
}


@click.group("lessons", cls=ListGroup, lazy=LAZY, prefix="lessons_", help=tell("help.lessons"))
def lessons() -> None:
    """Group the commands about lessons."""


@lessons.command("list", help=tell("help.lessons_list"))
@show.project_option
@click.option("--domain", type=DOMAINS, help=tell("option.domain"))
@click.option("--scope", type=SCOPES, help=tell("option.scope"))
@click.option("--inactive", is_flag=True, help=tell("option.inactive"))
@click.option("--all", "is_everywhere", is_flag=True, help=tell("option.all_projects"))
@click.option("--search", metavar="TEXT", default="", help=tell("option.search"))
@show.json_option
def list_(
    project: str | None,
    domain: str | None,
    scope: str | None,
    inactive: bool,
    is_everywhere: bool,
    search: str,
    is_json: bool,
) -> None:
    """List lessons."""
    home = access.project(project)
    filters = Filters(
        project=home,
        scope=Scope(scope) if scope else None,
        domain=Domain(domain) if domain else None,
        is_active=not inactive,
        is_everywhere=is_everywhere,
        words=search,
    )

    def look(tx: Tx) -> tuple[list[Lesson], frozenset[str]]:
        return service.listing(tx, filters), block.told(tx, home)

    found, in_block = access.read(look)
    if is_json:
        show.as_json([record(each, each.id in in_block) for each in found])
    elif not found:
        show.line(tell("lessons.none"))
    else:
        show.table([row(each, each.id in in_block) for each in found])


def record(lesson: Lesson, is_told: bool) -> dict[str, object]:
    """Give the nine fields of learning.md 2, then `scope`, `project`, `told` (product.md 3)."""
    return {
        "id": lesson.id,
        "created": lesson.created,
        "domain": lesson.domain,
        "rule": lesson.rule,
        "rationale": lesson.rationale,
        "source_feedback": list(lesson.source_feedback),
        "positive_examples": lesson.positive_examples,
        "violations": lesson.violations,
        "active": lesson.active,
        "scope": lesson.scope,
        "project": lesson.project,
        "told": is_told,
    }


def row(lesson: Lesson, is_told: bool) -> tuple[str, ...]:
    """Give the cells of a lesson in a list."""
    state = "told" if is_told else "waiting" if lesson.active else "inactive"
    return (lesson.id, lesson.scope, lesson.domain, tell(f"lessons.{state}"), lesson.rule)


@lessons.command(help=tell("help.lessons_history"))
@click.argument("id", metavar="ID")
@show.json_option
def history(id: str, is_json: bool) -> None:
    """Show every wording of a lesson."""
    revisions = access.read(lambda tx: service.card(tx, id)).history
    if is_json:
        show.as_json([asdict(each) for each in revisions])
    else:
        show.table([_revision(each) for each in revisions])


def _revision(each: Revision) -> tuple[str, ...]:
    state = "" if each.active else tell("lessons.inactive")
    return (str(each.revision), each.at, each.who, each.scope, each.domain, state, each.rule)


@lessons.command(help=tell("help.lessons_add"))
@click.argument("rule", nargs=-1, required=True, metavar="RULE")
@click.option("--domain", type=DOMAINS, default=Domain.GENERAL.value, help=tell("option.domain"))
@click.option("--scope", type=SCOPES, help=tell("option.scope_of_new"))
@click.option("--why", default="", metavar="TEXT", help=tell("option.why"))
@show.project_option
@show.json_option
def add(
    rule: tuple[str, ...], domain: str, scope: str | None, why: str, project: str | None, is_json: bool
) -> None:
    """Add a lesson in one's own words."""
    home, now = access.project(project), access.CLOCK.now()
    # Naming a project means a lesson of that project; without one it is for every project.
    where = Scope(scope) if scope else Scope.PROJECT if project else Scope.GLOBAL

    def change(tx: Tx) -> tuple[Lesson, bool]:
        lesson = service.add(
            tx,
            " ".join(rule),
            Domain(domain),
            where,
            home,
            access.who(),
            access.SURFACE,
            now,
            rationale=why,
            batch=access.IDS.new(),
        )
        return lesson, lesson.id in block.told(tx, home)

    lesson, is_told = access.write(change)
    is_new = lesson.created == iso(now)
    _report("added" if is_new else "known", lesson, is_told, is_json)


def _report(what: str, lesson: Lesson, is_told: bool, is_json: bool) -> None:
    if is_json:
        show.as_json(record(lesson, is_told))
    else:
        show.line(tell(f"lessons.{what}", id=lesson.id, rule=lesson.rule))


@lessons.command(help=tell("help.lessons_edit"))
@click.argument("id", metavar="ID")
@click.argument("rule", nargs=-1, metavar="RULE")
@click.option("--domain", type=DOMAINS, help=tell("option.domain"))
@click.option("--scope", type=SCOPES, help=tell("option.scope"))
@show.project_option
@show.json_option
def edit(
    id: str,
    rule: tuple[str, ...],
    domain: str | None,
    scope: str | None,
    project: str | None,
    is_json: bool,
) -> None:
    """Give a lesson another wording, domain or scope."""
    if not (rule or domain or scope):
        raise Invalid("cli.lessons.nothing_to_edit")
    home, now, name, batch = access.project(project), access.CLOCK.now(), access.who(), access.IDS.new()

    def change(tx: Tx) -> tuple[Lesson, bool]:
        if rule:
            service.edit(tx, id, " ".join(rule), name, now, access.SURFACE, batch)
        if domain:
            service.set_domain(tx, id, Domain(domain), name, now, access.SURFACE, batch)
        if scope:
            service.set_scope(tx, id, Scope(scope), home, name, now, access.SURFACE, batch)
        return service.card(tx, id).lesson, id in block.told(tx, home)

    _report("edited", *access.write(change), is_json)


@lessons.command(help=tell("help.lessons_remove"))
@click.argument("id", metavar="ID")
@show.json_option
def remove(id: str, is_json: bool) -> None:
    """Disable a lesson; it is kept with its history."""
    now, batch = access.CLOCK.now(), access.IDS.new()
    lesson = access.write(lambda tx: service.disable(tx, id, access.who(), now, access.SURFACE, batch))
    _report("removed", lesson, False, is_json)


@lessons.command(help=tell("help.lessons_restore"))
@click.argument("id", metavar="ID")
@show.project_option
@show.json_option
def restore(id: str, project: str | None, is_json: bool) -> None:
    """Tell agents a disabled lesson again."""
    home, now, batch = access.project(project), access.CLOCK.now(), access.IDS.new()

    def change(tx: Tx) -> tuple[Lesson, bool]:
        lesson = service.enable(tx, id, access.who(), now, access.SURFACE, batch)
        return lesson, lesson.id in block.told(tx, home)

    _report("restored", *access.write(change), is_json)
