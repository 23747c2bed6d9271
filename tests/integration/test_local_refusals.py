"""How the local Bot API server refuses, in Telegram's words, and fails, on demand."""

import asyncio
import json

import aiohttp
import pytest
from telegram import Bot
from telegram import ReplyParameters as Reply
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from bot.local.person import FaultKind, LocalTelegram, Person
from bot.local.records import Json
from bot.local.server import LocalServer
from tests.fakes.bots import VOTE

# Refusals, in Telegram's words


REFUSALS: dict[str, tuple[str, Json, str]] = {
    "empty text": ("sendMessage", {"text": ""}, "message text is empty"),
    "invisible text": ("sendMessage", {"text": " \u200b\n"}, "text must be non-empty"),
    "long text": ("sendMessage", {"text": "x" * 4097}, "message is too long"),
    "many emoji": ("sendMessage", {"text": "🙂" * 2049}, "message is too long"),
    "unknown chat": ("sendMessage", {"chat_id": 5, "text": "x"}, "chat not found"),
    "no chat": ("sendMessage", {"chat_id": "", "text": "x"}, "chat_id is empty"),
    "parse mode": ("sendMessage", {"text": "x", "parse_mode": "HTML"}, "unsupported parse_mode"),
    "entity past the end": (
        "sendMessage",
        {"text": "abc", "entities": [{"type": "bold", "offset": 1, "length": 3}]},
        "entity beginning at UTF-16 offset 1 ends after the end of the text at UTF-16 offset 4",
    ),
    "entity in a symbol": (
        "sendMessage",
        {"text": "🙂x", "entities": [{"type": "bold", "offset": 1, "length": 2}]},
        "entity begins in a middle of a UTF-16 symbol",
    ),
    "unknown entity": (
        "sendMessage",
        {"text": "abc", "entities": [{"type": "loud", "offset": 0, "length": 1}]},
        "can't parse MessageEntity: Unsupported type specified",
    ),
    "long data": (
        "sendMessage",
        {"text": "x", "reply_markup": {"inline_keyboard": [[{"text": "a", "callback_data": "é" * 33}]]}},
        "BUTTON_DATA_INVALID",
    ),
    "no button text": (
        "sendMessage",
        {"text": "x", "reply_markup": {"inline_keyboard": [[{"text": " ", "callback_data": "a"}]]}},
        "inline keyboard button text must be non-empty",
    ),
    "no action": (
        "sendMessage",
        {"text": "x", "reply_markup": {"inline_keyboard": [[{"text": "a"}]]}},
        "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
    ),
    "broken markup": (
        "sendMessage",
        {"text": "x", "reply_markup": "{"},
        "can't parse reply markup JSON object",
    ),
    "no reply target": (
        "sendMessage",
        {"text": "x", "reply_parameters": {"message_id": 99}},
        "message to be replied not found",
    ),
    "nothing to edit": ("editMessageText", {"message_id": 99, "text": "x"}, "message to edit not found"),
    "not ours to edit": ("editMessageText", {"message_id": 1, "text": "x"}, "message can't be edited"),
    "nothing to delete": ("deleteMessage", {"message_id": 99}, "message to delete not found"),
    "unknown query": (
        "answerCallbackQuery",
        {"callback_query_id": "7"},
        "query is too old and response timeout expired or query ID is invalid",
    ),
    "no reaction": (
        "setMessageReaction",
        {"message_id": 1, "reaction": [{"type": "emoji", "emoji": "🧨"}]},
        "REACTION_INVALID",
    ),
    "unknown action": ("sendChatAction", {"action": "sleep"}, "wrong parameter action in request"),
    "no document": ("sendDocument", {}, "there is no document in the request"),
    "an unknown document": (
        "sendDocument",
        {"document": "x"},
        "wrong remote file identifier specified: can't unserialize it",
    ),
    "nobody of that id": ("getChatMember", {"user_id": 5}, "member not found"),
    "no message to react to": ("setMessageReaction", {"message_id": 9}, "message to react not found"),
    "two reactions": (
        "setMessageReaction",
        {"message_id": 1, "reaction": [{"type": "emoji", "emoji": "👍"}, {"type": "emoji", "emoji": "👎"}]},
        "REACTIONS_TOO_MANY",
    ),
    "negative offset": (
        "sendMessage",
        {"text": "abc", "entities": [{"type": "bold", "offset": -1, "length": 3}]},
        "receive an entity with incorrect offset -1",
    ),
    "negative length": (
        "sendMessage",
        {"text": "abc", "entities": [{"type": "bold", "offset": 0, "length": -3}]},
        "receive an entity with incorrect length -3",
    ),
    "a link without a target": (
        "sendMessage",
        {"text": "abc", "entities": [{"type": "text_link", "offset": 0, "length": 3}]},
        'can\'t parse MessageEntity: Field "url" must be specified',
    ),
    "an unknown style": (
        "sendMessage",
        {
            "text": "x",
            "reply_markup": {"inline_keyboard": [[{"text": "a", "callback_data": "b", "style": "loud"}]]},
        },
        "can't parse inline keyboard button: invalid button style specified",
    ),
    "a file as button link": (
        "sendMessage",
        {"text": "x", "reply_markup": {"inline_keyboard": [[{"text": "a", "url": "file:///etc"}]]}},
        "inline keyboard button URL 'file:///etc' is invalid: Wrong HTTP URL",
    ),
    "unknown file": ("getFile", {"file_id": "x"}, "wrong file_id or the file is temporarily unavailable"),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_the_server_refuses_in_telegrams_words(server: LocalServer, ada: Person, name: str) -> None:
    """Each call that Telegram answers with 400 is answered so, by JSON and by form."""
    method, given, reason = REFUSALS[name]
    params: Json = {"chat_id": ada.chat_id} | given
    form = {key: value if isinstance(value, str) else json.dumps(value) for key, value in params.items()}
    await ada.say("number one")

    async with aiohttp.ClientSession(f"{server.base_url}{server.token}/") as session:
        answers = [
            await (await session.post(method, json=params)).json(),
            await (await session.post(method, data=form)).json(),
        ]

    refused = {"ok": False, "error_code": 400, "description": f"Bad Request: {reason}"}
    assert [refused, refused] == answers


async def test_an_edit_that_changes_nothing_is_refused(bot: Bot, ada: Person) -> None:
    """Text, entities and keyboard are compared as the server keeps them, white space cut."""
    message = await bot.send_message(ada.chat_id, "same", reply_markup=VOTE)

    with pytest.raises(BadRequest, match="Message is not modified"):
        await message.edit_text(" same\n", reply_markup=VOTE)
    with pytest.raises(BadRequest, match="Message is not modified"):
        await message.edit_reply_markup(VOTE)


async def test_an_old_tap_cannot_be_answered(bot: Bot, server: LocalServer, ada: Person) -> None:
    """After the lifetime of a query the answer is refused."""
    server.state.query_lifetime_s = 0.0
    await bot.send_message(ada.chat_id, "done", reply_markup=VOTE)
    tap = await ada.tap(await ada.wait_for("done"), "👍")

    with pytest.raises(BadRequest, match="Query is too old"):
        await bot.answer_callback_query(tap, "late")

    assert await ada.toasts() == []


async def test_a_missing_reply_target_may_be_allowed(bot: Bot, ada: Person) -> None:
    """allow_sending_without_reply sends without."""
    reply = Reply(99, allow_sending_without_reply=True)

    await bot.send_message(ada.chat_id, "anyway", reply_parameters=reply)

    assert (await ada.wait_for("anyway")).reply_to is None


async def test_unknown_methods_and_tokens_are_refused(bot: Bot, server: LocalServer) -> None:
    """404 for a method, 401 for a token."""
    async with aiohttp.ClientSession() as session:
        unknown = await (await session.post(f"{server.base_url}{server.token}/sendTelepathy")).json()
        stranger = await (await session.post(f"{server.base_url}9:nobody/getMe")).json()

    assert unknown == {"ok": False, "error_code": 404, "description": "Not Found: method not found"}
    assert stranger == {"ok": False, "error_code": 401, "description": "Unauthorized"}


async def test_captions_are_edited_as_captions(bot: Bot, ada: Person) -> None:
    """A document has no text to edit, a text no caption; captions have their own limit."""
    document = await bot.send_document(ada.chat_id, b"x", filename="x.md", caption="draft")
    text = await bot.send_message(ada.chat_id, "text")

    await document.edit_caption("final")
    with pytest.raises(BadRequest, match="There is no text in the message to edit"):
        await document.edit_text("x")
    with pytest.raises(BadRequest, match="There is no caption in the message to edit"):
        await text.edit_caption("x")
    with pytest.raises(BadRequest, match="caption is too long"):
        await document.edit_caption("x" * 1025)

    assert (await ada.wait_for("final")).file is not None


async def test_an_empty_or_too_large_file_is_refused(bot: Bot, ada: Person) -> None:
    """Nothing cannot be sent; more than 20 MB cannot be fetched; a known file can be sent by its id."""
    big = await ada.send_file("big.bin", b"x" * (20 * 1024 * 1024 + 1))
    small = await ada.send_file("small.bin", b"x")
    assert big.file is not None and small.file is not None

    with pytest.raises(BadRequest, match="File must be non-empty"):
        await bot.send_document(ada.chat_id, b"", filename="x.md")
    with pytest.raises(BadRequest, match="File is too big"):
        await bot.get_file(big.file.id)
    await bot.send_document(ada.chat_id, small.file.id, caption="back to you")

    assert (await ada.wait_for("back to you")).file == small.file


async def test_a_toast_has_a_limit(bot: Bot, ada: Person) -> None:
    """200 units."""
    await bot.send_message(ada.chat_id, "done", reply_markup=VOTE)
    tap = await ada.tap(await ada.wait_for("done"), "👍")

    with pytest.raises(BadRequest, match="Message_too_long"):
        await bot.answer_callback_query(tap, "x" * 201)


@pytest.mark.parametrize("body", ["{", "[1]", "\udcff"])
async def test_a_body_that_is_no_object_is_refused(server: LocalServer, body: str) -> None:
    """Not answered with 500."""
    headers = {"Content-Type": "application/json"}
    content = body.encode("utf-8", "surrogateescape")
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{server.base_url}{server.token}/getMe", data=content, headers=headers) as response,
    ):
        assert response.status == 400


