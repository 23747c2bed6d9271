"""python-telegram-bot against the local Bot API server: what a bot and its people see of each other."""

import asyncio

import pytest
from telegram import Bot, MessageEntity, ReactionTypeEmoji
from telegram import ReplyParameters as Reply
from telegram.error import BadRequest, ChatMigrated, Conflict, Forbidden

from bot.local.person import LocalTelegram, Person
from bot.local.server import LocalServer
from tests.fakes.bots import VOTE, WITH_REACTIONS, bot_of

# Receiving


async def test_a_message_reaches_the_bot_with_chat_sender_and_language(bot: Bot, ada: Person) -> None:
    """What PTB needs is in the update."""
    await ada.say("/start now")

    (update,) = await bot.get_updates(timeout=5)

    assert update.message is not None and update.effective_user is not None
    assert ("/start now", ada.chat_id) == (update.message.text, update.message.chat_id)
    assert (
        update.effective_user.first_name,
        update.effective_user.language_code,
        update.effective_user.username,
    ) == ("Ada", "fr", "ada_l")
    assert [MessageEntity(MessageEntity.BOT_COMMAND, 0, 6)] == list(update.message.entities)


async def test_updates_stay_until_a_larger_offset_acknowledges_them(bot: Bot, ada: Person) -> None:
    """The same updates come again, also to a restarted bot."""
    await ada.say("one")
    await ada.say("two")

    first = await bot.get_updates()
    again = await bot.get_updates()
    rest = await bot.get_updates(offset=first[0].update_id + 1)

    assert [u.update_id for u in first] == [u.update_id for u in again]
    assert [u.message.text for u in rest if u.message] == ["two"]


async def test_a_long_poll_returns_as_soon_as_something_is_said(bot: Bot, ada: Person) -> None:
    """The poll waits without polling."""
    loop = asyncio.get_running_loop()
    poll = asyncio.create_task(bot.get_updates(timeout=4))
    await ada.telegram.wait_for_poll()
    started_at = loop.time()

    await ada.say("now")
    updates = await poll

    assert len(updates) == 1
    assert loop.time() - started_at < 1.0


async def test_a_second_poller_ends_the_first_with_409(bot: Bot, server: LocalServer, ada: Person) -> None:
    """Both notice, neither gets what the other took."""
    async with bot_of(server) as rival:
        first = asyncio.create_task(bot.get_updates(timeout=4))
        await ada.telegram.wait_for_poll()
        second = asyncio.create_task(rival.get_updates(timeout=4))

        with pytest.raises(Conflict, match="terminated by other getUpdates request"):
            await first
        await ada.say("for one of you")

        assert len(await second) == 1


async def test_an_update_given_to_a_poll_that_died_comes_again(bot: Bot, ada: Person) -> None:
    """A bot killed in the middle of a long poll loses nothing."""
    poll = asyncio.create_task(bot.get_updates(timeout=4))
    await ada.telegram.wait_for_poll()
    poll.cancel()
    await asyncio.wait([poll])

    await ada.say("while you were dead")
    (update,) = await bot.get_updates(timeout=4)

    assert update.message is not None
    assert update.message.text == "while you were dead"


async def test_kinds_that_were_not_asked_for_do_not_arrive(bot: Bot, ada: Person) -> None:
    """Reactions come only when allowed_updates names them."""
    message = await bot.send_message(ada.chat_id, "vote")
    (seen,) = await ada.answers()
    await ada.react(seen, "👍")
    assert await bot.get_updates() == ()
    await bot.get_updates(allowed_updates=WITH_REACTIONS)

    await ada.react(seen, "👎")
    (update,) = await bot.get_updates()

    assert update.message_reaction is not None
    assert message.message_id == update.message_reaction.message_id
    assert [ReactionTypeEmoji("👍")] == list(update.message_reaction.old_reaction)
    assert [ReactionTypeEmoji("👎")] == list(update.message_reaction.new_reaction)


async def test_an_update_may_come_twice_or_be_unparseable(bot: Bot, ada: Person) -> None:
    """Redelivery ignores the offset; a poison update breaks the parser and stays until acknowledged."""
    await ada.say("once")
    (update,) = await bot.get_updates()
    assert await bot.get_updates(offset=update.update_id + 1) == ()

    await ada.telegram.redeliver(update.update_id)
    again = await bot.get_updates(offset=update.update_id + 1)
    await ada.telegram.inject({"message": {"bogus": 1}})

    assert [update.update_id] == [u.update_id for u in again]
    with pytest.raises(KeyError):
        await bot.get_updates(offset=update.update_id + 1)


