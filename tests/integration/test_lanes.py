"""The lanes over a real store and HTTP: in order, once, and to a defined end (reliability.md 1)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from telegram import Update
from telegram.ext import ApplicationBuilder, ContextTypes, TypeHandler

from bot.api import Api
from bot.inbox import Poller, keep
from bot.lanes import MAX_ATTEMPTS, Lanes
from bot.local.faults import FaultKind
from bot.local.person import LocalTelegram, Person
from bot.local.server import LocalServer
from bot.turn import App, Context, Reply, remember_error
from core.clock import SystemClock
from core.errors import NotFound, StoreFull
from core.ports import Store, ignore
from core.store.sqlite import open_store
from core.tables import Tx
from tests.integration.parts import FailingStore, open_api, until, until_stored, working

WITHIN_S = 5.0  # D15: the next good tap works within this time
FIRST_UPDATE = 700_000_001  # of the local server
DATA = "1:v:abcdefghijk:up"


@dataclass(slots=True)
class Ward:
    """Lanes whose one handler does what a message says, and writes down what it did."""

    store: Store
    api: Api
    errors: list[Exception] = field(default_factory=list)  # what the handler raises, in turn
    is_after_effect: bool = False  # in the effect, after it wrote
    woken: list[str] = field(default_factory=list)

    async def handle(self, update: Update, context: Context) -> None:
        """Remember the text or the tap in the store."""
        message = update.message
        if not self.is_after_effect and self.errors:
            raise self.errors.pop(0)
        text = message.text if message is not None else update.callback_query and update.callback_query.data
        context.commit(lambda tx: self._effect(tx, str(text)))

    def _effect(self, tx: Tx, text: str) -> Reply:
        done = json.loads(tx.settings.get("done") or "[]")
        tx.settings.put("done", json.dumps([*done, text]))
        if self.is_after_effect and self.errors:
            raise self.errors.pop(0)
        return Reply(toast="noted")

    def send(self, lane: str) -> None:
        """Take down what was woken."""
        self.woken.append(lane)

    def app(self) -> App:
        """Build the application around the handler."""
        builder = ApplicationBuilder().bot(self.api).updater(None)
        app = cast(App, builder.context_types(ContextTypes(context=Context)).build())
        app.add_handler(TypeHandler(Update, self.handle))
        app.add_error_handler(remember_error)
        return app

    @asynccontextmanager
    async def open(self, store: Store | None = None) -> AsyncIterator[Lanes]:
        """Let lanes and poller work."""
        app = self.app()
        lanes = Lanes(
            store or self.store, app, SystemClock(), ignore, lambda _reply: None, self.send, briefly
        )
        poller = Poller(self.store, self.api, SystemClock(), ignore, lanes.put, lanes.answer_full)
        async with app, working(lanes.run()), working(poller.run()):
            yield lanes

    async def done(self) -> list[str]:
        """Give what was done, in order."""
        return await self.store.read(lambda tx: json.loads(tx.settings.get("done") or "[]"))

    async def does(self, count: int, timeout_s: float = WITHIN_S) -> list[str]:
        """Wait until so much was done."""
        await until_stored(
            self.store, lambda tx: len(json.loads(tx.settings.get("done") or "[]")) >= count, timeout_s
        )
        return await self.done()


@pytest.fixture
async def ward(server: LocalServer, tmp_path: Path) -> AsyncIterator[Ward]:
    """Lanes over a real store and a real connection."""
    async with open_store(tmp_path / "store.db") as store, open_api(server) as api:
        yield Ward(store, api)


async def briefly(_seconds: float) -> None:
    """Pause so shortly that tests stay fast."""
    await asyncio.sleep(0.02)


async def a_message(ward: Ward, person: Person) -> Any:
    """Give a message of the bot to tap on."""
    await ward.api.call("sendMessage", {"chat_id": person.chat_id, "text": "tap me"})
    return await person.wait_for("tap me")


def stored(id: int, lane: str, text: str) -> dict[str, Any]:
    """Give a raw message of a person in a private chat."""
    person = {"id": int(lane), "first_name": "A", "is_bot": False}
    chat = {"id": int(lane), "type": "private"}
    return {
        "update_id": id,
        "message": {"message_id": id, "date": 1, "chat": chat, "from": person, "text": text},
    }


async def test_updates_of_a_chat_are_done_in_their_order(ward: Ward, ada: Person) -> None:
    """P9: each runs to its commit before the next one begins."""
    async with ward.open():
        for number in range(40):
            await ada.say(f"{number}")

        assert await ward.does(40) == [f"{number}" for number in range(40)]


async def test_what_an_earlier_process_left_comes_first(ward: Ward, ada: Person) -> None:
    """P1: nothing stored is forgotten, and it keeps its place before what is new."""
    left = [stored(number, str(ada.chat_id), f"old {number}") for number in (1, 2, 3)]
    await ward.store.write(lambda tx: keep(tx, left, 1.0))
    await ada.say("new")

    async with ward.open():
        assert await ward.does(4) == ["old 1", "old 2", "old 3", "new"]


async def test_what_is_handed_on_while_the_lanes_begin_is_done_once(ward: Ward) -> None:
    """D1: found in the store and handed on by the poller is still one update."""
    app = ward.app()
    lanes = Lanes(ward.store, app, SystemClock(), ignore, lambda _reply: None, ward.send)
    new = await ward.store.write(lambda tx: keep(tx, [stored(1, "7", "one"), stored(2, "7", "two")], 1.0))
    for incoming in new:
        lanes.put(incoming)

    async with app, working(lanes.run()):
        await ward.does(2)
        await until_stored(ward.store, lambda tx: not tx.inbox.waiting())
        await asyncio.sleep(0.1)

    assert await ward.done() == ["one", "two"]


async def test_a_slow_chat_holds_up_no_other(ward: Ward, ada: Person, telegram: LocalTelegram) -> None:
    """telegram.md 4: lanes are apart, a failing one waits alone."""
    bob = await telegram.person("Bob")
    ward.errors += [RuntimeError("once")]
    async with ward.open():
        await ada.say("stumbles first")
        await asyncio.sleep(0.1)
        await bob.say("overtakes")

        assert await ward.does(2) == ["overtakes", "stumbles first"]


async def test_a_handler_that_fails_twice_is_tried_again(ward: Ward, ada: Person) -> None:
    """P2: an exception loses no update."""
    ward.errors += [RuntimeError("once"), ValueError("twice")]
    async with ward.open():
        await ada.say("hello")

        assert await ward.does(1) == ["hello"]


async def test_a_handler_that_fails_for_good_makes_a_dead_letter(ward: Ward, ada: Person) -> None:
    """P2: after three tries it is put aside, the tap is told, and the next update is done."""
    ward.errors += [RuntimeError("no")] * MAX_ATTEMPTS
    async with ward.open():
        message = await a_message(ward, ada)
        tap = await ada.tap_data(message, DATA)
        await ada.say("next")
        await ward.does(1)
        toast = await ada.wait_for_toast(tap)

    (dead,) = await ward.store.read(lambda tx: tx.inbox.dead())
    assert (toast.is_alert, dead.attempts, await ward.done()) == (True, MAX_ATTEMPTS, ["next"])


async def test_an_effect_that_fails_leaves_nothing_behind(ward: Ward, ada: Person) -> None:
    """The seam: effect and "inbox done" are one transaction, so a half effect is none."""
    ward.is_after_effect, ward.errors = True, [RuntimeError("after the write")]
    async with ward.open():
        await ada.say("hello")

        assert await ward.does(1) == ["hello"]
        await until_stored(ward.store, lambda tx: not tx.inbox.waiting())
        assert await ward.done() == ["hello"]


async def test_our_own_refusal_is_an_answer(ward: Ward, ada: Person) -> None:
    """Said at once, in the person's language, and not tried again."""
    ward.is_after_effect, ward.errors = True, [NotFound("lesson.not_found", id="l-404")]
    async with ward.open():
        await ada.say("hello")
        await until_stored(ward.store, lambda tx: bool(tx.outbox.waiting()))

    (row,) = await ward.store.read(lambda tx: tx.outbox.waiting())
    assert "l-404" in row.body and await ward.done() == [] and ward.woken == [str(ada.chat_id)]