# Faults


FAULTS: dict[str, tuple[Json, type[TelegramError], str]] = {
    "400": ({"code": 400, "description": "Bad Request: nope"}, BadRequest, "Nope|nope"),
    "401": ({"code": 401}, InvalidToken, "Unauthorized"),
    "403": ({"code": 403}, Forbidden, "blocked"),
    "404": ({"code": 404}, InvalidToken, "Not Found"),
    "409": ({"code": 409}, Conflict, "Conflict"),
    "429": ({"code": 429, "retry_after_s": 7}, RetryAfter, "7"),
    "500": ({"code": 500}, NetworkError, "Internal Server Error"),
    "moved": ({"code": 400, "migrate_to_chat_id": -1009}, ChatMigrated, "-1009"),
    "html": ({"kind": "html", "code": 502}, NetworkError, "Bad Gateway"),
    "html 200": ({"kind": "html", "code": 200}, NetworkError, "not a JSON object"),
    "reset": ({"kind": "reset"}, NetworkError, "connection was lost"),
    "half": ({"kind": "reset_mid_body"}, NetworkError, "connection was lost"),
    "hang": ({"kind": "hang", "seconds": 1.0}, TimedOut, "Timed out"),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_hits_one_call_and_the_next_is_well(bot: Bot, ada: Person, name: str) -> None:
    """Every fault reaches the bot as the error it would be with Telegram."""
    fault, error, words = FAULTS[name]
    kind = FaultKind(str(fault.get("kind", "error")))
    await ada.telegram.fault(
        kind, **({"method": "sendMessage"} | {k: v for k, v in fault.items() if k != "kind"})
    )

    with pytest.raises(error, match=words):
        await bot.send_message(ada.chat_id, "first", read_timeout=0.3)
    await bot.send_message(ada.chat_id, "second")

    assert await ada.wait_for("second")


async def test_a_lost_answer_leaves_the_effect(bot: Bot, ada: Person) -> None:
    """The unknown outcome: the message is there, the bot does not know."""
    await ada.telegram.fault(FaultKind.LOST_ANSWER, method="sendMessage")

    with pytest.raises(NetworkError):
        await bot.send_message(ada.chat_id, "did it arrive?")

    assert await ada.wait_for("did it arrive?")
    assert [call.status for call in await ada.telegram.calls("sendMessage")] == [0]


async def test_a_fault_may_hit_one_chat_only_until_cleared(
    bot: Bot, telegram: LocalTelegram, ada: Person
) -> None:
    """Faults name a method, a chat and how often."""
    bob = await telegram.person("Bob")
    await telegram.fault(method="sendMessage", chat_id=bob.chat_id, code=403, times=0)

    await bot.send_message(ada.chat_id, "hi")
    for _ in range(3):
        with pytest.raises(Forbidden):
            await bot.send_message(bob.chat_id, "hi")
    await telegram.no_faults()
    await bot.send_message(bob.chat_id, "hi")

    assert await bob.wait_for("hi")


async def test_latency_delays_every_call_alike(bot: Bot, ada: Person) -> None:
    """Calls wait side by side, not one after the other."""
    await ada.telegram.fault(FaultKind.DELAY, seconds=0.1, times=0)
    loop = asyncio.get_running_loop()
    started_at = loop.time()

    await asyncio.gather(*(bot.send_message(ada.chat_id, f"m{n}") for n in range(20)))

    assert 0.1 <= loop.time() - started_at < 1.0