async def test_update_ids_may_start_again_elsewhere(bot: Bot, ada: Person) -> None:
    """After a quiet week the next id is a random one, smaller ones too."""
    await ada.telegram.set_next_update_id(77)

    await ada.say("after the quiet week")

    assert [u.update_id for u in await bot.get_updates()] == [77]


async def test_edits_files_albums_and_replies_arrive(bot: Bot, ada: Person) -> None:
    """What a person does besides writing."""
    asked = await ada.say("fix it")
    await ada.edit(asked, "fix all of it")
    await ada.send_file("log.txt", b"boom", caption="see", album="a1")
    await ada.say("this one", reply_to=asked)

    _, edited, file, reply = [u.effective_message for u in await bot.get_updates()]

    assert edited and file and reply and file.document and reply.reply_to_message
    assert (edited.text, edited.edit_date is not None) == ("fix all of it", True)
    assert (file.document.file_name, file.caption, file.media_group_id) == ("log.txt", "see", "a1")
    assert await (await file.document.get_file()).download_as_bytearray() == b"boom"
    assert asked.id == reply.reply_to_message.message_id


# Sending


async def test_a_person_sees_text_entities_keyboard_reply_and_silence(bot: Bot, ada: Person) -> None:
    """The chat shows what was sent."""
    asked = await ada.say("go")

    await bot.send_message(
        ada.chat_id,
        "done",
        entities=[MessageEntity(MessageEntity.BOLD, 0, 4)],
        reply_markup=VOTE,
        reply_parameters=Reply(asked.id),
        disable_notification=True,
    )
    seen = await ada.wait_for("done")

    assert (asked.id, True, [["👍", "👎"]]) == (seen.reply_to, seen.is_silent, seen.rows)
    assert seen.entities == [{"type": "bold", "offset": 0, "length": 4}]


async def test_a_tap_is_answered_with_a_toast(bot: Bot, ada: Person) -> None:
    """Tap, query, answer, toast: the round the whole product rests on."""
    await bot.send_message(ada.chat_id, "done", reply_markup=VOTE)
    tap = await ada.tap(await ada.wait_for("done"), "👎")
    (update,) = await bot.get_updates()
    assert update.callback_query is not None and update.callback_query.message is not None

    await update.callback_query.answer("Noted", show_alert=True)
    await update.callback_query.edit_message_reply_markup(None)
    toast = await ada.wait_for_toast(tap)

    assert (update.callback_query.data, update.callback_query.message.text) == ("down", "done")  # type: ignore[attr-defined]
    assert (toast.text, toast.is_alert) == ("Noted", True)
    assert (await ada.wait_for(lambda m: not m.buttons)).buttons == []


async def test_a_tap_on_a_deleted_message_comes_with_an_inaccessible_message(bot: Bot, ada: Person) -> None:
    """A phone may still show what is gone."""
    message = await bot.send_message(ada.chat_id, "old", reply_markup=VOTE)
    seen = await ada.wait_for("old")
    await message.delete()
    await ada.wait_until_gone(seen)

    await ada.tap(seen, "up")
    (update,) = await bot.get_updates()

    assert update.callback_query is not None and update.callback_query.message is not None
    assert not update.callback_query.message.is_accessible


async def test_an_edit_shows_the_new_text_and_counts(bot: Bot, ada: Person) -> None:
    """Editing without a markup takes the keyboard away, as Telegram does."""
    message = await bot.send_message(ada.chat_id, "working", reply_markup=VOTE)

    edited = await message.edit_text("still working")
    seen = await ada.wait_for("still working")

    assert isinstance(edited, type(message)) and edited.edit_date is not None
    assert (message.message_id, 1, []) == (seen.id, seen.edits, seen.buttons)


async def test_a_document_can_be_sent_and_read(bot: Bot, ada: Person) -> None:
    """Uploads are multipart, names keep their accents."""
    await bot.send_document(ada.chat_id, b"# long", filename='réponse "1".md', caption="all of it")

    seen = await ada.wait_for("all of it")

    assert seen.file is not None
    assert (seen.file.name, seen.file.size) == ('réponse "1".md', 6)
    assert await ada.download(seen.file) == b"# long"


async def test_the_profile_and_chats_can_be_asked(bot: Bot, ada: Person) -> None:
    """Commands by language, description, name, chat and member."""
    await bot.set_my_commands([("help", "Aide")], language_code="fr")
    await bot.set_my_description("learns")

    commands = await bot.get_my_commands(language_code="fr")
    chat, member = await bot.get_chat(ada.chat_id), await bot.get_chat_member(ada.chat_id, ada.id)

    assert [command.description for command in commands] == ["Aide"]
    assert await bot.get_my_commands() == ()
    assert (await bot.get_my_description()).description == "learns"
    assert (chat.first_name, member.status) == ("Ada", "member")


