"""What comes in, over a real store and HTTP: stored before it is acknowledged, whatever happens."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.api import Api
from bot.inbox import ALLOWED_UPDATES, KEPT_S, Poller, keep, lane_of
from bot.local.faults import FaultKind
from bot.local.person import LocalTelegram, Person
from bot.local.server import LocalServer
from core.clock import SystemClock
from core.errors import StoreError, StoreFull
from core.model.mail import Incoming
from core.ports import Probe, Store, ignore
from core.store.sqlite import open_store
from tests.integration.parts import FailingStore, open_api, until, working

WITHIN_S = 5.0  # D15: the next good tap works within this time


class Desk:
    """A poller and what it handed on."""

    def __init__(self, store: Store, api: Api, probe: Probe = ignore) -> None:
        self.got: list[Incoming] = []
        self.told_full: list[dict[str, Any]] = []
        self.poller = Poller(store, api, SystemClock(), probe, self.got.append, self._on_full)

    async def _on_full(self, raw: dict[str, Any]) -> None:
        self.told_full.append(raw)

    async def gets(self, count: int, timeout_s: float = WITHIN_S) -> list[Incoming]:
        """Wait for so many updates."""
        await until(lambda: len(self.got) >= count, timeout_s)
        return self.got


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A real store."""
    async with open_store(tmp_path / "store.db") as store:
        yield store


@pytest.fixture
async def api(server: LocalServer) -> AsyncIterator[Api]:
    """A real connection."""
    async with open_api(server) as api:
        yield api


async def test_an_update_is_stored_before_it_is_acknowledged(
    store: Store, api: Api, server: LocalServer, ada: Person
) -> None:
    """P1: when the transaction is done, Telegram still has the update."""
    pending: list[int] = []
    desk = Desk(
        store, api, lambda step: pending.append(len(server.state.updates)) if step == "poll.stored" else None
    )

    async with working(desk.poller.run()):
        await ada.say("hello")
        await desk.gets(1)
    stored = await store.read(lambda tx: tx.inbox.waiting())

    assert pending == [1] and stored == desk.got


async def test_what_was_fetched_and_not_stored_is_fetched_again(store: Store, api: Api, ada: Person) -> None:
    """P1: a death between the network and the disk loses nothing."""

    def die(step: str) -> None:
        if step == "poll.fetched":
            raise asyncio.CancelledError

    await ada.say("hello")
    with pytest.raises(asyncio.CancelledError):
        await Desk(store, api, die).poller.run()

    desk = Desk(store, api)
    async with working(desk.poller.run()):
        assert len(await desk.gets(1)) == 1


async def test_a_redelivered_update_is_handed_on_once(
    store: Store, api: Api, ada: Person, telegram: LocalTelegram
) -> None:
    """P16: told apart by its id, acknowledged or not, before a restart or after."""
    first = Desk(store, api)
    async with working(first.poller.run()):
        await ada.say("one")
        (update,) = await first.gets(1)
        await telegram.redeliver(update.id)
        await ada.say("two")
        await first.gets(2)

    second = Desk(store, api)
    async with working(second.poller.run()):
        await telegram.redeliver(update.id)
        await ada.say("three")
        await second.gets(1)

    assert (len(first.got), len(second.got)) == (2, 1)


async def test_ids_that_begin_anew_are_followed(
    store: Store, api: Api, ada: Person, telegram: LocalTelegram
) -> None:
    """P16: after a quiet week the next id is random, lower too; no stored offset is trusted."""
    first = Desk(store, api)
    async with working(first.poller.run()):
        await ada.say("one")
        await first.gets(1)
    await telegram.set_next_update_id(5_000)

    second = Desk(store, api)
    async with working(second.poller.run()):
        await ada.say("two")
        (update,) = await second.gets(1)

    assert update.id == 5_000
    assert KEPT_S > 86_400 and KEPT_S < 7 * 86_400


async def test_the_first_poll_names_no_offset(store: Store, api: Api, telegram: LocalTelegram) -> None:
    """P16, and nothing of what waited is dropped."""
    async with working(Desk(store, api).poller.run()):
        await telegram.wait_for_poll()
        (poll,) = await telegram.calls("getUpdates")

    assert "offset" not in poll.params and "drop_pending_updates" not in poll.params
    assert sorted((await telegram.bot()).allowed_updates) == sorted(ALLOWED_UPDATES)


POISON: list[dict[str, Any]] = [
    {"message": "text"},
    {"message": {"chat": 7}},
    {"message": {"chat": {"id": [1]}}},
    {"callback_query": {"id": 5}},
    {"callback_query": ["x"]},
    {"unknown": None},
    {},
]


@pytest.mark.parametrize("poison", POISON)
async def test_an_update_that_makes_no_sense_holds_up_nobody(
    store: Store, api: Api, ada: Person, telegram: LocalTelegram, poison: dict[str, Any]
) -> None:
    """P4: stored raw like any other, the lane judges it; the next one comes at once."""
    desk = Desk(store, api)
    async with working(desk.poller.run()):
        await telegram.inject(poison)
        await ada.say("hello")
        got = await desk.gets(2)

    assert "hello" in got[1].raw and got[1].lane == str(ada.chat_id)


