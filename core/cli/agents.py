"""`auto-improve agents`: who there is, and what each can do (learning.md 8)."""

import shlex

import click

from core.cli import access, show
from core.cli.group import ListGroup
from core.cli.speech import tell
from core.errors import Invalid
from core.model.agent import Agent, AgentKind
from core.services import agents as service
from core.services import capabilities
from core.services.capabilities import Profile
from core.services.changes import By

KINDS = click.Choice([each.value for each in AgentKind if each is not AgentKind.SCRIPTED])


@click.group("agents", cls=ListGroup, prefix="agents_", help=tell("help.agents"))
def agents() -> None:
    """Group the commands about agents."""


@agents.command("list", help=tell("help.agents_list"))
@show.project_option
@show.json_option
def list_(project: str | None, is_json: bool) -> None:
    """List agents with their capabilities; an agent may ask too: no body is in it."""
    home = access.project(project)
    found = access.read(lambda tx: capabilities.profiles(tx, home))
    is_person = access.agent() is None
    if is_json:
        show.as_json([record(each, is_person=is_person) for each in found])
        return
    for each in found:
        show.line("  ".join((each.agent.id, each.agent.kind, each.agent.name)))
        rows = [(f"- {one.name}", f"({one.kind})", one.description) for one in each.capabilities]
        show.table(rows or [(tell("agents.nothing"),)])


def record(profile: Profile, *, is_person: bool) -> dict[str, object]:
    """Give an agent as scripts read it: what MCP shows, and for people how it is started."""
    command = {"command": list(profile.agent.command)} if is_person else {}
    return capabilities.record(profile) | command


@agents.command(help=tell("help.agents_add"))
@click.argument("id", metavar="ID")
@click.option("--kind", type=KINDS, default=AgentKind.PI.value, help=tell("option.agent_kind"))
@click.option("--name", default="", metavar="TEXT", help=tell("option.agent_name"))
@click.option("--command", default="", metavar="LINE", help=tell("option.agent_command"))
@click.option("--project", metavar="DIR", help=tell("option.agent_project"))
@show.json_option
def add(id: str, kind: str, name: str, command: str, project: str | None, is_json: bool) -> None:
    """Register an agent."""
    home = access.project(project) if project else None
    argv, by = _words(command), _by()
    made = access.write(
        lambda tx: service.add(tx, id, AgentKind(kind), by, name=name, command=argv, project=home)
    )
    _report("added", made, is_json)


def _words(line: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        raise Invalid("cli.agents.bad_command", reason=error) from None


@agents.command(help=tell("help.agents_remove"))
@click.argument("id", metavar="ID")
@show.json_option
def remove(id: str, is_json: bool) -> None:
    """Forget an agent and what it was given."""
    by = _by()
    _report("removed", access.write(lambda tx: service.remove(tx, id, by)), is_json)


def _by() -> By:
    return By(access.who(), access.CLOCK.now(), access.SURFACE, access.IDS.new())


def _report(what: str, agent: Agent, is_json: bool) -> None:
    if is_json:
        show.as_json(record(Profile(agent, (), ()), is_person=True))
    else:
        show.line(tell(f"agents.{what}", id=agent.id, kind=agent.kind))
