"""What goes over the control plane: acts of people on the way in, what they see on the way out."""

from base64 import b64decode
from typing import Literal

from pydantic import BaseModel, Field

from bot.local.records import Json

FileKind = Literal["document", "photo", "voice"]


class AddPerson(BaseModel):
    """POST /control/person."""

    first_name: str
    language_code: str | None = "en"
    username: str | None = None
    id: int | None = None


class AddGroup(BaseModel):
    """POST /control/group."""

    title: str
    members: list[int]
    kind: Literal["group", "supergroup"] = "supergroup"
    topics: list[str] = Field(default_factory=list)
    is_bot_admin: bool = False
    hears_all: bool = True


class GroupView(BaseModel):
    """A group that was added; topics are thread ids by name."""

    id: int
    topics: dict[str, int]


class TopicAct(BaseModel):
    """POST /control/topic (with a name) and /control/remove_topic (with a thread)."""

    chat_id: int
    name: str = ""
    thread_id: int = 0


class ChatAct(BaseModel):
    """POST /control/upgrade and, with `access`, /control/access."""

    chat_id: int
    access: Literal["open", "blocked", "kicked"] = "open"


class FileGiven(BaseModel):
    """A file a person sends."""

    name: str
    base64: str
    kind: FileKind = "document"
    mime_type: str | None = None

    def content(self) -> bytes:
        """Give the bytes."""
        return b64decode(self.base64)


class Say(BaseModel):
    """POST /control/say; `content` is merged into the Message object (sticker, forward_origin, …)."""

    person_id: int
    chat_id: int
    text: str = ""
    entities: list[Json] = Field(default_factory=list)
    reply_to: int | None = None
    thread_id: int | None = None
    file: FileGiven | None = None
    content: Json = Field(default_factory=dict)


class MessageAct(BaseModel):
    """POST /control/edit (text), /control/tap (data), /control/react (emoji)."""

    person_id: int
    chat_id: int
    message_id: int
    text: str = ""
    entities: list[Json] = Field(default_factory=list)
    data: str = ""
    emoji: list[str] = Field(default_factory=list)


class UpdateAct(BaseModel):
    """POST /control/inject (raw), /control/redeliver (update_id), /control/update_id (next_id)."""

    raw: Json = Field(default_factory=dict)
    update_id: int = 0
    next_id: int = 0


class Button(BaseModel):
    """An inline button; `data` is its callback data."""

    text: str
    data: str | None = None
    url: str | None = None
    style: str | None = None


class FileView(BaseModel):
    """A document in a message."""

    id: str
    name: str
    size: int


class MessageView(BaseModel):
    """A message as it stands in the chat now.

    `text` is the caption of a file; `date` and `edit_date` are epoch seconds, `edits` counts text edits;
    `reactions` is by user id; `version` grows with every change anywhere.
    """

    id: int
    chat_id: int
    thread_id: int | None
    sender_id: int
    is_from_bot: bool
    text: str
    entities: list[Json]
    keyboard: list[list[Button]]
    reply_to: int | None
    date: int
    edit_date: int | None
    edits: int
    is_silent: bool
    is_deleted: bool
    reactions: dict[int, list[str]]
    file: FileView | None
    version: int

    @property
    def buttons(self) -> list[str]:
        """Give the texts of all buttons, row by row."""
        return [button.text for row in self.keyboard for button in row]

    @property
    def rows(self) -> list[list[str]]:
        """Give the texts of the buttons as they stand."""
        return [[button.text for button in row] for row in self.keyboard]

    def button(self, wanted: str) -> Button:
        """Give a button by its text or its data; raise LookupError naming what is there."""
        for row in self.keyboard:
            for button in row:
                if wanted in (button.text, button.data):
                    return button
        raise LookupError(f"no button {wanted!r} under message {self.id}, only {self.buttons}")


class ToastView(BaseModel):
    """What the answer to a tap showed; an empty text only ended the button's spinner."""

    query_id: str
    person_id: int
    chat_id: int
    message_id: int
    text: str
    is_alert: bool
    version: int


class ChatView(BaseModel):
    """GET /control/chat: messages, deleted ones too, and toasts that are newer than the version `seen`."""

    version: int = -1
    messages: list[MessageView] = Field(default_factory=list)
    toasts: list[ToastView] = Field(default_factory=list)

    def updated(self, news: "ChatView") -> "ChatView":
        """Give the chat with the news in it, which may overlap with what is here."""
        messages = {message.id: message for message in self.messages}
        for message in news.messages:
            if message.id not in messages or messages[message.id].version <= message.version:
                messages[message.id] = message
        toasts = {toast.query_id: toast for toast in [*self.toasts, *news.toasts]}
        return ChatView.model_construct(
            version=max(self.version, news.version),
            messages=[messages[number] for number in sorted(messages)],
            toasts=list(toasts.values()),
        )


class CallView(BaseModel):
    """GET /control/calls: a recorded call, as botapi/validate.py reads it; status 0: no answer was sent."""

    method: str
    params: Json
    files: list[str]
    encoding: Literal["form", "json"]
    time: float
    duration_s: float | None
    status: int
    answer: Json
    fault: str | None


class BotView(BaseModel):
    """GET /control/bot: `polls` counts getUpdates calls, `pending` the updates not acknowledged."""

    id: int
    username: str
    polls: int
    is_polling: bool
    pending: int
    allowed_updates: list[str]
    profile: Json
    webhook_url: str
