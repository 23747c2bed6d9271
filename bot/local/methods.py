"""The Bot API methods the product uses, with the server's own refusals."""

import json
from collections.abc import Callable

from bot.local.calls import Call
from bot.local.records import GENERAL_TOPIC, Chat, ChatType, Json, Message, StoredFile
from bot.local.state import LocalState
from bot.local.texts import (
    MAX_CAPTION_UNITS,
    MAX_TEXT_UNITS,
    ApiError,
    bad_request,
    check_keyboard,
    check_text,
    units,
)

_MAX_DOWNLOAD_BYTES = 20 * 1024 * 1024
_MAX_TOAST_UNITS = 200
_DELETABLE_S = 48 * 3600


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_REACTIONS = _words(
    "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤\u200d🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 "
    "🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨\u200d💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 "
    "💊 🙊 😎 👾 🤷\u200d♂ 🤷 🤷\u200d♀ 😡"
)
_ACTIONS = _words(
    "typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker "
    "find_location record_video_note upload_video_note"
)
_ADMIN_RIGHTS = _words(
    "can_be_edited can_manage_chat can_delete_messages can_manage_video_chats can_restrict_members "
    "can_promote_members can_change_info can_invite_users can_post_stories can_edit_stories "
    "can_delete_stories is_anonymous"
)
_NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same "
    "as a current content and reply markup of the message"
)
_QUERY_GONE = "query is too old and response timeout expired or query ID is invalid"
Method = Callable[[LocalState, Call], object]


def get_me(state: LocalState, _call: Call) -> object:
    """Answer getMe."""
    can = {"can_join_groups": True, "can_read_all_group_messages": True, "supports_inline_queries": False}
    return state.bot.wire() | can | {"can_connect_to_business": False, "has_main_web_app": False}


def send_message(state: LocalState, call: Call) -> object:
    """Answer sendMessage."""
    chat = _open_chat(state, call)
    _refuse_parse_mode(call)
    text, entities = check_text(call.text("text"), call.structure("entities"))
    return state.wire(_post(state, call, chat, text, entities, {}))


def send_document(state: LocalState, call: Call) -> object:
    """Answer sendDocument: an upload, attach:// or the id of a file that is known."""
    chat = _open_chat(state, call)
    _refuse_parse_mode(call)
    caption = call.structure("caption_entities")
    text, entities = check_text(call.text("caption"), caption, MAX_CAPTION_UNITS)
    content: Json = {"document": _document(state, call).wire()}
    return state.wire(_post(state, call, chat, text, entities, content))


def edit_message_text(state: LocalState, call: Call) -> object:
    """Answer editMessageText."""
    message = _editable(state, call)
    if message.has_media:
        raise bad_request("there is no text in the message to edit")
    text, entities = check_text(call.text("text"), call.structure("entities"), MAX_TEXT_UNITS)
    return _rewrite(state, call, message, text, entities)


def edit_message_caption(state: LocalState, call: Call) -> object:
    """Answer editMessageCaption."""
    message = _editable(state, call)
    if not message.has_media:
        raise bad_request("there is no caption in the message to edit")
    caption = call.structure("caption_entities")
    text, entities = check_text(call.text("caption"), caption, MAX_CAPTION_UNITS)
    return _rewrite(state, call, message, text, entities)


def edit_message_reply_markup(state: LocalState, call: Call) -> object:
    """Answer editMessageReplyMarkup; without a markup the keyboard goes away."""
    message = _editable(state, call)
    keyboard = check_keyboard(call.structure("reply_markup"))
    if keyboard == message.keyboard:
        raise bad_request(_NOT_MODIFIED)
    message.keyboard = keyboard
    state.touch(message)
    return state.wire(message)


def delete_message(state: LocalState, call: Call) -> object:
    """Answer deleteMessage: own messages for 48 hours, others' in private chats or as administrator."""
    chat = _open_chat(state, call)
    message = chat.find(call.integer("message_id"))
    if message is None:
        raise bad_request("message to delete not found")
    is_allowed = message.sender_id == state.bot.id or chat.type is ChatType.PRIVATE or chat.is_bot_admin
    if not is_allowed or state.now() - message.date > _DELETABLE_S:
        raise bad_request("message can't be deleted")
    state.remove(message)
    return True


