"""How updates reach the bot: long polls of getUpdates, or a webhook."""

import asyncio
import json

import aiohttp

from bot.local.bell import Bell
from bot.local.calls import Call
from bot.local.records import Json
from bot.local.state import LocalState
from bot.local.texts import ApiError
from bot.local.webhook import Webhook

_MAX_POLL_S = 50


class Poller:
    """Serves getUpdates and the methods of the webhook.

    The newest poll wins: the one that waits is ended with 409, so that two bots with one token both notice
    and each gets a part.
    """

    def __init__(self, state: LocalState, bell: Bell) -> None:
        self.polls = 0
        self.webhook = Webhook()
        self._state = state
        self._bell = bell
        self._waiting: object | None = None
        self._delivery: asyncio.Task[None] | None = None

    @property
    def is_polling(self) -> bool:
        """Tell whether a poll is waiting right now."""
        return self._waiting is not None

    async def get_updates(self, call: Call) -> object:
        """Answer getUpdates."""
        self.polls += 1
        if self.webhook.url:
            raise ApiError(
                409,
                "Conflict: can't use getUpdates method while webhook is active; "
                "use deleteWebhook to delete the webhook first",
            )
        updates, ticket = self._state.updates, object()
        self._waiting = ticket
        self._bell.ring()
        self._allow(call)
        if offset := call.integer("offset"):
            updates.acknowledge(offset)
        timeout_s = min(max(call.integer("timeout") or 0, 0), _MAX_POLL_S)
        await self._bell.wait_until(lambda: len(updates) > 0 or self._waiting is not ticket, timeout_s)
        if self._waiting is not ticket:
            raise ApiError(
                409,
                "Conflict: terminated by other getUpdates request; "
                "make sure that only one bot instance is running",
            )
        self._waiting = None
        return updates.peek(call.integer("limit") or 100)

    async def set_webhook(self, call: Call) -> object:
        """Answer setWebhook; an empty url is deleteWebhook."""
        await self.close()
        self._allow(call)
        self.webhook = Webhook(call.text("url"), call.text("secret_token"))
        if call.flag("drop_pending_updates"):
            self._state.updates.acknowledge(self._state.updates.next_id)
        if self.webhook.url:
            self._delivery = asyncio.create_task(self._deliver())
        return True

    async def delete_webhook(self, call: Call) -> object:
        """Answer deleteWebhook."""
        kept = {name: value for name, value in call.params.items() if name != "url"}
        return await self.set_webhook(Call(call.method, kept))

    async def webhook_info(self, _call: Call) -> object:
        """Answer getWebhookInfo."""
        return self.webhook.info() | {
            "pending_update_count": len(self._state.updates),
            "allowed_updates": sorted(self._state.updates.allowed),
        }

    async def close(self) -> None:
        """End the webhook's delivery."""
        task, self._delivery = self._delivery, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def _allow(self, call: Call) -> None:
        kinds = call.structure("allowed_updates")
        if isinstance(kinds, list):
            self._state.updates.allow([str(kind) for kind in kinds])

    async def _deliver(self) -> None:
        """Post one update after the other, each again until it is accepted."""
        updates = self._state.updates
        async with aiohttp.ClientSession() as session:
            while True:
                await self._bell.wait_until(lambda: len(updates) > 0, _MAX_POLL_S)
                for update in updates.peek(1):
                    await self._deliver_one(session, update)

    async def _deliver_one(self, session: aiohttp.ClientSession, update: Json) -> None:
        if await self.webhook.post(session, json.dumps(update)):
            self._state.updates.settle(update)
        else:
            await asyncio.sleep(self.webhook.retry_s)
