"""The sender over a real store and HTTP: every refusal has a defined end (telegram.md 3)."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.api import Api
from bot.entities import Entity
from bot.local.faults import FaultKind
from bot.local.person import LocalTelegram, Person
from bot.local.server import LocalServer
from bot.outbox import Attachment, Key, Message, attach, delete, edit, post
from bot.pace import Pace
from bot.sender import Live, Sender
from core.clock import SystemClock
from core.errors import StoreFull
from core.model.mail import MailState
from core.model.run import PromptState
from core.ports import Store, ignore
from core.services import runs
from core.store.sqlite import open_store
from core.tables import Tx
from tests.factories import CountingIds
from tests.integration.parts import FailingStore, open_api, until_stored, working

MARK = " ↻"
KEYS = ((Key("Go", "1:v:abcdefghijk:up"),),)


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


@pytest.fixture
async def sender(store: Store, api: Api) -> AsyncIterator[Sender]:
    """A sender at work."""
    sender = a_sender(store, api)
    async with working(sender.run()):
        yield sender


def a_sender(store: Store, api: Api) -> Sender:
    """Make a sender on real time."""
    return Sender(store, api, SystemClock(), ignore, Pace(time.monotonic))


async def send(store: Store, sender: Sender, lane: object, *texts: str, **more: object) -> None:
    """Post messages in one transaction and wake the sender; each is known by its text."""

    def effect(tx: Tx) -> None:
        for text in texts:
            post(tx, str(lane), Message(text), now=1.0, ref=f"ref:{text}", **more)  # type: ignore[arg-type]

    await store.write(effect)
    sender.wake(str(lane))


async def sent(store: Store, lane: object) -> None:
    """Wait until nothing of a lane waits any more."""
    await until_stored(store, lambda tx: not tx.outbox.waiting(str(lane)))


async def texts(person: Person) -> list[str]:
    """Give what the bot said."""
    return [message.text for message in await person.answers()]


async def test_messages_of_a_chat_arrive_in_their_order(store: Store, sender: Sender, ada: Person) -> None:
    """Per-chat order is the first rule of the outbox."""
    wanted = [f"part {number}" for number in range(12)]

    await send(store, sender, ada.chat_id, *wanted)
    await sent(store, ada.chat_id)

    assert await texts(ada) == wanted


async def test_a_message_is_known_by_what_it_is_about(store: Store, sender: Sender, ada: Person) -> None:
    """The receipt binds the ref to the id that Telegram gave."""
    await send(store, sender, ada.chat_id, "hello")
    message = await ada.wait_for("hello")

    await until_stored(store, lambda tx: bool(tx.outbox.receipts("ref:hello")))
    receipts = await store.read(lambda tx: tx.outbox.receipts("ref:hello"))
    assert [receipt.external for receipt in receipts] == [str(message.id)]


async def test_a_429_resumes_at_the_refused_part(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram
) -> None:
    """The time asked is waited, nothing is lost or overtaken."""
    await telegram.fault(method="sendMessage", code=429, retry_after_s=1)
    began = time.monotonic()

    await send(store, sender, ada.chat_id, "one", "two")
    await sent(store, ada.chat_id)

    assert await texts(ada) == ["one", "two"] and time.monotonic() - began >= 1.0


async def test_a_429_holds_no_other_chat_and_no_tap(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram, api: Api
) -> None:
    """P11: what one chat waits for delays nobody else."""
    bob = await telegram.person("Bob")
    await send(store, sender, ada.chat_id, "buttons")
    message = await ada.wait_for("buttons")
    await telegram.fault(method="sendMessage", chat_id=ada.chat_id, code=429, retry_after_s=60)

    await send(store, sender, ada.chat_id, "late")
    await send(store, sender, bob.chat_id, "soon")
    tap = await ada.tap_data(message, "1:v:abcdefghijk:up")
    await api.call("answerCallbackQuery", {"callback_query_id": tap, "text": "ok"})

    assert (await bob.wait_for("soon")).text == "soon"
    assert (await ada.wait_for_toast(tap)).text == "ok" and "late" not in await texts(ada)


async def test_a_long_wait_outlives_the_process(
    store: Store, api: Api, ada: Person, telegram: LocalTelegram
) -> None:
    """The answer goes out later, also after a restart, and not before its time."""
    await telegram.fault(method="sendMessage", code=429, retry_after_s=3600)
    first = a_sender(store, api)
    async with working(first.run()):
        await send(store, first, ada.chat_id, "late")
        await until_stored(store, lambda tx: tx.outbox.waiting()[0].error == "429")

    async with working(a_sender(store, api).run()):
        await ada.nothing_comes()

    (row,) = await store.read(lambda tx: tx.outbox.waiting())
    assert row.state is MailState.WAITING and row.not_before > time.time() + 3000


async def test_a_blocked_chat_gets_nothing_more(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram
) -> None:
    """403: what waits for it is dropped, its queue emptied, and nothing loops."""
    session = await store.write(
        lambda tx: runs.open_session(tx, CountingIds(), str(ada.chat_id), "/p", "pi", "en", 1.0)
    )
    await store.write(lambda tx: runs.enqueue(tx, CountingIds(), session.id, "more", "1001", 1.0))
    await ada.block()

    await send(store, sender, ada.chat_id, "one", "two", "three")
    await sent(store, ada.chat_id)

    assert len(await telegram.calls("sendMessage")) == 1
    assert await store.read(lambda tx: tx.runs.prompts(PromptState.QUEUED)) == []


async def test_a_chat_that_comes_back_is_served_again(store: Store, sender: Sender, ada: Person) -> None:
    """After a block the next prompt runs: no session stays held without a word."""
    ids = CountingIds()
    session = await store.write(
        lambda tx: runs.open_session(tx, ids, str(ada.chat_id), "/p", "pi", "en", 1.0)
    )
    await ada.block()
    await send(store, sender, ada.chat_id, "lost")
    await sent(store, ada.chat_id)
    await ada.unblock()

    await store.write(lambda tx: runs.enqueue(tx, ids, session.id, "again", "1001", 1.0))
    await send(store, sender, ada.chat_id, "hello again")

    assert await ada.wait_for("hello again")
    assert (await store.read(lambda tx: runs.next_prompt(tx, session.id, 2.0))) is not None


async def test_what_telegram_refuses_arrives_as_plain_text(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram
) -> None:
    """400: entities, then the reply, then the buttons go; the words never."""
    await telegram.fault(method="sendMessage", code=400, description="Bad Request: can't parse", times=3)

    def effect(tx: Tx) -> None:
        message = Message("bold", (Entity("bold", 0, 4),), KEYS)
        post(tx, str(ada.chat_id), message, now=1.0, reply_to="1")

    await store.write(effect)
    sender.wake(str(ada.chat_id))
    message = await ada.wait_for("bold")

    assert (message.entities, message.rows, message.reply_to) == ([], [], None)


async def test_what_is_refused_for_good_is_kept_as_a_dead_letter(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram
) -> None:
    """Never a 400 for ever; the next message goes out."""
    await telegram.fault(method="sendMessage", code=400, description="Bad Request: no", times=1)

    await send(store, sender, ada.chat_id, "refused", "fine")
    await sent(store, ada.chat_id)

    assert await texts(ada) == ["fine"]
    assert [row.error for row in await store.read(lambda tx: tx.outbox.dead())] == ["No"]


async def test_a_lost_answer_is_repeated_once_and_marked(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram
) -> None:
    """D1: a send of unknown outcome may arrive twice, and then says so."""
    await telegram.fault(FaultKind.LOST_ANSWER, method="sendMessage")

    await send(store, sender, ada.chat_id, "news")
    await sent(store, ada.chat_id)

    assert await texts(ada) == ["news", f"news{MARK}"]


async def test_an_outcome_unknown_twice_is_given_up(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram
) -> None:
    """D1: repeated once at most; then it is a dead letter."""
    await telegram.fault(FaultKind.LOST_ANSWER, method="sendMessage", times=0)

    await send(store, sender, ada.chat_id, "news")
    await sent(store, ada.chat_id)

    assert await texts(ada) == ["news", f"news{MARK}"]
    assert len(await store.read(lambda tx: tx.outbox.dead())) == 1


async def test_a_send_cut_off_by_a_kill_is_repeated_and_marked(store: Store, api: Api, ada: Person) -> None:
    """D1: a row marked as handed to the network has an unknown outcome after a restart."""

    def leave(tx: Tx) -> None:
        post(tx, str(ada.chat_id), Message("news"), now=1.0)
        attach(tx, str(ada.chat_id), Attachment("answer.md", "# news"), now=1.0)
        for row in tx.outbox.waiting():
            tx.outbox.start(row.seq, row.body)

    await store.write(leave)
    async with working(a_sender(store, api).run()):
        await sent(store, ada.chat_id)

    assert await texts(ada) == [f"news{MARK}", MARK.strip()]


async def test_what_never_left_is_not_marked(tmp_path: Path, store: Store) -> None:
    """An unreachable server has seen nothing: the message goes out later, once."""
    async with LocalServer() as server:
        pass  # it has a port and a state now, and is gone
    api_server = LocalServer(server.token, port=server.port, state=server.state)
    person = server.state.add_person("Ada")
    async with LocalServer() as other, open_api(other) as api:
        api._base_url = f"{server.base_url}{server.token}"
        sender = a_sender(store, api)
        async with working(sender.run()):
            await send(store, sender, person.id, "news")
            await until_stored(store, lambda tx: "Cannot connect" in tx.outbox.waiting()[0].error)
            async with api_server:
                await sent(store, person.id)

    assert [message.text for message in server.state.chat(person.id).messages.values()] == ["news"]


@pytest.mark.parametrize(
    "fault",
    [
        {"code": 401},
        {"code": 404},
        {"code": 409},
        {"code": 500},
        {"kind": FaultKind.HTML, "code": 502},
        {"kind": FaultKind.HTML, "code": 200},
        {"kind": FaultKind.RESET},
        {"kind": FaultKind.RESET_MID_BODY},
    ],
)
async def test_a_message_survives_every_trouble_of_the_network(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram, fault: dict[str, object]
) -> None:
    """D15: after one failure of any kind the message is there, and so is the next one."""
    await telegram.fault(method="sendMessage", **fault)  # type: ignore[arg-type]

    await send(store, sender, ada.chat_id, "news", "next")
    await sent(store, ada.chat_id)

    said = await texts(ada)
    assert said[-1] == "next" and {text.removesuffix(MARK) for text in said[:-1]} == {"news"}


async def test_the_newest_edit_wins(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram
) -> None:
    """Edits that nobody saw are not sent."""
    await send(store, sender, ada.chat_id, "begun")
    await ada.wait_for("begun")

    def effect(tx: Tx) -> None:
        for step in range(5):
            edit(tx, str(ada.chat_id), "ref:begun", Message(f"step {step}"), now=1.0)

    await store.write(effect)
    sender.wake(str(ada.chat_id))
    await ada.wait_for("step 4")

    assert len(await telegram.calls("editMessageText")) == 1


async def test_an_edit_that_changes_nothing_counts_as_done(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram
) -> None:
    """ "message is not modified" is a success."""
    await send(store, sender, ada.chat_id, "same")
    await ada.wait_for("same")

    await store.write(lambda tx: edit(tx, str(ada.chat_id), "ref:same", Message("same"), now=1.0))
    await send(store, sender, ada.chat_id, "next")
    await sent(store, ada.chat_id)

    assert "not modified" in str((await telegram.calls("editMessageText"))[-1].answer)
    assert await store.read(lambda tx: tx.outbox.dead()) == [] and await texts(ada) == ["same", "next"]


async def test_an_edit_of_a_message_that_is_gone_holds_nothing_up(
    store: Store, sender: Sender, ada: Person
) -> None:
    """Deleted by the person, or never sent: what follows goes out."""
    await send(store, sender, ada.chat_id, "soon gone")
    await ada.wait_for("soon gone")
    await store.write(lambda tx: delete(tx, str(ada.chat_id), "ref:soon gone", now=1.0))
    sender.wake(str(ada.chat_id))
    await sent(store, ada.chat_id)

    def effect(tx: Tx) -> None:
        edit(tx, str(ada.chat_id), "ref:soon gone", Message("x"), now=1.0)
        edit(tx, str(ada.chat_id), "ref:never sent", Message("x"), now=1.0)
        delete(tx, str(ada.chat_id), "ref:soon gone", now=1.0)

    await store.write(effect)
    await send(store, sender, ada.chat_id, "next")

    assert await ada.wait_for("next")
    assert await store.read(lambda tx: tx.outbox.dead()) == []


async def test_an_edit_is_simply_repeated(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram
) -> None:
    """What may happen twice is not marked."""
    await send(store, sender, ada.chat_id, "begun")
    await ada.wait_for("begun")
    await telegram.fault(FaultKind.LOST_ANSWER, method="editMessageText")

    await store.write(lambda tx: edit(tx, str(ada.chat_id), "ref:begun", Message("done"), now=1.0))
    sender.wake(str(ada.chat_id))
    await sent(store, ada.chat_id)

    assert await texts(ada) == ["done"]


async def test_progress_shows_the_newest_state_only(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram
) -> None:
    """A second between two of a chat; what was superseded meanwhile is dropped."""
    await send(store, sender, ada.chat_id, "begun")
    message = await ada.wait_for("begun")
    for step in range(40):
        params = {"chat_id": ada.chat_id, "message_id": message.id, "text": f"step {step}"}
        sender.show(str(ada.chat_id), "progress", Live("editMessageText", params))
    await ada.wait_for("step 39")

    assert len(await telegram.calls("editMessageText")) <= 2


async def test_a_final_message_does_not_wait_for_progress(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram
) -> None:
    """Finals before progress: hidden progress is never sent."""
    await send(store, sender, ada.chat_id, "begun")
    await ada.wait_for("begun")
    sender.show(str(ada.chat_id), "progress", Live("editMessageText", {}, target="ref:begun"))
    sender.hide(str(ada.chat_id), "progress")

    await send(store, sender, ada.chat_id, "final")

    assert await ada.wait_for("final") and await telegram.calls("editMessageText") == []


async def test_a_group_that_was_upgraded_is_followed(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram
) -> None:
    """migrate_to_chat_id: what waits goes to the new chat, stored ids follow."""
    group = await telegram.group("Team", [ada], is_basic=True)
    await send(store, sender, group.id, "before")
    await ada.at(group).wait_for("before")
    new = await telegram.upgrade(group)

    await send(store, sender, group.id, "after", "and more")

    assert await ada.at(new).wait_for("and more") and [*await texts(ada.at(new))] == ["after", "and more"]
    assert (await store.read(lambda tx: tx.outbox.receipts("ref:before")))[0].lane == str(new.id)


async def test_a_deleted_topic_falls_back_to_its_chat(
    store: Store, sender: Sender, ada: Person, telegram: LocalTelegram
) -> None:
    """The answer arrives in the group itself."""
    group = await telegram.group("Team", [ada], topics=["ops"])
    lane = f"{group.id}/{group.topics['ops']}"
    await telegram.remove_topic(group, "ops")

    await send(store, sender, lane, "answer")

    assert await ada.at(group).wait_for("answer")


async def test_a_full_disk_delays_a_message_and_sends_it_once(store: Store, api: Api, ada: Person) -> None:
    """D5, D6: nothing leaves before its mark is stored, and nothing leaves twice."""
    failing = FailingStore(store)
    sender = a_sender(failing, api)
    async with working(sender.run()):
        await store.write(lambda tx: post(tx, str(ada.chat_id), Message("news"), now=1.0))
        failing.errors += [StoreFull("store.full")] * 3
        sender.wake(str(ada.chat_id))
        await sent(store, ada.chat_id)

    assert await texts(ada) == ["news"]
