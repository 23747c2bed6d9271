"""What a person sees, made from the state."""

from itertools import takewhile

from bot.local.records import Json, Message
from bot.local.state import LocalState
from bot.local.wire import Button, ChatView, FileView, MessageView, ToastView


def view_chat(state: LocalState, chat_id: int, since: int = -1) -> ChatView:
    """Give what of a chat is newer than a version."""
    messages = [m for m in state.chat(chat_id).messages.values() if m.version > since]
    recent = takewhile(lambda toast: toast.version > since, reversed(state.toasts))
    toasts = [toast for toast in recent if toast.chat_id == chat_id]
    return ChatView(
        version=state.version,
        messages=[view_message(state, message) for message in messages],
        toasts=[ToastView.model_validate(toast, from_attributes=True) for toast in reversed(toasts)],
    )


def view_message(state: LocalState, message: Message) -> MessageView:
    """Give one message."""
    return MessageView(
        id=message.id,
        chat_id=message.chat_id,
        thread_id=message.thread_id,
        sender_id=message.sender_id,
        is_from_bot=message.sender_id == state.bot.id,
        text=message.text,
        entities=message.entities,
        keyboard=_buttons(message.keyboard),
        reply_to=message.reply_to,
        date=message.date,
        edit_date=message.edit_date,
        edits=message.edits,
        is_silent=message.is_silent,
        is_deleted=message.is_deleted,
        reactions=message.reactions,
        file=_file(message.content),
        version=message.version,
    )


def _buttons(keyboard: Json | None) -> list[list[Button]]:
    rows = (keyboard or {}).get("inline_keyboard")
    return [[_button(item) for item in row] for row in rows] if isinstance(rows, list) else []


def _button(item: Json) -> Button:
    return Button.model_validate({**item, "data": item.get("callback_data")})


def _file(content: Json) -> FileView | None:
    document = content.get("document")
    if not isinstance(document, dict):
        return None
    return FileView(id=document["file_id"], name=document["file_name"], size=document["file_size"])
