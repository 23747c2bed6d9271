"""The world of the local Telegram, without any server."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.local.calls import Call
from bot.local.methods import METHODS
from bot.local.records import ChatType, Json
from bot.local.state import LocalState, NotThere
from bot.local.texts import ApiError, check_keyboard, check_text, detect, units
from bot.local.updates import ALLOWED_BY_DEFAULT, UpdateQueue
from tests.shared import validator

TEXTS = st.text(st.sampled_from("ab \n\té🙂👩\u200d💻\u200b\x00\r\u2028"), max_size=12)
SPANS = st.tuples(
    st.sampled_from(["bold", "code", "text_link", "url"]), st.integers(0, 12), st.integers(0, 12)
)


class Now:
    """A clock that stands where it is put."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.time


@pytest.fixture
def now() -> Now:
    """The time of the world."""
    return Now()


@pytest.fixture
def world(now: Now) -> LocalState:
    """A world with one person, 1001."""
    state = LocalState("123:t", clock=now)
    state.add_person("Ada")
    return state


def ids(updates: list[Json]) -> list[object]:
    """Give the updates' ids."""
    return [update["update_id"] for update in updates]


def test_message_ids_grow_within_each_chat(world: LocalState) -> None:
    """Two chats count for themselves, so that mixing their ids up shows."""
    bob = world.add_person("Bob")

    said = [world.say(1001, 1001, "a"), world.say(1001, 1001, "b"), world.say(bob.id, bob.id, "c")]

    assert [message.id for message in said] == [1, 2, 1]


def test_ids_tell_people_groups_and_supergroups_apart(world: LocalState) -> None:
    """Private ids are positive, groups negative, supergroups begin with -100."""
    group = world.add_group("G", [1001], kind=ChatType.GROUP)
    team = world.add_group("T", [1001])

    assert world.add_person("Bob").id == 1002
    assert group.id == -4001
    assert str(team.id).startswith("-100")


def test_a_version_grows_with_every_change_and_listeners_hear_it(world: LocalState) -> None:
    """What waits for news can compare versions."""
    heard: list[int] = []
    world.listen(lambda: heard.append(world.version))

    message = world.say(1001, 1001, "hi")
    world.react(1001, 1001, message.id, ["👍"])

    assert heard == [1, 2]
    assert message.version == 2


def test_an_update_keeps_the_message_as_it_was_when_it_came(world: LocalState) -> None:
    """A later edit does not change what waits to be fetched."""
    message = world.say(1001, 1001, "first")
    world.edit(1001, 1001, message.id, "second")

    created, edited = world.updates.peek()

    assert isinstance(created["message"], dict) and isinstance(edited["edited_message"], dict)
    assert (created["message"]["text"], edited["edited_message"]["text"]) == ("first", "second")


def test_acts_on_what_is_not_there_are_refused(world: LocalState) -> None:
    """A wrong test is told at once."""
    with pytest.raises(NotThere, match="no chat 5"):
        world.say(1001, 5, "hi")
    with pytest.raises(NotThere, match="no person 7"):
        world.say(7, 1001, "hi")
    with pytest.raises(NotThere, match="no message 9 in chat 1001"):
        world.react(1001, 1001, 9, ["👍"])


def test_a_tap_can_be_answered_until_it_is_too_old(world: LocalState, now: Now) -> None:
    """The lifetime counts from the tap."""
    message = world.post(world.chat(1001), "vote", entities=[])
    query = world.tap(1001, 1001, message.id, "up")
    answer = Call("answerCallbackQuery", {"callback_query_id": query, "text": "ok"})
    now.time += 14.9
    assert METHODS["answercallbackquery"](world, answer) is True

    now.time += 0.2

    with pytest.raises(ApiError, match="query is too old"):
        METHODS["answercallbackquery"](world, answer)
    assert [toast.text for toast in world.toasts] == ["ok"]


def test_only_the_first_answer_to_a_tap_is_shown(world: LocalState) -> None:
    """A spinner ends once."""
    query = world.queries[world.tap(1001, 1001, 1, "up")]

    world.answer(query, "first", is_alert=False)
    world.answer(query, "second", is_alert=False)

    assert [toast.text for toast in world.toasts] == ["first"]


def test_a_message_older_than_two_days_cannot_be_deleted(world: LocalState, now: Now) -> None:
    """Telegram's 48 hours."""
    message = world.post(world.chat(1001), "old", entities=[])
    now.time += 48 * 3600 + 1

    with pytest.raises(ApiError, match="message can't be deleted"):
        METHODS["deletemessage"](world, Call("deleteMessage", {"chat_id": 1001, "message_id": message.id}))


def test_the_first_topic_is_never_the_general_one(world: LocalState) -> None:
    """Thread 1 is General, whose messages carry no thread."""
    team = world.add_group("T", [1001], topics=["ops"])

    (thread_id,) = team.topics
    general = world.say(1001, team.id, "hi", thread_id=1)

    assert thread_id > 1
    assert general.thread_id is None


