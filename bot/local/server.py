"""The local Bot API server: the bot talks to it as to Telegram, tests and the demo play the people."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from aiohttp import web

from bot.local.bell import Bell
from bot.local.calls import Call, Recorder, read_call
from bot.local.control import Control
from bot.local.faults import Faults, answer, play
from bot.local.guard import refuse_foreign
from bot.local.methods import METHODS
from bot.local.polling import Poller
from bot.local.records import Json
from bot.local.state import LocalState
from bot.local.texts import ApiError

_MAX_BODY_BYTES = 60 * 1024 * 1024
_SHUTDOWN_S = 1.0

AsyncMethod = Callable[[Call], Awaitable[object]]


class BotApi:
    """Answers /bot<token>/<method> and /file/bot<token>/<path>."""

    def __init__(self, state: LocalState, faults: Faults, recorder: Recorder, poller: Poller) -> None:
        self._state = state
        self._faults = faults
        self._recorder = recorder
        self._waiting: dict[str, AsyncMethod] = {
            "getupdates": poller.get_updates,
            "setwebhook": poller.set_webhook,
            "deletewebhook": poller.delete_webhook,
            "getwebhookinfo": poller.webhook_info,
        }

    def routes(self) -> list[web.RouteDef]:
        """Give the routes to mount."""
        path = "/bot{token:[^/]+}/{method}"
        return [
            web.post(path, self.handle_call),
            web.get(path, self.handle_call),
            web.get("/file/bot{token:[^/]+}/{path:.+}", self.handle_file),
        ]

    async def handle_call(self, request: web.Request) -> web.StreamResponse:
        """Do one call, or let it go wrong as a waiting fault says."""
        if request.match_info["token"] != self._state.token:
            return answer(401, ApiError(401, "Unauthorized").wire())
        try:
            call = await read_call(request.match_info["method"], request)
        except ApiError as error:
            return answer(error.code, error.wire())
        recorded = self._recorder.begin(call)
        fault = self._faults.take(call)
        if fault is None:
            status, body = await self._do(call)
            response: web.StreamResponse = answer(status, body)
        else:
            recorded.fault = fault.kind.value
            status, body, response = await play(fault, request, lambda: self._do(call))
        self._recorder.end(recorded, status, body)
        return response

    async def handle_file(self, request: web.Request) -> web.Response:
        """Give a file's bytes."""
        path = request.match_info["path"]
        found = [file for file in self._state.files.values() if file.path == path]
        if request.match_info["token"] != self._state.token or not found:
            return answer(404, ApiError(404, "Not Found").wire())
        return web.Response(body=found[0].content)

    async def _do(self, call: Call) -> tuple[int, Json]:
        name = call.method.lower()
        try:
            if name in self._waiting:
                result = await self._waiting[name](call)
            elif name in METHODS:
                result = METHODS[name](self._state, call)
            else:
                raise ApiError(404, "Not Found: method not found")
        except ApiError as error:
            return error.code, error.wire()
        return 200, {"ok": True, "result": result}


def make_app(
    state: LocalState, *, faults: Faults | None = None, recorder: Recorder | None = None
) -> web.Application:
    """Make the application: Bot API and control plane over one state; more routes may be added to it."""
    bell, recorder, faults = Bell(), recorder or Recorder(), faults or Faults()
    poller = Poller(state, bell)
    state.listen(bell.ring)
    app = web.Application(client_max_size=_MAX_BODY_BYTES, middlewares=[refuse_foreign])
    app.add_routes(BotApi(state, faults, recorder, poller).routes())
    app.add_routes(Control(state, faults, recorder, poller, bell).routes())

    async def close(_app: web.Application) -> None:
        bell.close()
        await poller.close()
        recorder.close()

    app.on_shutdown.append(close)
    return app


class LocalServer:
    """The server on loopback, as an async context; port 0 takes a free one."""

    def __init__(
        self,
        token: str = "123456:local-token",  # noqa: S107  (a token of nobody, for this server alone)
        *,
        port: int = 0,
        record: Path | None = None,
        state: LocalState | None = None,
    ) -> None:
        self.state = state or LocalState(token)
        self.faults = Faults()
        self.recorder = Recorder(record)
        self.port = port
        self._runner: web.AppRunner | None = None

    @property
    def token(self) -> str:
        """Give the token that the bot has to use."""
        return self.state.token

    @property
    def url(self) -> str:
        """Give the root, for `LocalTelegram`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """Give python-telegram-bot's base_url."""
        return f"{self.url}/bot"

    @property
    def base_file_url(self) -> str:
        """Give python-telegram-bot's base_file_url."""
        return f"{self.url}/file/bot"

    async def __aenter__(self) -> Self:
        """Listen."""
        app = make_app(self.state, faults=self.faults, recorder=self.recorder)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_S)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """End waiting polls and stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()
