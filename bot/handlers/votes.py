"""👍 and 👎: by button, by command, and the words that go with them (product.md 1.2, 1.3)."""

from bot import cards, delivery
from bot.callbacks import Kind
from bot.dispatch import Command, Said, Tap
from bot.locales import say
from bot.outbox import Message, last_message, post
from bot.turn import Desk, Reply
from core.model.feedback import Feedback, Source, Vote
from core.model.ids import RunId
from core.model.proposal import Analysis
from core.services import feedback, runs
from core.services.feedback import Ballot, Cast
from core.tables import Tx

_VOTES = {"up": Vote.POSITIVE, "down": Vote.NEGATIVE}


def tap_vote(tx: Tx, desk: Desk, tap: Tap) -> Reply | None:
    """Take a vote, a reason, or a look at what came of it."""
    run = RunId(str(tap.payload["run"]))
    if tap.choice in _VOTES:
        ballot = Ballot(run, tap.user, _VOTES[tap.choice], Source.TELEGRAM)
        return _cast(tx, desk, ballot, tap.language, tap.now)
    standing = tx.feedback.current(run, tap.user)
    if standing is None or standing.type is not Vote.NEGATIVE:
        return Reply(toast=say("toast.not_your_vote", tap.language))
    if tap.choice in feedback.REASONS:
        feedback.add_reason(tx, standing.id, tap.user, tap.choice, tap.now)
        delivery.refresh(tx, run, tap.user, tap.now)
        return Reply(toast=say("toast.analysing", tap.language))
    return _follow_up(tx, desk, tap, standing)


def _follow_up(tx: Tx, desk: Desk, tap: Tap, standing: Feedback) -> Reply | None:
    match tap.choice:
        case "other":
            feedback.await_comment(tx, standing.id, tap.user, tap.now)
            message = Message(say("vote.ask_comment", tap.language), asks_reply=True)
            post(tx, tap.lane, message, now=tap.now, ref=f"comment:{standing.id}", reply_to=tap.message)
            return None
        case "note":
            feedback.just_note(tx, standing.id, tap.user, tap.now)
            delivery.refresh(tx, standing.run, tap.user, tap.now)
            return Reply(toast=say("toast.noted", tap.language))
        case "wait":
            return Reply(toast=say("toast.analysing", tap.language))
        case _:
            return _lead(tx, desk, tap, standing)


def _cast(tx: Tx, desk: Desk, ballot: Ballot, language: str, now: float) -> Reply:
    """Count a vote and bring everything it touches up to date."""
    cast = feedback.vote(tx, desk.ids, ballot, now, desk.settings.analysis_delay_s)
    cards.note_withdrawals(tx, desk, cast.withdrawn, now)
    delivery.refresh(tx, ballot.run, ballot.user, now)
    toast = _toast(cast, ballot.type, language)
    if not _is_first(tx, ballot):
        return Reply(toast=toast)
    return Reply(toast=f"{toast} {say(f'first.{ballot.type}', language)}", is_alert=True)


def _is_first(tx: Tx, ballot: Ballot) -> bool:
    """Say once of each person that this is their first 👍, and once their first 👎."""
    name = f"explained:{ballot.type}:{ballot.user}"
    is_first = tx.settings.get(name) is None
    if is_first:
        tx.settings.put(name, "yes")
    return is_first


def _toast(cast: Cast, vote: Vote, language: str) -> str:
    if not cast.is_changed:
        return say("toast.already", language)
    return say("toast.good" if vote is Vote.POSITIVE else "toast.bad", language)


def _lead(tx: Tx, desk: Desk, tap: Tap, standing: Feedback) -> Reply | None:
    """Lead to what came of a 👎: its card, by a short reply to it."""
    analyses = tx.proposals.analyses_of(standing.id)
    newest = analyses[-1] if analyses else None
    where = _where(tx, newest) if newest is not None else None
    if where is None:
        return Reply(toast=say("vote.nothing", tap.language))
    del desk
    post(tx, tap.lane, Message(say("vote.here", tap.language)), now=tap.now, reply_to=where)
    return None


def _where(tx: Tx, analysis: Analysis) -> str | None:
    refs = [f"analysis:{analysis.id}"]
    if analysis.proposal is not None:
        refs.insert(0, cards.ref_of(analysis.proposal))
    return last_message(tx, refs)


def good(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """`/good [comment]`: as a reply to an answer, else about this session's last one."""
    return _command(tx, desk, said, Vote.POSITIVE)


def bad(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """`/bad [comment]`: as a reply to an answer, else about this session's last one."""
    return _command(tx, desk, said, Vote.NEGATIVE)


def _command(tx: Tx, desk: Desk, said: Said, vote: Vote) -> Reply | None:
    run = _voted_run(tx, said)
    if run is None:
        post(tx, said.lane, Message(say("vote.no_run", said.language)), now=said.now)
        return None
    ballot = Ballot(run, said.user, vote, Source.TELEGRAM, said.text)
    reply = _cast(tx, desk, ballot, said.language, said.now)
    post(tx, said.lane, Message(reply.toast), now=said.now, reply_to=said.message or None)
    return reply


def _voted_run(tx: Tx, said: Said) -> RunId | None:
    kind, _, name = said.about.partition(":")
    if kind == "run":
        return RunId(name)
    session = tx.runs.current_session(said.lane)
    run = runs.last_run(tx, session.id) if session is not None else None
    return run.id if run is not None else None


def reply_comment(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Take the reply that `Other…` asked for; the analysis begins with it."""
    del desk
    id = said.about.partition(":")[2]
    cast = feedback.add_comment(tx, id, said.user, said.text, said.now)
    delivery.refresh(tx, cast.feedback.run, said.user, said.now)
    post(tx, said.lane, Message(say("toast.analysing", said.language)), now=said.now)
    return None


COMMANDS = (Command("good", "feedback", good), Command("bad", "feedback", bad))
TAPS = {Kind.VOTE: tap_vote}
REPLIES = {"comment": reply_comment}