def answer_callback_query(state: LocalState, call: Call) -> object:
    """Answer answerCallbackQuery while the tap is recent."""
    query = state.queries.get(call.text("callback_query_id"))
    if query is None or state.now() - query.asked_at > state.query_lifetime_s:
        raise bad_request(_QUERY_GONE)
    if units(call.text("text")) > _MAX_TOAST_UNITS:
        raise bad_request("MESSAGE_TOO_LONG")
    state.answer(query, call.text("text"), is_alert=call.flag("show_alert"))
    return True


def send_chat_action(state: LocalState, call: Call) -> object:
    """Answer sendChatAction."""
    chat = _open_chat(state, call)
    _thread(chat, call)
    if call.text("action") not in _ACTIONS:
        raise bad_request("wrong parameter action in request")
    return True


def set_message_reaction(state: LocalState, call: Call) -> object:
    """Answer setMessageReaction: at most one, of those that exist."""
    message = _open_chat(state, call).find(call.integer("message_id"))
    if message is None:
        raise bad_request("message to react not found")
    wanted = call.structure("reaction") or []
    items = [item for item in wanted if isinstance(item, dict)] if isinstance(wanted, list) else []
    emoji = [str(item.get("emoji", "")).replace("\ufe0f", "") for item in items]
    if len(emoji) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    if not _REACTIONS.issuperset(emoji):
        raise bad_request("REACTION_INVALID")
    message.reactions[state.bot.id] = emoji
    state.touch(message)
    return True


def get_file(state: LocalState, call: Call) -> object:
    """Answer getFile: at most 20 MB."""
    file = state.files.get(call.text("file_id"))
    if file is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    if len(file.content) > _MAX_DOWNLOAD_BYTES:
        raise bad_request("file is too big")
    return file.brief() | {"file_path": file.path}


def get_chat(state: LocalState, call: Call) -> object:
    """Answer getChat."""
    kinds = (
        "unlimited_gifts",
        "limited_gifts",
        "unique_gifts",
        "premium_subscription",
        "gifts_from_channels",
    )
    full: Json = {"accent_color_id": 0, "max_reaction_count": 11}
    return _open_chat(state, call).wire() | full | {"accepted_gift_types": dict.fromkeys(kinds, False)}


def get_chat_member(state: LocalState, call: Call) -> object:
    """Answer getChatMember."""
    chat, user_id = _open_chat(state, call), call.integer("user_id") or 0
    if user_id == state.bot.id and chat.is_bot_admin:
        rights = dict.fromkeys(_ADMIN_RIGHTS, False) | {"can_manage_chat": True}
        return {"user": state.bot.wire(), "status": "administrator"} | rights
    if user_id not in chat.members | {state.bot.id}:
        raise bad_request("member not found")
    return {"user": state.user(user_id).wire(), "status": "member"}


def set_my_commands(state: LocalState, call: Call) -> object:
    """Answer setMyCommands, kept by scope and language."""
    commands = call.structure("commands")
    if not isinstance(commands, list):
        raise bad_request("can't parse commands JSON object")
    state.profile[_place("commands", call)] = commands
    return True


def get_my_commands(state: LocalState, call: Call) -> object:
    """Answer getMyCommands."""
    return state.profile.get(_place("commands", call), [])


def delete_my_commands(state: LocalState, call: Call) -> object:
    """Answer deleteMyCommands."""
    state.profile.pop(_place("commands", call), None)
    return True


def _profile_text(name: str) -> tuple[Method, Method]:
    """Make the setter and getter of one text of the bot's profile."""

    def write(state: LocalState, call: Call) -> object:
        state.profile[_place(name, call)] = call.text(name)
        return True

    def read(state: LocalState, call: Call) -> object:
        return {name: state.profile.get(_place(name, call), "")}

    return write, read


def _place(name: str, call: Call) -> str:
    scope = call.structure("scope") or {"type": "default"}
    return f"{name} {json.dumps(scope, sort_keys=True)} {call.text('language_code')}"


def _open_chat(state: LocalState, call: Call) -> Chat:
    if not call.text("chat_id"):
        raise bad_request("chat_id is empty")
    chat = state.chats.get(call.integer("chat_id") or 0)
    if chat is None:
        raise bad_request("chat not found")
    if chat.migrated_to is not None:
        moved: Json = {"migrate_to_chat_id": chat.migrated_to}
        raise ApiError(400, "Bad Request: group chat was upgraded to a supergroup chat", moved)
    if chat.access == "blocked":
        raise ApiError(403, "Forbidden: bot was blocked by the user")
    if chat.access == "kicked":
        raise ApiError(403, f"Forbidden: bot was kicked from the {chat.type.value} chat")
    return chat


