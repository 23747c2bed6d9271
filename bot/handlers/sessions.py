"""The session of a chat: a fresh one, stop, steer, the queue, retry."""

from dataclasses import replace

from bot import chats, delivery
from bot.callbacks import Kind
from bot.dispatch import Command, Said, Tap
from bot.locales import say
from bot.outbox import Message, edit, edit_keyboard, post, react
from bot.turn import Desk, Forget, Release, Reply, ShowOutput, Steer, Stop
from core.model.run import Session
from core.services import runs
from core.tables import Tx


def new(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Start a fresh conversation; the one before ends."""
    held = tx.runs.current_session(said.lane)
    if held is not None:
        runs.clear(tx, held.id)
    project = held.project if held is not None else desk.project
    folder = held.folder if held is not None else str(desk.folder)
    agent = held.agent if held is not None else desk.settings.agent
    runs.open_session(tx, desk.ids, said.lane, project, agent, said.language, said.now, folder)
    post(tx, said.lane, Message(say("session.new", said.language, project=folder)), now=said.now)
    return Reply(signals=(Forget(held.id),) if held is not None else ())


def _running(tx: Tx, session: Session | None) -> bool:
    return session is not None and any(run.session == session.id for run in tx.runs.running())


def stop(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """End the run of this chat and hold its queue."""
    session = tx.runs.current_session(said.lane)
    if session is None or not _running(tx, session):
        post(tx, said.lane, Message(say("run.nothing", said.language)), now=said.now)
        return None
    return _stop(tx, desk, session, said.now)


def _stop(tx: Tx, desk: Desk, session: Session, now: float) -> Reply:
    if runs.pause(tx, session.id):
        delivery.tell_queue(tx, desk.ids, session, now)
    return Reply(toast=say("toast.stopping", session.language), signals=(Stop(session.id),))


def steer(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Hand a message into the run that is going on; without one it is an ordinary prompt."""
    session = chats.session_of(tx, desk, said.lane, said.language, said.now)
    if not said.text:
        post(tx, said.lane, Message(say("steer.usage", said.language)), now=said.now)
        return None
    react(tx, said.lane, said.message, "👀", now=said.now)
    if _running(tx, session):
        return Reply(signals=(Steer(session.id, said.text),))
    runs.enqueue(tx, desk.ids, session.id, said.text, said.user, said.now, said.message)
    return None


def tap_run(tx: Tx, desk: Desk, tap: Tap) -> Reply | None:
    """Do what a button under a running, silent, stopped or failed run says."""
    session = runs.need_session(tx, str(tap.payload["session"]))
    match tap.choice:
        case "stop":
            return _tap_stop(tx, desk, tap, session)
        case "wait":
            edit_keyboard(tx, tap.lane, tap.button.ref, (), now=tap.now)
            return Reply(toast=say("toast.waiting", tap.language), signals=(Release(session.id),))
        case "output":
            return Reply(signals=(ShowOutput(session.id),))
        case "next":
            runs.resume(tx, session.id)
            edit(tx, tap.lane, tap.button.ref, Message(say("queue.going_on", tap.language)), now=tap.now)
            return None
        case "clear":
            count = len(runs.clear(tx, session.id))
            text = say("queue.cleared", tap.language, count=count)
            edit(tx, tap.lane, tap.button.ref, Message(text), now=tap.now)
            return None
        case "retry":
            return _retry(tx, desk, tap, session)
        case _:
            return Reply(toast=say("toast.old_button", tap.language), is_alert=True)


def _tap_stop(tx: Tx, desk: Desk, tap: Tap, session: Session) -> Reply:
    run = runs.need_run(tx, str(tap.payload["run"]))
    if not any(each.id == run.id for each in tx.runs.running()):
        return Reply(toast=say("run.nothing", tap.language))
    return _stop(tx, desk, session, tap.now)


def _retry(tx: Tx, desk: Desk, tap: Tap, session: Session) -> Reply:
    """Run a failed or interrupted prompt again, once a card."""
    if tap.button.is_used:
        return Reply(toast=say("toast.used", tap.language))
    tx.buttons.put(replace(tap.button, is_used=True))
    runs.run_again(tx, desk.ids, str(tap.payload["run"]), tap.user, tap.now)
    if session.is_paused:
        runs.resume(tx, session.id)
    edit_keyboard(tx, tap.lane, tap.button.ref, (), now=tap.now)
    return Reply(toast=say("toast.again", tap.language))


COMMANDS = (
    Command("new", "daily", new, is_in_menu=True),
    Command("stop", "daily", stop, is_in_menu=True),
    Command("steer", "agent", steer),
)
TAPS = {Kind.RUN: tap_run}
