"""An answer and what stands around it in the chat: its parts and buttons, dialogs, silence, interruptions."""

import json
from collections.abc import Mapping
from dataclasses import replace

from bot import chats, keyboards
from bot.answer import render
from bot.buttons import Button as AgentButton
from bot.callbacks import Kind, encode
from bot.draft import Draft
from bot.keyboards import VoteState, VoteView
from bot.locales import say
from bot.outbox import (
    BUTTON_LIFETIME_S,
    Attachment,
    Key,
    Keyboard,
    Message,
    attach,
    delete,
    edit_keyboard,
    post,
)
from core.events import Asked, Dialog, Ended, Outcome
from core.model.feedback import Vote
from core.model.ids import RunId
from core.model.mail import Button
from core.model.proposal import Analysis, AnalysisState, Proposal, State, Verdict
from core.model.run import Prompt, Run, Session
from core.ports import Ids
from core.services import runs
from core.tables import Tx

MAX_PARTS = 5
_OPTION_ROW = 2


def new_button(
    tx: Tx,
    ids: Ids,
    kind: Kind,
    lane: str,
    ref: str,
    now: float,
    payload: Mapping[str, object],
    version: int = 0,
) -> str:
    """Store what stands behind new buttons; give the token that their callback data carry."""
    token, text = ids.token(), json.dumps(payload, ensure_ascii=False)
    tx.buttons.put(Button(token, kind, lane, text, now, now + BUTTON_LIFETIME_S, ref=ref, version=version))
    return token


def show_end(tx: Tx, ids: Ids, run: Run, prompt: Prompt, ended: Ended, now: float) -> None:
    """Bring the end of a run to the chat; the progress message goes."""
    language = chats.language_in(tx, run.lane)
    if ended.outcome is Outcome.FAILED:
        _show_failure(tx, ids, run, prompt, ended.error or say("run.failed_plain", language), now)
    else:
        if ended.outcome is Outcome.STOPPED:
            post(tx, run.lane, Message(_stopped(ended, language)), now=now)
        if ended.answer.strip() or ended.outcome is Outcome.DONE:
            _show_answer(tx, ids, run, prompt, ended.answer, now)
    delete(tx, run.lane, f"progress:{run.id}", now=now)


def _stopped(ended: Ended, language: str) -> str:
    return ended.error or say("run.stopped", language)


def _show_answer(tx: Tx, ids: Ids, run: Run, prompt: Prompt, answer: str, now: float) -> None:
    lane, ref = run.lane, f"run:{run.id}"
    language = chats.language_in(tx, lane)
    rendered = render(answer, language)
    cells = [[_cell(b) for b in row if not _is_vote(b)] for row in rendered.keyboard]
    if any(cells):
        new_button(tx, ids, Kind.AGENT, lane, ref, now, {"session": run.session, "cells": cells, "used": []})
    token = new_button(tx, ids, Kind.VOTE, lane, ref, now, {"run": run.id})
    parts = [Message(text, tuple(entities)) for text, entities in rendered.messages]
    shown = parts if len(parts) <= MAX_PARTS else parts[:1]
    if len(shown) < len(parts):
        attach(tx, lane, Attachment("answer.md", answer), now=now, ref=None, reply_to=prompt.message or None)
    keyboard = keyboard_of(tx, run, None, language)
    for number, part in enumerate(shown, 1):
        is_last = number == len(shown)
        message = replace(part, keyboard=keyboard) if is_last else part
        reply_to = prompt.message if number == 1 else None
        tokens = (token,) if is_last else ()
        post(tx, lane, message, now=now, ref=ref, reply_to=reply_to, is_silent=not is_last, tokens=tokens)


def _is_vote(button: AgentButton) -> bool:
    """Say whether an agent's button is our feedback row in its own words."""
    return button.text in ("👍", "👎") and button.prompt.strip() in ("/good", "/bad")


def _cell(button: AgentButton) -> dict[str, str | None]:
    return {"text": button.text, "prompt": button.prompt, "style": button.style}


def keyboard_of(tx: Tx, run: Run, user: str | None, language: str) -> Keyboard:
    """Give every button under an answer as things stand: the agent's own, then the feedback row."""
    ref = f"run:{run.id}"
    rows: Keyboard = ()
    agent = tx.buttons.of(ref, Kind.AGENT)
    if agent is not None:
        payload = json.loads(agent.payload)
        cells = [[AgentButton(**cell) for cell in row] for row in payload["cells"]]
        rows = keyboards.hidden(agent.id, cells, set(payload["used"]))
    vote = tx.buttons.of(ref, Kind.VOTE)
    if vote is not None:
        rows += keyboards.votes(vote.id, vote_view(tx, run.id, user, language), language)
    return rows


def refresh(tx: Tx, run_id: RunId | None, user: str | None, now: float) -> None:
    """Bring the buttons of an answer up to date."""
    run = tx.runs.get(run_id) if run_id is not None else None
    if run is not None and run.lane:
        keyboard = keyboard_of(tx, run, user, chats.language_in(tx, run.lane))
        edit_keyboard(tx, run.lane, f"run:{run.id}", keyboard, now=now)


def vote_view(tx: Tx, run: RunId, user: str | None, language: str) -> VoteView:
    """Say what the feedback row of an answer shows to that person."""
    feedback = tx.feedback.current(run, user) if user is not None else None
    if feedback is None or feedback.type is Vote.WITHDRAWN:
        return VoteView()
    if feedback.type is Vote.POSITIVE:
        return VoteView(VoteState.UP)
    analyses = tx.proposals.analyses_of(feedback.id)
    if not analyses:
        return VoteView(VoteState.DONE, say("vote.noted", language))
    newest = analyses[-1]
    match newest.state:
        case AnalysisState.OPEN:
            return VoteView(VoteState.REASON)
        case AnalysisState.READY | AnalysisState.RUNNING:
            return VoteView(VoteState.ANALYSING)
        case _:
            return VoteView(VoteState.DONE, _outcome(tx, newest, language))


