"""The cards of the human gate in the chat: a proposal, a verdict without one, an analysis that failed."""

import json

from bot import chats, delivery, keyboards, views
from bot.callbacks import Kind, encode
from bot.delivery import new_button
from bot.draft import Draft
from bot.locales import say
from bot.outbox import Key, Message, edit, edit_keyboard, last_message, post
from bot.turn import Desk
from bot.views import Facts
from core.model.feedback import Feedback
from core.model.ids import LessonId, ProposalId
from core.model.proposal import Analysis, Proposal, State, Verdict
from core.rules import approval
from core.services import opposition, room
from core.services.analysis import Conclusion
from core.tables import Tx
from core.texts import has
from core.texts import say as say_core


def ref_of(proposal: ProposalId) -> str:
    """Give the name by which a proposal's card is known."""
    return f"proposal:{proposal}"


def lane_of(tx: Tx, proposal: Proposal) -> str | None:
    """Give the chat a proposal's card belongs to: that of its run."""
    run = tx.runs.get(proposal.run) if proposal.run is not None else None
    return run.lane if run is not None and run.lane else None


def _message(tx: Tx, desk: Desk, item: Proposal, lane: str, now: float) -> tuple[Message, str]:
    """Give the card as things stand; a new version gets buttons of its own, the old ones then say so."""
    language = chats.language_in(tx, lane)
    button = tx.buttons.of(ref_of(item.id), Kind.PROPOSAL)
    if button is not None and button.lane == lane and button.version == item.version:
        token = button.id
    else:
        about = {"proposal": item.id}
        token = new_button(tx, desk.ids, Kind.PROPOSAL, lane, ref_of(item.id), now, about, item.version)
    is_undoable = item.decided_at is not None and now - item.decided_at < approval.UNDO_S
    facts = facts_of(tx, desk, item)
    keyboard = keyboards.proposal(item, token, language, facts, is_undoable=is_undoable)
    return views.proposal(item, language, keyboard, facts, chats.name_of(tx, item.decided_by)), token


def facts_of(tx: Tx, desk: Desk, item: Proposal) -> Facts:
    """Look up what a person should know of the other lessons before deciding."""
    if item.state is not State.PENDING:
        return Facts()
    conflicts = tuple(opposition.standing(tx, item))
    pushed = room.pushed_out(tx, item, desk.settings)
    return Facts(conflicts, pushed)


def show(tx: Tx, desk: Desk, item: Proposal, lane: str, now: float) -> None:
    """Send a proposal's card, as a reply to the answer it is about; it rings. An earlier card goes quiet."""
    if tx.outbox.receipts(ref_of(item.id)):
        edit_keyboard(tx, lane, ref_of(item.id), (), now=now)
    message, token = _message(tx, desk, item, lane, now)
    reply_to = last_message(tx, (f"run:{item.run}",)) if item.run is not None else None
    post(tx, lane, message, now=now, ref=ref_of(item.id), reply_to=reply_to, is_silent=False, tokens=(token,))


def refresh(tx: Tx, desk: Desk, item: Proposal, now: float) -> None:
    """Bring a proposal's card, wherever it was shown, up to date, and the answer it is about."""
    receipts = tx.outbox.receipts(ref_of(item.id))
    lane = receipts[-1].lane if receipts else lane_of(tx, item)
    if lane is None:
        return
    message, _ = _message(tx, desk, item, lane, now)
    edit(tx, lane, ref_of(item.id), message, now=now)
    _refresh_answer(tx, item, now)


def _refresh_answer(tx: Tx, item: Proposal, now: float) -> None:
    vote = tx.feedback.get(item.feedback) if item.feedback is not None else None
    delivery.refresh(tx, item.run, vote.user if vote is not None else None, now)


def show_or_refresh(tx: Tx, desk: Desk, item: Proposal, lane: str, now: float) -> None:
    """Bring a proposal to the chat: a new card for a new one, an edit for one that is there."""
    if tx.outbox.receipts(ref_of(item.id)):
        refresh(tx, desk, item, now)
    else:
        show(tx, desk, item, lane, now)
        _refresh_answer(tx, item, now)


def show_conclusion(tx: Tx, desk: Desk, conclusion: Conclusion, lane: str, now: float) -> None:
    """Bring what came of an analysis to the chat, and the answer's buttons up to date."""
    feedback = conclusion.feedback
    if conclusion.is_stale:
        delivery.refresh(tx, feedback.run, feedback.user, now)
        return
    if conclusion.verdict in (Verdict.VIOLATED, Verdict.NONE):
        _tell_verdict(tx, desk, conclusion, lane, now)
    if conclusion.proposal is not None:
        show_or_refresh(tx, desk, conclusion.proposal, lane, now)
    delivery.refresh(tx, feedback.run, feedback.user, now)


