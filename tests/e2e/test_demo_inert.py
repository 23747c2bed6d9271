"""Whatever stands in a message is text: script, markup, links, a megabyte; in a real browser."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.demo.access import Door
from bot.demo.page import Page
from bot.demo.server import DemoServer
from bot.demo.stage import CHAT_FILE
from bot.demo.world import VISITOR_ID, World
from bot.local.records import Json, Message
from tests.e2e.demo_visit import Visit, visit

pytestmark = pytest.mark.timeout(180)  # each starts a browser, on a machine that may be busy

HOSTILE = (
    "<script>window.pwned = 1</script>",
    "<img src=x onerror=window.pwned=1>",
    '"><svg/onload=window.pwned=1>',
    "</div></article><style>*{display:none}</style>",
    "{{constructor.constructor('window.pwned=1')()}}",
    "javascript:window.pwned=1",
)


@dataclass(slots=True)
class Stage:
    """A page whose bot is the test."""

    visit: Visit
    world: World

    def post(self, text: str, *entities: Json, keyboard: Json | None = None) -> Message:
        """Say something as the bot, past the limits of its API."""
        return self.world.state.post(self.world.chat, text, entities=list(entities), keyboard=keyboard)

    async def shown(self, message: Message) -> str:
        """Wait for a message on the page; give its text."""
        await self.visit.tab.wait(f"document.getElementById('m{message.id}')")
        found = f"document.querySelector('#m{message.id} .text').textContent"
        return str(await self.visit.tab.js(found))

    async def is_harmed(self) -> bool:
        """Say whether anything of a message ran or became part of the page."""
        made = "document.querySelector('#list :is(script, style, svg, img, iframe)') !== null"
        return bool(await self.visit.tab.js(f"Boolean(window.pwned) || {made}"))


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A page without a bot behind it."""
    world, door = World(tmp_path / CHAT_FILE), Door()
    page = Page(world, door, "scripted", tmp_path)
    async with DemoServer(world, door, page) as server, visit(tmp_path, server.link) as opened:
        yield Stage(opened, world)
        assert opened.tab.faults == []


@pytest.mark.parametrize("text", HOSTILE)
async def test_markup_in_a_message_is_text(stage: Stage, text: str) -> None:
    """In plain text, in every kind of entity, in a reply's quote, in a button and in a toast."""
    whole: Json = {"offset": 0, "length": len(text)}
    kinds = ("bold", "code", "pre", "blockquote", "spoiler", "bot_command", "url", "hashtag")
    keyboard: Json = {"inline_keyboard": [[{"text": text[:60], "callback_data": "x"}]]}
    said = [stage.post(text, {**whole, "type": kind, "language": text}) for kind in kinds]
    said.append(stage.post(text, keyboard=keyboard))
    said.append(stage.world.state.say(VISITOR_ID, VISITOR_ID, text, reply_to=said[0].id))
    query = stage.world.state.tap(VISITOR_ID, VISITOR_ID, said[-2].id, "x")
    stage.world.state.answer(stage.world.state.queries[query], text[:180], is_alert=True)

    assert [await stage.shown(message) for message in said] == [text] * len(said)
    assert not await stage.is_harmed()


@pytest.mark.parametrize(
    "address",
    ["javascript:window.pwned=1", "data:text/html,<script>1</script>", "file:///etc/passwd", " jAvAsCrIpT:1"],
)
async def test_only_links_to_the_web_are_links(stage: Stage, address: str) -> None:
    """Others stay text; real ones open apart, without telling where from."""
    bad = stage.post("tap me", {"type": "text_link", "offset": 0, "length": 6, "url": address})
    good = stage.post(
        "tap me", {"type": "text_link", "offset": 0, "length": 6, "url": "https://example.org/"}
    )
    await stage.shown(good)

    links = f"[...document.querySelectorAll('#m{bad.id} .text a, #m{good.id} .text a')]"
    assert await stage.visit.tab.js(f"{links}.map((link) => [link.href, link.rel.includes('noopener')])") == [
        ["https://example.org/", True]
    ]


