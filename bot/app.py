"""The bot's composition root: everything that runs, put together once.

getUpdates → inbox → lanes → handler's effect (one transaction) → outbox → sender
                          ↘ prompts → runner → host → agent → answer ↗
                          ↘ votes → analyses → analyst → proposal card ↗
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import structlog
from telegram import Update
from telegram.ext import (
    ApplicationBuilder,
    CallbackQueryHandler,
    ContextTypes,
    MessageHandler,
    TypeHandler,
    filters,
)

from bot import announcer
from bot.analyses import Analyses
from bot.announcer import Announcer
from bot.api import Api
from bot.auth import Guard
from bot.checkup import Checkups
from bot.claim import Works
from bot.deck import Deck
from bot.dispatch import Command, Dispatcher, Routes
from bot.doctor.case import Case
from bot.handlers import (
    doctor,
    lessons,
    patterns,
    people,
    prompts,
    proposals,
    review,
    sessions,
    skills,
    start,
    stats,
    votes,
)
from bot.inbox import Poller
from bot.jobs import Jobs
from bot.lanes import Lanes
from bot.locales import say
from bot.pace import Pace
from bot.runner import Runner
from bot.sender import Sender
from bot.settings import BotSettings
from bot.turn import App, Context, Desk, Reply, Sightings, Stop, remember_error
from bot.upkeep import Upkeep
from core.app import Core
from core.errors import StoreError
from core.model.ids import SessionId
from core.model.run import Session
from core.ports import AgentSpec, Probe, ignore
from core.services import candidates
from core.settings import project_of

log = structlog.get_logger()

GUARD_GROUP = -1
DECK = Deck((proposals.SOURCE, patterns.SOURCE, patterns.OFFERS))


@dataclass(frozen=True, slots=True)
class Bot:
    """Everything that runs."""

    app: App
    poller: Poller
    lanes: Lanes
    sender: Sender
    runner: Runner
    analyses: Analyses
    announcer: Announcer
    checkups: Checkups
    upkeep: Upkeep

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as group:
            for part in (
                self.sender,
                self.lanes,
                self.runner,
                self.analyses,
                self.announcer,
                self.checkups,
                self.upkeep,
                self.poller,
            ):
                group.create_task(part.run(), name=type(part).__name__.lower())


def routes() -> Routes:
    """Give the one table of everything the chat understands."""
    commands: list[Command] = [
        *sessions.COMMANDS,
        *lessons.COMMANDS,
        *votes.COMMANDS,
        *people.COMMANDS,
        *doctor.COMMANDS,
        *patterns.COMMANDS,
        *stats.COMMANDS,
        *skills.COMMANDS,
        review.command(DECK),
        Command("start", "hidden", start.start),
    ]
    commands.append(Command("help", "daily", start.helper(commands), is_in_menu=True))
    return Routes(
        commands=commands,
        replies={
            **votes.REPLIES,
            **proposals.REPLIES,
            **lessons.REPLIES,
            **prompts.REPLIES,
            **patterns.REPLIES,
        },
        taps={
            **votes.TAPS,
            **proposals.TAPS,
            **lessons.TAPS,
            **sessions.TAPS,
            **prompts.TAPS,
            **announcer.TAPS,
            **patterns.TAPS,
            **skills.TAPS,
            **review.taps(DECK),
        },
        typed=proposals.bare_word(otherwise=prompts.prompt),
        prompt=prompts.prompt,
        edited=prompts.edited,
        agent_button=prompts.use_agent_button,
    )


def _application(api: Api, dispatcher: Dispatcher, guard: Guard) -> App:
    kinds = ContextTypes(context=Context)
    app = cast(App, ApplicationBuilder().bot(api).updater(None).context_types(kinds).build())
    app.add_handler(TypeHandler(Update, guard.check), group=GUARD_GROUP)
    app.add_handler(CallbackQueryHandler(dispatcher.on_tap))
    app.add_handler(MessageHandler(filters.UpdateType.MESSAGE, dispatcher.on_message))
    app.add_handler(MessageHandler(filters.UpdateType.EDITED_MESSAGE, dispatcher.on_edit))
    app.add_error_handler(remember_error)
    return app


def _works(core: Core, settings: BotSettings, sender: Sender, probe: Probe) -> Works:
    """Give what every host works with."""

    def spec_of(session: Session, is_trusted: bool) -> AgentSpec:
        return replace(
            core.spec(Path(session.folder)),
            session_file=settings.home / "sessions" / f"{session.id}.jsonl",
            context_file=settings.context_folder / f"session-{session.id}.md",
            skills_folder=settings.context_folder / f"session-{session.id}-skills",
            model=session.model,
            is_project_trusted=is_trusted,
        )

    async def prepare(session: SessionId) -> None:
        """Choose what a session is told on trial, once; without it the session goes on."""
        held = await core.store.read(lambda tx: tx.runs.session(session))
        if held is None:
            return
        try:
            now, project = core.clock.now(), held.project
            await candidates.prepare(core.store, core.traces, session, project, settings, now)
        except StoreError as error:
            log.warning("no candidates for this session", error=str(error))

    own_secrets = (settings.token(),)
    return Works(
        core.store,
        core.runner,
        sender,
        core.clock,
        core.ids,
        probe,
        settings,
        spec_of,
        time.monotonic,
        core.sink(own_secrets),
        prepare,
        own_secrets,
    )


@asynccontextmanager
async def open_bot(
    core: Core, settings: BotSettings, username: str, api: Api, *, probe: Probe = ignore
) -> AsyncIterator[Bot]:
    """Put the bot together over an open core and an initialised connection to Telegram."""
    folder = settings.project or Path.cwd()
    desk = Desk(settings, core.clock, core.ids, folder, project_of(folder), username)
    pace = Pace(time.monotonic)
    sender = Sender(core.store, api, core.clock, probe, pace, lambda session: runner.signal(Stop(session)))

    async def look(sightings: Sightings) -> None:
        from core.services import report  # noqa: PLC0415 -- an idle bot does not pay for it

        sightings.seen = await core.patterns.seen(None)
        sightings.weeks = (await core.traces.read(lambda tx: report.count(tx, None))).weeks

    dispatcher = Dispatcher(desk, routes(), look)
    app = _application(api, dispatcher, Guard(settings, core.store, core.clock.now))
    works = _works(core, settings, sender, probe)
    runner = Runner(works)
    analyses = Analyses(core.store, core.analyst, sender, core.clock, desk, probe, core.spec)

    upkeep = Upkeep(core)

    def after(reply: Reply) -> None:
        runner.wake()
        analyses.wake()
        checkups.wake()
        for signal in reply.signals:
            runner.signal(signal)
        upkeep.wake(reply.gone_skills)

    lanes = Lanes(core.store, app, core.clock, probe, after, sender.wake)
    poller = Poller(core.store, api, core.clock, probe, lanes.put, lanes.answer_full)

    def case() -> Case:
        spec, deaf = core.spec(folder), poller.trouble
        return Case(settings, settings.token(), core.runner, spec, is_bot=True, is_running=True, deaf=deaf)

    checkups = Checkups(core, sender, case)
    assert app.job_queue is not None, "installed with the extra job-queue"
    Jobs(core.store, sender, desk, DECK).schedule(app.job_queue)
    async with app:
        await app.start()
        try:
            announcer = Announcer(core.store, sender, desk)
            yield Bot(app, poller, lanes, sender, runner, analyses, announcer, checkups, upkeep)
        finally:
            await app.stop()


def menu(language: str) -> list[dict[str, str]]:
    """Give the commands of the menu in a language, as setMyCommands takes them."""
    return [
        {"command": command.name, "description": say(f"command.{command.name}", language)}
        for command in routes().commands
        if command.is_in_menu
    ]
