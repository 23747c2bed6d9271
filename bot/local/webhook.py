"""The webhook as Telegram calls it."""

import time
from dataclasses import dataclass

import aiohttp

from bot.local.records import Json

_SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105  (a header's name)


@dataclass(slots=True)
class Webhook:
    """Where updates are posted; an empty url means nowhere. Plain http is let pass, since all is local."""

    url: str = ""
    secret: str = ""
    retry_s: float = 0.5
    last_error: str = ""
    last_error_at: int = 0

    def info(self) -> Json:
        """Give the WebhookInfo object, without what the queue knows."""
        info: Json = {"url": self.url, "has_custom_certificate": False}
        error: Json = {"last_error_date": self.last_error_at, "last_error_message": self.last_error}
        return info | (error if self.last_error else {})

    async def post(self, session: aiohttp.ClientSession, body: str) -> bool:
        """Post one update and tell whether it was accepted."""
        headers = {"Content-Type": "application/json"}
        if self.secret:
            headers[_SECRET_HEADER] = self.secret
        try:
            async with session.post(self.url, data=body, headers=headers) as response:
                if response.status < 300:
                    return True
                self.last_error = f"Wrong response from the webhook: {response.status} {response.reason}"
        except (aiohttp.ClientError, TimeoutError) as error:
            self.last_error = type(error).__name__
        self.last_error_at = int(time.time())
        return False
