"""The demo's page over HTTP: who gets in, what it refuses, what it keeps; and the command around it."""

import ast
import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Formatter

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.demo.access import LONGEST_BODY_BYTES, Door
from bot.demo.command import refuse_real
from bot.demo.page import FILES, FOLDER, MESSAGE_UNITS, Page, split
from bot.demo.server import DemoServer
from bot.demo.stage import CHAT_FILE, settings_for
from bot.demo.words import FOLDER as LOCALES
from bot.demo.world import VISITOR_ID, World
from bot.local.texts import units
from core.errors import SettingsError
from core.texts import catalogue, has

REPOSITORY = Path(__file__).parents[2]


@dataclass(slots=True)
class Browser:
    """A browser at the demo: it keeps cookies and names its origin."""

    http: aiohttp.ClientSession
    server: DemoServer
    world: World
    page: str = ""

    async def enter(self) -> None:
        """Open the link."""
        async with self.http.get(self.server.link) as response:
            assert response.status == 200
            self.page = str(response.url)

    async def get(self, name: str = "", **headers: str) -> tuple[int, str]:
        """Ask for something of the page."""
        async with self.http.get(self.page + name, headers=headers) as response:
            return response.status, await response.text()

    async def post(self, name: str, body: object, **headers: str) -> int:
        """Act as the page does; headers may be changed, an empty one is left out."""
        own = {"Origin": self.server.url, "Content-Type": "application/json"}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in {**own, **given}.items() if value}
        async with self.http.post(self.page + name, data=json.dumps(body).encode(), headers=sent) as response:
            return response.status


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[Browser]:
    """A browser that has not opened the link yet."""
    world, door = World(tmp_path / CHAT_FILE), Door()
    page = Page(world, door, "scripted", tmp_path / "project")
    jar = aiohttp.CookieJar(unsafe=True)
    async with DemoServer(world, door, page) as server, aiohttp.ClientSession(cookie_jar=jar) as http:
        yield Browser(http, server, world)


@pytest.fixture
async def inside(browser: Browser) -> Browser:
    """A browser that has opened the link."""
    await browser.enter()
    return browser


async def test_the_link_opens_the_page(browser: Browser) -> None:
    """The one-time link leads to the page, whose address and history hold no token."""
    await browser.enter()

    status, text = await browser.get()

    assert status == 200 and "<main" in text and "token" not in browser.page


@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", "?token=é", "?other=1"])
async def test_without_the_token_nobody_gets_in(browser: Browser, query: str) -> None:
    """Missing or wrong: 403, and the answer sets no cookie."""
    async with browser.http.get(f"{browser.server.url}/{query}") as response:
        assert (response.status, response.cookies) == (403, {})


async def test_the_link_works_in_one_browser_only(inside: Browser) -> None:
    """Opened again where the cookie is, it leads to the page; anywhere else it is 403 and says why."""
    await inside.enter()
    async with aiohttp.ClientSession() as other, other.get(inside.server.link) as response:
        assert (response.status, "once" in await response.text()) == (403, True)


async def test_a_look_at_the_link_does_not_use_it_up(browser: Browser) -> None:
    """HEAD, as previews of links ask, is refused; the link still works after it."""
    async with browser.http.head(browser.server.link) as response:
        assert response.status == 405

    await browser.enter()


async def test_only_this_machine_is_listened_to(browser: Browser) -> None:
    """The one address is that of loopback."""
    assert browser.server.url == f"http://127.0.0.1:{browser.server.port}"
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.2", browser.server.port)


@pytest.mark.parametrize("name", ["", "start", "news", "app.js", "files/local-file-1"])
async def test_without_the_cookie_the_address_is_worth_nothing(inside: Browser, name: str) -> None:
    """Knowing the page's path is not enough."""
    async with aiohttp.ClientSession() as other, other.get(inside.page + name) as response:
        assert response.status == 403


async def test_no_other_port_gets_to_see_the_cookie(inside: Browser) -> None:
    """It is bound to a path of its own: cookies of a host go to all its ports."""
    (cookie,) = inside.http.cookie_jar

    assert len(cookie["path"].strip("/")) >= 22
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Host": "evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
async def test_another_sites_page_cannot_act(inside: Browser, headers: dict[str, str]) -> None:
    """Even with the cookie: foreign origin, none at all, another host name (rebinding), another site."""
    assert await inside.post("say", {"text": "rm -rf"}, **headers) == 403
    assert inside.world.chat.messages == {}


async def test_a_form_cannot_act(inside: Browser) -> None:
    """Simple requests, which browsers send without asking, are refused."""
    assert await inside.post("say", {"text": "hello"}, Content_Type="text/plain") == 415


