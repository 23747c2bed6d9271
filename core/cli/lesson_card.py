"""`auto-improve lessons show`: one lesson with its votes and its effect (product.md 1.5, learning.md 7)."""

from dataclasses import asdict

import click

from core.cli import access, block, show
from core.cli.lessons import record, row
from core.cli.speech import tell
from core.cli.spoken import SpokenCommand
from core.model.feedback import Feedback
from core.rules.effect import Interval, Votes
from core.services import lessons as service
from core.services.effect import Effect, of_lesson
from core.services.lessons import Card
from core.tables import Tx


@click.command("show", cls=SpokenCommand, help=tell("help.lessons_show"))
@click.argument("id", metavar="ID")
@show.project_option
@show.json_option
def show_(id: str, project: str | None, is_json: bool) -> None:
    """Show one lesson."""
    home = access.project(project)

    def look(tx: Tx) -> tuple[Card, Effect, bool]:
        card = service.card(tx, id)
        return card, of_lesson(tx, card.lesson), card.lesson.id in block.told(tx, home)

    card, effect, is_told = access.read(look)
    if is_json:
        show.as_json(record(card.lesson, is_told) | {"effect": _effect(effect)})
    else:
        _show_card(card, effect, is_told)


def _effect(effect: Effect) -> dict[str, object]:
    """Give counts, and shares with their 90 % intervals, never bare (learning.md 7)."""
    return {
        "told": asdict(effect.told) | {"share": asdict(effect.told_share)},
        "untold": asdict(effect.untold) | {"share": asdict(effect.untold_share)},
        "difference": asdict(effect.difference),
        "harmful": effect.is_harmful,
    }


def _said(votes: Votes, share: Interval) -> str:
    if not votes.runs:
        return tell("lessons.no_votes")
    low, high = round(100 * share.low), round(100 * share.high)
    return tell("lessons.share", bad=votes.negative, runs=votes.runs, low=low, high=high)


def _show_card(card: Card, effect: Effect, is_told: bool) -> None:
    lesson = card.lesson
    show.line("  ".join(row(lesson, is_told)[:4]))
    show.line(lesson.rule)
    show.field("why", lesson.rationale)
    show.field("project", lesson.project)
    show.field("counters", tell("lessons.counters", good=lesson.positive_examples, broken=lesson.violations))
    show.field("effect_told", _said(effect.told, effect.told_share))
    show.field("effect_untold", _said(effect.untold, effect.untold_share))
    show.field("merged_into", lesson.merged_into)
    for vote in card.sources:
        show.field("source", _source(vote, vote in card.withdrawn))
    show.field("since", lesson.created)


def _source(vote: Feedback, is_withdrawn: bool) -> str:
    said = vote.user_comment or ", ".join(vote.reasons) or vote.context
    return f"{said} ({tell('lessons.withdrawn')})" if is_withdrawn else said
