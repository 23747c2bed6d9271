"""A few plain calls to the Bot API, to find out what it thinks of us; also the time it says it is."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Self

import aiohttp


class Unreachable(Exception):
    """The server gave no answer that could be read; the text is the reason, without the token."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said: HTTP status, the call's result, or what it complains about.

    `date` is the server's clock, in seconds since the epoch.
    """

    status: int
    result: Any
    complaint: str
    date: float | None

    @property
    def is_ok(self) -> bool:
        """Say whether the call succeeded."""
        return self.status == 200


class Telegram:
    """The Bot API for one token, as an async context."""

    def __init__(self, token: str, base_url: str, timeout_s: float = 10.0) -> None:
        self._url = f"{base_url}{token}"
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open the connection."""
        self._session = aiohttp.ClientSession(timeout=self._timeout, trust_env=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        if self._session is not None:
            await self._session.close()

    async def call(self, method: str, params: Mapping[str, Any] | None = None) -> Answer:
        """Make a call. Raises Unreachable."""
        assert self._session is not None, "opened"
        try:
            async with self._session.post(f"{self._url}/{method}", json=dict(params or {})) as response:
                return _read(response.status, await response.json(content_type=None), response.headers)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            reason = _reason(error)
        # Raised here, since the first error's text has the URL and with it the token.
        raise Unreachable(reason)


def _read(status: int, body: object, headers: Mapping[str, str]) -> Answer:
    if not isinstance(body, dict):
        raise ValueError(body)
    date = None
    with suppress(KeyError, ValueError):
        date = parsedate_to_datetime(headers["Date"]).timestamp()
    is_ok = status == 200 and body.get("ok") is True
    code = 200 if is_ok else int(body.get("error_code") or status or 500)
    return Answer(code, body.get("result"), str(body.get("description") or ""), date)


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.strerror:
        return f"{error.host}: {error.os_error.strerror}"
    return "timeout" if isinstance(error, TimeoutError) else type(error).__name__
