"""`auto-improve report`: what recurs, what was learned, and whether it helps (product.md 3)."""

from collections.abc import Sequence

import click

from core.cli import access, show, stores
from core.cli.speech import tell
from core.cli.spoken import SpokenCommand
from core.rules.mining import State
from core.services import report as service
from core.services.pattern_gate import Gate
from core.services.report import Rate, Report


@click.command("report", cls=SpokenCommand, help=tell("help.report"))
@show.project_option
@click.option("--all", "is_all", is_flag=True, help=tell("option.all_projects"))
@show.json_option
def report(project: str | None, is_all: bool, is_json: bool) -> None:
    """Print the report."""
    where, now = (None if is_all else access.project(project)), access.CLOCK.now()

    async def make(gate: Gate) -> Report:
        counted = await gate.traces.read(lambda tx: service.count(tx, where))
        return service.report(counted, await gate.listing(where, now, tuple(State)))

    made = stores.look(make)
    if is_json:
        show.as_json(service.as_record(made))
    elif not made.counted.weeks:
        show.line(tell("report.nothing"))
    else:
        _show(made)


def _show(made: Report) -> None:
    weeks = made.counted.weeks.items()
    _section("weeks", [(service.week_of(week), *_rate(Rate(one.failures, one.calls))) for week, one in weeks])
    tools = made.counted.tools.items()
    _section("tools", [(tool, *_rate(Rate(one.failures, one.calls))) for tool, one in tools])
    top = [
        (each.id, each.state, *_rate(Rate(each.pattern.failures, each.calls)), each.line.removeprefix("- "))
        for each in made.top
    ]
    _section("top", top)
    show.line(tell("report.candidates", count=len(made.candidates)))
    effects = [
        (each.standing.id, each.standing.state, *_rate(each.before), "→", *_rate(each.after))
        for each in made.accepted
    ]
    _section("accepted", effects)
    _section("skills", [(name,) for name in made.skills])


def _section(key: str, rows: Sequence[tuple[str, ...]]) -> None:
    show.line(tell(f"report.{key}"))
    show.table([("", *row) for row in rows] or [("", tell("report.none"))])


def _rate(rate: Rate) -> tuple[str, str]:
    share = "–" if rate.share is None else f"{100 * rate.share:.0f} %"
    return share, tell("report.rate", failures=rate.failures, calls=rate.calls)
