"""All checks at once, each with its time limit; findings in the order of the list."""

import asyncio
from collections.abc import Awaitable, Callable, Collection

from bot.doctor.agent import ANSWER_S, check_agent, check_trust
from bot.doctor.case import Case
from bot.doctor.finding import Finding, Level
from bot.doctor.machine import check_disk, check_people, check_permissions, check_store, check_versions
from bot.doctor.online import check_groups, check_pollers, check_token
from core.rules.redact import Redactor

Check = Callable[[Case], Awaitable[list[Finding]]]

CHECKS: tuple[tuple[str, Check, float], ...] = (
    ("token", check_token, 15.0),
    ("pollers", check_pollers, 25.0),
    ("groups", check_groups, 15.0),
    ("people", check_people, 15.0),
    ("store", check_store, 60.0),
    ("disk", check_disk, 5.0),
    ("permissions", check_permissions, 5.0),
    ("versions", check_versions, 70.0),
    ("project", check_trust, 15.0),
    ("agent", check_agent, ANSWER_S + 40.0),
)
"""Name, check, and the seconds it may take."""


NAMES = tuple(name for name, _, _ in CHECKS)


async def examine(
    case: Case, tell: Callable[[Finding], None] = lambda _finding: None, only: Collection[str] = NAMES
) -> list[Finding]:
    """Run the checks; `tell` gets each finding as soon as those before it are known."""
    findings: list[Finding] = []
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_run(*each, case)) for each in CHECKS if each[0] in only]
        for task in tasks:
            for finding in await task:
                tell(finding)
                findings.append(finding)
    return findings


async def _run(name: str, check: Check, limit_s: float, case: Case) -> list[Finding]:
    try:
        async with asyncio.timeout(limit_s):
            return await check(case)
    except TimeoutError:
        return [Finding(name, Level.FAILURE, "slow", {"check": name, "seconds": int(limit_s)})]
    except Exception as error:  # noqa: BLE001 -- the border of each check: one that breaks hides no other
        reason = Redactor((case.token or "",)).redact(f"{type(error).__name__}: {error}")
        return [Finding(name, Level.FAILURE, "broken", {"check": name, "reason": reason})]
