"""Who is heard at all, by the whole bot over HTTP (S1, S2): everybody else is answered by silence."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.local.person import Group, LocalTelegram, Person
from bot.local.server import LocalServer
from core.ports import Store
from tests.integration.parts import PATIENCE_S, open_whole, until_stored

ANONYMOUS_ADMIN = 1_087_968_824  # Telegram's user id of every anonymous administrator
SILENT = ("sendMessage", "editMessageText", "setMessageReaction", "sendChatAction")


@dataclass(slots=True)
class Scene:
    """Ada may, Eve may not; the team is allowed, the others are not."""

    telegram: LocalTelegram
    store: Store
    ada: Person
    eve: Person
    team: Group
    others: Group

    async def said(self) -> list[str]:
        """Give the methods with which the bot showed itself since it started."""
        return [call.method for call in await self.telegram.calls() if call.method in SILENT]

    async def settled(self) -> None:
        """Wait until every update has been dealt with."""
        await self.telegram.wait_for_idle(timeout_s=PATIENCE_S)
        await until_stored(self.store, lambda tx: not tx.inbox.waiting() and not tx.outbox.waiting())


@pytest.fixture
async def scene(server: LocalServer, telegram: LocalTelegram, tmp_path: Path) -> AsyncIterator[Scene]:
    """The whole bot at work."""
    ada, eve = await telegram.person("Ada"), await telegram.person("Eve")
    team = await telegram.group("Team", [ada, eve], is_bot_admin=True)
    others = await telegram.group("Others", [ada, eve], is_bot_admin=True)
    people = {"allowed_users": f"{ada.id}", "allowed_chats": f"{team.id}"}
    async with open_whole(server, tmp_path / "home", **people) as (_, store):
        await telegram.wait_for_poll()
        yield Scene(telegram, store, ada, eve, team, others)


async def test_an_allowed_person_is_heard_in_private_and_in_an_allowed_group(scene: Scene) -> None:
    """S1: by numeric id of person and chat."""
    await scene.ada.say("hello")
    await scene.ada.at(scene.team).say("hello team")

    for where, words in ((scene.ada, "hello"), (scene.ada.at(scene.team), "hello team")):
        answer = await where.wait_for(lambda m: "👎" in m.buttons, timeout_s=PATIENCE_S)
        assert words in answer.text


@pytest.mark.parametrize(
    "text", ["hello", "/start", "/help", "/lessons", "/lesson_add Trust Eve", "ok", "non"]
)
async def test_a_stranger_hears_nothing(scene: Scene, text: str) -> None:
    """S1: no word, no reaction, no sign that anybody is there."""
    await scene.eve.say(text)
    await scene.settled()

    assert await scene.said() == []
    assert await scene.store.read(lambda tx: tx.lessons.all()) == []


async def test_another_member_of_an_allowed_group_is_not_heard(scene: Scene) -> None:
    """S1: the group's permission is not its members'."""
    await scene.eve.at(scene.team).say("delete everything")
    await scene.settled()

    assert await scene.said() == []


async def test_an_allowed_person_is_not_heard_in_another_group(scene: Scene) -> None:
    """S1: whoever adds the bot to a group gains nothing."""
    await scene.ada.at(scene.others).say("hello")
    await scene.settled()

    assert await scene.said() == []


async def test_a_stranger_who_edits_or_reacts_is_not_heard(scene: Scene) -> None:
    """telegram.md 4: the check covers edits and reactions too."""
    message = await scene.eve.at(scene.team).say("one")
    await scene.eve.at(scene.team).edit(message, "two")
    await scene.eve.at(scene.team).react(message, "👎")
    await scene.settled()

    assert await scene.said() == []


def message(chat: dict[str, Any], sender: dict[str, Any], **more: object) -> dict[str, Any]:
    """Give a raw message."""
    return {"message_id": 99, "date": 1, "chat": chat, "from": sender, "text": "rm -rf /", **more}


async def test_nobody_without_a_person_is_heard(scene: Scene) -> None:
    """S1: anonymous administrators, channels, linked channels, other bots, messages by nobody."""
    team = {"id": scene.team.id, "type": "supergroup", "title": "Team"}
    channel = {"id": -1009, "type": "channel", "title": "News"}
    ada = {"id": scene.ada.id, "is_bot": False, "first_name": "Ada"}
    anonymous = {"id": ANONYMOUS_ADMIN, "is_bot": True, "first_name": "Group"}
    telegram = {"id": 777_000, "is_bot": False, "first_name": "Telegram"}
    bot = {"id": scene.ada.id, "is_bot": True, "first_name": "Ada"}
    for raw in (
        {"message": message(team, anonymous, sender_chat=team)},
        {"message": message(team, ada, sender_chat=team)},  # as the group, whoever is behind it
        {"message": message(team, telegram, sender_chat=channel, is_automatic_forward=True)},
        {"message": message(team, bot)},
        {"edited_message": message(team, ada, sender_chat=channel)},
        {"channel_post": {"message_id": 1, "date": 1, "chat": channel, "text": "hello"}},
        {"message": {"message_id": 1, "date": 1, "chat": team, "text": "by nobody"}},
    ):
        await scene.telegram.inject(raw)
    await scene.settled()

    assert await scene.said() == []
    assert await scene.store.read(lambda tx: tx.inbox.dead()) == []


async def test_a_name_and_a_username_prove_nothing(scene: Scene) -> None:
    """S1: numeric ids only."""
    double = await scene.telegram.person("Ada", username=scene.ada.first_name)

    await double.say("it is me")
    await scene.settled()

    assert await scene.said() == []


async def voted(scene: Scene) -> Any:
    """Let Ada ask in the team; give the answer with its buttons."""
    await scene.ada.at(scene.team).say("hello")
    return await scene.ada.at(scene.team).wait_for(lambda m: "👎" in m.buttons, timeout_s=PATIENCE_S)


async def test_a_strangers_tap_gets_a_toast_and_changes_nothing(scene: Scene) -> None:
    """S2: the tapping person is authorised at the tap, not the one the button was made for."""
    answer = await voted(scene)

    tap = await scene.eve.at(scene.team).tap(answer, "👎")

    toast = await scene.eve.at(scene.team).wait_for_toast(tap, timeout_s=PATIENCE_S)
    assert "not for you" in toast.text
    assert "👎" in (await scene.ada.at(scene.team).reload(answer)).buttons
    assert await scene.store.read(lambda tx: tx.feedback.newest(10, None)) == []


async def test_a_button_of_another_chat_is_worth_nothing(scene: Scene) -> None:
    """S2: callback data are bound to chat and message; replayed elsewhere they say so."""
    answer = await voted(scene)
    data = answer.button("👎").data or ""
    await scene.ada.say("hello")
    mine = await scene.ada.wait_for(lambda m: "👎" in m.buttons, timeout_s=PATIENCE_S)

    tap = await scene.ada.tap_data(mine, data)

    assert "another message" in (await scene.ada.wait_for_toast(tap, timeout_s=PATIENCE_S)).text
    assert await scene.store.read(lambda tx: tx.feedback.newest(10, None)) == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("1:v:AAAAAAAAAAA:down", "expired"),
        ("0:v:AAAAAAAAAAA:down", "older version"),
        ("down", "older version"),
        ("1:p:AAAAAAAAAAA:approve", "expired"),
        ("1:v:' OR 1=1 --:up", "older version"),
    ],
)
async def test_forged_data_gets_a_clear_answer(scene: Scene, data: str, words: str) -> None:
    """S2: never an exception, never an effect."""
    answer = await voted(scene)

    tap = await scene.ada.at(scene.team).tap_data(answer, data)

    toast = await scene.ada.at(scene.team).wait_for_toast(tap, timeout_s=PATIENCE_S)
    assert words in toast.text
    assert await scene.store.read(lambda tx: (tx.inbox.dead(), tx.feedback.newest(10, None))) == ([], [])


async def test_a_real_token_under_another_kind_is_worth_nothing(scene: Scene) -> None:
    """S2: a vote's id does not approve a proposal."""
    answer = await voted(scene)
    token = (answer.button("👎").data or "").split(":")[2]

    tap = await scene.ada.at(scene.team).tap_data(answer, f"1:p:{token}:approve")

    toast = await scene.ada.at(scene.team).wait_for_toast(tap, timeout_s=PATIENCE_S)
    assert "expired" in toast.text
