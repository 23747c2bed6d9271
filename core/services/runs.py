"""Sessions, the prompts that wait in them, and the runs (product.md 1.1, learning.md 5)."""

from collections.abc import Iterable
from dataclasses import replace

from core.errors import NotFound
from core.events import Ended, Outcome
from core.model.ids import PromptId, RunId, SessionId
from core.model.run import Call, Prompt, PromptState, Run, RunState, Session
from core.ports import Ids
from core.rules.context import Block, render
from core.rules.redact import redact
from core.services import domains
from core.tables import CoreTx

_RUN_STATE = {
    Outcome.DONE: RunState.DONE,
    Outcome.FAILED: RunState.FAILED,
    Outcome.STOPPED: RunState.STOPPED,
}
_LOOK_BACK = 20


def open_session(
    tx: CoreTx,
    ids: Ids,
    lane: str,
    project: str,
    agent: str,
    language: str,
    now: float,
    folder: str = "",
) -> Session:
    """Start a fresh session of a lane; the one it had is no longer its current one."""
    held = tx.runs.current_session(lane)
    if held is not None:
        tx.runs.put_session(replace(held, is_current=False))
    session = Session(
        id=SessionId(ids.new()),
        lane=lane,
        project=project,
        agent=agent,
        created=now,
        is_lessons_off=held.is_lessons_off if held is not None else False,
        model=held.model if held is not None and held.agent == agent else None,
        language=language,
        folder=folder or project,
    )
    tx.runs.put_session(session)
    return session


def need_session(tx: CoreTx, id: str) -> Session:
    """Give that session. Raises NotFound."""
    session = tx.runs.session(SessionId(id))
    if session is None:
        raise NotFound("session.not_found", id=id)
    return session


def need_run(tx: CoreTx, id: str) -> Run:
    """Give that run. Raises NotFound."""
    run = tx.runs.get(RunId(id))
    if run is None:
        raise NotFound("run.not_found", id=id)
    return run


def enqueue(
    tx: CoreTx,
    ids: Ids,
    session: SessionId,
    text: str,
    user: str,
    now: float,
    message: str = "",
    hold_s: float = 0.0,
) -> Prompt:
    """Put a person's message at the end of a session's queue; `hold_s` waits for a following part."""
    need_session(tx, session)
    prompt = Prompt(
        id=PromptId(ids.new()),
        session=session,
        text=text,
        user=user,
        state=PromptState.QUEUED,
        created=now,
        not_before=now + hold_s,
        message=message,
    )
    tx.runs.put_prompt(prompt)
    return prompt


def next_prompt(tx: CoreTx, session: SessionId, now: float) -> Prompt | None:
    """Give what a session is to run now: in order, one at a time, nothing while it is paused."""
    if need_session(tx, session).is_paused or _running(tx, session):
        return None
    first = next(iter(tx.runs.queued(session)), None)
    return first if first is not None and first.not_before <= now else None


def _running(tx: CoreTx, session: SessionId) -> bool:
    return any(each.session == session for each in tx.runs.running())


def start(tx: CoreTx, ids: Ids, prompt: Prompt, block: Block | None, now: float) -> Run:
    """Make a run of a queued prompt and remember what it is told; None where lessons are off.

    Raises NotFound where the prompt no longer waits (cleared, or started before a restart).
    """
    held = tx.runs.prompt(prompt.id)
    if held is None or held.state is not PromptState.QUEUED:
        raise NotFound("prompt.not_waiting", id=prompt.id)
    session = need_session(tx, held.session)
    masked, told = redact(held.text), block or render(())
    run = Run(
        id=RunId(ids.new()),
        session=session.id,
        agent=session.agent,
        project=session.project,
        prompt=masked,
        state=RunState.RUNNING,
        started=now,
        told=told.told_ids,
        told_sha256=told.sha256,
        is_lessons_off=session.is_lessons_off,
        lane=session.lane,
        user=held.user,
    )
    tx.runs.put(run)
    tx.runs.put_prompt(replace(held, state=PromptState.RUNNING, run=run.id))
    if not session.first_prompt:
        tx.runs.put_session(replace(session, first_prompt=masked))
    return run


def finish(tx: CoreTx, id: str, ended: Ended, calls: Iterable[Call], now: float) -> Run:
    """Store how a run ended; one that has ended stays as it is. Raises NotFound."""
    run = need_run(tx, id)
    if run.state is not RunState.RUNNING:
        return run
    kept = tuple(calls)
    done = replace(
        run,
        domain=domains.of_run(kept, run.prompt),
        state=_RUN_STATE[ended.outcome],
        answer=redact(ended.answer),
        error=redact(ended.error or ""),
        ended=now,
        calls=kept,
    )
    tx.runs.put(done)
    _close_prompts(tx, {run.id}, PromptState.DONE)
    return done


