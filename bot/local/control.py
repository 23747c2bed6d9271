"""The control plane: people's acts and the view on everything, as HTTP under /control."""

from collections.abc import Callable
from typing import TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError

from bot.local.bell import Bell
from bot.local.calls import Recorder
from bot.local.faults import Fault, Faults
from bot.local.polling import Poller
from bot.local.records import ChatType, Json
from bot.local.state import LocalState, NotThere
from bot.local.views import view_chat, view_message
from bot.local.wire import (
    AddGroup,
    AddPerson,
    BotView,
    CallView,
    ChatAct,
    FileGiven,
    GroupView,
    MessageAct,
    Say,
    TopicAct,
    UpdateAct,
)

_Act = TypeVar("_Act", bound=BaseModel)
_MAX_WAIT_S = 60.0


class Control:
    """Answers the control plane's requests; errors are 400 with {"error": what}."""

    def __init__(
        self, state: LocalState, faults: Faults, recorder: Recorder, poller: Poller, bell: Bell
    ) -> None:
        self._state = state
        self._faults = faults
        self._recorder = recorder
        self._poller = poller
        self._bell = bell

    def routes(self) -> list[web.RouteDef]:
        """Give the routes to mount."""
        return [
            self._post("person", AddPerson, self._add_person),
            self._post("group", AddGroup, self._add_group),
            self._post("topic", TopicAct, lambda a: {"thread_id": self._state.add_topic(a.chat_id, a.name)}),
            self._post("remove_topic", TopicAct, lambda a: self._state.remove_topic(a.chat_id, a.thread_id)),
            self._post("upgrade", ChatAct, lambda a: {"id": self._state.upgrade(a.chat_id).id}),
            self._post("access", ChatAct, lambda a: self._state.set_access(a.chat_id, a.access)),
            self._post("say", Say, self._say),
            self._post("edit", MessageAct, self._edit),
            self._post("tap", MessageAct, self._tap),
            self._post("react", MessageAct, self._react),
            self._post("inject", UpdateAct, self._inject),
            self._post("redeliver", UpdateAct, self._redeliver),
            self._post("update_id", UpdateAct, self._set_next_id),
            self._post("fault", Fault, self._faults.add),
            self._post("no_faults", UpdateAct, lambda _: self._faults.clear()),
            web.get("/control/chat", self._chat),
            web.get("/control/calls", self._calls),
            web.get("/control/bot", self._bot),
            web.get("/control/file", self._file),
        ]

    def _post(self, name: str, model: type[_Act], act: Callable[[_Act], object]) -> web.RouteDef:
        async def handle(request: web.Request) -> web.Response:
            try:
                result = act(model.model_validate_json(await request.read()))
            except (ValidationError, NotThere) as error:
                return web.json_response({"error": str(error)}, status=400)
            return web.json_response({} if result is None else result)

        return web.post(f"/control/{name}", handle)

    def _add_person(self, act: AddPerson) -> Json:
        return self._state.add_person(
            act.first_name, language_code=act.language_code, username=act.username, person_id=act.id
        ).wire()

    def _add_group(self, act: AddGroup) -> Json:
        chat = self._state.add_group(
            act.title,
            act.members,
            kind=ChatType(act.kind),
            topics=act.topics,
            is_bot_admin=act.is_bot_admin,
            hears_all=act.hears_all,
        )
        topics = {name: thread_id for thread_id, name in chat.topics.items()}
        return GroupView(id=chat.id, topics=topics).model_dump()

    def _say(self, act: Say) -> Json:
        content = act.content | (self._content(act.file) if act.file else {})
        message = self._state.say(
            act.person_id,
            act.chat_id,
            act.text,
            entities=act.entities,
            reply_to=act.reply_to,
            thread_id=act.thread_id,
            content=content,
        )
        return view_message(self._state, message).model_dump()

    def _content(self, given: FileGiven) -> Json:
        file = self._state.keep_file(given.name, given.content(), given.mime_type)
        match given.kind:
            case "document":
                return {"document": file.wire()}
            case "photo":
                return {"photo": [file.brief() | {"width": 640, "height": 480}]}
            case "voice":
                return {"voice": file.brief() | {"duration": 3, "mime_type": "audio/ogg"}}

    def _edit(self, act: MessageAct) -> None:
        self._state.edit(act.person_id, act.chat_id, act.message_id, act.text, act.entities)

    def _tap(self, act: MessageAct) -> Json:
        return {"query_id": self._state.tap(act.person_id, act.chat_id, act.message_id, act.data)}

    def _react(self, act: MessageAct) -> None:
        self._state.react(act.person_id, act.chat_id, act.message_id, act.emoji)

    def _inject(self, act: UpdateAct) -> Json:
        update_id = self._state.updates.inject(act.raw)
        self._state.touch()
        return {"update_id": update_id}

    def _redeliver(self, act: UpdateAct) -> None:
        if not self._state.updates.redeliver(act.update_id):
            raise NotThere(f"no update {act.update_id}")
        self._state.touch()

    def _set_next_id(self, act: UpdateAct) -> None:
        self._state.updates.next_id = act.next_id

    async def _chat(self, request: web.Request) -> web.Response:
        """Give what is newer than `seen`, as soon as there is something or `timeout_s` is over."""
        chat_id, seen = int(request.query["chat_id"]), int(request.query.get("seen", "-1"))
        timeout_s = min(float(request.query.get("timeout_s", "0")), _MAX_WAIT_S)
        await self._bell.wait_until(lambda: self._state.version > seen, timeout_s)
        try:
            view = view_chat(self._state, chat_id, seen)
        except NotThere as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.Response(text=view.model_dump_json(), content_type="application/json")

    async def _calls(self, request: web.Request) -> web.Response:
        """Give the calls, of one method or all, the newest `last` ones."""
        method, last = request.query.get("method", "").lower(), int(request.query.get("last", "0"))
        found = [r for r in self._recorder.calls if method in ("", r.call.method.lower())]
        return web.json_response([CallView.model_validate(r.line()).model_dump() for r in found[-last:]])

    async def _bot(self, _request: web.Request) -> web.Response:
        state = self._state
        view = BotView(
            id=state.bot.id,
            username=state.bot.username or "",
            polls=self._poller.polls,
            is_polling=self._poller.is_polling,
            pending=len(state.updates),
            allowed_updates=sorted(state.updates.allowed),
            profile=state.profile,
            webhook_url=self._poller.webhook.url,
        )
        return web.json_response(view.model_dump())

    async def _file(self, request: web.Request) -> web.Response:
        file = self._state.files.get(request.query["file_id"])
        return web.Response(status=404) if file is None else web.Response(body=file.content)
