"""A client of the control plane: faults, raw updates, recorded calls and the state of the bot."""

import asyncio
from collections.abc import Awaitable, Callable
from io import BytesIO
from types import TracebackType
from typing import Self, TypeVar

import aiohttp
from pydantic import BaseModel, TypeAdapter

from bot.local.faults import Fault, FaultKind
from bot.local.records import Json
from bot.local.wire import BotView, CallView, UpdateAct

_T = TypeVar("_T")
_CALLS = TypeAdapter(list[CallView])
WAIT_S = 5.0


class NothingCame(AssertionError):
    """What was waited for did not come; the text shows the whole chat."""


class Refused(Exception):
    """The control plane refused an act: no such person, chat or message."""


class ControlClient:
    """The part of the control plane that is about the bot, not about people."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open the connections."""
        connector = aiohttp.TCPConnector(limit=0)
        self._session = aiohttp.ClientSession(self._url, connector=connector)
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Close the connections; the server and its state stay."""
        if self._session is not None:
            await self._session.close()

    async def fault(self, kind: FaultKind = FaultKind.ERROR, **more: object) -> None:
        """Let the next calls go wrong; the keywords are the fields of `Fault`."""
        await self.act("fault", Fault.model_validate({"kind": kind, **more}))

    async def no_faults(self) -> None:
        """Let everything go right again."""
        await self.act("no_faults", UpdateAct())

    async def inject(self, raw: Json) -> int:
        """Queue a raw update, parseable or not, and give its id."""
        return int(str((await self.act("inject", UpdateAct(raw=raw)))["update_id"]))

    async def redeliver(self, update_id: int) -> None:
        """Deliver an update once more, acknowledged or not."""
        await self.act("redeliver", UpdateAct(update_id=update_id))

    async def set_next_update_id(self, update_id: int) -> None:
        """Let update ids go on from here, forward or back, as after a quiet week."""
        await self.act("update_id", UpdateAct(next_id=update_id))

    async def calls(self, method: str = "", *, last: int = 0) -> list[CallView]:
        """Give the bot's calls in order, of one method or all, or only the last ones."""
        return _CALLS.validate_json(await self.read("calls", method=method, last=last))

    async def bot(self) -> BotView:
        """Give what is known about the bot: its profile, whether it polls, what it has not acknowledged."""
        return BotView.model_validate_json(await self.read("bot"))

    async def wait_for_poll(self, *, after: int = 0, timeout_s: float = 10.0) -> BotView:
        """Wait until the bot has polled more than `after` times, and give its view."""

        async def is_up() -> BotView | None:
            bot = await self.bot()
            return bot if bot.polls > after else None

        return await self._until(is_up, timeout_s, "no poll came")

    async def wait_for_idle(self, *, timeout_s: float = 10.0) -> BotView:
        """Wait until a poll waits and every update is acknowledged."""

        async def is_idle() -> BotView | None:
            bot = await self.bot()
            return bot if bot.is_polling and not bot.pending else None

        return await self._until(is_idle, timeout_s, "the bot did not become idle")

    async def wait_for_call(
        self,
        method: str,
        is_wanted: Callable[[CallView], bool] = lambda _: True,
        *,
        timeout_s: float = WAIT_S,
    ) -> CallView:
        """Wait until the bot has made such a call, and give the newest of the last 500."""

        async def made() -> CallView | None:
            return next(
                (call for call in reversed(await self.calls(method, last=500)) if is_wanted(call)), None
            )

        return await self._until(made, timeout_s, f"no call of {method} came")

    async def act(self, name: str, body: BaseModel) -> Json:
        """Post to the control plane."""
        headers = {"Content-Type": "application/json"}
        # A stream: aiohttp warns of large bodies that are not.
        data = BytesIO(body.model_dump_json().encode())
        async with self._open().post(f"/control/{name}", data=data, headers=headers) as response:
            answer: Json = await response.json()
            if response.status != 200:
                raise Refused(str(answer.get("error")))
            return answer

    async def read(self, name: str, **query: str | int | float) -> bytes:
        """Get from the control plane."""
        async with self._open().get(f"/control/{name}", params=query) as response:
            if response.status != 200:
                raise Refused(await response.text())
            return await response.read()

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("use LocalTelegram as an async context")
        return self._session

    async def _until(self, look: Callable[[], Awaitable[_T | None]], timeout_s: float, otherwise: str) -> _T:
        deadline = asyncio.get_running_loop().time() + timeout_s
        while (found := await look()) is None:
            if asyncio.get_running_loop().time() > deadline:
                raise NothingCame(f"{otherwise} within {timeout_s} s")
            await asyncio.sleep(0.01)
        return found
