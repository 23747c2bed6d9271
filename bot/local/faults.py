"""Faults on demand: what a network and an overloaded or angry Telegram do to calls (reliability.md D15)."""

import asyncio
import json
import socket
import struct
from collections.abc import Awaitable, Callable
from enum import StrEnum

from aiohttp import web
from pydantic import BaseModel

from bot.local.calls import Call
from bot.local.records import Json
from bot.local.texts import ApiError

_HTML = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
_DESCRIPTIONS = {
    400: "Bad Request: local fault",
    401: "Unauthorized",
    403: "Forbidden: bot was blocked by the user",
    404: "Not Found",
    409: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
    429: "Too Many Requests: retry after {retry_after_s}",
    500: "Internal Server Error",
    502: "Bad Gateway",
}


class FaultKind(StrEnum):
    """What happens to a call; only the last three let it have its effect."""

    ERROR = "error"  # the answer is `code`, with Telegram's own text
    HTML = "html"  # a proxy's page instead of JSON, with `code` (200 too)
    HANG = "hang"  # nothing for `seconds`, then the connection ends
    RESET = "reset"  # the connection ends before any byte
    RESET_MID_BODY = "reset_mid_body"  # the effect, then half of the answer
    LOST_ANSWER = "lost_answer"  # the effect, then the connection ends without a byte
    DELAY = "delay"  # `seconds` later, as if nothing had happened: latency


class Fault(BaseModel):
    """The next `times` calls of a method (None: of any), in one chat or all, go wrong; times 0 means all.

    `method` is compared without case. `retry_after_s` and `migrate_to_chat_id` go into the answer.
    """

    kind: FaultKind = FaultKind.ERROR
    method: str | None = None
    chat_id: int | None = None
    times: int = 1
    code: int = 400
    description: str | None = None
    retry_after_s: int | None = None
    migrate_to_chat_id: int | None = None
    seconds: float = 0.0

    def fits(self, call: Call) -> bool:
        """Tell whether this call is meant."""
        is_method = self.method is None or self.method.lower() == call.method.lower()
        return is_method and self.chat_id in (None, call.integer("chat_id"))

    def error(self) -> ApiError:
        """Make the error answer."""
        parameters: Json = {}
        if self.retry_after_s is not None:
            parameters["retry_after"] = self.retry_after_s
        if self.migrate_to_chat_id is not None:
            parameters["migrate_to_chat_id"] = self.migrate_to_chat_id
        text = self.description or _DESCRIPTIONS.get(self.code, "Error")
        return ApiError(self.code, text.format(retry_after_s=self.retry_after_s), parameters)


class Faults:
    """The faults that wait for calls, oldest first."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Fault, int]] = []

    def add(self, fault: Fault) -> None:
        """Let calls go wrong from now on."""
        self._waiting.append((fault, fault.times or -1))

    def clear(self) -> None:
        """Let everything go right again."""
        self._waiting.clear()

    def take(self, call: Call) -> Fault | None:
        """Give the fault for this call and count it."""
        for index, (fault, left) in enumerate(self._waiting):
            if fault.fits(call):
                if left == 1:
                    del self._waiting[index]
                elif left > 0:
                    self._waiting[index] = (fault, left - 1)
                return fault
        return None


Effect = Callable[[], Awaitable[tuple[int, Json]]]
"""Does the call and gives status and body."""


async def play(fault: Fault, request: web.Request, effect: Effect) -> tuple[int, Json, web.StreamResponse]:
    """Answer as the fault says: what is recorded (status 0 for no answer) and the response."""
    if fault.kind in (FaultKind.HANG, FaultKind.DELAY):
        await asyncio.sleep(fault.seconds)
    match fault.kind:
        case FaultKind.ERROR:
            error = fault.error()
            return error.code, error.wire(), answer(error.code, error.wire())
        case FaultKind.HTML:
            return fault.code, {}, web.Response(text=_HTML, status=fault.code, content_type="text/html")
        case FaultKind.HANG | FaultKind.RESET:
            return 0, {}, _reset(request)
        case FaultKind.LOST_ANSWER:
            _, body = await effect()
            return 0, body, _reset(request)
        case FaultKind.RESET_MID_BODY:
            status, body = await effect()
            return 0, body, await _break_off(request, status, body)
        case FaultKind.DELAY:
            status, body = await effect()
            return status, body, answer(status, body)


def answer(status: int, body: Json) -> web.Response:
    """Make the response to a call."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return web.Response(text=text, status=status, content_type="application/json")


def _reset(request: web.Request) -> web.Response:
    """End the connection with RST, the way a dying network or server does; the response goes nowhere."""
    if request.transport is not None:
        peer = request.transport.get_extra_info("socket")
        if peer is not None:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
    return web.Response()


async def _break_off(request: web.Request, status: int, body: Json) -> web.StreamResponse:
    content = json.dumps(body).encode()
    response = web.StreamResponse(status=status, headers={"Content-Length": str(len(content))})
    response.content_type = "application/json"
    await response.prepare(request)
    await response.write(content[: len(content) // 2])
    _reset(request)
    return response
