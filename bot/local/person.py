"""The people of end-to-end tests: what they do in the chat and what they see there, over the control plane.

    async with LocalServer() as server, LocalTelegram(server.url) as telegram:
        ada = await telegram.person("Ada", language_code="fr")
        await ada.say("make the tests pass")
        answer = await ada.wait_for("all green")            # newest message of the bot with these words
        tap = await ada.tap(answer, "👎")                    # by the button's text or its data
        assert (await ada.wait_for_toast(tap)).text == "..."
        answer = await ada.wait_for(lambda m: m.id == answer.id and "👎•" in m.buttons)

It does not matter whether the server runs in this process or in another one.
"""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bot.local.client import WAIT_S, ControlClient, NothingCame, Refused
from bot.local.faults import Fault, FaultKind
from bot.local.records import Json
from bot.local.wire import (
    AddGroup,
    AddPerson,
    ChatAct,
    ChatView,
    FileGiven,
    FileKind,
    FileView,
    GroupView,
    MessageAct,
    MessageView,
    Say,
    ToastView,
    TopicAct,
)

__all__ = ["Fault", "FaultKind", "Group", "LocalTelegram", "NothingCame", "Person", "Refused"]

_T = TypeVar("_T")

Wanted = str | Callable[[MessageView], bool]
"""Words that the text contains, or a predicate."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group chat; `topics` are thread ids by name."""

    id: int
    title: str
    topics: dict[str, int] = field(default_factory=dict)