async def test_a_button_to_a_script_leads_nowhere(stage: Stage) -> None:
    """A web button with another address is no link."""
    keyboard: Json = {"inline_keyboard": [[{"text": "go", "url": "javascript:window.pwned=1"}]]}
    message = stage.post("here", keyboard=keyboard)
    await stage.shown(message)

    await stage.visit.tab.js(f"document.querySelector('#m{message.id} .key').click()")

    assert not await stage.is_harmed()


async def test_a_megabyte_is_shown_and_the_page_goes_on(stage: Stage) -> None:
    """One message of 1 MB without a space, with markup in it; the next one is there as ever."""
    text = "<b>" + "x" * 1_000_000 + "</b>"
    message = stage.post(text)
    assert len(await stage.shown(message)) == len(text)

    wide = await stage.visit.tab.js("document.documentElement.scrollWidth <= innerWidth")

    assert wide and await stage.shown(stage.post("next")) == "next"
    assert not await stage.is_harmed()


async def test_entities_that_overlap_lose_no_text(stage: Stage) -> None:
    """Entities crossing each other, beyond the end, empty or around an emoji: the text stays as it is."""
    text = "one 🦉 two three"
    entities: list[Json] = [
        {"type": "bold", "offset": 0, "length": 9},
        {"type": "italic", "offset": 4, "length": 50},
        {"type": "code", "offset": 6, "length": 0},
        {"type": "unheard_of", "offset": 2, "length": 3},
    ]

    assert await stage.shown(stage.post(text, *entities)) == text


async def test_what_the_bot_changes_changes_in_place(stage: Stage) -> None:
    """Edits, used buttons, reactions and deletions show without a reload."""
    message = stage.post("first", keyboard={"inline_keyboard": [[{"text": "Go", "callback_data": "x"}]]})
    await stage.shown(message)
    message.keyboard = {"inline_keyboard": [[{"text": "✓ Go", "callback_data": "x"}]]}
    message.reactions[4242] = ["👀"]
    stage.world.state.rewrite(message, "second", [])
    stage.world.state.touch(message)
    tab = stage.visit.tab
    await tab.wait(f"document.querySelector('#m{message.id} .key.is-used')")
    assert await stage.shown(message) == "second"
    assert await tab.js("document.querySelector('.reactions').textContent") == "👀"

    stage.world.state.remove(message)

    await tab.wait(f"!document.getElementById('m{message.id}')")


async def test_what_is_refused_is_given_back(stage: Stage) -> None:
    """A message that is too long stays in the field, with a word about it; long ones arrive in parts."""
    await stage.visit.say("y" * 9000)
    await stage.visit.tab.wait("document.querySelectorAll('.message.mine').length === 3")

    await stage.visit.say("z" * 300_000)

    await stage.visit.tab.wait("document.querySelector('.toast')?.textContent.includes('too long')")
    assert await stage.visit.tab.js("document.getElementById('write').value.length") == 300_000
    stage.visit.tab.faults.clear()  # the browser notes the refusal


async def test_a_demo_that_ended_is_said(tmp_path: Path) -> None:
    """When the command is stopped the page says so instead of looking alive."""
    world, door = World(tmp_path / CHAT_FILE), Door()
    server = DemoServer(world, door, Page(world, door, "scripted", tmp_path))
    async with server, visit(tmp_path, server.link) as opened:
        await server.__aexit__(None, None, None)

        await opened.tab.wait("document.getElementById('trouble').textContent.includes('ended')")


async def test_the_newest_message_stays_in_sight_unless_one_looks_back(stage: Stage) -> None:
    """New messages and a growing field keep the end in view; who looks back is left there."""
    tab = stage.visit.tab
    for number in range(40):
        stage.post(f"message {number}")
    box = "document.getElementById('messages')"
    away = f"{box}.scrollHeight - {box}.scrollTop - {box}.clientHeight"
    await tab.wait("document.querySelectorAll('.message').length === 40")
    await tab.wait(f"({away}) < 2")
    await tab.js("document.querySelector('.message:last-child [data-key=reply]').click()")
    await tab.wait(f"!document.getElementById('replying').hidden && ({away}) < 2")

    await tab.js("document.getElementById('messages').scrollTop = 0")
    await tab.wait("!document.getElementById('newest').hidden")
    await stage.shown(stage.post("later"))

    assert await tab.js("document.getElementById('messages').scrollTop") == 0
    await tab.js("document.getElementById('newest').click()")
    await tab.wait(f"({away}) < 2")