def _outcome(tx: Tx, analysis: Analysis, language: str) -> str:
    proposal = tx.proposals.get(analysis.proposal) if analysis.proposal is not None else None
    if proposal is not None:
        return _outcome_of(proposal, language)
    match analysis.state:
        case AnalysisState.FAILED:
            return say("vote.failed", language)
        case AnalysisState.CANCELLED:
            return say("vote.noted", language)
        case _ if analysis.lesson is not None:
            return f"📘 {analysis.lesson}"
        case _:
            return say("vote.nothing", language)


def _outcome_of(proposal: Proposal, language: str) -> str:
    match proposal.state:
        case State.PENDING:
            return say("vote.proposal", language)
        case State.APPROVED:
            return f"📘 {proposal.result or proposal.lesson or proposal.id}"
        case State.REJECTED if proposal.verdict is Verdict.HARMFUL:
            return f"📘 {proposal.lesson or proposal.id}"
        case _:
            return say(f"vote.{proposal.state.value}", language)


def _show_failure(tx: Tx, ids: Ids, run: Run, prompt: Prompt, reason: str, now: float) -> None:
    language = chats.language_in(tx, run.lane)
    ref, facts = f"failure:{run.id}", {"session": run.session, "run": run.id}
    token = new_button(tx, ids, Kind.RUN, run.lane, ref, now, facts)
    message = Draft().bold(say("run.failed", language)).line().plain(reason)
    keyboard = ((Key(say("button.retry", language), encode(Kind.RUN, token, "retry")),),)
    post(
        tx,
        run.lane,
        message.message(keyboard),
        now=now,
        ref=ref,
        reply_to=prompt.message or None,
        is_silent=False,
        tokens=(token,),
    )


def show_interruption(tx: Tx, ids: Ids, run: Run, now: float) -> None:
    """Tell of a run whose process is gone, with one-tap retry; its progress message goes."""
    prompt = runs.prompt_of(tx, run)
    if run.lane and prompt is not None:
        language = chats.language_in(tx, run.lane)
        _show_failure(tx, ids, run, prompt, say("run.interrupted", language), now)
        delete(tx, run.lane, f"progress:{run.id}", now=now)


def tell_silence(tx: Tx, ids: Ids, run: Run, now: float, minutes: int) -> None:
    """Say that the agent has been silent, and let the person choose."""
    language = chats.language_in(tx, run.lane)
    ref = f"silence:{run.id}"
    token = new_button(tx, ids, Kind.RUN, run.lane, ref, now, {"session": run.session, "run": run.id})

    def key(name: str) -> Key:
        return Key(say(f"button.{name}", language), encode(Kind.RUN, token, name))

    keyboard = ((key("wait"), key("stop"), key("output")),)
    text = say("run.silent", language, minutes=minutes)
    post(tx, run.lane, Message(text, keyboard=keyboard), now=now, ref=ref, is_silent=False, tokens=(token,))


def tell_queue(tx: Tx, ids: Ids, session: Session, now: float) -> None:
    """After a stop: say what waits in the queue, with Run next and Clear; nothing where nothing waits."""
    waiting = len(tx.runs.queued(session.id))
    if not waiting:
        return
    ref, language = f"queue:{session.id}", session.language
    token = new_button(tx, ids, Kind.RUN, session.lane, ref, now, {"session": session.id, "run": ""})

    def key(name: str) -> Key:
        return Key(say(f"button.{name}", language), encode(Kind.RUN, token, name))

    message = Message(say("queue.waiting", language, count=waiting), keyboard=((key("next"), key("clear")),))
    post(tx, session.lane, message, now=now, ref=ref, tokens=(token,))


def ask(tx: Tx, ids: Ids, run: Run, asked: Asked, now: float) -> None:
    """Show what the agent asks; answered by button, or by reply where it wants text."""
    language = chats.language_in(tx, run.lane)
    ref = f"dialog:{asked.request}"
    labels = _labels(asked, language)
    facts = {"session": run.session, "request": asked.request, "options": list(asked.options)}
    token = new_button(tx, ids, Kind.DIALOG, run.lane, ref, now, facts)
    keys = [Key(label, encode(Kind.DIALOG, token, choice)) for label, choice in labels]
    keyboard = tuple(tuple(keys[i : i + _OPTION_ROW]) for i in range(0, len(keys), _OPTION_ROW))
    draft = Draft().bold(f"❓ {asked.title}")
    if asked.message:
        draft.line(asked.message)
    if asked.prefill:
        draft.line().pre(asked.prefill)
    if asked.dialog in (Dialog.INPUT, Dialog.EDITOR):
        draft.line().italic(say("dialog.reply", language))
    post(tx, run.lane, draft.message(keyboard), now=now, ref=ref, is_silent=False, tokens=(token,))


def _labels(asked: Asked, language: str) -> list[tuple[str, str]]:
    """Give label and choice of each button of a dialog; options go by number, their text may be long."""
    cancel = (say("button.cancel", language), "cancel")
    match asked.dialog:
        case Dialog.SELECT:
            return [*((option[:60] or "·", str(i)) for i, option in enumerate(asked.options)), cancel]
        case Dialog.CONFIRM:
            return [(say("button.yes", language), "yes"), (say("button.no", language), "no")]
        case _:
            return [cancel]
