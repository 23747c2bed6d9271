"""The tools around the local Bot API server: people's waiting, recorded calls, webhook, own process."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from telegram import Bot, MessageEntity, Update
from telegram import ReplyParameters as Reply
from telegram.error import Conflict

from bot.local.person import LocalTelegram, NothingCame, Person, Refused
from bot.local.records import Json
from bot.local.server import LocalServer
from tests.fakes.bots import VOTE, WITH_REACTIONS, a_bot
from tests.shared import validator

# The person's own tools


async def test_waiting_in_vain_shows_the_chat(bot: Bot, ada: Person) -> None:
    """A failed test tells what was there instead."""
    await bot.send_message(ada.chat_id, "something else", reply_markup=VOTE)

    with pytest.raises(NothingCame, match=r"something else.*👍"):
        await ada.wait_for("expected", timeout_s=0.05)
    with pytest.raises(LookupError, match="no button 'x'"):
        await ada.tap(await ada.wait_for("else"), "x")


async def test_a_quiet_chat_and_a_changed_one_are_told_apart(bot: Bot, ada: Person) -> None:
    """Tests can say that nothing more comes."""
    await ada.nothing_comes(0.02)
    watch = asyncio.create_task(ada.nothing_comes(0.2))
    await asyncio.sleep(0.02)

    await bot.send_message(ada.chat_id, "surprise")

    with pytest.raises(AssertionError, match="surprise"):
        await watch


async def test_many_may_wait_in_one_chat(bot: Bot, telegram: LocalTelegram, ada: Person) -> None:
    """What one of them has seen is not lost to the others."""
    bob = await telegram.person("Bob")
    group = await telegram.group("Team", [ada, bob])
    waiting = [
        asyncio.create_task(person.at(group).wait_for(f"word {number}"))
        for number in range(10)
        for person in (ada, bob)
    ]

    for number in range(10):
        await bot.send_message(group.id, f"word {number}")

    assert [message.text for message in await asyncio.gather(*waiting)][::2] == [
        f"word {n}" for n in range(10)
    ]


async def test_the_control_plane_refuses_what_does_not_exist(telegram: LocalTelegram, ada: Person) -> None:
    """A wrong test fails at the act, not later."""
    message = await ada.say("mine")
    bob = await telegram.person("Bob")

    with pytest.raises(Refused, match="is not by person"):
        await bob.edit(message, "yours")
    with pytest.raises(Refused, match="no update 5"):
        await telegram.redeliver(5)


FOREIGN: dict[str, tuple[dict[str, str], int]] = {
    "another site": ({"Origin": "http://evil.example", "Content-Type": "application/json"}, 403),
    "a rebound name": ({"Host": "evil.example", "Content-Type": "application/json"}, 403),
    "a sandboxed page": ({"Origin": "null", "Content-Type": "application/json"}, 403),
    "a form": ({"Content-Type": "text/plain"}, 415),
}


@pytest.mark.parametrize("name", FOREIGN)
async def test_web_pages_cannot_type_for_people(server: LocalServer, ada: Person, name: str) -> None:
    """What a browser lets another site send is refused, or needs a permission that is never given."""
    headers, status = FOREIGN[name]
    body = json.dumps({"person_id": ada.id, "chat_id": ada.chat_id, "text": "rm -rf /"})

    async with aiohttp.ClientSession(server.url) as session:
        async with session.post("/control/say", data=body, headers=headers) as response:
            assert response.status == status
        async with session.options("/control/say", headers={"Origin": "http://evil.example"}) as preflight:
            assert "Access-Control-Allow-Origin" not in preflight.headers

    assert await ada.messages() == []


# Recording, webhook, process


async def test_recorded_calls_are_what_the_validator_reads(bot: Bot, ada: Person, tmp_path: Path) -> None:
    """A clean conversation validates cleanly, a wrong call does not."""
    validate = validator()
    spec = validate.Spec.load()
    message = await bot.send_message(ada.chat_id, "done", reply_markup=VOTE, reply_parameters=Reply(9, allow_sending_without_reply=True))  # fmt: skip  # noqa: E501
    await message.edit_text("done ✓", entities=[MessageEntity(MessageEntity.BOLD, 0, 4)])
    await bot.send_document(ada.chat_id, b"x", filename="x.md")
    await bot.get_updates(allowed_updates=WITH_REACTIONS)
    await bot.set_my_commands([("help", "Help")])

    lines = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    found = [
        str(violation)
        for line in lines
        for violation in validate.validate_call(
            spec, line["method"], line["params"], line["files"], line["encoding"]
        ).violations
    ]

    assert found == []
    assert [line["method"] for line in lines] == [
        "getMe",
        "sendMessage",
        "editMessageText",
        "sendDocument",
        "getUpdates",
        "setMyCommands",
    ]
    assert lines[3]["files"] == ["document"]


async def raw_updates(bot: Bot) -> list[Json]:
    """Ask for updates as they are on the wire."""
    async with aiohttp.ClientSession() as session, session.post(f"{bot.base_url}/getUpdates") as response:
        result: list[Json] = (await response.json())["result"]
        return result


async def test_every_update_has_the_documented_form(bot: Bot, telegram: LocalTelegram, ada: Person) -> None:
    """Updates of every kind are what the Bot API documents."""
    validate = validator()
    await bot.get_updates(allowed_updates=WITH_REACTIONS)
    here = ada.at(await telegram.group("Team", [ada], topics=["ops"], is_bot_admin=True), "ops")
    for place in (ada, here):
        asked = await place.say("hi")
        await place.edit(asked, "hello")
        await place.send_file("a.png", b"png", kind="photo")
        await place.send_file("a.ogg", b"ogg", kind="voice")
        await bot.send_message(place.chat_id, "yes", reply_markup=VOTE, message_thread_id=place.thread_id)
        await place.tap(await place.wait_for("yes"), "👍")
        await place.react(await place.wait_for("yes"), "👍")
    await ada.block()

    updates = await raw_updates(bot)

    assert len(updates) == 13
    found = [validate.check_object(validate.Spec.load(), "Update", update) for update in updates]
    assert found == [[]] * 13


async def test_a_webhook_gets_updates_with_its_secret_until_it_accepts(bot: Bot, ada: Person) -> None:
    """Telegram posts again what was not accepted, and polls are refused meanwhile."""
    got: list[tuple[str | None, Update | None]] = []

    async def receive(request: web.Request) -> web.Response:
        secret = request.headers.get("X-Telegram-Bot-Api-Secret-Token")
        got.append((secret, Update.de_json(await request.json(), bot)))
        return web.Response(status=500 if len(got) == 1 else 200)

    app = web.Application()
    app.router.add_post("/hook", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await bot.set_webhook(f"http://127.0.0.1:{runner.addresses[0][1]}/hook", secret_token="s3")
    await ada.say("hello hook")
    while (await bot.get_webhook_info()).pending_update_count:
        await asyncio.sleep(0.02)
    with pytest.raises(Conflict, match="webhook is active"):
        await bot.get_updates()
    await bot.delete_webhook()
    await runner.cleanup()

    assert [secret for secret, _ in got] == ["s3", "s3"]
    assert [update.message.text for _, update in got if update and update.message] == ["hello hook"] * 2


@asynccontextmanager
async def process(record: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, dict[str, str]]]:
    """Start the server as a process and give it with its URLs; it is ended in any case."""
    command = [sys.executable, "-m", "bot.local", "--token", "42:t", "--record", str(record)]
    started = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert started.stdout is not None
        yield started, json.loads(await started.stdout.readline())
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


async def test_the_server_is_a_process_that_outlives_the_bot(tmp_path: Path) -> None:
    """One line of JSON, state kept between two bots, calls recorded, SIGTERM ends it."""
    record = tmp_path / "calls.jsonl"
    async with process(record) as (server, urls), LocalTelegram(urls["url"]) as telegram:
        ada = await telegram.person("Ada")
        await ada.say("are you there?")

        for answer in ("", "yes"):
            async with a_bot("42:t", urls["base_url"], urls["base_file_url"]) as bot:
                (update,) = await bot.get_updates()
                if answer and update.message:
                    await update.message.reply_text(answer)
        await ada.wait_for("yes")
        server.terminate()

        assert await asyncio.wait_for(server.wait(), 5) == 0
    methods = [json.loads(line)["method"] for line in record.read_text().splitlines()]
    assert methods == ["getMe", "getUpdates", "getMe", "getUpdates", "sendMessage"]
