"""What goes out: a message, its keyboard, and the calls that bring them to a chat.

A call is stored in the transaction of the effect that causes it, and sent afterwards (`bot.sender`). It names
messages by what they are about (a ref: `run:…`, `proposal:p-001`), since their ids are known only once sent.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bot.entities import Entity
from core.model.mail import Outgoing
from core.tables import Tx

_LIFETIME_S = 30 * 86_400.0

BUTTON_LIFETIME_S = _LIFETIME_S  # buttons work after a restart and for 30 days


@dataclass(frozen=True, slots=True)
class Key:
    """One inline button: `data` is callback data (or a web address), `style` one of Telegram's three."""

    label: str
    data: str
    style: str | None = None


Keyboard = tuple[tuple[Key, ...], ...]


@dataclass(frozen=True, slots=True)
class Message:
    """What a person sees: text with entities, and buttons under it."""

    text: str
    entities: tuple[Entity, ...] = ()
    keyboard: Keyboard = ()
    asks_reply: bool = False  # opens the reply field under it


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text file to send beside a message."""

    filename: str
    content: str


def address(lane: str) -> dict[str, int]:
    """Give the chat (and topic) that a lane stands for, as parameters of a call."""
    chat, _, topic = lane.partition("/")
    return {"chat_id": int(chat), **({"message_thread_id": int(topic)} if topic else {})}


def markup(keyboard: Keyboard) -> dict[str, Any]:
    """Give a keyboard as the Bot API writes it; an empty one removes what was there."""
    return {"inline_keyboard": [[_button(key) for key in row] for row in keyboard if row]}


def _button(key: Key) -> dict[str, str]:
    where = "url" if key.data.startswith(("https://", "http://")) else "callback_data"
    return {"text": key.label, where: key.data, **({"style": key.style} if key.style else {})}


def content(message: Message) -> dict[str, Any]:
    """Give text, entities and keyboard as parameters of sendMessage or editMessageText."""
    params: dict[str, Any] = {"text": message.text, "link_preview_options": {"is_disabled": True}}
    if message.entities:
        params["entities"] = [entity.as_dict() for entity in message.entities]
    if message.keyboard:
        params["reply_markup"] = markup(message.keyboard)
    elif message.asks_reply:
        params["reply_markup"] = {"force_reply": True, "selective": True}
    return params


def post(
    tx: Tx,
    lane: str,
    message: Message,
    *,
    now: float,
    ref: str | None = None,
    reply_to: str | None = None,
    is_silent: bool = True,
    tokens: Iterable[str] = (),
) -> None:
    """Send a message; it will be known by `ref`. `tokens` are the buttons to bind to it once it is sent."""
    params = {**address(lane), **content(message), "disable_notification": is_silent}
    _reply(params, reply_to)
    body = {"method": "sendMessage", "params": params, "bind": list(tokens)}
    tx.outbox.put(Outgoing(lane, json.dumps(body, ensure_ascii=False), ref=ref, created=now))


def attach(
    tx: Tx,
    lane: str,
    attachment: Attachment,
    *,
    now: float,
    ref: str | None = None,
    reply_to: str | None = None,
) -> None:
    """Send a text file."""
    params: dict[str, Any] = {**address(lane), "disable_notification": True}
    _reply(params, reply_to)
    file = {"field": "document", "filename": attachment.filename, "content": attachment.content}
    body = {"method": "sendDocument", "params": params, "file": file}
    tx.outbox.put(Outgoing(lane, json.dumps(body, ensure_ascii=False), ref=ref, created=now))


def _reply(params: dict[str, Any], reply_to: str | None) -> None:
    if reply_to:
        params["reply_parameters"] = {"message_id": int(reply_to), "allow_sending_without_reply": True}


def _change(
    tx: Tx, lane: str, method: str, params: dict[str, Any], *, target: str, key: str, now: float
) -> None:
    chat = {"chat_id": address(lane)["chat_id"]}
    body = {"method": method, "params": {**chat, **params}, "target": target}
    tx.outbox.put(Outgoing(lane, json.dumps(body, ensure_ascii=False), key=key, created=now))


def edit(tx: Tx, lane: str, ref: str, message: Message, *, now: float) -> None:
    """Replace the text and the buttons of the last message known by `ref`."""
    params = content(message)
    params.setdefault("reply_markup", markup(()))
    _change(tx, lane, "editMessageText", params, target=ref, key=f"text:{ref}", now=now)


def edit_keyboard(tx: Tx, lane: str, ref: str, keyboard: Keyboard, *, now: float) -> None:
    """Replace the buttons of the last message known by `ref`."""
    params = {"reply_markup": markup(keyboard)}
    _change(tx, lane, "editMessageReplyMarkup", params, target=ref, key=f"keyboard:{ref}", now=now)


def delete(tx: Tx, lane: str, ref: str, *, now: float) -> None:
    """Delete the last message known by `ref`."""
    _change(tx, lane, "deleteMessage", {}, target=ref, key=f"delete:{ref}", now=now)


def react(tx: Tx, lane: str, message: str, emoji: str | None, *, now: float) -> None:
    """Put one reaction on a person's message, or take ours away."""
    reaction = [{"type": "emoji", "emoji": emoji}] if emoji else []
    params = {"chat_id": address(lane)["chat_id"], "message_id": int(message), "reaction": reaction}
    body = {"method": "setMessageReaction", "params": params}
    key = f"reaction:{lane}:{message}"
    tx.outbox.put(Outgoing(lane, json.dumps(body, ensure_ascii=False), key=key, created=now))


def last_message(tx: Tx, refs: Sequence[str]) -> str | None:
    """Give the id of the last message sent about one of these, the first that has one."""
    for ref in refs:
        if receipts := tx.outbox.receipts(ref):
            return receipts[-1].external
    return None