def _post(
    state: LocalState, call: Call, chat: Chat, text: str, entities: list[Json], content: Json
) -> Message:
    keyboard = check_keyboard(call.structure("reply_markup"))
    thread_id, reply_to = _thread(chat, call), _reply_target(chat, call)
    message = state.post(
        chat, text, entities=entities, keyboard=keyboard, reply_to=reply_to, thread_id=thread_id,
        content=content,
    )  # fmt: skip
    message.is_silent = call.flag("disable_notification")
    return message


def _thread(chat: Chat, call: Call) -> int | None:
    """Give the topic; the General topic has to be left out, naming it is refused as Telegram refuses it."""
    thread_id = call.integer("message_thread_id")
    if thread_id is None or thread_id in chat.topics:
        return thread_id
    if thread_id == GENERAL_TOPIC or chat.find(thread_id) is None or chat.is_forum:
        raise bad_request("message thread not found")
    return None


def _reply_target(chat: Chat, call: Call) -> int | None:
    given = call.structure("reply_parameters")
    if given is None:
        return None
    if not isinstance(given, dict):
        raise bad_request("can't parse reply parameters JSON object")
    wanted = given.get("message_id")
    message = chat.find(wanted if isinstance(wanted, int) else None)
    if message is None and not given.get("allow_sending_without_reply"):
        raise bad_request("message to be replied not found")
    return None if message is None else message.id


def _editable(state: LocalState, call: Call) -> Message:
    _refuse_parse_mode(call)
    chat = _open_chat(state, call)
    message = chat.find(call.integer("message_id"))
    if message is None:
        raise bad_request("message to edit not found")
    if message.sender_id != state.bot.id:
        raise bad_request("message can't be edited")
    return message


def _rewrite(state: LocalState, call: Call, message: Message, text: str, entities: list[Json]) -> object:
    keyboard = check_keyboard(call.structure("reply_markup"))
    if (text, entities, keyboard) == (message.text, message.entities, message.keyboard):
        raise bad_request(_NOT_MODIFIED)
    message.keyboard = keyboard
    state.rewrite(message, text, entities)
    state.touch(message)
    return state.wire(message)


def _document(state: LocalState, call: Call) -> StoredFile:
    value = call.text("document")
    upload = call.files.get(value.removeprefix("attach://") or "document")
    if upload is not None:
        if not upload.content:
            raise bad_request("file must be non-empty")
        return state.keep_file(upload.name, upload.content, upload.mime_type)
    if not value:
        raise bad_request("there is no document in the request")
    if value not in state.files:
        raise bad_request("wrong remote file identifier specified: can't unserialize it")
    return state.files[value]


def _refuse_parse_mode(call: Call) -> None:
    # The product formats by entities only (telegram.md, first line), so parse modes are not played here.
    if call.text("parse_mode"):
        raise bad_request("unsupported parse_mode")


_WRITE_DESCRIPTION, _READ_DESCRIPTION = _profile_text("description")
_WRITE_SHORT, _READ_SHORT = _profile_text("short_description")
_WRITE_NAME, _READ_NAME = _profile_text("name")

METHODS: dict[str, Method] = {
    "getme": get_me,
    "sendmessage": send_message,
    "senddocument": send_document,
    "editmessagetext": edit_message_text,
    "editmessagecaption": edit_message_caption,
    "editmessagereplymarkup": edit_message_reply_markup,
    "deletemessage": delete_message,
    "answercallbackquery": answer_callback_query,
    "sendchataction": send_chat_action,
    "setmessagereaction": set_message_reaction,
    "getfile": get_file,
    "getchat": get_chat,
    "getchatmember": get_chat_member,
    "setmycommands": set_my_commands,
    "getmycommands": get_my_commands,
    "deletemycommands": delete_my_commands,
    "setmydescription": _WRITE_DESCRIPTION,
    "getmydescription": _READ_DESCRIPTION,
    "setmyshortdescription": _WRITE_SHORT,
    "getmyshortdescription": _READ_SHORT,
    "setmyname": _WRITE_NAME,
    "getmyname": _READ_NAME,
}
"""By name in lower case: the server does not look at case."""
