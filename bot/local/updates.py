"""The queue of updates, as getUpdates sees it."""

from collections import deque

from bot.local.records import Json

KINDS = frozenset(
    {
        "message",
        "edited_message",
        "channel_post",
        "edited_channel_post",
        "business_connection",
        "business_message",
        "edited_business_message",
        "deleted_business_messages",
        "message_reaction",
        "message_reaction_count",
        "inline_query",
        "chosen_inline_result",
        "callback_query",
        "shipping_query",
        "pre_checkout_query",
        "purchased_paid_media",
        "poll",
        "poll_answer",
        "my_chat_member",
        "chat_member",
        "chat_join_request",
        "chat_boost",
        "removed_chat_boost",
    }
)
# Telegram leaves these out unless they are asked for.
ALLOWED_BY_DEFAULT = KINDS - {"chat_member", "message_reaction", "message_reaction_count"}
_MAX_BATCH = 100
_REMEMBERED = 10_000


class UpdateQueue:
    """Updates kept until they are acknowledged by a larger offset.

    `next_id` may be set forward or back, as Telegram's ids do after a quiet week (reliability.md P16).
    """

    def __init__(self, first_id: int) -> None:
        self.next_id = first_id
        self.allowed = ALLOWED_BY_DEFAULT
        self._pending: deque[Json] = deque()
        self._again: list[Json] = []
        self._past: dict[int, Json] = {}

    def __len__(self) -> int:
        """Count what is not acknowledged."""
        return len(self._pending) + len(self._again)

    def push(self, kind: str, payload: Json) -> int | None:
        """Queue an update and give its id; None when the bot has not asked for this kind."""
        return self.inject({kind: payload}) if kind in self.allowed else None

    def inject(self, raw: Json) -> int:
        """Queue an update as it is, parseable or not; an id is added unless it has one."""
        number = raw.get("update_id")
        if not isinstance(number, int):
            number = self.next_id
            self.next_id += 1
        update = {"update_id": number} | raw
        self._pending.append(update)
        self._past[number] = update
        if len(self._past) > _REMEMBERED:
            del self._past[next(iter(self._past))]
        return number

    def redeliver(self, update_id: int) -> bool:
        """Give this update once more in the next answer, acknowledged or not."""
        update = self._past.get(update_id)
        if update is not None:
            self._again.append(update)
        return update is not None

    def allow(self, kinds: list[str]) -> None:
        """Set the wanted kinds; an empty list means the default, unknown names are ignored."""
        self.allowed = frozenset(kinds) & KINDS or ALLOWED_BY_DEFAULT

    def acknowledge(self, offset: int) -> None:
        """Forget what lies before an offset; a negative one keeps only so many from the end."""
        if offset < 0:
            while len(self._pending) > -offset:
                self._pending.popleft()
            return
        self._pending = deque(update for update in self._pending if _number(update) >= offset)

    def peek(self, limit: int = _MAX_BATCH) -> list[Json]:
        """Give the oldest updates; they stay until acknowledged."""
        again, self._again = self._again, []
        room = max(1, min(limit, _MAX_BATCH))
        return (again + [update for update, _ in zip(self._pending, range(room), strict=False)])[:room]

    def settle(self, update: Json) -> None:
        """Forget one update, which a webhook has accepted."""
        self._pending = deque(waiting for waiting in self._pending if waiting is not update)


def _number(update: Json) -> int:
    number = update["update_id"]
    return number if isinstance(number, int) else 0
