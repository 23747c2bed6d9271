"""`auto-improve feedback`: votes from the terminal, and the list of them (product.md 3)."""

import click

from core.cli import access, show
from core.cli.ballot import TerminalBallot
from core.cli.group import ListGroup
from core.cli.speech import tell
from core.model.feedback import Feedback, Vote

LISTED = 50


LAZY = {"bad": "core.cli.analysing:bad", "purge": "core.cli.purging:feedback"}


@click.group("feedback", cls=ListGroup, lazy=LAZY, prefix="feedback_", help=tell("help.feedback"))
def feedback() -> None:
    """Group the commands about votes."""


@feedback.command("list", help=tell("help.feedback_list"))
@show.project_option
@click.option("--all", "is_everywhere", is_flag=True, help=tell("option.all_projects"))
@click.option("--limit", type=click.IntRange(1, 100_000), default=LISTED, help=tell("option.limit"))
@show.json_option
def list_(project: str | None, is_everywhere: bool, limit: int, is_json: bool) -> None:
    """List the votes that stand, newest first."""
    home = None if is_everywhere else access.project(project)
    found = access.read(lambda tx: tx.feedback.newest(limit, home))
    if is_json:
        show.as_json([record(each) for each in found])
    elif not found:
        show.line(tell("feedback.none"))
    else:
        show.table([_row(each) for each in found])


def record(vote: Feedback) -> dict[str, object]:
    """Give the fields of learning.md 1."""
    return {
        "id": vote.id,
        "timestamp": vote.timestamp,
        "type": vote.type,
        "source": vote.source,
        "session": vote.session,
        "project": vote.project,
        "domain": vote.domain,
        "context": vote.context,
        "user_comment": vote.user_comment,
        "run": vote.run,
        "user": vote.user,
        "reasons": list(vote.reasons),
    }


def _row(vote: Feedback) -> tuple[str, ...]:
    sign = {Vote.POSITIVE: "👍", Vote.NEGATIVE: "👎"}.get(vote.type, "·")
    said = vote.user_comment or ", ".join(vote.reasons) or vote.context
    return (vote.timestamp, sign, vote.source, vote.domain, said)


@feedback.command(help=tell("help.feedback_good"))
@click.argument("comment", nargs=-1, metavar="[COMMENT]")
@show.project_option
@click.option("--session", metavar="ID", help=tell("option.session"))
@show.json_option
def good(comment: tuple[str, ...], project: str | None, session: str | None, is_json: bool) -> None:
    """Say that an answer was good."""
    ballot = TerminalBallot(Vote.POSITIVE, " ".join(comment), access.project(project), session)
    cast = access.write(ballot.cast)
    if is_json:
        show.as_json(record(cast.feedback))
    else:
        show.line(tell("feedback.noted_good", about=about(cast.feedback)))


def about(vote: Feedback) -> str:
    """Say what a vote is about."""
    return vote.context or tell("feedback.no_run")
