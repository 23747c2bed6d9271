"""The page over HTTP: its files, what is new in the chat, and what the visitor does."""

from collections.abc import Awaitable, Callable
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Final, Literal, TypeVar

from aiohttp import web
from pydantic import BaseModel, Field, ValidationError

from bot.demo.access import Door, spoken
from bot.demo.guide import Guide
from bot.demo.words import section, tell
from bot.demo.world import VISITOR_ID, World
from bot.local.guard import Handler
from bot.local.records import Json
from bot.local.state import NotThere
from bot.local.views import view_chat

FOLDER: Final = Path(__file__).parent / "static"
FILES: Final = {
    "app.js": "text/javascript",
    "chat.js": "text/javascript",
    "guide.js": "text/javascript",
    "render.js": "text/javascript",
    "style.css": "text/css",
    "icon.svg": "image/svg+xml",
}
_Act = TypeVar("_Act", bound=BaseModel)
LONGEST_WAIT_S: Final = 25.0
MESSAGE_UNITS: Final = 4096


class Said(BaseModel):
    """POST say."""

    text: str = Field(min_length=1)
    reply_to: int | None = None


class Tapped(BaseModel):
    """POST tap."""

    message_id: int
    data: str = Field(max_length=64)


class Reacted(BaseModel):
    """POST react."""

    message_id: int
    emoji: list[Literal["👍", "👎"]] = Field(max_length=1)


class Page:
    """The routes of the page; everything but the link asks for the cookie."""

    def __init__(self, world: World, door: Door, agent: str, folder: Path) -> None:
        self._world, self._door = world, door
        self._agent, self._project = agent, folder
        self.look: Callable[[], Awaitable[Guide]] | None = None
        """What the guide shows; None until the bot has opened its store."""

    def routes(self) -> list[web.RouteDef]:
        """Give the routes to mount."""
        at = self._door.path
        return [
            web.get("/", self._door.enter, allow_head=False),  # a look at the link must not use it up
            web.get("/favicon.ico", _nothing),
            web.get(at, self._index),
            web.get(at + "{name:[a-z]+\\.[a-z]+}", self._owned(self._file)),
            web.get(at + "start", self._owned(self._start)),
            web.get(at + "news", self._owned(self._news)),
            web.get(at + "files/{id}", self._owned(self._download)),
            self._act("say", Said, self._say),
            self._act("tap", Tapped, self._tap),
            self._act("react", Reacted, self._react),
        ]

    def _owned(self, handler: Handler) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            self._door.check_own(request)
            return await handler(request)

        return handle

    def _act(self, name: str, model: type[_Act], act: Callable[[_Act], Json]) -> web.RouteDef:
        async def handle(request: web.Request) -> web.StreamResponse:
            self._door.check_act(request)
            try:
                return web.json_response(act(model.model_validate_json(await request.read())))
            except (ValidationError, NotThere):
                raise web.HTTPBadRequest(text=tell("closed.broken", spoken(request))) from None

        return web.post(self._door.path + name, handle)

    # -- looking -----------------------------------------------------------------------------------------

    async def _index(self, request: web.Request) -> web.Response:
        self._door.check(request)
        language = spoken(request)
        self._world.meet(language, tell("js.you", language))
        return web.Response(text=self._html(language), content_type="text/html")

    def _html(self, language: str) -> str:
        texts = {name: escape(text) for name, text in section("page.", language).items()}
        kind = "pi" if self._agent == "pi" else "scripted"
        honest = [tell(f"page.honest_{kind}", language)]
        if kind == "scripted":
            honest.append(tell("page.honest_real", language))
        place = escape(str(self._project))
        return _template().substitute(
            texts, language=language, honest=escape(" ".join(honest)), project=place
        )

    async def _file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in FILES:
            raise web.HTTPNotFound
        return web.Response(body=_bytes(name), content_type=FILES[name], charset="utf-8")

    async def _start(self, request: web.Request) -> web.StreamResponse:
        """Give what the page needs once: its texts, what may be asked, who the visitor is."""
        language = spoken(request)
        start = {
            "language": language,
            "me": VISITOR_ID,
            "agent": self._agent,
            "texts": dict(section("js.", language)),
            "steps": dict(section("step.", language)),
            "prompts": dict(section("prompt.", language)),
        }
        return web.json_response(start)

    async def _news(self, request: web.Request) -> web.StreamResponse:
        """Give what is newer than `seen`, as soon as there is something, after a while in any case."""
        try:
            seen = int(request.query.get("seen", "-1"))
        except ValueError:
            raise web.HTTPBadRequest(text=tell("closed.broken", spoken(request))) from None
        world = self._world
        await world.bell.wait_until(lambda: world.state.version > seen, LONGEST_WAIT_S)
        if world.bell.is_closing:
            raise web.HTTPServiceUnavailable
        guide = await self.look() if self.look is not None else Guide()
        news = view_chat(world.state, VISITOR_ID, seen).model_dump()
        can_react = "message_reaction" in world.state.updates.allowed
        return web.json_response(
            news | {"typing_s": world.typing_s, "can_react": can_react, "guide": guide.wire()}
        )

    async def _download(self, request: web.Request) -> web.StreamResponse:
        file = self._world.state.files.get(request.match_info["id"])
        if file is None:
            raise web.HTTPNotFound
        # Never shown: what the agent wrote is no page of ours.
        answer = web.Response(body=file.content, content_type="application/octet-stream")
        answer.headers["Content-Disposition"] = "attachment"
        return answer

    # -- acting ------------------------------------------------------------------------------------------

    def _say(self, act: Said) -> Json:
        """Say it in as many messages as a client of Telegram makes of a long text."""
        state, first = self._world.state, act.reply_to
        for part in split(act.text):
            state.say(VISITOR_ID, VISITOR_ID, part, reply_to=first)
            first = None
        return {}

    def _tap(self, act: Tapped) -> Json:
        query = self._world.state.tap(VISITOR_ID, VISITOR_ID, act.message_id, act.data)
        return {"query_id": query}

    def _react(self, act: Reacted) -> Json:
        self._world.state.react(VISITOR_ID, VISITOR_ID, act.message_id, list(act.emoji))
        return {}


def split(text: str) -> list[str]:
    """Cut a text into parts of at most 4,096 UTF-16 units, without loss."""
    parts, start, size = [], 0, 0
    for place, char in enumerate(text):
        width = 2 if ord(char) > 0xFFFF else 1
        if size + width > MESSAGE_UNITS:
            parts.append(text[start:place])
            start, size = place, 0
        size += width
    return [*parts, text[start:]]


async def _nothing(_request: web.Request) -> web.Response:
    return web.Response(status=204)


@cache
def _template() -> Template:
    return Template((FOLDER / "index.html").read_text(encoding="utf-8"))


@cache
def _bytes(name: str) -> bytes:
    return (FOLDER / name).read_bytes()