async def test_the_bot_reacts_and_types(bot: Bot, ada: Person) -> None:
    """The sign of life is seen."""
    asked = await ada.say("go")

    await bot.set_message_reaction(ada.chat_id, asked.id, "👀")
    await bot.send_chat_action(ada.chat_id, "typing")

    assert {bot.id: ["👀"]} == (await ada.reload(asked)).reactions
    assert (await ada.telegram.wait_for_call("sendChatAction")).params["action"] == "typing"


# Groups


async def test_topics_carry_their_thread_and_the_quirk_of_the_root_message(
    bot: Bot, telegram: LocalTelegram, ada: Person
) -> None:
    """A message in a topic replies to the topic's first message; the General topic has no thread."""
    group = await telegram.group("Team", [ada], topics=["ops"])
    here, general = ada.at(group, "ops"), ada.at(group)
    await here.say("hello ops")
    await general.say("hello all")

    in_topic, in_general = [u.effective_message for u in await bot.get_updates()]
    assert in_topic and in_general and in_topic.reply_to_message
    await in_topic.reply_text("hi ops")

    assert (group.topics["ops"], True) == (in_topic.message_thread_id, in_topic.is_topic_message)
    assert in_topic.reply_to_message.forum_topic_created is not None
    assert (in_general.message_thread_id, in_general.reply_to_message) == (None, None)
    assert group.topics["ops"] == (await here.wait_for("hi ops")).thread_id
    assert await general.answers() == []


async def test_a_deleted_topic_and_the_general_thread_are_refused(
    bot: Bot, telegram: LocalTelegram, ada: Person
) -> None:
    """Telegram refuses both with the same words."""
    group = await telegram.group("Team", [ada], topics=["ops"])
    await telegram.remove_topic(group, "ops")

    for thread_id in (group.topics["ops"], 1):
        with pytest.raises(BadRequest, match="Message thread not found"):
            await bot.send_message(group.id, "hi", message_thread_id=thread_id)


async def test_an_upgraded_group_answers_with_its_new_id(
    bot: Bot, telegram: LocalTelegram, ada: Person
) -> None:
    """Both service messages come, and sending to the old id names the new one."""
    group = await telegram.group("Team", [ada], is_basic=True)
    upgraded = await telegram.upgrade(group)

    with pytest.raises(ChatMigrated) as moved:
        await bot.send_message(group.id, "hi")
    old, new = [u.effective_message for u in await bot.get_updates()]

    assert upgraded.id == moved.value.new_chat_id
    assert old and new
    assert (upgraded.id, group.id) == (old.migrate_to_chat_id, new.migrate_from_chat_id)


async def test_groups_keep_reactions_from_a_bot_that_is_no_administrator(
    bot: Bot, telegram: LocalTelegram, ada: Person
) -> None:
    """Telegram's rule that /doctor has to tell."""
    await bot.get_updates(allowed_updates=WITH_REACTIONS)
    plain = ada.at(await telegram.group("Plain", [ada]))
    ruled = ada.at(await telegram.group("Ruled", [ada], is_bot_admin=True))
    for place in (plain, ruled):
        await bot.send_message(place.chat_id, "vote")
        await place.react(await place.wait_for("vote"), "👎")

    (update,) = await bot.get_updates()

    assert update.message_reaction is not None
    assert ruled.chat_id == update.message_reaction.chat.id
    assert (await bot.get_chat_member(ruled.chat_id, bot.id)).status == "administrator"


async def test_privacy_mode_lets_only_commands_mentions_and_replies_through(
    bot: Bot, telegram: LocalTelegram, ada: Person
) -> None:
    """A bot with privacy mode does not hear a group's talk."""
    here = ada.at(await telegram.group("Team", [ada], hears_all=False))
    await bot.send_message(here.chat_id, "hello")

    await here.say("just talking")
    await here.say("/stop")
    await here.say("@auto_improve_bot please")
    await here.say("this", reply_to=await here.wait_for("hello"))

    heard = [u.message.text for u in await bot.get_updates() if u.message]
    assert heard == ["/stop", "@auto_improve_bot please", "this"]


async def test_a_blocked_bot_is_told_so(bot: Bot, ada: Person) -> None:
    """403 until the person lets it in again; my_chat_member tells both."""
    await ada.block()
    with pytest.raises(Forbidden, match="bot was blocked by the user"):
        await bot.send_message(ada.chat_id, "hi")

    await ada.unblock()
    await bot.send_message(ada.chat_id, "hi again")
    changes = [u.my_chat_member for u in await bot.get_updates() if u.my_chat_member]

    assert [change.new_chat_member.status for change in changes] == ["kicked", "member"]