def _close_prompts(tx: CoreTx, runs: set[RunId], state: PromptState) -> None:
    """End the prompts of those runs; text is kept only where a person may want it run again."""
    for prompt in tx.runs.prompts(PromptState.RUNNING):
        if prompt.run in runs:
            text = prompt.text if state is PromptState.INTERRUPTED else ""
            tx.runs.put_prompt(replace(prompt, state=state, text=text))


def interrupt_all(tx: CoreTx, now: float) -> list[Run]:
    """Mark what was running when we were cut off; it is shown with Retry, never run again by itself."""
    cut = [replace(each, state=RunState.INTERRUPTED, ended=now) for each in tx.runs.running()]
    for run in cut:
        tx.runs.put(run)
    _close_prompts(tx, {run.id for run in cut}, PromptState.INTERRUPTED)
    return cut


def run_again(tx: CoreTx, ids: Ids, id: str, user: str, now: float) -> Prompt:
    """Queue a run's prompt once more, on a person's tap. Raises NotFound.

    An interrupted run has the message as it was typed; others only the masked one.
    """
    run = need_run(tx, id)
    if run.session is None:
        raise NotFound("session.not_found", id="")
    typed = [p for p in tx.runs.prompts(PromptState.INTERRUPTED) if p.run == run.id]
    for prompt in typed:
        tx.runs.put_prompt(replace(prompt, state=PromptState.DONE, text=""))
    text = typed[0].text if typed else run.prompt
    return enqueue(tx, ids, run.session, text, user, now, typed[0].message if typed else "")


def pause(tx: CoreTx, session: SessionId) -> list[Prompt]:
    """Hold the queue after a stop; give what waits in it. An empty queue is not held."""
    waiting = tx.runs.queued(session)
    tx.runs.put_session(replace(need_session(tx, session), is_paused=bool(waiting)))
    return waiting


def resume(tx: CoreTx, session: SessionId) -> list[Prompt]:
    """Let the queue go on; give what waits in it."""
    tx.runs.put_session(replace(need_session(tx, session), is_paused=False))
    return tx.runs.queued(session)


def clear(tx: CoreTx, session: SessionId) -> list[Prompt]:
    """Empty the queue and let it go on; give what was dropped."""
    dropped = resume(tx, session)
    for prompt in dropped:
        tx.runs.put_prompt(replace(prompt, state=PromptState.CLEARED, text=""))
    return dropped


def sessions_with_work(tx: CoreTx) -> list[SessionId]:
    """Give the sessions in which a prompt waits, each once."""
    return list(dict.fromkeys(prompt.session for prompt in tx.runs.prompts(PromptState.QUEUED)))


def held_until(tx: CoreTx, session: SessionId) -> float | None:
    """Give when a prompt that is held back for a following part may run; None where nothing is held."""
    if need_session(tx, session).is_paused:
        return None
    first = next(iter(tx.runs.queued(session)), None)
    return first.not_before if first is not None else None


def prompt_of(tx: CoreTx, run: Run) -> Prompt | None:
    """Give the prompt a run was made of."""
    states = (PromptState.RUNNING, PromptState.INTERRUPTED, PromptState.DONE)
    return next((p for state in states for p in tx.runs.prompts(state) if p.run == run.id), None)


def replace_queued(tx: CoreTx, session: SessionId, message: str, text: str) -> bool:
    """Put an edited message in the place of the one that still waits; say whether one did."""
    for prompt in tx.runs.queued(session):
        if prompt.message == message:
            tx.runs.put_prompt(replace(prompt, text=text))
            return True
    return False


def join(tx: CoreTx, prompt: Prompt, text: str, now: float, hold_s: float) -> Prompt:
    """Add a following part to a prompt that is held for it (a paste that the client split)."""
    joined = replace(prompt, text=prompt.text + text, not_before=now + hold_s)
    tx.runs.put_prompt(joined)
    return joined


def last_run(tx: CoreTx, session: SessionId) -> Run | None:
    """Give the newest run of a session that has ended: what `/good` and `/bad` are about."""
    runs = tx.runs.of_session(session, _LOOK_BACK)
    return next((each for each in runs if each.state is not RunState.RUNNING), None)


def switch_lessons(tx: CoreTx, session: SessionId, *, is_off: bool) -> Session:
    """Run a session without any block, or with it again (`/lessons off|on`)."""
    switched = replace(need_session(tx, session), is_lessons_off=is_off)
    tx.runs.put_session(switched)
    return switched


def speak(tx: CoreTx, session: SessionId, language: str) -> Session:
    """Remember the language of the person who wrote last."""
    held = need_session(tx, session)
    if held.language == language:
        return held
    spoken = replace(held, language=language)
    tx.runs.put_session(spoken)
    return spoken