def _tell_verdict(tx: Tx, desk: Desk, conclusion: Conclusion, lane: str, now: float) -> None:
    language = chats.language_in(tx, lane)
    lesson = conclusion.lesson
    why = say_core(conclusion.why, language) if conclusion.why and has(conclusion.why) else conclusion.note
    if conclusion.verdict is Verdict.VIOLATED and lesson is not None:
        told = {"lesson": lesson.id, "count": conclusion.violations}
        draft = Draft().bold(say("verdict.violated", language, **told)).line().quote(lesson.rule)
        offers = () if conclusion.proposal is not None else ("sharpen",)
    else:
        draft = Draft().bold(say("verdict.none", language)).line().plain(why)
        offers = ("write",)
    lesson_id = lesson.id if lesson is not None else ""
    _post_choices(tx, desk, conclusion.analysis, draft, offers, lane, now, lesson=lesson_id)


def show_failure(tx: Tx, desk: Desk, analysis: Analysis, lane: str, now: float) -> None:
    """Say that an analysis gave no verdict, with Retry, Use my words and Write it myself."""
    language = chats.language_in(tx, lane)
    feedback = tx.feedback.get(analysis.feedback)
    draft = Draft().bold(say("analysis.failed", language)).line().plain(_reason(analysis.error, language))
    has_words = feedback is not None and bool(feedback.user_comment)
    offers = ("retry", "words", "write") if has_words else ("retry", "write")
    _post_choices(tx, desk, analysis, draft, offers, lane, now)
    delivery.refresh(tx, analysis.run, feedback.user if feedback else None, now)


def _reason(error: str, language: str) -> str:
    return say_core(error, language) if has(error) else error


def _post_choices(
    tx: Tx,
    desk: Desk,
    analysis: Analysis,
    draft: Draft,
    offers: tuple[str, ...],
    lane: str,
    now: float,
    lesson: str = "",
) -> None:
    language, ref = chats.language_in(tx, lane), f"analysis:{analysis.id}"
    token = new_button(
        tx, desk.ids, Kind.ANALYSIS, lane, ref, now, {"analysis": analysis.id, "lesson": lesson}
    )
    keyboard = tuple(
        (Key(say(f"button.{choice}", language), encode(Kind.ANALYSIS, token, choice)),) for choice in offers
    )
    reply_to = last_message(tx, (f"run:{analysis.run}",))
    post(
        tx,
        lane,
        draft.message(keyboard),
        now=now,
        ref=ref,
        reply_to=reply_to,
        is_silent=False,
        tokens=(token,),
    )


def close_choices(tx: Tx, analysis: str, lane: str, text: str, now: float) -> None:
    """End a card of choices once one was taken: its buttons go, what was chosen stands there."""
    if tx.outbox.receipts(f"analysis:{analysis}"):
        edit(tx, lane, f"analysis:{analysis}", Message(text), now=now)


def lane_of_vote(tx: Tx, feedback: Feedback) -> str | None:
    """Give the chat in which a vote was cast; None for one from elsewhere."""
    run = tx.runs.get(feedback.run) if feedback.run is not None else None
    return run.lane if run is not None and run.lane else None


def _is_sending(tx: Tx, lane: str) -> bool:
    """Say whether another message is on its way (an edit replaces something and has a key)."""
    return any(row.key is None for row in tx.outbox.waiting(lane))


def newest_of(tx: Tx, lane: str) -> Proposal | None:
    """Give the pending proposal whose card is the bot's newest message in that chat, if it is."""
    newest = tx.outbox.newest(lane)
    if newest is None or not newest.ref.startswith("proposal:") or _is_sending(tx, lane):
        return None
    item = tx.proposals.get(ProposalId(newest.ref.removeprefix("proposal:")))
    return item if item is not None and item.state is State.PENDING else None


def note_withdrawals(tx: Tx, desk: Desk, withdrawn: tuple[ProposalId, ...], now: float) -> None:
    """Bring the cards of proposals that a changed mind withdrew up to date."""
    for each in withdrawn:
        item = tx.proposals.get(each)
        if item is not None:
            refresh(tx, desk, item, now)


def payload_of(text: str) -> dict[str, str]:
    """Read what stands behind a button of these cards."""
    read: dict[str, str] = json.loads(text)
    return read


def lesson_ref(lesson: LessonId) -> str:
    """Give the name by which a lesson's card is known."""
    return f"lesson:{lesson}"
