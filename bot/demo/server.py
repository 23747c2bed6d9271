"""One loopback server for both sides of the demo: the Bot API for the bot, the page for the visitor."""

from types import TracebackType
from typing import Final, Self

from aiohttp import web

from bot.demo.access import Door, harden
from bot.demo.page import Page
from bot.demo.world import World
from bot.local.guard import refuse_foreign

_LARGEST_UPLOAD_BYTES: Final = 60 * 1024 * 1024  # what the Bot API takes from a bot; the page takes far less
_SHUTDOWN_S: Final = 1.0


class DemoServer:
    """The server as an async context; port 0 takes a free one."""

    def __init__(self, world: World, door: Door, page: Page, port: int = 0) -> None:
        self._world, self._door, self._page = world, door, page
        self.port = port
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Give the root."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        """Give the one-time link to the page."""
        return f"{self.url}/{self._door.query}"

    async def __aenter__(self) -> Self:
        """Listen on loopback. Raises OSError where the port is taken."""
        middlewares = [refuse_foreign, self._world.notice_typing]
        app = web.Application(client_max_size=_LARGEST_UPLOAD_BYTES, middlewares=middlewares)
        app.add_routes([*self._page.routes(), *self._world.routes()])
        app.on_response_prepare.append(harden)
        app.on_shutdown.append(self._close)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_S)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        except OSError:
            await self._runner.cleanup()
            raise
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """End waiting polls and stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _close(self, _app: web.Application) -> None:
        await self._world.close()
