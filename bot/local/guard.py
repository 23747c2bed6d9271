"""Keeping web pages out: a browser on this machine reaches loopback too, for any page it shows."""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def refuse_foreign(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse other sites' requests, other host names (DNS rebinding) and forms to the control plane.

    Whoever may type for the people types for the agent, which has a shell.
    """
    host, origin = urlsplit(f"//{request.host}").hostname, request.headers.get("Origin")
    if host not in _LOOPBACK or origin not in (None, f"http://{request.host}"):
        raise web.HTTPForbidden(text="only from this machine and its own page")
    is_act = request.method == "POST" and request.path.startswith("/control/")
    if is_act and request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="acts are application/json")
    return await handler(request)
