"""`auto-improve lessons similar|consolidate`: what is near a text, what could be one (learning.md 3)."""

import sys
from typing import cast

import click

from core.cli import access, show
from core.cli.filters import values
from core.cli.proposals import record
from core.cli.speech import tell
from core.cli.spoken import SpokenCommand
from core.errors import Invalid
from core.model.lesson import Lesson
from core.model.proposal import Proposal
from core.services import consolidation
from core.services.similarity import Similar, same
from core.services.similarity import similar as nearest
from core.tables import Tx

MOST = 100
MAY_CONTRADICT = "may contradict"


@click.command("similar", cls=SpokenCommand, help=tell("help.lessons_similar"))
@click.argument("text", nargs=-1, metavar="[TEXT]")
@click.option("--stdin", "is_stdin", is_flag=True, help=tell("option.stdin"))
@click.option(
    "--limit", type=click.IntRange(1, MOST), default=5, show_default=True, help=tell("option.limit")
)
@show.project_option
@show.json_option
def similar(text: tuple[str, ...], is_stdin: bool, limit: int, project: str | None, is_json: bool) -> None:
    """Find the lessons nearest to a text, best first."""
    if is_stdin is bool(text):
        raise Invalid("cli.lessons.similar_what")
    home = access.project(project)
    texts = _texts() if is_stdin else [" ".join(text)]
    found, equal = access.read(lambda tx: _found(tx, texts, home, limit))
    if is_stdin:
        for each in found:
            click.echo(show.encode([_record(one) for one in each]))
    elif is_json:
        show.as_json([_record(each) for each in found[0]])
    else:
        for lesson in equal:
            show.line(tell("lessons.known", id=lesson.id, rule=lesson.rule))
        if found[0]:
            show.table([_row(each) for each in found[0]])
        elif not equal:
            show.line(tell("lessons.none_similar"))


def _found(tx: Tx, texts: list[str], project: str, limit: int) -> tuple[list[list[Similar]], list[Lesson]]:
    """Look for each text; what says the same is told for a single one."""
    equal = same(tx, texts[0], project) if len(texts) == 1 else []
    return [nearest(tx, each, project, limit) for each in texts], equal


def _texts() -> list[str]:
    """Read a JSON string a line. Raises Invalid."""
    found = list(values("inspect.no_json"))
    for number, value in found:
        if not isinstance(value, str):
            raise Invalid("cli.inspect.no_json", number=number, reason=type(value).__name__)
    return [cast(str, value) for _, value in found]


def _record(each: Similar) -> dict[str, object]:
    warning = MAY_CONTRADICT if each.may_contradict else None
    return {"id": each.lesson.id, "score": round(each.score, 3), "warning": warning}


def _row(each: Similar) -> tuple[str, ...]:
    warning = tell("lessons.may_contradict") if each.may_contradict else ""
    return (each.lesson.id, f"{each.score:.1f}", warning, each.lesson.rule)


@click.command("consolidate", cls=SpokenCommand, help=tell("help.lessons_consolidate"))
@show.json_option
def consolidate(is_json: bool) -> None:
    """Put what is nearly the same, and what may contradict, before a person."""
    access.require_person()
    groups = access.read(lambda tx: consolidation.survey(tx, _progress))
    now, who = access.CLOCK.now(), access.who()

    def propose(tx: Tx) -> list[dict[str, object]]:
        made = consolidation.propose(tx, groups, now, who, access.SURFACE)
        return [
            record(each) | {"absorbs": list(each.absorbs), "conflicts": list(each.conflicts)} for each in made
        ]

    made = access.write(propose) if groups else []
    if is_json:
        show.as_json(made)
    elif not made:
        show.line(tell("lessons.nothing_to_consolidate"))
    else:
        show.table([_proposed(each) for each in made])
        show.line(tell("lessons.consolidated", count=len(made)))


def _made(each: Proposal) -> dict[str, object]:
    return record(each) | {"absorbs": list(each.absorbs), "conflicts": list(each.conflicts)}


def _progress(done: int, of: int) -> None:
    """Show on a terminal how far a long survey is."""
    if sys.stderr.isatty() and (done % 100 == 0 or done == of) and of > 100:
        click.echo(f"\r{tell('lessons.surveyed', done=done, of=of)}", nl=done == of, err=True)


def _proposed(made: dict[str, object]) -> tuple[str, ...]:
    merged = ", ".join([str(made["lesson"]), *cast(list[str], made["absorbs"])])
    warning = tell("lessons.may_contradict") if made["conflicts"] else ""
    return (str(made["id"]), merged, warning, str(made["rule"]))