async def test_our_own_refusal_of_a_tap_is_a_toast(ward: Ward, ada: Person) -> None:
    """Where the person looks."""
    ward.is_after_effect, ward.errors = True, [NotFound("lesson.not_found", id="l-404")]
    async with ward.open():
        tap = await ada.tap_data(await a_message(ward, ada), DATA)
        toast = await ada.wait_for_toast(tap)

    assert "l-404" in toast.text and toast.is_alert
    assert await ward.store.read(lambda tx: tx.inbox.waiting()) == []


@pytest.mark.parametrize("error", [RuntimeError("broken"), NotFound("lesson.not_found", id="l-404")])
async def test_of_taps_done_together_each_has_its_own_end(ward: Ward, ada: Person, error: Exception) -> None:
    """P2, P9: one that fails takes no other with it; all are done in order, each is answered."""
    message = await a_message(ward, ada)
    data = [f"1:v:abcdefghijk:{number}" for number in range(5)]
    taps = [await ada.tap_data(message, each) for each in data]
    ward.is_after_effect, ward.errors = True, [error, error]  # together, then the first of them alone

    async with ward.open():
        toasts = [(await ada.wait_for_toast(tap)).text for tap in taps]

    is_refused = isinstance(error, NotFound)
    assert await ward.done() == (data[1:] if is_refused else data)
    assert ("l-404" in toasts[0]) is is_refused and toasts[1:] == ["noted"] * 4
    assert await ward.store.read(lambda tx: (tx.inbox.waiting(), tx.inbox.dead())) == ([], [])


