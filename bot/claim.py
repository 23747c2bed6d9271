"""What a run begins with: its prompt, its block and its progress message, claimed in one transaction."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot import chats, delivery
from bot.callbacks import Kind, encode
from bot.locales import say
from bot.outbox import Key, Keyboard, Message, post
from bot.sender import Sender
from bot.settings import BotSettings
from core.model.agent import Assignment
from core.model.ids import SessionId
from core.model.run import Prompt, Run, Session
from core.ports import AgentRunner, AgentSpec, Clock, Ids, Probe, Store
from core.rules.context import Block
from core.services import context, runs
from core.services.traces import TraceSink
from core.tables import Tx


@dataclass(frozen=True, slots=True)
class Works:
    """What every host works with."""

    store: Store
    agents: AgentRunner
    sender: Sender
    clock: Clock
    ids: Ids
    probe: Probe
    settings: BotSettings
    spec_of: Callable[[Session, bool], AgentSpec]
    steady: Callable[[], float]
    sink: TraceSink
    prepare: Callable[[SessionId], Awaitable[None]]
    own_secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that was just begun, and all it needs."""

    session: Session
    prompt: Prompt
    run: Run
    block: Block
    domain_files: dict[str, str]
    skills: list[Assignment]
    stop_token: str
    is_trusted: bool

    @property
    def lane(self) -> str:
        """Give the chat it belongs to."""
        return self.session.lane

    @property
    def language(self) -> str:
        """Give the language of that chat."""
        return self.session.language


def claim(tx: Tx, works: Works, id: SessionId) -> Claim | None:
    """Begin a run with the next prompt of a session; None where nothing waits, or the queue is held."""
    now = works.clock.now()
    prompt = runs.next_prompt(tx, id, now)
    session = tx.runs.session(id)
    if prompt is None or session is None or session.is_paused:
        return None
    block = chats.block_for(tx, works.settings, session)
    run = runs.start(tx, works.ids, prompt, block, now)
    facts = {"session": session.id, "run": run.id}
    token = delivery.new_button(tx, works.ids, Kind.RUN, session.lane, f"run:{run.id}", now, facts)
    keyboard = stop_keyboard(token, session.language)
    message = Message(say("progress.begun", session.language), (), keyboard)
    post(tx, session.lane, message, now=now, ref=f"progress:{run.id}", tokens=(token,))
    is_trusted = chats.is_trusted(tx, works.settings, session.folder)
    files = context.domain_files(tx, context.language(tx))
    return Claim(session, prompt, run, block, files, chats.skills_for(tx, session), token, is_trusted)


def stop_keyboard(token: str, language: str) -> Keyboard:
    """Give the one button under a progress message."""
    return ((Key(say("button.stop", language), encode(Kind.RUN, token, "stop")),),)
