"""People, chats and messages of the local Telegram, and their forms in Bot API objects."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

Json = dict[str, object]

MEDIA = frozenset({"animation", "audio", "document", "photo", "sticker", "video", "video_note", "voice"})
GENERAL_TOPIC = 1


class ChatType(StrEnum):
    """Kinds of chats."""

    PRIVATE = "private"
    GROUP = "group"
    SUPERGROUP = "supergroup"


Access = Literal["open", "blocked", "kicked"]


@dataclass(slots=True)
class User:
    """A person or the bot."""

    id: int
    first_name: str
    username: str | None = None
    language_code: str | None = None
    is_bot: bool = False

    def wire(self) -> Json:
        """Give the User object."""
        user: Json = {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name}
        return user | _present(username=self.username, language_code=self.language_code)


@dataclass(slots=True)
class Message:
    """One message as everybody in the chat sees it now.

    `text` is the caption when `content` holds a file. `content` is merged into the Message object as it is.
    `edits` counts text edits, `version` is the state's version at the last change. `reactions` is by user id.
    """

    chat_id: int
    id: int
    sender_id: int
    date: int
    text: str = ""
    entities: list[Json] = field(default_factory=list)
    keyboard: Json | None = None
    reply_to: int | None = None
    thread_id: int | None = None
    edit_date: int | None = None
    edits: int = 0
    is_silent: bool = False
    is_deleted: bool = False
    content: Json = field(default_factory=dict)
    reactions: dict[int, list[str]] = field(default_factory=dict)
    version: int = 0

    @property
    def has_media(self) -> bool:
        """Tell whether the text is a caption."""
        return not MEDIA.isdisjoint(self.content)

    def words(self) -> Json:
        """Give the text or caption fields."""
        if not self.text:
            return {}
        names = ("caption", "caption_entities") if self.has_media else ("text", "entities")
        return {names[0]: self.text} | ({names[1]: self.entities} if self.entities else {})


@dataclass(slots=True)
class Chat:
    """A chat and all its messages; message ids grow within a chat.

    `hears_all` is False for a group where the bot's privacy mode is on. `topics` maps thread ids to names.
    """

    id: int
    type: ChatType
    title: str
    username: str | None = None
    members: set[int] = field(default_factory=set)
    is_forum: bool = False
    is_bot_admin: bool = False
    hears_all: bool = True
    access: Access = "open"
    migrated_to: int | None = None
    topics: dict[int, str] = field(default_factory=dict)
    messages: dict[int, Message] = field(default_factory=dict)
    last_id: int = 0

    def wire(self) -> Json:
        """Give the Chat object."""
        name = "first_name" if self.type is ChatType.PRIVATE else "title"
        chat: Json = {"id": self.id, "type": self.type.value, name: self.title}
        return chat | _present(username=self.username, is_forum=self.is_forum or None)

    def find(self, message_id: int | None) -> Message | None:
        """Give a message that is there and not deleted."""
        message = self.messages.get(message_id or 0)
        return None if message is None or message.is_deleted else message


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file somebody sent; `path` is what getFile gives."""

    id: str
    path: str
    name: str
    mime_type: str
    content: bytes

    def wire(self) -> Json:
        """Give the Document object."""
        return self.brief() | {"file_name": self.name, "mime_type": self.mime_type}

    def brief(self) -> Json:
        """Give the fields every kind of file has."""
        return {"file_id": self.id, "file_unique_id": f"u{self.id}", "file_size": len(self.content)}


@dataclass(slots=True)
class Query:
    """A tap that waits for answerCallbackQuery."""

    id: str
    person_id: int
    chat_id: int
    message_id: int
    asked_at: float
    is_answered: bool = False


@dataclass(frozen=True, slots=True)
class Toast:
    """What a tap's answer showed to the person; an empty text only ends the button's spinner."""

    query_id: str
    person_id: int
    chat_id: int
    message_id: int
    text: str
    is_alert: bool
    version: int


def message_wire(message: Message, chat: Chat, sender: User) -> Json:
    """Give the Message object, without what it replies to."""
    wire: Json = {"message_id": message.id, "date": message.date, "chat": chat.wire(), "from": sender.wire()}
    wire |= _present(edit_date=message.edit_date, reply_markup=message.keyboard)
    if message.thread_id is not None:
        wire |= {"message_thread_id": message.thread_id, "is_topic_message": True}
    return wire | message.words() | message.content


def _present(**fields: object) -> Json:
    return {name: value for name, value in fields.items() if value is not None}
