"""`/stats`: feedback and failures a week, what was learned, and what helps; never a bare percentage."""

from collections import Counter
from datetime import date, timedelta

from bot import chats
from bot.dispatch import Command, Said
from bot.draft import Draft, clip
from bot.locales import say
from bot.outbox import post
from bot.turn import Desk, Reply
from core.model.feedback import Vote
from core.rules.effect import Interval
from core.tables import Tx

WEEKS = 4
SHOWN_LESSONS = 5
MIN_VOTES = 5  # of each kind: below that an interval says nothing to a person
_READ_VOTES = 5000


def show(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """`/stats`."""
    session = chats.session_of(tx, desk, said.lane, said.language, said.now)
    draft = Draft().bold(say("stats.title", said.language)).line()
    _votes(tx, draft, said.language)
    _failures(desk, draft, said.language)
    _learned(tx, desk, draft, session.project, said.language)
    _effects(tx, draft, session.project, said.language)
    post(tx, said.lane, draft.message(), now=said.now)
    return None


def _votes(tx: Tx, draft: Draft, language: str) -> None:
    weeks: dict[str, Counter[Vote]] = {}
    for vote in tx.feedback.newest(_READ_VOTES):
        weeks.setdefault(_monday(vote.timestamp[:10]), Counter())[vote.type] += 1
    draft.line().bold(say("stats.votes", language))
    for week in sorted(weeks)[-WEEKS:]:
        good, bad = weeks[week][Vote.POSITIVE], weeks[week][Vote.NEGATIVE]
        draft.line(f"{week}: 👍 {good} · 👎 {bad}")
    if not weeks:
        draft.line(say("stats.nothing", language))
    draft.line()


def _monday(day: str) -> str:
    parsed = date.fromisoformat(day)
    return (parsed - timedelta(days=parsed.weekday())).isoformat()


def _failures(desk: Desk, draft: Draft, language: str) -> None:
    from core.services.report import week_of  # noqa: PLC0415 -- an idle bot does not pay for it

    weeks = desk.sightings.weeks
    draft.line().bold(say("stats.failures", language))
    for week, usage in list(weeks.items())[-WEEKS:]:
        told = {"failures": usage.failures, "calls": usage.calls}
        draft.line(f"{week_of(week)}: {say('stats.rate', language, **told)}")
    if not weeks:
        draft.line(say("stats.nothing", language))
    draft.line()


def _learned(tx: Tx, desk: Desk, draft: Draft, project: str, language: str) -> None:
    from core.services import measures  # noqa: PLC0415

    made = measures.measure(tx, project, desk.settings)
    told = {"active": made.active, "told": made.told, "decided": made.decided, "unchanged": made.unchanged}
    draft.line().bold(say("stats.learned", language)).line(say("stats.lessons", language, **told))
    if made.decision_s is not None:
        draft.line(say("stats.decision", language, minutes=round(made.decision_s / 60)))
    if made.repeats:
        draft.line(say("stats.repeats", language, lessons=made.repeated, times=made.repeats))
    draft.line()


def _effects(tx: Tx, draft: Draft, project: str, language: str) -> None:
    """Say of the lessons with votes enough what they change, with the interval."""
    from core.services import effect  # noqa: PLC0415

    found = effect.of_lessons(tx, tx.lessons.active(project))
    telling = [each for each in found if min(each.told.runs, each.untold.runs) >= MIN_VOTES]
    if not telling:
        return
    draft.line().bold(say("stats.effects", language))
    for each in telling[:SHOWN_LESSONS]:
        draft.line(f"{each.lesson.id} {clip(each.lesson.rule, 80)}")
        facts = {"with_it": _share(each.told_share, language), "without": _share(each.untold_share, language)}
        runs = {"told": each.told.runs, "untold": each.untold.runs}
        draft.line(say("stats.effect", language, **facts, **runs))
    draft.line()


def _share(interval: Interval, language: str) -> str:
    return say("share", language, low=round(100 * interval.low), high=round(100 * interval.high))


COMMANDS = (Command("stats", "learning", show),)
