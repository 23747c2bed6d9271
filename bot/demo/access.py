"""Who may use the page: the browser that opened the printed link first, nobody else on machine or web.

The link's token works once and is exchanged for a cookie. Cookies are shared by all ports of a host, so this
one is bound to a path nobody can guess: another server on loopback never gets to see it.
"""

import secrets
from collections.abc import Mapping
from hmac import compare_digest
from typing import Final, NoReturn

from aiohttp import web

from bot.demo.words import tell
from core.texts import language_of

COOKIE: Final = "demo"
LONGEST_BODY_BYTES: Final = 256 * 1024

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


async def harden(request: web.Request, response: web.StreamResponse) -> None:
    """Put the page's headers on every response but the Bot API's."""
    if not request.path.startswith(("/bot", "/file/")):
        response.headers.update(HEADERS)


def spoken(request: web.Request) -> str:
    """Give the browser's language: the first it names."""
    return language_of(request.headers.get("Accept-Language", "").split(",")[0].split(";")[0].strip())


class Door:
    """Lets one browser in."""

    def __init__(self) -> None:
        self._link, self._place = secrets.token_urlsafe(24), secrets.token_urlsafe(18)
        self._session: str | None = None

    @property
    def path(self) -> str:
        """Give the path of the page, with a slash at its end."""
        return f"/{self._place}/"

    @property
    def query(self) -> str:
        """Give the query of the one-time link."""
        return f"?token={self._link}"

    async def enter(self, request: web.Request) -> NoReturn:
        """Exchange the link's token for a cookie; opened again, it leads to whoever has the cookie."""
        if not _same(request.query.get("token"), self._link):
            raise refused(request, "wrong")
        answer = web.HTTPSeeOther(self.path)
        if self._session is None:
            self._session = secrets.token_urlsafe(24)
            answer.set_cookie(COOKIE, self._session, path=self.path, httponly=True, samesite="Lax")
        raise answer

    def check(self, request: web.Request) -> None:
        """Raise 403 unless the cookie is that of this session."""
        if not _same(request.cookies.get(COOKIE), self._session):
            raise refused(request, "used")

    def check_own(self, request: web.Request) -> None:
        """Raise 403 unless our own page asks: links from elsewhere reach the page itself only."""
        self.check(request)
        if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            raise refused(request, "foreign")

    def check_act(self, request: web.Request) -> None:
        """Raise 403 unless our own page acts: a browser names the origin of each of its POSTs; 413, 415."""
        self.check_own(request)
        if request.headers.get("Origin") != f"http://{request.host}":
            raise refused(request, "foreign")
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text=tell("closed.broken", spoken(request)))
        # A browser names the length of a text it sends; without one nothing is read.
        if (length := request.content_length) is None or length > LONGEST_BODY_BYTES:
            raise web.HTTPRequestEntityTooLarge(
                LONGEST_BODY_BYTES, length or 0, text=tell("closed.too_long", spoken(request))
            )


def refused(request: web.Request, why: str) -> web.HTTPForbidden:
    """Give a 403 that says why, in the browser's language."""
    return web.HTTPForbidden(text=tell(f"closed.{why}", spoken(request)))


def _same(given: str | None, wanted: str | None) -> bool:
    return given is not None and wanted is not None and compare_digest(given.encode(), wanted.encode())
