"""Checks against Telegram: the token, the clock, who else polls, groups."""

import asyncio
import time

from bot.doctor.case import Case
from bot.doctor.finding import Finding, Level
from bot.doctor.telegram import Answer, Telegram, Unreachable

LISTEN_S = 3  # another poller, once ended by ours, comes back within that
MAX_SKEW_S = 30.0


async def check_token(case: Case) -> list[Finding]:
    """Does Telegram know the token, and does its clock agree with ours?"""
    if case.token is None:
        return [Finding("token", Level.FAILURE, "token_none")]
    try:
        async with case.telegram() as telegram:
            answer = await telegram.call("getMe")
    except Unreachable as error:
        return [Finding("token", Level.FAILURE, "unreachable", {"reason": error})]
    if not answer.is_ok:
        return [Finding("token", Level.FAILURE, "token_wrong", {"reason": answer.complaint})]
    me = answer.result
    found = [Finding("token", Level.OK, "token", {"bot": f"@{me.get('username')}", "id": me.get("id")})]
    if case.settings.allowed_chats and not me.get("can_read_all_group_messages"):
        found.append(Finding("token", Level.NOTE, "privacy"))
    return [*found, *_clock(answer)]


def _clock(answer: Answer) -> list[Finding]:
    if answer.date is None:
        return []
    skew = time.time() - answer.date
    told = {"seconds": f"{abs(skew):.0f}"}
    if abs(skew) <= MAX_SKEW_S:
        return [Finding("clock", Level.OK, "clock", told)]
    return [Finding("clock", Level.WARNING, "clock_fast" if skew > 0 else "clock_slow", told)]


async def check_pollers(case: Case) -> list[Finding]:
    """Does another program fetch our updates?"""
    if case.deaf:
        is_other = "409" in case.deaf or "Conflict" in case.deaf
        return [Finding("pollers", Level.FAILURE, "conflict" if is_other else "deaf", {"reason": case.deaf})]
    if case.is_bot:
        return [Finding("pollers", Level.OK, "hearing")]
    if case.token is None:
        return []
    if case.is_running:  # asking ourselves would end the bot's own call
        return [Finding("pollers", Level.OK, "running", {"folder": case.settings.home})]
    try:
        async with case.telegram() as telegram:
            return [await _listen(telegram)]
    except Unreachable:
        return []  # `check_token` says so


async def _listen(telegram: Telegram) -> Finding:
    hook = await telegram.call("getWebhookInfo")
    if hook.is_ok and isinstance(hook.result, dict) and hook.result.get("url"):
        return Finding("pollers", Level.FAILURE, "webhook")
    # Nothing is acknowledged: no offset is named. What waits already shows that nobody takes it.
    answer = await telegram.call("getUpdates", {"timeout": LISTEN_S, "limit": 1})
    if answer.status == 409:
        return Finding("pollers", Level.FAILURE, "conflict", {"reason": answer.complaint})
    return Finding(
        "pollers",
        Level.OK if answer.is_ok else Level.WARNING,
        "alone" if answer.is_ok else "deaf",
        {"reason": answer.complaint},
    )


async def check_groups(case: Case) -> list[Finding]:
    """Is the bot in its groups, and administrator there, so that reactions reach it?"""
    if case.token is None or not case.settings.allowed_chats:
        return []
    try:
        async with case.telegram() as telegram:
            bot = int(case.token.partition(":")[0])
            return list(
                await asyncio.gather(*(_group(telegram, chat, bot) for chat in case.settings.allowed_chats))
            )
    except Unreachable:
        return []  # `check_token` says so


async def _group(telegram: Telegram, chat: int, bot: int) -> Finding:
    answer = await telegram.call("getChatMember", {"chat_id": chat, "user_id": bot})
    if not answer.is_ok or not isinstance(answer.result, dict):
        return Finding("groups", Level.FAILURE, "group_gone", {"id": chat, "reason": answer.complaint})
    is_admin = answer.result.get("status") in ("administrator", "creator")
    return Finding(
        "groups",
        Level.OK if is_admin else Level.WARNING,
        "group" if is_admin else "group_member",
        {"id": chat},
    )