async def test_another_sites_page_cannot_look(inside: Browser) -> None:
    """Neither the chat nor the scripts are given to a page of another site."""
    for name in ("news", "start", "app.js"):
        assert (await inside.get(name, **{"Sec-Fetch-Site": "cross-site"}))[0] == 403


@pytest.mark.parametrize("path", ["control/chat?chat_id=1001", "control/bot", "control/say"])
async def test_there_is_no_control_plane(inside: Browser, path: str) -> None:
    """Nobody on the machine (the agent neither) can type for the visitor."""
    async with inside.http.get(f"{inside.server.url}/{path}") as response:
        assert response.status == 404


async def test_the_bot_api_asks_for_its_token(inside: Browser) -> None:
    """The bot's side is no way in: its token is made anew at each start and nowhere written."""
    async with inside.http.get(f"{inside.server.url}/bot4242:guess/getUpdates") as response:
        assert response.status == 401


async def test_the_page_comes_with_a_strict_policy(inside: Browser) -> None:
    """No inline script, no other host, no frame, no markup from strings; so do refusals."""
    for address in (inside.page, inside.page + "nothing.js", inside.server.url):
        async with inside.http.get(address) as response:
            policy = response.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'") and "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy and "require-trusted-types-for 'script'" in policy
            assert response.headers["Referrer-Policy"] == "no-referrer"


async def test_the_page_asks_no_other_host(inside: Browser) -> None:
    """Nothing it is made of names an address that a browser would load."""
    for name in (*FILES, "index.html"):
        text = (FOLDER / name).read_text(encoding="utf-8")
        loaded = re.findall(r"""(?:src|href|url|import)\s*[=(:]?\s*["'(]?\s*(https?:)?//""", text)
        assert loaded == []


def test_scripts_never_build_markup_from_strings() -> None:
    """The policy would stop them; they do not try."""
    for name in FILES:
        text = (FOLDER / name).read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function", text)


async def test_what_is_too_long_is_refused(inside: Browser) -> None:
    """A megabyte is no message: 413, and nothing of it is in the chat."""
    assert await inside.post("say", {"text": "x" * LONGEST_BODY_BYTES}) == 413
    assert inside.world.chat.messages == {}


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("say", {"text": ""}),
        ("say", []),
        ("tap", {"message_id": 1}),
        ("react", {"message_id": 99, "emoji": ["👍"]}),
        ("react", {"message_id": 1, "emoji": ["💩"]}),
    ],
)
async def test_what_cannot_be_understood_is_refused(inside: Browser, name: str, body: object) -> None:
    """400, with a line for the person."""
    assert await inside.post(name, body) == 400


async def test_acts_reach_the_bot(inside: Browser) -> None:
    """A message, a tap and a reaction become updates, as from Telegram."""
    assert await inside.post("say", {"text": "hello", "reply_to": None}) == 200
    assert await inside.post("tap", {"message_id": 1, "data": "1:v:abc:up"}) == 200

    (said, tapped) = inside.world.state.updates.peek()

    assert said["message"]["text"] == "hello"  # type: ignore[index]
    assert tapped["callback_query"]["data"] == "1:v:abc:up"  # type: ignore[index]


async def test_news_are_what_is_newer(inside: Browser) -> None:
    """The page is given the chat once, then what has changed since."""
    await inside.post("say", {"text": "one"})
    first = json.loads((await inside.get("news?seen=-1"))[1])
    await inside.post("say", {"text": "two"})

    news = json.loads((await inside.get(f"news?seen={first['version']}"))[1])

    assert [each["text"] for each in first["messages"]] == ["one"]
    assert [each["text"] for each in news["messages"]] == ["two"]
    assert news["guide"]["step"] == "ask" and (await inside.get("news?seen=x"))[0] == 400


@pytest.mark.parametrize(("header", "language"), [("fr-CA,en;q=0.5", "fr"), ("de", "en"), ("en-GB,fr", "en")])
async def test_the_page_speaks_the_browsers_language(inside: Browser, header: str, language: str) -> None:
    """So does the bot from then on: it is the visitor's language."""
    _, text = await inside.get("", **{"Accept-Language": header})

    assert f'<html lang="{language}">' in text and "$" not in text
    assert inside.world.language == language


async def test_typing_lasts_until_the_bot_speaks(inside: Browser) -> None:
    """Five seconds at most, or until its next message."""
    api = f"{inside.server.url}/bot{inside.world.state.token}"
    await inside.http.post(f"{api}/sendChatAction", json={"chat_id": VISITOR_ID, "action": "typing"})
    assert 4 < inside.world.typing_s <= 5

    await inside.http.post(f"{api}/sendMessage", json={"chat_id": VISITOR_ID, "text": "here"})

    assert inside.world.typing_s == 0


