"""Everything the local Telegram knows: a world without I/O, changed by people's acts and the bot's calls."""

import mimetypes
import time
from collections.abc import Callable, Iterable

from bot.local.records import (
    GENERAL_TOPIC,
    Access,
    Chat,
    ChatType,
    Json,
    Message,
    Query,
    StoredFile,
    Toast,
    User,
    message_wire,
)
from bot.local.texts import detect
from bot.local.updates import UpdateQueue

_FIRST_PERSON_ID = 1001
_FIRST_GROUP_ID = -4001
_FIRST_SUPERGROUP_ID = -1_002_000_000_001


class NotThere(LookupError):
    """A person, chat or message that an act names does not exist."""


class LocalState:
    """People, chats, messages, files, taps and the updates the bot has not acknowledged.

    `version` grows with every change, and listeners are called after it. `query_lifetime_s` is how long a tap
    waits for its answer.
    """

    def __init__(
        self,
        token: str,
        *,
        username: str = "auto_improve_bot",
        clock: Callable[[], float] = time.time,
        query_lifetime_s: float = 15.0,
        first_update_id: int = 700_000_001,
    ) -> None:
        self.token = token
        self.bot = User(int(token.partition(":")[0]), "Auto-Improve", username, is_bot=True)
        self.users: dict[int, User] = {self.bot.id: self.bot}
        self.chats: dict[int, Chat] = {}
        self.files: dict[str, StoredFile] = {}
        self.queries: dict[str, Query] = {}
        self.toasts: list[Toast] = []
        self.profile: dict[str, object] = {}
        self.updates = UpdateQueue(first_update_id)
        self.version = 0
        self.now = clock
        self.query_lifetime_s = query_lifetime_s
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Call this after every change."""
        self._listeners.append(listener)

    def touch(self, message: Message | None = None) -> None:
        """Record that something changed."""
        self.version += 1
        if message is not None:
            message.version = self.version
        for listener in self._listeners:
            listener()

    # The world

    def add_person(
        self,
        first_name: str,
        *,
        language_code: str | None = "en",
        username: str | None = None,
        person_id: int | None = None,
    ) -> User:
        """Add a person with an open private chat."""
        number = person_id or max([_FIRST_PERSON_ID - 1, *self.users.keys() - {self.bot.id}]) + 1
        user = User(number, first_name, username, language_code)
        self.users[number] = user
        self.chats[number] = Chat(number, ChatType.PRIVATE, first_name, username, {number})
        return user

    def add_group(
        self,
        title: str,
        member_ids: Iterable[int],
        *,
        kind: ChatType = ChatType.SUPERGROUP,
        topics: Iterable[str] = (),
        is_bot_admin: bool = False,
        hears_all: bool = True,
    ) -> Chat:
        """Add a group; with topics it is a forum."""
        first = _FIRST_SUPERGROUP_ID if kind is ChatType.SUPERGROUP else _FIRST_GROUP_ID
        number = first - sum(chat.type is kind for chat in self.chats.values())
        chat = Chat(number, kind, title, members=set(member_ids), hears_all=hears_all)
        chat.is_bot_admin = is_bot_admin
        # A supergroup's first message says that it was made; the General topic bears the same number.
        chat.last_id = GENERAL_TOPIC if kind is ChatType.SUPERGROUP else 0
        self.chats[number] = chat
        for name in topics:
            self.add_topic(number, name)
        return chat

    def add_topic(self, chat_id: int, name: str) -> int:
        """Open a topic and give its thread id, which is the id of its first message."""
        chat = self.chat(chat_id)
        chat.is_forum = True
        created: Json = {"forum_topic_created": {"name": name, "icon_color": 7322096}}
        root = self._add(chat, min(chat.members, default=self.bot.id), content=created)
        root.thread_id = root.id
        chat.topics[root.id] = name
        self.touch(root)
        return root.id

    def remove_topic(self, chat_id: int, thread_id: int) -> None:
        """Delete a topic and its messages."""
        chat = self.chat(chat_id)
        chat.topics.pop(thread_id, None)
        for message in chat.messages.values():
            if message.thread_id == thread_id:
                self.remove(message)

    def upgrade(self, chat_id: int) -> Chat:
        """Turn a group into a supergroup: a new id, and both service messages."""
        old = self.chat(chat_id)
        new = self.add_group(old.title, old.members, is_bot_admin=old.is_bot_admin, hears_all=old.hears_all)
        old.migrated_to = new.id
        person_id = min(old.members, default=self.bot.id)
        for chat, content in ((old, {"migrate_to_chat_id": new.id}), (new, {"migrate_from_chat_id": old.id})):
            message = self._add(chat, person_id, content=dict(content))
            self.updates.push("message", self.wire(message))
        self.touch()
        return new

    def set_access(self, chat_id: int, access: Access) -> None:
        """Block the bot or let it in again; the bot is told as Telegram tells it."""
        chat = self.chat(chat_id)
        before, chat.access = chat.access, access
        status = {"open": "member", "blocked": "kicked", "kicked": "kicked"}
        self.updates.push(
            "my_chat_member",
            {
                "chat": chat.wire(),
                "from": self.user(min(chat.members)).wire(),
                "date": self._date(),
                "old_chat_member": self._member(status[before]),
                "new_chat_member": self._member(status[access]),
            },
        )
        self.touch()

    # What people do

    def say(
        self,
        person_id: int,
        chat_id: int,
        text: str,
        *,
        entities: list[Json] | None = None,
        reply_to: int | None = None,
        thread_id: int | None = None,
        content: Json | None = None,
    ) -> Message:
        """Write a message; the client's own detection adds commands, mentions and links to the entities."""
        chat, given = self.chat(chat_id), entities or []
        message = self._add(
            chat, person_id, text=text, entities=detect(text, given), reply_to=reply_to, thread_id=thread_id,
            content=content,
        )  # fmt: skip
        if self._hears(chat, message):
            self.updates.push("message", self.wire(message))
        self.touch(message)
        return message

    def edit(
        self, person_id: int, chat_id: int, message_id: int, text: str, entities: list[Json] | None = None
    ) -> None:
        """Change one's own message."""
        message = self.message(chat_id, message_id)
        if message.sender_id != person_id:
            raise NotThere(f"message {message_id} is not by person {person_id}")
        self.rewrite(message, text, detect(text, entities or []))
        if self._hears(self.chat(chat_id), message):
            self.updates.push("edited_message", self.wire(message))
        self.touch(message)

    def tap(self, person_id: int, chat_id: int, message_id: int, data: str) -> str:
        """Tap a button and give the query's id; the data are not checked, as Telegram does not check them."""
        chat = self.chat(chat_id)
        query = Query(str(4_000_000_000 + len(self.queries)), person_id, chat_id, message_id, self.now())
        self.queries[query.id] = query
        message = chat.find(message_id)
        gone: Json = {"chat": chat.wire(), "message_id": message_id, "date": 0}
        self.updates.push(
            "callback_query",
            {
                "id": query.id,
                "from": self.user(person_id).wire(),
                "chat_instance": str(-chat_id),
                "message": gone if message is None else self.wire(message),
                "data": data,
            },
        )
        self.touch()
        return query.id

    def react(self, person_id: int, chat_id: int, message_id: int, emoji: list[str]) -> None:
        """Set one's reactions; groups tell the bot only where it is administrator."""
        chat, message = self.chat(chat_id), self.message(chat_id, message_id)
        before = message.reactions.get(person_id, [])
        message.reactions[person_id] = emoji
        if chat.type is ChatType.PRIVATE or chat.is_bot_admin:
            self.updates.push(
                "message_reaction",
                {
                    "chat": chat.wire(),
                    "message_id": message_id,
                    "user": self.user(person_id).wire(),
                    "date": self._date(),
                    "old_reaction": [{"type": "emoji", "emoji": e} for e in before],
                    "new_reaction": [{"type": "emoji", "emoji": e} for e in emoji],
                },
            )
        self.touch(message)

    def keep_file(self, name: str, content: bytes, mime_type: str | None = None) -> StoredFile:
        """Store a file somebody sent."""
        number = len(self.files) + 1
        mime = mime_type or mimetypes.guess_type(name)[0] or "application/octet-stream"
        file = StoredFile(f"local-file-{number}", f"documents/file_{number}", name, mime, content)
        self.files[file.id] = file
        return file

    # What the bot does

    def post(
        self,
        chat: Chat,
        text: str,
        *,
        entities: list[Json],
        keyboard: Json | None = None,
        reply_to: int | None = None,
        thread_id: int | None = None,
        content: Json | None = None,
    ) -> Message:
        """Write a message as the bot."""
        message = self._add(
            chat, self.bot.id, text=text, entities=entities, reply_to=reply_to, thread_id=thread_id,
            content=content,
        )  # fmt: skip
        message.keyboard = keyboard
        self.touch(message)
        return message

    def rewrite(self, message: Message, text: str, entities: list[Json]) -> None:
        """Put another text or caption into a message."""
        message.text, message.entities = text, entities
        message.edits += 1
        message.edit_date = self._date()

    def remove(self, message: Message) -> None:
        """Delete a message for everybody."""
        message.is_deleted = True
        self.touch(message)

    def answer(self, query: Query, text: str, *, is_alert: bool) -> None:
        """End a tap; what a second answer says is not shown."""
        if query.is_answered:
            return
        query.is_answered = True
        self.touch()
        toast = Toast(
            query.id, query.person_id, query.chat_id, query.message_id, text, is_alert, self.version
        )
        self.toasts.append(toast)

    # Looking

    def user(self, user_id: int) -> User:
        """Give a person or the bot."""
        try:
            return self.users[user_id]
        except KeyError:
            raise NotThere(f"no person {user_id}") from None

    def chat(self, chat_id: int) -> Chat:
        """Give a chat."""
        try:
            return self.chats[chat_id]
        except KeyError:
            raise NotThere(f"no chat {chat_id}") from None

    def message(self, chat_id: int, message_id: int) -> Message:
        """Give a message that is not deleted."""
        message = self.chat(chat_id).find(message_id)
        if message is None:
            raise NotThere(f"no message {message_id} in chat {chat_id}")
        return message

    def wire(self, message: Message) -> Json:
        """Give the Message object with what it replies to.

        In a topic, every message that replies to nothing replies to the topic's first message: Telegram does
        this, and bots that do not know it take it for a reply.
        """
        chat = self.chat(message.chat_id)
        wire = message_wire(message, chat, self.user(message.sender_id))
        replied = chat.messages.get(message.reply_to or message.thread_id or 0)
        if replied is None or replied is message:
            return wire
        return wire | {"reply_to_message": message_wire(replied, chat, self.user(replied.sender_id))}

    def _add(
        self,
        chat: Chat,
        sender_id: int,
        *,
        text: str = "",
        entities: list[Json] | None = None,
        reply_to: int | None = None,
        thread_id: int | None = None,
        content: Json | None = None,
    ) -> Message:
        self.user(sender_id)
        chat.last_id += 1
        message = Message(chat.id, chat.last_id, sender_id, self._date(), text, entities or [])
        message.reply_to, message.content = reply_to, content or {}
        # The General topic has a number, but its messages do not carry it.
        message.thread_id = None if thread_id == GENERAL_TOPIC else thread_id
        # Every act ends with `touch`, which makes this the version of the change.
        message.version = self.version + 1
        chat.messages[message.id] = message
        return message

    def _hears(self, chat: Chat, message: Message) -> bool:
        """Apply privacy mode: without it only commands, mentions and replies to the bot arrive."""
        if chat.type is ChatType.PRIVATE or chat.hears_all or chat.is_bot_admin:
            return True
        replied = chat.messages.get(message.reply_to or 0)
        is_reply = replied is not None and replied.sender_id == self.bot.id
        return is_reply or message.text.startswith("/") or f"@{self.bot.username}" in message.text

    def _member(self, status: str) -> Json:
        return {"user": self.bot.wire(), "status": status} | ({"until_date": 0} if status == "kicked" else {})

    def _date(self) -> int:
        return int(self.now())