class LocalTelegram(ControlClient):
    """The local Telegram as seen from outside the bot: its people, chats, faults and recorded calls."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._chats: dict[int, ChatView] = {}

    async def look(self, chat_id: int, timeout_s: float = 0.0, *, seen: int = -1) -> ChatView:
        """Give a chat as it is now; with a time, wait so long for anything newer than a version."""
        known = self._chats.get(chat_id, ChatView())
        # Another one may have looked meanwhile: then there is news already.
        wait_s = 0.0 if known.version > seen else timeout_s
        answer = await self.read("chat", chat_id=chat_id, seen=known.version, timeout_s=wait_s)
        news = ChatView.model_validate_json(answer)
        view = self._chats.get(chat_id, ChatView()).updated(news)
        self._chats[chat_id] = view
        return view

    async def person(
        self,
        first_name: str,
        *,
        language_code: str | None = "en",
        username: str | None = None,
        person_id: int | None = None,
    ) -> "Person":
        """Add a person with an open private chat; the id is given (1001, 1002, …) unless named."""
        act = AddPerson(first_name=first_name, language_code=language_code, username=username, id=person_id)
        user = await self.act("person", act)
        return Person(self, int(str(user["id"])), first_name, int(str(user["id"])))

    async def group(
        self,
        title: str,
        members: Sequence["Person"],
        *,
        topics: Sequence[str] = (),
        is_basic: bool = False,
        is_bot_admin: bool = False,
        hears_all: bool = True,
    ) -> Group:
        """Add a supergroup, with topics a forum, or a basic group; see `Person.at`.

        `hears_all=False` is the bot's privacy mode. Reactions reach the bot only with `is_bot_admin`.
        """
        act = AddGroup(
            title=title,
            members=[member.id for member in members],
            kind="group" if is_basic else "supergroup",
            topics=list(topics),
            is_bot_admin=is_bot_admin,
            hears_all=hears_all,
        )
        view = GroupView.model_validate(await self.act("group", act))
        return Group(view.id, title, view.topics)

    async def upgrade(self, group: Group) -> Group:
        """Turn a basic group into a supergroup, which has another id; the old one answers with it."""
        answer = await self.act("upgrade", ChatAct(chat_id=group.id))
        return replace(group, id=int(str(answer["id"])))

    async def remove_topic(self, group: Group, topic: str) -> None:
        """Delete a topic with its messages."""
        await self.act("remove_topic", TopicAct(chat_id=group.id, thread_id=group.topics[topic]))


@dataclass(frozen=True, slots=True)
class Person:
    """A person in one chat: the private chat with the bot, or a group (see `at`).

    What is seen is the whole chat, other people's messages too. Waiting looks at what is there already, so a
    fast answer is not missed; `after` leaves out messages that are not newer than one.
    """

    telegram: LocalTelegram
    id: int
    first_name: str
    chat_id: int
    thread_id: int | None = None

    def at(self, group: Group, topic: str | None = None) -> "Person":
        """Give the same person in a group, and there in a topic."""
        return replace(self, chat_id=group.id, thread_id=group.topics[topic] if topic else None)

    async def say(
        self,
        text: str,
        *,
        reply_to: MessageView | None = None,
        entities: Sequence[Json] = (),
        content: Json | None = None,
    ) -> MessageView:
        """Write a message; `content` is merged into the Message object (forward_origin, sticker, …)."""
        return await self._say(
            text=text,
            reply_to=reply_to.id if reply_to else None,
            entities=list(entities),
            content=content or {},
        )

    async def send_file(
        self,
        name: str,
        content: bytes,
        *,
        caption: str = "",
        kind: FileKind = "document",
        album: str | None = None,
    ) -> MessageView:
        """Send a file; those with the same album id belong together."""
        file = FileGiven(name=name, base64=b64encode(content).decode(), kind=kind)
        return await self._say(text=caption, file=file, content={"media_group_id": album} if album else {})

    async def edit(self, message: MessageView, text: str, *, entities: Sequence[Json] = ()) -> None:
        """Change one's own message."""
        await self._act("edit", message, text=text, entities=list(entities))

    async def tap(self, message: MessageView, button: str) -> str:
        """Tap a button of the message as it was seen, by its text or data, and give the query's id.

        The message may have changed or be gone since: phones show old keyboards too.
        """
        return await self.tap_data(message, message.button(button).data or "")

    async def tap_data(self, message: MessageView, data: str) -> str:
        """Send any callback data, as a forged client can."""
        return str((await self._act("tap", message, data=data))["query_id"])

    async def react(self, message: MessageView, *emoji: str) -> None:
        """Set one's reactions; none takes them back."""
        await self._act("react", message, emoji=list(emoji))

    async def block(self) -> None:
        """Block the bot (or, in a group, throw it out)."""
        act = ChatAct(chat_id=self.chat_id, access="blocked" if self.chat_id == self.id else "kicked")
        await self.telegram.act("access", act)

    async def unblock(self) -> None:
        """Let the bot in again."""
        await self.telegram.act("access", ChatAct(chat_id=self.chat_id, access="open"))

    async def messages(self, *, with_deleted: bool = False) -> list[MessageView]:
        """Give what stands in the chat (in this topic) now, oldest first."""
        return self._mine(await self.telegram.look(self.chat_id), with_deleted=with_deleted)

    async def answers(self) -> list[MessageView]:
        """Give the bot's messages that stand in the chat now, oldest first."""
        return [message for message in await self.messages() if message.is_from_bot]

    async def reload(self, message: MessageView) -> MessageView:
        """Give a message as it stands now, deleted or not."""
        return next(m for m in await self.messages(with_deleted=True) if m.id == message.id)

    async def toasts(self) -> list[ToastView]:
        """Give what this person's taps in this chat were answered, oldest first."""
        return [
            toast for toast in (await self.telegram.look(self.chat_id)).toasts if toast.person_id == self.id
        ]

    async def download(self, file: FileView) -> bytes:
        """Read a document."""
        return await self.telegram.read("file", file_id=file.id)

    async def wait_for(
        self, wanted: Wanted, *, after: MessageView | None = None, timeout_s: float = WAIT_S
    ) -> MessageView:
        """Wait for a message of the bot and give the newest that fits."""

        def find(view: ChatView) -> MessageView | None:
            bots = [m for m in self._mine(view) if m.is_from_bot and (after is None or m.id > after.id)]
            return next((m for m in reversed(bots) if _fits(m, wanted)), None)

        return await self._wait(find, timeout_s, f"no message {wanted!r}")

    async def wait_until_gone(self, message: MessageView, *, timeout_s: float = WAIT_S) -> None:
        """Wait until the bot has deleted a message."""

        def is_gone(view: ChatView) -> bool | None:
            return None if any(m.id == message.id for m in self._mine(view)) else True

        await self._wait(is_gone, timeout_s, f"message {message.id} stayed")

    async def wait_for_toast(self, tap: str, *, timeout_s: float = WAIT_S) -> ToastView:
        """Wait for the answer to a tap, named by the id that `tap` gave."""

        def find(view: ChatView) -> ToastView | None:
            return next((toast for toast in view.toasts if toast.query_id == tap), None)

        return await self._wait(find, timeout_s, f"no answer to tap {tap}")

    async def nothing_comes(self, within_s: float = 0.3) -> None:
        """Make sure that the chat stays as it is for a while."""
        before = self._mine(await self.telegram.look(self.chat_id), with_deleted=True)
        await asyncio.sleep(within_s)
        after = self._mine(await self.telegram.look(self.chat_id), with_deleted=True)
        if after != before:
            raise AssertionError(f"the chat changed:\n{_transcript(after)}")

    async def _say(self, **fields: object) -> MessageView:
        where = {"person_id": self.id, "chat_id": self.chat_id, "thread_id": self.thread_id}
        return MessageView.model_validate(await self.telegram.act("say", Say.model_validate(where | fields)))

    async def _act(self, name: str, message: MessageView, **fields: object) -> Json:
        where = {"person_id": self.id, "chat_id": message.chat_id, "message_id": message.id}
        return await self.telegram.act(name, MessageAct.model_validate(where | fields))

    async def _wait(self, find: Callable[[ChatView], _T | None], timeout_s: float, otherwise: str) -> _T:
        loop = asyncio.get_running_loop()
        deadline, view = loop.time() + timeout_s, await self.telegram.look(self.chat_id)
        while (found := find(view)) is None:
            left = deadline - loop.time()
            if left <= 0:
                raise NothingCame(
                    f"{otherwise} within {timeout_s} s; the chat:\n{_transcript(self._mine(view))}"
                )
            view = await self.telegram.look(self.chat_id, left, seen=view.version)
        return found

    def _mine(self, view: ChatView, *, with_deleted: bool = False) -> list[MessageView]:
        return [
            message
            for message in view.messages
            if (with_deleted or not message.is_deleted) and message.thread_id == self.thread_id
        ]


def _fits(message: MessageView, wanted: Wanted) -> bool:
    return wanted in message.text if isinstance(wanted, str) else wanted(message)


def _transcript(messages: Sequence[MessageView]) -> str:
    """Show a chat as lines, for the one who reads a failed test."""
    lines = []
    for message in messages:
        who = "bot" if message.is_from_bot else str(message.sender_id)
        lines.append(f"  #{message.id} {who}: {message.text!r} {message.rows or ''}")
    return "\n".join(lines) or "  (empty)"
