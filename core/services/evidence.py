"""Gather what an analysis reads: the run, what came before, the words, the lessons (product.md 1.3.3)."""

from core.model.evidence import Evidence, Exchange
from core.model.feedback import Feedback
from core.model.ids import LessonId, SessionId, number_of
from core.model.lesson import Choice, Lesson
from core.model.proposal import Analysis
from core.model.run import Run, Session
from core.tables import CoreTx

EXCHANGES = 3
MOST_IN_SCOPE = 60
_SOUGHT_CHARS = 4_000
_LOOK_BACK = 200  # runs searched for the three before the voted one


def gather(tx: CoreTx, analysis: Analysis) -> Evidence:
    """Read everything about one 👎 at once; texts are masked already and cut by the analyst."""
    vote = tx.feedback.get(analysis.feedback)
    run = tx.runs.get(analysis.run) if analysis.run else None
    session = tx.runs.session(SessionId(run.session)) if run and run.session else None
    told = told_lessons(tx, run)
    draft = tx.proposals.get(analysis.proposal) if analysis.proposal else None
    return Evidence(
        run=run,
        language=session.language if session else "en",
        words=vote.user_comment if vote else "",
        reasons=vote.reasons if vote else (),
        before=_before(tx, run),
        first_prompt=_first_prompt(session, run),
        told=told,
        in_scope=_in_scope(tx, project_of(run, vote), told, _said(vote, run, analysis.remark)),
        sharpen=tx.lessons.get(analysis.sharpen) if analysis.sharpen else None,
        remark=analysis.remark,
        draft=draft.rule if draft else "",
    )


def project_of(run: Run | None, vote: Feedback | None) -> str | None:
    """Give the project that the evidence is from."""
    if run is not None:
        return run.project
    return vote.project if vote is not None else None


def told_lessons(tx: CoreTx, run: Run | None) -> tuple[Lesson, ...]:
    """Give the lessons a run was told, as they are now."""
    found = [tx.lessons.get(LessonId(each)) for each in run.told] if run else []
    return tuple(lesson for lesson in found if lesson is not None)


def _first_prompt(session: Session | None, run: Run | None) -> str:
    first = session.first_prompt if session else ""
    return "" if run is not None and first == run.prompt else first


def _before(tx: CoreTx, run: Run | None) -> tuple[Exchange, ...]:
    """Give the exchanges before a run, oldest first."""
    if run is None or run.session is None:
        return ()
    earlier = [each for each in tx.runs.of_session(run.session, _LOOK_BACK) if each.id < run.id]
    return tuple(Exchange(each.prompt, each.answer) for each in reversed(earlier[:EXCHANGES]))


def _in_scope(tx: CoreTx, project: str | None, told: tuple[Lesson, ...], text: str) -> tuple[Lesson, ...]:
    """Give the lessons a verdict may name: all while they are few, else those told and the nearest.

    What has no words in common with the evidence may still be meant: the newest fill what is left.
    """
    if tx.lessons.count(Choice(project)) <= MOST_IN_SCOPE:
        return tuple(tx.lessons.active(project))
    told_now = [each.id for each in told if each.active and each.reaches(project)]
    near = [each.id for each, _ in tx.lessons.nearest(text, project, MOST_IN_SCOPE)]
    newest = [id for id, _ in tx.lessons.told_sizes(project)[:MOST_IN_SCOPE]]
    chosen = list(dict.fromkeys((*told_now, *near, *newest)))[:MOST_IN_SCOPE]
    found = [lesson for each in chosen if (lesson := tx.lessons.get(each)) is not None]
    return tuple(sorted(found, key=lambda each: number_of(each.id)))


def _said(vote: Feedback | None, run: Run | None, remark: str) -> str:
    """Give what lessons are looked for by: the person's words, the prompt, the commands that failed."""
    failed = [each.command for each in run.calls if each.is_error] if run else []
    words = (remark, vote.user_comment if vote else "", run.prompt if run else "", *failed)
    return "\n".join(word for word in words if word)[:_SOUGHT_CHARS]