# The queue


@settings(deadline=None)
@given(st.integers(1, 30), st.lists(st.tuples(st.integers(0, 40), st.integers(1, 100)), max_size=8))
def test_an_update_is_given_until_its_offset_is_passed(pushed: int, polls: list[tuple[int, int]]) -> None:
    """Any sequence of polls sees the oldest that were not acknowledged, at most `limit`, in order."""
    queue = UpdateQueue(10)
    for _ in range(pushed):
        queue.push("message", {})

    passed = 0
    for offset, limit in polls:
        queue.acknowledge(offset)
        passed = max(passed, offset)
        assert [n for n in range(10, 10 + pushed) if n >= passed][:limit] == ids(queue.peek(limit))


def test_a_negative_offset_keeps_only_the_newest() -> None:
    """The way to skip what waits."""
    queue = UpdateQueue(1)
    for _ in range(5):
        queue.push("message", {})

    queue.acknowledge(-2)

    assert ids(queue.peek()) == [4, 5]


def test_allowed_kinds_hold_for_updates_to_come_only() -> None:
    """What waits already stays; an empty list is the default again, unknown names do not count."""
    queue = UpdateQueue(1)
    queue.push("message", {})
    queue.allow(["callback_query", "telepathy"])

    refused, taken = queue.push("message", {}), queue.push("callback_query", {})
    queue.allow([])

    assert (refused, taken) == (None, 2)
    assert ids(queue.peek()) == [1, 2]
    assert queue.allowed == ALLOWED_BY_DEFAULT


def test_a_redelivered_update_comes_once_more_whatever_the_offset() -> None:
    """Duplicates reach a bot that has acknowledged them."""
    queue = UpdateQueue(1)
    queue.push("message", {})
    queue.acknowledge(2)

    assert queue.redeliver(1)
    assert ids(queue.peek()) == [1]
    assert ids(queue.peek()) == []
    assert not queue.redeliver(99)


# Texts


@settings(deadline=None)
@given(TEXTS, st.lists(SPANS, max_size=3))
def test_texts_are_accepted_and_refused_as_the_validator_says(
    text: str, spans: list[tuple[str, int, int]]
) -> None:
    """An independent model of the server gives the same error text, or the same text."""
    entities: list[Json] = [
        {"type": k, "offset": o, "length": n, "url": "https://a.bc/"} for k, o, n in spans
    ]
    validate = validator()
    params = {"chat_id": 1, "text": text, "entities": entities}
    call = validate.validate_call(validate.Spec.load(), "sendMessage", params, (), "json")
    errors = [v.description or v.message for v in call.violations if v.severity == "error"]

    try:
        kept, _ = check_text(text, entities)
    except ApiError as error:
        assert error.description.removeprefix("Bad Request: ") in errors
    else:
        assert errors == []
        assert call.formatted["text"][0] == kept


@settings(deadline=None)
@given(TEXTS, st.integers(0, 12), st.integers(1, 12))
def test_an_entity_moves_along_with_what_is_cut_before_it(text: str, offset: int, length: int) -> None:
    """Offsets after trimming are those of the independent model."""
    entity: Json = {"type": "bold", "offset": offset, "length": length}
    try:
        kept = check_text(text, [entity])
    except ApiError:
        return

    validate = validator()
    params = {"chat_id": 1, "text": text, "entities": [entity]}
    call = validate.validate_call(validate.Spec.load(), "sendMessage", params, (), "json")

    assert call.formatted["text"] == kept


def test_more_than_a_hundred_entities_are_dropped_in_silence() -> None:
    """Telegram does so; a bot that sends more loses its formatting."""
    entities = [{"type": "bold", "offset": n, "length": 1} for n in range(101)]

    _, kept = check_text("x" * 101, entities)

    assert len(kept) == 100


def test_people_write_commands_mentions_and_links_as_entities() -> None:
    """Clients find them; what is given already is left alone."""
    text = "🙂 /stop @ada_l https://a.bc/x."

    found = detect(text, [{"type": "bold", "offset": 0, "length": 2}])

    assert [(e["type"], e["offset"], e["length"]) for e in found] == [
        ("bold", 0, 2),
        ("bot_command", 3, 5),
        ("mention", 9, 6),
        ("url", 16, 14),
    ]


def test_units_count_utf_16() -> None:
    """An emoji is two."""
    assert units("🙂é") == 3


def test_keyboards_lose_empty_rows_and_may_hold_a_hundred_buttons() -> None:
    """One more is refused."""
    button = {"text": "a", "callback_data": "b"}

    assert {"inline_keyboard": [[button]]} == check_keyboard({"inline_keyboard": [[], [button]]})
    assert check_keyboard({"inline_keyboard": []}) is None
    with pytest.raises(ApiError, match="reply markup is too long"):
        check_keyboard({"inline_keyboard": [[button]] * 101})