@pytest.mark.parametrize("number", [-1, 2**63, 2**70])
async def test_an_id_that_is_none_makes_no_hot_loop(
    store: Store, api: Api, telegram: LocalTelegram, ada: Person, number: int
) -> None:
    """P4: what can never be acknowledged is asked for with pauses, and the next good one still comes."""
    desk = Desk(store, api)
    async with working(desk.poller.run()):
        await telegram.inject({"update_id": number})
        await asyncio.sleep(0.6)
        polls = len(await telegram.calls("getUpdates"))
        await ada.say("hello")
        await desk.gets(1)

    assert polls <= 4


@pytest.mark.parametrize(
    "fault",
    [
        {"code": 400},
        {"code": 401},
        {"code": 403},
        {"code": 404},
        {"code": 409},
        {"code": 429, "retry_after_s": 1},
        {"code": 500},
        {"kind": FaultKind.HTML, "code": 502},
        {"kind": FaultKind.HTML, "code": 200},
        {"kind": FaultKind.HANG, "seconds": 0.2},
        {"kind": FaultKind.RESET},
        {"kind": FaultKind.RESET_MID_BODY},
        {"kind": FaultKind.LOST_ANSWER},
    ],
)
async def test_no_error_of_a_poll_ends_receiving(
    store: Store, api: Api, ada: Person, telegram: LocalTelegram, fault: dict[str, object]
) -> None:
    """P5, P8, D15: whatever the server says once, the next update comes within seconds."""
    desk = Desk(store, api)
    await telegram.fault(method="getUpdates", **fault)  # type: ignore[arg-type]

    async with working(desk.poller.run()):
        await ada.say("hello")
        await desk.gets(1)
        is_well = desk.poller.is_deaf_since

    assert [update.lane for update in desk.got] == [str(ada.chat_id)] and is_well is None


@pytest.mark.parametrize("error", [StoreFull("store.full"), StoreError("store.failed", reason="EIO")])
async def test_a_disk_that_fails_acknowledges_nothing(
    store: Store, api: Api, ada: Person, server: LocalServer, error: StoreError
) -> None:
    """P6, D5: what could not be stored is fetched again until it can; a full disk is told."""
    desk = Desk(FailingStore(store, error), api)

    async with working(desk.poller.run()):
        await ada.say("hello")
        await desk.gets(1)
    stored = await store.read(lambda tx: tx.inbox.waiting())

    assert len(stored) == 1 and len(desk.told_full) == isinstance(error, StoreFull)


async def test_a_fault_of_our_own_ends_nothing(store: Store, api: Api, ada: Person) -> None:
    """P6: an exception nobody thought of backs off like every other."""
    failures = [ZeroDivisionError()]

    def stumble(step: str) -> None:
        if step == "poll.fetched" and failures:
            raise failures.pop()

    desk = Desk(store, api, stumble)
    async with working(desk.poller.run()):
        await ada.say("hello")

        assert len(await desk.gets(1)) == 1


async def test_a_long_outage_is_asked_ever_more_rarely(
    store: Store, api: Api, telegram: LocalTelegram
) -> None:
    """P5: pauses grow from half a second."""
    await telegram.fault(method="getUpdates", code=500, times=0)
    async with working(Desk(store, api).poller.run()):
        await asyncio.sleep(1.8)

        assert 2 <= len(await telegram.calls("getUpdates")) <= 3


@pytest.mark.parametrize(
    ("raw", "lane"),
    [
        ({"message": {"chat": {"id": 7}}}, "7"),
        (
            {"edited_message": {"chat": {"id": -100}, "message_thread_id": 3, "is_topic_message": True}},
            "-100/3",
        ),
        ({"message": {"chat": {"id": -100}, "message_thread_id": 3}}, "-100"),  # a reply, not a topic
        ({"callback_query": {"message": {"chat": {"id": 7}}}}, "7"),
        ({"message_reaction": {"chat": {"id": 7}}}, "7"),
        ({"my_chat_member": {"chat": {"id": 7}}}, "7"),
        ({"callback_query": {"inline_message_id": "x"}}, "0"),
        ({"poll": {}}, "0"),
    ],
)
def test_a_lane_is_a_chat_or_a_topic(raw: dict[str, Any], lane: str) -> None:
    """P9: order is kept where people see it."""
    assert lane_of(raw) == lane


async def test_two_pollers_store_an_update_once(store: Store) -> None:
    """P8: even if both got it."""
    raw = [{"update_id": 1, "message": {"chat": {"id": 7}}}, {"update_id": 1}]

    new = await store.write(lambda tx: keep(tx, raw, 1.0))

    assert [update.lane for update in new] == ["7"]


async def test_half_a_character_is_no_reason_to_stop(store: Store) -> None:
    """P4: JSON can hold what no text can."""
    raw = json.loads('{"update_id": 1, "message": {"text": "\\ud83d", "chat": {"id": 7}}}')

    (new,) = await store.write(lambda tx: keep(tx, [raw], 1.0))

    assert json.loads(new.raw) == raw
