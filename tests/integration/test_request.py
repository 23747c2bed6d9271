"""The request class under python-telegram-bot: what failed, whether it went out, and never the token."""

import asyncio
import contextlib
import logging
import socket
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web
from telegram import Bot, InputFile
from telegram.error import BadRequest, NetworkError, RetryAfter, TelegramError, TimedOut

from bot.local.person import FaultKind, Person
from bot.local.server import LocalServer
from bot.request import AiohttpRequest, RequestFailed, RequestTimedOut, was_sent
from tests.fakes.bots import a_bot

TOKEN = "987654:very-secret-token"

Stream = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def listening(answer: Stream) -> AsyncIterator[int]:
    """A server of bare bytes and its port; at the end its connections are cut."""
    tasks: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await answer(reader, writer)
        writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        tasks.add(asyncio.create_task(serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        async with server:
            yield server.sockets[0].getsockname()[1]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def raw_server(answer: Stream) -> AsyncIterator[Bot]:
    """A server of bare bytes, and a Bot for it."""
    async with listening(answer) as port, bot_at(port) as bot:
        yield bot


@contextlib.asynccontextmanager
async def bot_at(port: int, pool_size: int = 8, **options: float) -> AsyncIterator[Bot]:
    """A Bot for a port, whose request class is up but which has not asked getMe."""
    request = AiohttpRequest(pool_size, read_timeout_s=0.3, **options)
    async with request:
        yield Bot(TOKEN, base_url=f"http://127.0.0.1:{port}/bot", request=request)


async def failure(bot: Bot, **options: float) -> TelegramError:
    """Send a message and give how it failed."""
    with pytest.raises(TelegramError) as caught:
        await bot.send_message(1, "hi", **options)  # type: ignore[arg-type]
    return caught.value


def answering(body: bytes, status: str = "200 OK") -> Stream:
    """Answer every request with these bytes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()

    return answer


async def test_a_refused_connection_was_not_sent() -> None:
    """Nobody listens: safe to send again."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with bot_at(taken.getsockname()[1]) as bot:
            error = await failure(bot)

    assert isinstance(error, RequestFailed)
    assert not was_sent(error)


async def test_an_unknown_host_was_not_sent() -> None:
    """No address, no request."""
    async with AiohttpRequest() as request:
        bot = Bot(TOKEN, base_url="http://no-such-host.invalid/bot", request=request)

        error = await failure(bot)

    assert isinstance(error, RequestFailed)
    assert not was_sent(error)


async def test_a_full_pool_times_out_unsent() -> None:
    """No free connection within the pool's time."""
    release = asyncio.Event()

    async def hold(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await release.wait()

    short = {"connect_timeout_s": 0.1, "pool_timeout_s": 0.1}
    async with listening(hold) as port, bot_at(port, pool_size=1, **short) as bot:
        first, second = await asyncio.gather(failure(bot, read_timeout=0.6), failure(bot))
        release.set()

    assert isinstance(first, RequestTimedOut) and isinstance(second, RequestTimedOut)
    assert (was_sent(first), was_sent(second)) == (True, False)


async def test_silence_after_the_request_is_an_unknown_outcome() -> None:
    """The server took it and does not answer."""

    async def hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with raw_server(hang) as bot:
        error = await failure(bot)

    assert isinstance(error, TimedOut)
    assert was_sent(error)


@pytest.mark.parametrize("kind", [FaultKind.RESET, FaultKind.LOST_ANSWER, FaultKind.RESET_MID_BODY])
async def test_a_lost_connection_is_an_unknown_outcome(bot: Bot, ada: Person, kind: FaultKind) -> None:
    """The bot cannot tell whether the effect is there."""
    await ada.telegram.fault(kind, method="sendMessage")

    with pytest.raises(RequestFailed) as caught:
        await bot.send_message(ada.chat_id, "hi")

    assert was_sent(caught.value)


async def test_an_upload_that_is_not_read_ends_in_time() -> None:
    """A server that stops reading cannot hold a call for ever."""

    async def stall(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(5)

    async with raw_server(stall) as bot:
        with pytest.raises(TimedOut):
            async with asyncio.timeout(4):
                await bot.send_document(
                    1, InputFile(b"x" * 20_000_000), write_timeout=0.1, connect_timeout=0.1, pool_timeout=0.1
                )


async def test_an_error_that_telegram_answered_counts_as_sent(bot: Bot, ada: Person) -> None:
    """It reached the server."""
    await ada.telegram.fault(code=429, retry_after_s=3, method="sendMessage")

    with pytest.raises(RetryAfter) as caught:
        await bot.send_message(ada.chat_id, "hi")

    assert was_sent(caught.value)


async def test_a_text_that_is_no_unicode_is_a_bad_request(bot: Bot, ada: Person) -> None:
    """A lone surrogate would be refused by Telegram with the same words; repeating it is in vain."""
    with pytest.raises(BadRequest, match="must be encoded in utf-8"):
        await bot.send_message(ada.chat_id, "\ud83d")


ANSWERS = {
    "html": (b"<html>welcome to the hotel</html>", "200 OK"),
    "empty": (b"", "200 OK"),
    "list": (b"[1]", "200 OK"),
    "list as error": (b"[1]", "500 Internal Server Error"),
    "text as error": (b'"no"', "502 Bad Gateway"),
    "empty error": (b"", "503 Service Unavailable"),
    "no result": (b'{"ok":true}', "200 OK"),
    "refused with 200": (b'{"ok":false,"error_code":400,"description":"Bad Request: x"}', "200 OK"),
    "redirect": (b"", "302 Found"),
    "not utf-8": (b"\xff\xfe", "500 Internal Server Error"),
    "half": (b'{"ok":true,"resu', "200 OK"),
    "strange status": (b"{}", "999 Odd"),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_that_is_none_is_a_network_error(name: str) -> None:
    """Proxies, hotels and broken servers raise nothing but what PTB documents."""
    async with raw_server(answering(*ANSWERS[name])) as bot:
        error = await failure(bot)

    assert isinstance(error, NetworkError)


async def test_the_token_is_in_no_exception_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """Not in the text, the cause, the context, nor what a proxy's page repeats."""
    caplog.set_level(logging.INFO)  # at DEBUG python-telegram-bot itself logs the URL with the token
    page = f"<p>cannot reach /bot{TOKEN}/sendMessage</p>".encode()
    errors = []
    async with bot_at(1) as nowhere:
        errors.append(await failure(nowhere))
    for answer in (answering(page, "502 Bad Gateway"), answering(page), answering(b"x", "0")):
        async with raw_server(answer) as bot:
            errors.append(await failure(bot))
            errors.append(await failure(bot, read_timeout=0.00001))

    shown = "".join("".join(traceback.format_exception(error)) + repr(error.__context__) for error in errors)
    assert len(errors) == 7
    assert TOKEN not in shown
    assert TOKEN not in caplog.text


async def test_calls_share_connections_up_to_the_pool_size() -> None:
    """Fifty calls at once over four connections."""
    peers: set[str] = set()

    async def count(request: web.Request) -> web.Response:
        peers.add(str(request.transport.get_extra_info("peername") if request.transport else ""))
        await asyncio.sleep(0.005)
        return web.json_response({"ok": True, "result": True})

    app = web.Application()
    app.router.add_post("/{path:.*}", count)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with bot_at(runner.addresses[0][1], pool_size=4) as bot:
        await asyncio.gather(*(bot.delete_message(1, n) for n in range(50)))
    await runner.cleanup()

    assert len(peers) == 4


async def test_a_proxy_named_by_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """People behind a company's proxy need no setting of ours."""
    lines: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append(await reader.readline())
        await answering(b'{"ok":true,"result":true}')(reader, writer)

    async with listening(proxy) as port, AiohttpRequest() as request:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "localhost")
        bot = Bot(TOKEN, base_url="http://telegram.invalid/bot", request=request)
        assert await bot.delete_message(1, 1)

    assert lines[0].startswith(b"POST http://telegram.invalid/bot")


async def test_a_request_class_can_be_used_again_after_shutdown(server: LocalServer) -> None:
    """PTB starts and stops it as it likes; before the start it says so."""
    bot = a_bot(server.token, server.base_url, server.base_file_url)
    with pytest.raises(NetworkError, match="not initialized"):
        await bot.get_me()

    for _ in range(2):
        async with bot:
            assert bot.username == (await bot.get_me()).username


async def test_a_large_document_goes_up_and_comes_down(bot: Bot, ada: Person) -> None:
    """Ten megabytes each way."""
    content = bytes(range(256)) * 40_000

    await bot.send_document(ada.chat_id, content, filename="big.bin")
    seen = await ada.wait_for(lambda m: m.file is not None)
    assert seen.file is not None
    file = await bot.get_file(seen.file.id)

    assert content == bytes(await file.download_as_bytearray())


async def test_a_text_of_megabytes_is_sent_and_refused_by_the_server(bot: Bot, ada: Person) -> None:
    """Size is the server's business, not an accident of the HTTP library."""
    with pytest.raises(BadRequest, match="too long"):
        await bot.send_message(ada.chat_id, "x" * 2_000_000)
