"""`auto-improve skills`: what there is to give to agents, and reading what one was given (learning.md 8)."""

import asyncio
import os

import click

from core.cli import access, show
from core.cli.group import ListGroup
from core.cli.speech import language, tell
from core.model.agent import Assignment
from core.model.skill import Skill
from core.services import capabilities, shelf
from core.services.changes import By
from core.services.shelf import Entry, Shelf
from core.store.sqlite import open_store
from core.tables import Tx
from core.texts import say_error


@click.group("skills", cls=ListGroup, prefix="skills_", help=tell("help.skills"))
def skills() -> None:
    """Group the commands about skills."""


@skills.command("list", help=tell("help.skills_list"))
@show.project_option
@show.json_option
def list_(project: str | None, is_json: bool) -> None:
    """List every skill and who has it; for people (an agent sees what it has)."""
    access.require_person()
    found = _look(project)
    if is_json:
        show.as_json([record(each) for each in found.entries])
    elif not found.entries:
        show.line(tell("skills.none"))
    else:
        show.table([_row(each) for each in found.entries])
    for each in found.refused:
        refused = tell("skills.refused", path=each.path, reason=say_error(each.error, language()))
        click.echo(" ".join(refused.split()), err=True)


def _look(project: str | None) -> Shelf:
    settings, home = access.settings(), access.project(project)
    return access.read(lambda tx: shelf.look(tx, settings, home, os.environ))


def record(entry: Entry) -> dict[str, object]:
    """Give a skill as scripts read it."""
    skill = entry.skill
    return {
        "name": skill.name,
        "kind": skill.kind,
        "description": skill.description,
        "scope": skill.scope,
        "project": skill.project,
        "origin": skill.origin,
        "path": skill.path,
        "assigned": [each.agent for each in entry.holders],
        "changed": list(entry.changed),
        "reads": entry.reads,
        "there": entry.is_there,
    }


def _row(entry: Entry) -> tuple[str, ...]:
    skill = entry.skill
    holders = ", ".join(each.agent for each in entry.holders) or "-"
    return (skill.name, skill.kind, skill.scope, holders, skill.origin, skill.description)


@skills.command("show", help=tell("help.skills_show"))
@click.argument("name", metavar="NAME")
@show.project_option
@show.json_option
def show_(name: str, project: str | None, is_json: bool) -> None:
    """Show one skill with its body; for people."""
    access.require_person()
    entry = _look(project).need(name)
    if is_json:
        show.as_json(record(entry) | {"body": entry.skill.body})
        return
    show.line("  ".join(_row(entry)[:3]))
    show.line(entry.skill.description)
    show.field("came_from", entry.skill.origin)
    show.field("project", entry.skill.project)
    show.field("file", entry.skill.path)
    show.field("assigned", ", ".join(_held(each, entry) for each in entry.holders))
    show.field("reads", entry.reads)
    show.text(entry.skill.body if entry.is_there else tell("skills.gone"))


def _held(given: Assignment, entry: Entry) -> str:
    is_changed = given.agent in entry.changed
    return tell("skills.changed", agent=given.agent) if is_changed else given.agent


def agent_choice(command: show.F) -> show.F:
    """Take the agent as second word or as an option; Pi where none is named."""
    command = click.option("--agent", "option", metavar="ID", help=tell("option.agent_of_skill"))(command)
    return click.argument("agent", metavar="[AGENT]", required=False)(command)


@skills.command(help=tell("help.skills_assign"))
@click.argument("name", metavar="NAME")
@agent_choice
@show.project_option
@show.json_option
def assign(name: str, agent: str | None, option: str | None, project: str | None, is_json: bool) -> None:
    """Give a skill to an agent, as it is now."""
    settings, home, by = access.settings(), access.project(project), _by()
    wanted = agent or option or access.AGENT

    def change(tx: Tx) -> Entry:
        shelf.assign(tx, shelf.look(tx, settings, home, os.environ), name, wanted, by)
        return shelf.look(tx, settings, home, os.environ).need(name)

    _report("assigned", access.write(change), wanted, is_json)


@skills.command(help=tell("help.skills_unassign"))
@click.argument("name", metavar="NAME")
@agent_choice
@show.project_option
@show.json_option
def unassign(name: str, agent: str | None, option: str | None, project: str | None, is_json: bool) -> None:
    """Take a skill from an agent."""
    settings, home, by = access.settings(), access.project(project), _by()
    wanted = agent or option or access.AGENT

    def change(tx: Tx) -> Entry:
        before = shelf.look(tx, settings, home, os.environ)
        capabilities.unassign(tx, wanted, name, by)
        after = shelf.look(tx, settings, home, os.environ)
        return next((each for each in after.entries if each.skill.name == name), before.need(name))

    _report("unassigned", access.write(change), wanted, is_json)


def _by() -> By:
    return By(access.who(), access.CLOCK.now(), access.SURFACE, access.IDS.new())


def _report(what: str, entry: Entry, agent: str, is_json: bool) -> None:
    if is_json:
        show.as_json(record(entry))
    else:
        show.line(tell(f"skills.{what}", name=entry.skill.name, agent=agent))


@skills.command(help=tell("help.skills_read"))
@click.argument("name", metavar="NAME")
@show.json_option
def read(name: str, is_json: bool) -> None:
    """Print the body of a skill that this agent has; whose agent it is, its host says, never an argument."""
    home, now, me = access.project(None), access.CLOCK.now(), access.identity()

    async def run() -> Skill:  # counts the reading, changes nothing that others are told
        async with open_store(access.settings().store_path) as store:
            return await store.write(lambda tx: capabilities.read(tx, me, name, home, now))

    skill = asyncio.run(run())
    if is_json:
        about = {"name": skill.name, "kind": skill.kind, "description": skill.description}
        show.as_json(about | {"body": skill.body})
    else:
        show.text(skill.body)