async def test_the_chat_is_there_again(inside: Browser, tmp_path: Path) -> None:
    """Messages, reactions and ids outlive the process; ids never come back for another message."""
    await inside.post("say", {"text": "kept"})
    inside.world.state.message(VISITOR_ID, 1).reactions[4242] = ["👀"]
    await inside.world.close()

    again = World(tmp_path / CHAT_FILE)

    assert (again.chat.messages[1].text, again.chat.messages[1].reactions) == ("kept", {4242: ["👀"]})
    assert again.chat.last_id > 1


@given(st.text(max_size=50), st.integers(0, 3 * MESSAGE_UNITS))
def test_long_messages_are_split_without_loss(tail: str, length: int) -> None:
    """Every part is short enough for Telegram, and together they are what was written."""
    text = "🦉x" * (length // 3) + tail

    parts = split(text)

    assert "".join(parts) == text and all(units(part) <= MESSAGE_UNITS for part in parts)


# -- texts -----------------------------------------------------------------------------------------------


def test_both_languages_say_the_same() -> None:
    """Equal keys, and equal places to fill."""
    english, french = catalogue("en", LOCALES), catalogue("fr", LOCALES)

    assert english.keys() == french.keys()
    for key, text in english.items():
        assert _places(text) == _places(french[key]), key


def _places(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in Formatter().parse(text) if name)


def test_every_text_that_is_asked_for_exists() -> None:
    """In Python by `tell`, in the scripts by `texts.`, in the page by `$`."""
    known = catalogue("en", LOCALES)
    asked = {key for path in FOLDER.parent.glob("*.py") for key in _told(path)}
    for name in FILES:
        text = (FOLDER / name).read_text(encoding="utf-8")
        asked |= {f"js.{key}" for key in re.findall(r"\btexts\.(\w+)", text)}
    index = (FOLDER / "index.html").read_text(encoding="utf-8")
    asked |= {f"page.{key}" for key in re.findall(r"\$(\w+)", index)} - {
        "page.language",
        "page.honest",
        "page.project",
    }

    assert {key for key in asked if key not in known and not has(key)} == set()


def _told(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        is_call = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "tell" and node.args
        if is_call and isinstance(node.args[0], ast.Constant) and "." in str(node.args[0].value):
            key = str(node.args[0].value)
            yield f"cli.{key}" if path.name == "command.py" else key


# -- the command -----------------------------------------------------------------------------------------


def test_a_home_of_real_lessons_is_refused(tmp_path: Path) -> None:
    """What is made up in a demo never gets into a store that people use."""
    (tmp_path / "store.db").write_bytes(b"")

    with pytest.raises(SettingsError):
        refuse_real(tmp_path)


def test_the_persons_own_settings_stay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a broken one stops the demo; with Pi only what starts it is read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUTO_IMPROVE_ALLOWED_CHATS", "-5")
    monkeypatch.setenv("AUTO_IMPROVE_TELEGRAM_TOKEN", "1:real")
    monkeypatch.setenv("AUTO_IMPROVE_PI_COMMAND", "node pi.js")

    scripted, pi = (settings_for(tmp_path, agent, "42:demo") for agent in ("scripted", "pi"))

    assert (scripted.allowed_chats, scripted.token(), scripted.home) == ((), "42:demo", tmp_path)
    assert (pi.token(), pi.allowed_chats, pi.pi_command) == ("42:demo", (), ("node", "pi.js"))


@contextmanager
def running(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run the command with an empty HOME and nothing on PATH."""
    env = {"HOME": str(folder), "PATH": "", "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(folder)}
    process = subprocess.Popen(
        (sys.executable, "-m", "bot", "demo", *words), cwd=folder, env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_command_prints_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    """With an empty HOME and PATH it serves; Ctrl-C ends it with code 0, without a word or a file."""
    with running(tmp_path) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)

    assert re.search(r"http://127\.0\.0\.1:\d+/\?token=\S{32}", line) and (out, err) == ("", "")
    assert process.returncode == 0 and list(tmp_path.iterdir()) == []


async def test_a_port_that_is_taken_is_said_in_one_line(browser: Browser, tmp_path: Path) -> None:
    """Code 2, which port, and what to do."""
    with running(tmp_path, "--port", str(browser.server.port)) as process:
        out, err = process.communicate(timeout=20)

    assert (process.returncode, out) == (2, "")
    assert err.startswith(f"Port {browser.server.port} cannot be used") and err.count("\n") == 1
