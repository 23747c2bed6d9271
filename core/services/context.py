"""What an agent is told next, and the files it reads it from (learning.md 6, product.md 7)."""

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from core.model.ids import LessonId
from core.model.lesson import Domain, project_hash
from core.rules import context as rules
from core.rules.context import Block, Budgets, Failure
from core.services import agents, capabilities, patterns
from core.services.rulings import is_accepted
from core.settings import CoreSettings
from core.tables import CoreTx

LANGUAGE: Final = "block_language"  # the setting: one language for every surface, so the bytes are the same
FOLDER: Final = "~/.auto-improve/context"


def language(tx: CoreTx) -> str:
    """Give the language of the block's headings."""
    return tx.settings.get(LANGUAGE) or "en"


def file_name(domain: Domain) -> str:
    """Name the file with the lessons of one domain."""
    return f"domain-{domain.value}.md"


def pointers(tx: CoreTx, folder: str) -> dict[Domain, str]:
    """Give the file that the block points to for each domain that has lessons, as the agent is to read it."""
    return {domain: f"{folder}/{file_name(domain)}" for domain in tx.lessons.domains()}


def shown(folder: Path) -> str:
    """Give a folder as an agent of the same user reads it: from the home folder where it is in there."""
    home = Path.home()
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)


def block(
    tx: CoreTx,
    project: str | None,
    language: str,
    is_off: bool = False,
    *,
    folder: str = FOLDER,
    budgets: Budgets | None = None,
    candidates: Sequence[Failure] = (),
    agent: str | None = None,
) -> Block:
    """Render what the next run in that project is told; nothing where lessons are off.

    `folder` is where the domains' files are, as the agent is to read it. `candidates` are patterns that
    nobody accepted yet, for agents the bot hosts. `agent` is whose skills are listed; None where its runtime
    lists them itself.
    """
    if is_off:
        return rules.render(())
    limits = budgets or Budgets()
    files = pointers(tx, folder)
    sizes = tx.lessons.told_sizes(project)
    fitting, waiting = rules.choose(sizes, files, language=language, chars=limits.lessons_chars)
    told = [lesson for each in fitting if (lesson := tx.lessons.get(LessonId(each))) is not None]
    failures = [*patterns.accepted(tx, project), *candidates]
    made = rules.render(
        told,
        domain_files=files,
        failures=failures,
        skills=capabilities.for_block(tx, agent, project) if agent is not None else (),
        language=language,
        budgets=limits,
        reading=capabilities.reading(tx, agent),
    )
    if not waiting:
        return made
    return replace(made, waiting_ids=rules.in_order((*made.waiting_ids, *waiting)))


def budgets_of(settings: CoreSettings) -> Budgets:
    """Give the sizes of the block's sections that are set."""
    return Budgets(settings.max_lesson_chars, settings.max_injected, settings.max_injected_chars)


def current(
    tx: CoreTx,
    project: str | None,
    settings: CoreSettings,
    *,
    is_off: bool = False,
    session: str | None = None,
    agent: str = agents.DEFAULT,
) -> Block:
    """Render what the next run in that project is told, as store and settings make it on every surface.

    A `session` that the bot hosts is told the candidates that were chosen at its start as well; its skills
    are handed to Pi, which lists them itself.
    """
    folder, budgets = shown(settings.context_folder), budgets_of(settings)
    tried = _tried(tx, session, project) if session is not None and settings.candidates else []
    listed = None if session is not None and capabilities.lists_itself(tx, agent) else agent
    return block(
        tx, project, language(tx), is_off, folder=folder, budgets=budgets, candidates=tried, agent=listed
    )


def _tried(tx: CoreTx, session: str, project: str | None) -> list[Failure]:
    """Give the candidates of a session; the ports they need load when a hosted session first asks."""
    from core.services.candidates import chosen  # noqa: PLC0415

    return chosen(tx, session, project)


def domain_files(tx: CoreTx, language: str, *, lesson_chars: int = Budgets().lessons_chars) -> dict[str, str]:
    """Give every domain's file and its text; empty where the domain has no lesson (any more)."""
    own = tx.lessons.on_demand()
    return {
        file_name(each): rules.render_domain(each, own, language=language, chars=lesson_chars).text
        for each in Domain
    }


def ready_files(tx: CoreTx, settings: CoreSettings) -> dict[str, str]:
    """Give every file that agents read beside a run of ours, by name (product.md 7).

    One for each project that has lessons or patterns of its own, one for all others, one for each domain.
    """
    decided = {each.project for each in tx.rulings.of() if is_accepted(each)}
    projects = sorted({*tx.lessons.projects(), *decided})
    homes = [(f"{project_hash(each)}.md", each) for each in projects]
    blocks = {name: current(tx, project, settings).text for name, project in homes}
    domains = domain_files(tx, language(tx), lesson_chars=settings.max_lesson_chars)
    return {"global.md": current(tx, None, settings).text, **domains, **blocks}


def write_ready_files(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Bring the folder up to date, each file at once; give the names that changed. Raises OSError.

    A project that no longer has lessons of its own reads the file for all; other files are left alone.
    """
    changed = [name for name, text in files.items() if write_file(folder / name, text)]
    stale = [each for each in _projects_files(folder) if each.name not in files]
    for each in stale:
        each.unlink(missing_ok=True)
    return [*changed, *(each.name for each in stale)]


def _projects_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [each for each in folder.iterdir() if re.fullmatch(r"[0-9a-f]{8}\.md", each.name)]


def write_file(path: Path, text: str, *, is_empty_kept: bool = False) -> bool:
    """Put a text in place of a file at once, readers see the old or the new; say whether it changed.

    An unchanged file is not touched; an empty text makes no new one unless it is kept. Raises OSError.
    """
    data = text.encode()
    try:
        if path.read_bytes() == data:
            return False
    except FileNotFoundError:
        if not data and not is_empty_kept:
            return False
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _replace(path, data)
    return True


def _replace(path: Path, data: bytes) -> None:
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
