"""Checks of this machine: disk, permissions, versions, store, people."""

import asyncio
import os
import platform
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from bot import people
from bot.doctor.case import Case, look
from bot.doctor.finding import Finding, Level
from core.agents.pi.version import check_version, node_version, spell
from core.errors import AgentError, StoreError
from core.store import health

LOW_BYTES, EMPTY_BYTES = 1_000_000_000, 100_000_000
DEAD_S = 7 * 86_400.0
_OTHERS = 0o077


async def check_disk(case: Case) -> list[Finding]:
    """Is there room to store what comes in?"""
    folder = case.settings.home
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    level = Level.FAILURE if free < EMPTY_BYTES else Level.WARNING if free < LOW_BYTES else Level.OK
    key = "disk" if level is Level.OK else "disk_low"
    return [Finding("disk", level, key, {"free": f"{free / 1e9:.1f}", "folder": case.settings.home})]


async def check_permissions(case: Case) -> list[Finding]:
    """May nobody else read what is secret, and may we write?"""
    home = case.settings.home
    if not home.exists():
        return [Finding("permissions", Level.NOTE, "home_none", {"folder": home})]
    found = list(_open_to_others(home))
    if not os.access(home, os.W_OK | os.X_OK):
        found.append(Finding("permissions", Level.FAILURE, "home_closed", {"folder": home}))
    return found or [Finding("permissions", Level.OK, "permissions", {"folder": home})]


def _open_to_others(home: Path) -> Iterator[Finding]:
    for path, mode in ((home, 700), (home / ".env", 600), (home / "store.db", 600)):
        if path.exists() and path.stat().st_mode & _OTHERS:
            is_secret = path.name == ".env"
            level = Level.FAILURE if is_secret else Level.WARNING
            yield Finding("permissions", level, "open", {"path": path, "mode": mode})


async def check_versions(case: Case) -> list[Finding]:
    """Is everything new enough?"""
    sqlite = health.sqlite_version()
    here = {"python": platform.python_version(), "sqlite": ".".join(map(str, sqlite))}
    found = [Finding("versions", Level.OK, "versions", here)]
    if sqlite < health.WAL_RESET_MENDED:
        found.append(Finding("versions", Level.NOTE, "wal_reset", here))
    if case.settings.agent == "pi":
        found.append(await _pi_version(case))
    return found


async def _pi_version(case: Case) -> Finding:
    spec = case.spec
    try:
        pi = await check_version(spec.command, spec.cwd, spec.env)
        node = await node_version(spec.command, spec.cwd, spec.env)
    except AgentError as error:
        return Finding("versions", Level.FAILURE, "pi_wrong", {"reason": error})
    told = {"pi": spell(pi), "node": spell(node) if node else "?", "command": " ".join(spec.command)}
    return Finding("versions", Level.OK, "pi", told)


async def check_store(case: Case) -> list[Finding]:
    """Is the file whole, of this version, and was nothing given up lately?"""
    path = case.settings.store_path
    if not path.exists():
        return [Finding("store", Level.NOTE, "store_none", {"path": path})]
    try:
        seen = await asyncio.to_thread(health.examine, path, time.time() - DEAD_S)
    except StoreError as error:
        return [Finding("store", Level.FAILURE, "store_wrong", {"reason": error})]
    told = {
        "path": path,
        "version": seen.version,
        "known": seen.known,
        "size": f"{seen.size_bytes / 1e6:.1f}",
    }
    if seen.version > seen.known:
        return [Finding("store", Level.FAILURE, "store_newer", told)]
    found = [Finding("store", Level.OK, "store", told)]
    if seen.dead_updates or seen.dead_calls:
        dead = {"updates": seen.dead_updates, "calls": seen.dead_calls, "error": seen.last_error}
        found.append(Finding("store", Level.WARNING, "dead", dead))
    return found


async def check_people(case: Case) -> list[Finding]:
    """Is there an owner, and do the lists name whom they should?"""
    settings = case.settings
    owner, guests = await _known_people(case)
    found = [
        Finding("people", Level.FAILURE, key, {"id": id})
        for key, ids in (
            ("user_is_group", (id for id in settings.allowed_users if id < 0)),
            ("group_is_user", (id for id in settings.allowed_chats if id > 0)),
        )
        for id in ids
    ]
    allowed = {*settings.allowed_users, *guests}
    idle = [id for id in settings.approvers if id not in allowed]
    found += [Finding("people", Level.WARNING, "approver_outside", {"id": id}) for id in idle]
    if owner is None:
        return [*found, Finding("people", Level.FAILURE, "no_owner")]
    return [*found, Finding("people", Level.OK, "people", {"owner": owner, "count": len(allowed)})]


async def _known_people(case: Case) -> tuple[int | None, list[int]]:
    settings = case.settings
    guests = await look(settings, people.joined) or []
    owner = next((each.id for each in guests if each.is_owner), None)
    return next(iter(settings.allowed_users), owner), [each.id for each in guests]
