"""What people say to the agent: prompts, the queue, and the words that belong to a vote."""

import json
from dataclasses import replace

from bot import cards, chats, delivery, people
from bot.callbacks import Kind, encode
from bot.dispatch import Said, Tap
from bot.locales import say
from bot.outbox import Key, Message, edit, edit_keyboard, post, react
from bot.turn import Answer, Desk, Forget, Reply
from bot.typed import word_of
from core.model.ids import RunId, SessionId
from core.model.run import Session
from core.services import feedback, runs
from core.tables import Tx

SPLIT_UNITS = 4000  # a client cuts a long paste near 4,096
SPLIT_HOLD_S = 1.0
_QUOTED_CHARS = 300


def prompt(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Take a message for the agent; it may be a correction of the answer before it, too."""
    session = chats.session_of(tx, desk, said.lane, said.language, said.now)
    _ask_for_trust(tx, desk, session, said)
    if said.reply_to is None and said.message and word_of(said.text) is None:
        _take_as_correction(tx, desk, said)
    if _join(tx, session, said):
        return None
    text = _with_quote(tx, session, said)
    hold_s = SPLIT_HOLD_S if said.units >= SPLIT_UNITS else 0.0
    runs.enqueue(tx, desk.ids, session.id, text, said.user, said.now, said.message, hold_s)
    is_waiting = bool(session.is_paused or len(tx.runs.queued(session.id)) > 1 or _is_running(tx, session))
    if said.message:  # a tap on a hidden button has none
        react(tx, said.lane, said.message, "👌" if is_waiting else "👀", now=said.now)
    return None


def _is_running(tx: Tx, session: Session) -> bool:
    return any(run.session == session.id for run in tx.runs.running())


def _join(tx: Tx, session: Session, said: Said) -> bool:
    """Add the next part of a long paste to the part that is held for it."""
    held = [p for p in tx.runs.queued(session.id) if p.not_before > said.now and p.user == said.user]
    if not held or said.reply_to is not None:
        return False
    hold_s = SPLIT_HOLD_S if said.units >= SPLIT_UNITS else 0.0
    runs.join(tx, held[-1], said.text, said.now, hold_s)
    return True


def _take_as_correction(tx: Tx, desk: Desk, said: Said) -> None:
    remark = feedback.remark(tx, said.user, said.lane, said.text, said.now)
    if remark is not None and remark.proposal is not None:
        cards.refresh(tx, desk, remark.proposal, said.now)


def _with_quote(tx: Tx, session: Session, said: Said) -> str:
    """Tell the agent which older message a reply is about; the newest answer needs no telling."""
    if said.reply_to is None or not said.quoted:
        return said.text
    newest = runs.last_run(tx, session.id)
    if newest is not None and said.about == f"run:{newest.id}":
        return said.text
    quoted = " ".join(said.quoted.split())[:_QUOTED_CHARS]
    return f"{say('prompt.about', said.language, quoted=quoted)}\n\n{said.text}"


def edited(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Replace a queued prompt by its edited text; what has begun is not changed by an edit."""
    del desk
    session = tx.runs.current_session(said.lane)
    if session is not None and runs.replace_queued(tx, session.id, said.message, said.text):
        react(tx, said.lane, said.message, "✍", now=said.now)
    return None


def _ask_for_trust(tx: Tx, desk: Desk, session: Session, said: Said) -> None:
    """Ask once a project whether Pi may load what the project itself brings."""
    if not chats.is_trust_open(tx, desk.settings, session.folder):
        return
    tx.settings.put(chats.trust_key(session.folder), "asked")
    ref = f"trust:{session.id}"
    facts = {"session": session.id, "trust": session.folder}
    token = delivery.new_button(tx, desk.ids, Kind.DIALOG, said.lane, ref, said.now, facts)
    keyboard = (
        (
            Key(say("button.trust", said.language), encode(Kind.DIALOG, token, "yes")),
            Key(say("button.no", said.language), encode(Kind.DIALOG, token, "no")),
        ),
    )
    text = say("trust.ask", said.language, project=session.folder)
    message = Message(text, keyboard=keyboard)
    post(tx, said.lane, message, now=said.now, ref=ref, is_silent=False, tokens=(token,))


def tap_dialog(tx: Tx, desk: Desk, tap: Tap) -> Reply | None:
    """Answer what the agent (or we, about trust) asked."""
    if tap.button.is_used:
        return Reply(toast=say("toast.used", tap.language))
    tx.buttons.put(replace(tap.button, is_used=True))
    if "trust" in tap.payload:
        return _trust(tx, desk, tap)
    label, value = _chosen(tap)
    edit(tx, tap.lane, tap.button.ref, Message(f"❓ {label}"), now=tap.now)
    session, request = SessionId(tap.payload["session"]), str(tap.payload["request"])
    return Reply(signals=(Answer(session, request, value),))


def _chosen(tap: Tap) -> tuple[str, str | bool | None]:
    """Give what to show and what to answer."""
    options = tap.payload.get("options", [])
    match tap.choice:
        case "yes" | "no":
            return say(f"button.{tap.choice}", tap.language), tap.choice == "yes"
        case number if number.isdigit() and int(number) < len(options):
            return options[int(number)], options[int(number)]
        case _:
            return say("button.cancel", tap.language), None


def _trust(tx: Tx, desk: Desk, tap: Tap) -> Reply:
    if int(tap.user) != people.owner(tx, desk.settings):
        tx.buttons.put(tap.button)
        return Reply(toast=say("help.owner_only", tap.language))
    is_yes = tap.choice == "yes"
    tx.settings.put(chats.trust_key(tap.payload["trust"]), "yes" if is_yes else "no")
    edit(tx, tap.lane, tap.button.ref, Message(say(f"trust.{tap.choice}", tap.language)), now=tap.now)
    return Reply(signals=(Forget(SessionId(tap.payload["session"])),) if is_yes else ())


def answer_dialog(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Take a reply to what the agent asked as its text."""
    button = tx.buttons.of(said.about, Kind.DIALOG)
    if button is None or button.is_used:
        return prompt(tx, desk, said)
    tx.buttons.put(replace(button, is_used=True))
    payload = cards.payload_of(button.payload)
    edit_keyboard(tx, said.lane, said.about, (), now=said.now)
    return Reply(signals=(Answer(SessionId(payload["session"]), payload["request"], said.text),))


def use_agent_button(tx: Tx, tap: Tap) -> Reply | str:
    """Give the prompt of a hidden button; each works once, a second tap says so."""
    cells = [cell for row in tap.payload["cells"] for cell in row]
    number = int(tap.choice) if tap.choice.isdigit() else -1
    if not 0 <= number < len(cells):
        return Reply(toast=say("toast.old_button", tap.language), is_alert=True)
    used: list[str] = tap.payload["used"]
    if tap.choice in used:
        return Reply(toast=say("toast.used", tap.language))
    payload = json.dumps({**tap.payload, "used": [*used, tap.choice]}, ensure_ascii=False)
    tx.buttons.put(replace(tap.button, payload=payload))
    delivery.refresh(tx, RunId(tap.button.ref.removeprefix("run:")), tap.user, tap.now)
    return str(cells[number]["prompt"])


REPLIES = {"dialog": answer_dialog}
TAPS = {Kind.DIALOG: tap_dialog}
