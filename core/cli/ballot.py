"""A vote cast from the terminal (product.md 3)."""

from dataclasses import dataclass, replace

from core.cli import access
from core.errors import NotFound
from core.model.feedback import Feedback, Source, Vote
from core.model.ids import SessionId
from core.model.proposal import Analysis, AnalysisState
from core.model.run import Run
from core.services import feedback as service
from core.services.feedback import Ballot, Cast
from core.tables import Tx


@dataclass(frozen=True, slots=True)
class TerminalBallot:
    """A vote from the terminal: about a session's newest run, else about the project's."""

    type: Vote
    comment: str
    project: str
    session: str | None

    def cast(self, tx: Tx) -> Cast:
        """Count it."""
        run = self._run(tx)
        ballot = Ballot(
            run=run.id if run else None,
            user=access.who(),
            type=self.type,
            source=Source.CLI,
            comment=self.comment,
            project=self.project,
        )
        return service.vote(tx, access.IDS, ballot, access.CLOCK.now(), 0.0)

    def note(self, tx: Tx) -> Feedback:
        """Count it and analyse nothing."""
        cast = self.cast(tx)
        service.just_note(tx, cast.feedback.id, access.who(), access.CLOCK.now())
        return cast.feedback

    def claim(self, tx: Tx) -> tuple[Cast, Analysis | None]:
        """Count it and take its analysis ourselves, before a bot that shares the store does.

        None where it is made already or under way; words that are new are kept all the same.
        """
        cast = self.cast(tx)
        waiting = cast.analysis
        if waiting is None or waiting.state in (AnalysisState.RUNNING, AnalysisState.DONE):
            return cast, None
        again = waiting.state in (AnalysisState.FAILED, AnalysisState.CANCELLED)
        running = taken(replace(waiting, tries=0) if again else waiting)
        tx.proposals.put_analysis(running)
        return cast, running

    def _run(self, tx: Tx) -> Run | None:
        if self.session is None:
            return tx.runs.newest(self.project)
        runs = tx.runs.of_session(SessionId(self.session), 1)
        if not runs:
            raise NotFound("cli.feedback.no_session", id=self.session)
        return runs[0]


def taken(analysis: Analysis) -> Analysis:
    """Give an analysis as it is while it is made."""
    return replace(analysis, state=AnalysisState.RUNNING, tries=analysis.tries + 1, error="")