async def test_a_tap_is_stored_before_it_is_answered(
    ward: Ward, ada: Person, telegram: LocalTelegram
) -> None:
    """P12: an answer that Telegram refuses changes nothing; the next tap works."""
    await telegram.fault(method="answerCallbackQuery", code=400, description="Bad Request: query is too old")
    async with ward.open():
        message = await a_message(ward, ada)
        await ada.tap_data(message, DATA)
        await ward.does(1)
        tap = await ada.tap_data(message, DATA)

        assert (await ada.wait_for_toast(tap)).text == "noted"
    assert await ward.store.read(lambda tx: (tx.inbox.waiting(), tx.inbox.dead())) == ([], [])


async def test_an_answer_that_hangs_holds_up_no_update(
    ward: Ward, ada: Person, telegram: LocalTelegram
) -> None:
    """Best effort stands beside the lane, not in it."""
    await telegram.fault(FaultKind.HANG, method="answerCallbackQuery", seconds=30)
    async with ward.open():
        await ada.tap_data(await a_message(ward, ada), DATA)
        await ada.say("next")

        assert await ward.does(2) == [DATA, "next"]


async def test_a_full_disk_is_told_and_nothing_is_lost(ward: Ward, ada: Person) -> None:
    """D6: the tap hears "storage full", and is done when there is room again."""
    failing = FailingStore(ward.store, StoreFull("store.full"), StoreFull("store.full"))
    async with ward.open(failing):
        tap = await ada.tap_data(await a_message(ward, ada), DATA)
        toast = await ada.wait_for_toast(tap)

        assert await ward.does(1) == [DATA]
    assert toast.is_alert and await ward.store.read(lambda tx: tx.inbox.dead()) == []


async def test_a_full_disk_while_a_failure_is_counted_ends_no_lane(ward: Ward, ada: Person) -> None:
    """D5: one trouble on top of another is waited out too."""
    ward.errors += [RuntimeError("once")]
    async with ward.open(FailingStore(ward.store, StoreFull("store.full"))):
        await ada.say("hello")

        assert await ward.does(1) == ["hello"]


POISON: list[dict[str, Any]] = [
    {"message": "text"},
    {"message": {"message_id": 1}},
    {"callback_query": {"data": "x"}},
    {"callback_query": "x"},
    {"callback_query": {"id": "1", "from": {"id": "x"}, "message": {"chat": 1}}},
    {"message": {"message_id": 1, "date": 1, "chat": {"id": "x", "type": "private"}, "from": 7}},
]


@pytest.mark.parametrize("poison", POISON)
async def test_an_update_that_cannot_be_parsed_ends_as_a_dead_letter(
    ward: Ward, ada: Person, telegram: LocalTelegram, poison: dict[str, Any]
) -> None:
    """P4, D15: seen in its lane, tried, put aside; the next good tap works within five seconds."""
    async with ward.open():
        message = await a_message(ward, ada)
        number = await telegram.inject(poison)
        tap = await ada.tap_data(message, DATA)

        assert (await ada.wait_for_toast(tap, timeout_s=WITHIN_S)).text == "noted"
        await until_stored(ward.store, lambda tx: number not in {each.id for each in tx.inbox.waiting()})


async def test_an_unknown_kind_of_update_is_done_with(
    ward: Ward, ada: Person, telegram: LocalTelegram
) -> None:
    """What Telegram invents next is neither an error nor kept for ever."""
    async with ward.open():
        await telegram.inject({"hologram": {"id": 1}})
        await ada.say("hello")
        await ward.does(1)
        await until_stored(ward.store, lambda tx: not tx.inbox.waiting())

    assert await ward.store.read(lambda tx: tx.inbox.dead()) == []


async def test_what_is_done_is_blanked(ward: Ward, ada: Person) -> None:
    """S6: the inbox holds a person's words only until they are done."""
    async with ward.open():
        await ada.say("a secret plan")
        await ward.does(1)
        await until_stored(ward.store, lambda tx: not tx.inbox.waiting())

    def look(tx: Tx) -> list[str]:
        tx.inbox.fail(FIRST_UPDATE, "seen again", is_dead=False)
        return [each.raw for each in tx.inbox.waiting()]

    assert await ward.store.write(look) == [""]


async def test_many_chats_are_done_side_by_side(ward: Ward, telegram: LocalTelegram) -> None:
    """S15: a flood from many leaves no lane behind."""
    people = [await telegram.person(f"P{number}") for number in range(30)]
    async with ward.open() as lanes:
        await asyncio.gather(*(person.say(f"{person.id}") for person in people for _ in range(3)))
        done = await ward.does(90)
        await until(lambda: not lanes._queues)

    assert sorted(done) == sorted(f"{person.id}" for person in people for _ in range(3))
