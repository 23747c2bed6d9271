"""Terminal and chat over one store: what waits in one is decided in the other (product.md 2, 7)."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.local.person import LocalTelegram
from bot.local.server import LocalServer
from bot.local.wire import MessageView
from tests.e2e.house import TOKEN, House
from tests.e2e.pi_install import PI_084, PI_16, pi_command
from tests.e2e.test_terminal import APPROVE, INSTALL, LATER, RULE, last_system, play
from tests.fakes.own_pi import OwnPi, Rpc, bash, make_own_pi
from tests.fakes.stub_provider import StubProvider
from tests.integration.parts import until

pytestmark = [pytest.mark.pi, pytest.mark.timeout(150)]
BOTH = [PI_16, pytest.param(PI_084, marks=pytest.mark.long)]


@dataclass(slots=True)
class Rooms:
    """A person's terminal, and the bot that serves the same person's chat."""

    own: OwnPi
    house: House


@pytest.fixture(params=BOTH)
async def rooms(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rooms]:
    """Pi with the extension installed, and a running bot with the same home."""
    with StubProvider() as stub:
        own = make_own_pi(tmp_path, pi_command(request.param), stub)
        await own.run("install", "pi")
        play(own, install=[bash(INSTALL), {"text": "npm failed"}])
        async with LocalServer(TOKEN) as server, LocalTelegram(server.url) as telegram:
            ada = await telegram.person("Ada", language_code="en")
            env = {
                **own.env,
                "AUTO_IMPROVE_TELEGRAM_TOKEN": TOKEN,
                "AUTO_IMPROVE_TELEGRAM_BASE_URL": server.base_url,
                "AUTO_IMPROVE_TELEGRAM_BASE_FILE_URL": server.base_file_url,
                "AUTO_IMPROVE_ALLOWED_USERS": str(ada.chat_id),
                "AUTO_IMPROVE_PROJECT": str(own.project),
                "AUTO_IMPROVE_DIGEST": "off",
            }
            house = House(tmp_path, server, telegram, ada, stub, env)
            await house.start()
            yield Rooms(own, house)
            await house.kill()


async def _left_for_later(pi: Rpc, house: House) -> MessageView:
    """Complain in Pi, decide nothing there, and give the card that the chat shows."""
    await pi.say("install left-pad")
    await pi.say("/bad use pnpm", [LATER])
    return await house.card()


async def test_what_waits_in_the_terminal_is_offered_in_the_chat(rooms: Rooms) -> None:
    """Left for later in Pi, approved by a reply on the phone, told at the terminal's next prompt."""
    own, house = rooms.own, rooms.house
    async with own.rpc() as pi:
        card = await _left_for_later(pi, house)
        assert RULE in card.text

        await house.ada.say("ok", reply_to=card)

        await house.change(card, lambda m: "Approved by Ada" in m.text)
        await until(lambda: any(RULE in path.read_text("utf-8") for path in own.home.glob("context/*.md")))
        await pi.say("hello")
    assert RULE in last_system(own)


async def test_what_was_decided_in_the_terminal_is_said_on_the_card(rooms: Rooms) -> None:
    """The card in the chat says so and can no longer be decided."""
    own, house = rooms.own, rooms.house
    async with own.rpc() as pi:
        card = await _left_for_later(pi, house)

        await pi.say("/evolver review", [APPROVE])

    decided = await house.change(card, lambda m: "Approved" in m.text)
    assert "✅ Approve" not in decided.buttons
    assert [each["rule"] for each in await own.rows("lessons", "list")] == [RULE]


async def test_what_was_decided_in_the_chat_is_gone_in_the_terminal(rooms: Rooms) -> None:
    """Rejected on the phone: the terminal has nothing to show, and nothing is ever told."""
    own, house = rooms.own, rooms.house
    async with own.rpc() as pi:
        await house.ada.say("no", reply_to=await _left_for_later(pi, house))
        await house.see(lambda m: "Rejected" in m.text)

        assert (await pi.say("/evolver review")).told == ["Nothing waits for a decision."]
        await pi.say("hello")
    assert RULE not in last_system(own)
