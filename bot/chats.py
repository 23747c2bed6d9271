"""What holds for a chat: its language, its session's block and trust, who the people in it are."""

from pathlib import Path
from typing import Any

from bot.outbox import address
from bot.settings import BotSettings
from bot.turn import Desk
from core.model.agent import Assignment
from core.model.lesson import project_hash
from core.model.run import Session
from core.rules.context import Block
from core.services import capabilities, context, runs
from core.tables import CoreTx

_TRUST_MARKERS = (".pi", ".agents")


def language_in(tx: CoreTx, lane: str) -> str:
    """Give the language of the chat: that of the person who wrote last."""
    session = tx.runs.current_session(lane)
    return session.language if session is not None else "en"


def session_of(tx: CoreTx, desk: Desk, lane: str, language: str, now: float) -> Session:
    """Give the chat's session, a new one where there is none; it speaks the language of who writes."""
    session = tx.runs.current_session(lane)
    if session is None:
        agent = desk.settings.agent
        home, folder = desk.project, str(desk.folder)
        session = runs.open_session(tx, desk.ids, lane, home, agent, language, now, folder)
    return runs.speak(tx, session.id, language)


def settle_block_language(tx: CoreTx, language: str) -> None:
    """Let the first owner who writes choose the block's language, the same for every surface."""
    if tx.settings.get(context.LANGUAGE) is None:
        tx.settings.put(context.LANGUAGE, language)


def block_for(tx: CoreTx, settings: BotSettings, session: Session) -> Block:
    """Give what the next run of a session will be told."""
    return context.current(
        tx,
        session.project,
        settings,
        is_off=session.is_lessons_off,
        session=session.id,
        agent=session.agent,
    )


def skills_for(tx: CoreTx, session: Session) -> list[Assignment]:
    """Give the skills that the next run of a session has; none where lessons are off."""
    if session.is_lessons_off:
        return []
    return capabilities.held_files(tx, session.agent, session.project)


def typing(lane: str) -> dict[str, Any]:
    """Give the parameters of "is typing" in that chat."""
    return {**address(lane), "action": "typing"}


def remember_person(tx: CoreTx, user: str, name: str) -> None:
    """Keep a name for the cards that say who decided."""
    key = f"person:{user}"
    if name and tx.settings.get(key) != name:
        tx.settings.put(key, name)


def name_of(tx: CoreTx, user: str | None) -> str:
    """Give the name of a person, their id where it is unknown."""
    return (tx.settings.get(f"person:{user}") or user or "") if user else ""


def trust_key(project: str) -> str:
    """Give the name of the setting that holds whether a project is trusted."""
    return f"trust:{project_hash(project)}"


def is_trusted(tx: CoreTx, settings: BotSettings, project: str) -> bool:
    """Say whether Pi may load the project's own settings, extensions and skills."""
    if settings.trust_project != "ask":
        return settings.trust_project == "on"
    return tx.settings.get(trust_key(project)) == "yes"


def is_trust_open(tx: CoreTx, settings: BotSettings, project: str) -> bool:
    """Say whether the person has to be asked: the project brings its own, and nobody decided yet."""
    if settings.trust_project != "ask" or tx.settings.get(trust_key(project)) is not None:
        return False
    return brings_own(project)


def brings_own(project: str) -> bool:
    """Say whether a project has settings, extensions or skills of its own."""
    return any((Path(project) / marker).is_dir() for marker in _TRUST_MARKERS)
