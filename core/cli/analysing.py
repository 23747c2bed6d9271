"""`auto-improve feedback bad`: a 👎 that is analysed in the foreground (product.md 3)."""

import asyncio
from dataclasses import replace
from pathlib import Path

import click

from core.app import Core, open_core
from core.cli import access, feedback, proposals, show
from core.cli.ballot import TerminalBallot, taken
from core.cli.speech import language, tell
from core.cli.spoken import SpokenCommand
from core.errors import AnalysisFailed, Refused
from core.model.evidence import Evidence
from core.model.feedback import Feedback, Vote
from core.model.proposal import Analysis, AnalysisState, Verdict
from core.services import analysis as analyses
from core.services.analysis import Conclusion
from core.texts import has, say, say_error


@click.command("bad", cls=SpokenCommand, help=tell("help.feedback_bad"))
@click.argument("comment", nargs=-1, metavar="[COMMENT]")
@show.project_option
@click.option("--session", metavar="ID", help=tell("option.session"))
@click.option("--no-analysis", "is_noted", is_flag=True, help=tell("option.no_analysis"))
@show.json_option
def bad(
    comment: tuple[str, ...], project: str | None, session: str | None, is_noted: bool, is_json: bool
) -> None:
    """Say that an answer was bad; what went wrong is analysed now."""
    access.require_person()
    ballot = TerminalBallot(Vote.NEGATIVE, " ".join(comment), access.project(project), session)
    if is_noted:
        vote = access.write(ballot.note)
        _report_noted(vote, is_json)
    else:
        asyncio.run(_vote_and_analyse(ballot, is_json))


def _report_noted(vote: Feedback, is_json: bool) -> None:
    if is_json:
        show.as_json(
            {"feedback": feedback.record(vote), "verdict": None, "proposal": None, "lesson": None, "note": ""}
        )
    else:
        show.line(tell("feedback.noted_bad", about=feedback.about(vote)))


async def _vote_and_analyse(ballot: TerminalBallot, is_json: bool) -> None:
    """Commit the vote first; whatever becomes of the analysis, it is kept."""
    async with open_core(access.settings()) as core:
        cast, analysis = await core.store.write(ballot.claim)
        if analysis is None:
            raise Refused("cli.feedback.analysed_already", about=feedback.about(cast.feedback))
        if not is_json:
            click.echo(tell("feedback.analysing"), err=True)
        done = await _analyse(core, analysis, ballot)
        while done.is_stale and done.analysis.state is AnalysisState.READY:
            again = taken(done.analysis)
            await core.store.write(lambda tx, again=again: tx.proposals.put_analysis(again))  # type: ignore[misc]
            done = await _analyse(core, again, ballot)
        await access.publish(core.store, core.settings)
    if done.analysis.state is AnalysisState.FAILED:
        raise AnalysisFailed("cli.feedback.analysis_failed", reason=_said(done.analysis.error))
    _report(cast.feedback, done, is_json)


def _said(error: str) -> str:
    return say(error, language()) if has(error) else error


async def _analyse(core: Core, analysis: Analysis, ballot: TerminalBallot) -> Conclusion:
    """Ask the analyst once. Raises AnalysisFailed, noted in the store; an interruption is noted too."""
    try:
        return await _conclude(core, analysis, ballot)
    except AnalysisFailed as error:
        reason = say_error(error, language())
        await core.store.write(lambda tx: analyses.fail(tx, analysis.id, reason, core.clock.now()))
        raise AnalysisFailed("cli.feedback.analysis_failed", reason=reason.rstrip(".")) from error
    except asyncio.CancelledError:
        reason = tell("interrupted")
        await core.store.write(lambda tx: analyses.fail(tx, analysis.id, reason, core.clock.now()))
        raise


async def _conclude(core: Core, analysis: Analysis, ballot: TerminalBallot) -> Conclusion:
    seen = await core.store.read(lambda tx: analyses.evidence(tx, analysis))
    if seen.run is None or seen.run.session is None:
        seen = replace(seen, language=language())
    finding = await core.analyst.analyse(seen, core.spec(_folder(seen, ballot)))
    return await core.store.write(
        lambda tx: analyses.conclude(tx, analysis.id, finding, core.clock.now(), seen)
    )


def _folder(seen: Evidence, ballot: TerminalBallot) -> Path:
    """Give the run's own folder while it exists: the analyst starts where the agent did."""
    folder = Path(seen.run.project if seen.run and seen.run.project else ballot.project)
    return folder if folder.is_dir() else Path(ballot.project)


def _report(vote: Feedback, done: Conclusion, is_json: bool) -> None:
    made = done.proposal
    if is_json:
        told = {
            "feedback": feedback.record(vote),
            "verdict": done.verdict,
            "proposal": proposals.record(made) if made else None,
            "lesson": done.lesson.id if done.lesson else None,
            "note": _note(done),
        }
        show.as_json(told)
        return
    if done.verdict is Verdict.VIOLATED and done.lesson is not None:
        lesson = done.lesson
        show.line(tell("feedback.violated", id=lesson.id, times=done.violations, rule=lesson.rule))
    if made is not None:
        proposals.card(made)
        show.line(tell("feedback.decide", id=made.id))
    elif done.is_stale:
        show.line(tell("feedback.outdated"))
    elif done.verdict is not Verdict.VIOLATED:
        show.line(tell("feedback.nothing", note=_note(done)))


def _note(done: Conclusion) -> str:
    return say(done.why, language()) if done.why else done.note
