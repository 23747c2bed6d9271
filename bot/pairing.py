"""The first owner comes in by a one-time link that the terminal shows (product.md 5)."""

import asyncio
from collections.abc import Callable

from bot import people
from bot.locales import say
from bot.people import Person
from core.app import Core

_LOOK_S = 0.3


async def pair(core: Core, username: str, language: str, show: Callable[[str], None]) -> Person:
    """Show a link for the owner, wait until somebody follows it, say who; a day later show the next one."""
    while True:
        begun = core.clock.now()
        code = await core.store.write(
            lambda tx, now=begun: people.invite(tx, core.ids, "", now, is_for_owner=True)  # type: ignore[misc]
        )
        show(say("pairing.link", language, link=people.link(username, code), bot=f"@{username}", code=code))
        found = await _until_followed(core, begun)
        if found is not None:
            show(say("pairing.done", language, name=found.name, id=found.id))
            return found


async def _until_followed(core: Core, begun: float) -> Person | None:
    """Wait for an owner who came since then; None when the link has ended."""
    while core.clock.now() < begun + people.INVITATION_S:
        everybody = await core.store.read(people.joined)
        found = next((each for each in everybody if each.is_owner and each.at >= begun), None)
        if found is not None:
            return found
        await asyncio.sleep(_LOOK_S)
    return None
