"""What Telegram's server demands of texts, entities and keyboards, with its own error texts."""

import re

from bot.local.records import Json

MAX_TEXT_UNITS = 4096
MAX_CAPTION_UNITS = 1024
_MAX_ENTITIES = 100
_MAX_BUTTONS = 100
_MAX_CALLBACK_BYTES = 64

_AUTOMATIC = {"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number"}
_FORMATS = {
    "bold", "italic", "underline", "strikethrough", "spoiler", "blockquote", "expandable_blockquote", "code",
    "pre", "text_link", "text_mention", "custom_emoji", "date_time",
}  # fmt: skip
_ACTIONS = (
    "url", "callback_data", "web_app", "login_url", "switch_inline_query", "switch_inline_query_current_chat",
    "switch_inline_query_chosen_chat", "copy_text", "callback_game", "pay",
)  # fmt: skip
_DETECTED = (
    ("url", re.compile(r"https?://[^\s<>\"']*[^\s<>\"'.,:;!?)]")),
    ("bot_command", re.compile(r"(?<![\w/<>@])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/<>])")),
    ("mention", re.compile(r"(?<![\w/])@[A-Za-z]\w{3,31}\b")),
)
_INVISIBLE = re.compile(
    "[ \n\u00a0\u1680\u180e\u2000-\u200f\u202e\u202f\u205f\u2800\u3000\ufffc\ufeff\U000e0000\U000e0001]*"
)
_SKIPPED = re.compile("[\r\u0333\u033f\u030a\u2028\u2029\u202a-\u202e]")
_CONTROL = re.compile("[\\x00-\\x09\\x0b-\\x1f]")


class ApiError(Exception):
    """An answer that is an error."""

    def __init__(self, code: int, description: str, parameters: Json | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters or {}

    def wire(self) -> Json:
        """Give the body of the answer."""
        body: Json = {"ok": False, "error_code": self.code, "description": self.description}
        return body | ({"parameters": self.parameters} if self.parameters else {})


def bad_request(reason: str) -> ApiError:
    """Make the 400 that names a reason."""
    return ApiError(400, f"Bad Request: {reason}")


def units(text: str) -> int:
    """Count UTF-16 code units, the unit of entity offsets and of the length limits."""
    return len(text) + sum(char > "\uffff" for char in text)


def check_text(text: str, entities: object, limit_units: int = MAX_TEXT_UNITS) -> tuple[str, list[Json]]:
    """Give text and entities as the server keeps them, or raise as it refuses them.

    An empty text with a limit for captions is fine.
    """
    is_caption = limit_units == MAX_CAPTION_UNITS
    if not text:
        if is_caption:
            return "", []
        raise bad_request("message text is empty")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise bad_request("strings must be encoded in UTF-8")
    checked = [_entity(item, text) for item in _list(entities, "message entities")]
    text, kept = _trimmed(*_without_skipped(text, checked))
    if not text or _INVISIBLE.fullmatch(text):
        raise bad_request("text must be non-empty")
    if units(text) > limit_units:
        raise bad_request("message caption is too long" if is_caption else "message is too long")
    return text, kept[:_MAX_ENTITIES]


def check_keyboard(markup: object) -> Json | None:
    """Give an inline keyboard as the server keeps it; None for other or empty markups."""
    if markup is None:
        return None
    if not isinstance(markup, dict):
        raise bad_request("object expected as reply markup")
    if "inline_keyboard" not in markup:
        return None
    rows = [[_button(b) for b in _list(row, "inline keyboard")] for row in _rows(markup["inline_keyboard"])]
    if sum(map(len, rows)) > _MAX_BUTTONS:
        raise bad_request("reply markup is too long")
    kept = [row for row in rows if row]
    return {"inline_keyboard": kept} if kept else None


def detect(text: str, given: list[Json]) -> list[Json]:
    """Add the entities that clients find by themselves: commands, mentions, links."""
    found = list(given)
    for kind, pattern in _DETECTED:
        for match in pattern.finditer(text):
            offset, length = units(text[: match.start()]), units(match.group())
            if not any(_overlaps(other, offset, length) for other in found):
                found.append({"type": kind, "offset": offset, "length": length})
    return sorted(found, key=_start)


def _entity(item: object, text: str) -> Json:
    if not isinstance(item, dict):
        raise bad_request("can't parse MessageEntity: expected an Object")
    kind, offset, length = item.get("type"), item.get("offset"), item.get("length")
    if kind not in _FORMATS | _AUTOMATIC:
        raise bad_request("can't parse MessageEntity: Unsupported type specified")
    if not isinstance(offset, int) or not isinstance(length, int):
        raise bad_request("can't parse MessageEntity: Can't find field \"offset\"")
    if kind == "text_link" and not item.get("url"):
        raise bad_request('can\'t parse MessageEntity: Field "url" must be specified')
    if length != 0:  # empty entities are dropped unseen
        _check_span(text, offset, length)
    return item


def _check_span(text: str, offset: int, length: int) -> None:
    if offset < 0:
        raise bad_request(f"receive an entity with incorrect offset {offset}")
    if length < 0:
        raise bad_request(f"receive an entity with incorrect length {length}")
    raw, end = text.encode("utf-16-le", "surrogatepass"), offset + length
    if offset * 2 >= len(raw):
        raise bad_request(f"entity begins after the end of the text at UTF-16 offset {offset}")
    begins = f"entity beginning at UTF-16 offset {offset}"
    if end * 2 > len(raw):
        raise bad_request(f"{begins} ends after the end of the text at UTF-16 offset {end}")
    if _splits_pair(raw, offset):
        raise bad_request("entity begins in a middle of a UTF-16 symbol")
    if _splits_pair(raw, end):
        raise bad_request(f"{begins} ends in a middle of a UTF-16 symbol")


def _splits_pair(raw: bytes, unit: int) -> bool:
    """Tell whether a UTF-16 offset lies before a low surrogate."""
    return 0 < unit * 2 < len(raw) and raw[unit * 2 + 1] & 0xFC == 0xDC


def _without_skipped(text: str, entities: list[Json]) -> tuple[str, list[Json]]:
    """Leave out the characters that the server drops, and turn other control characters into spaces."""
    raw = text.encode("utf-16-le")

    def moved(unit: int) -> int:
        return unit - len(_SKIPPED.findall(raw[: unit * 2].decode("utf-16-le")))

    kept: list[Json] = []
    for entity in entities:
        offset, length = _span(entity)
        if length > 0:
            start = moved(offset)
            kept.append(entity | {"offset": start, "length": moved(offset + length) - start})
    return _CONTROL.sub(" ", _SKIPPED.sub("", text)), kept


def _trimmed(text: str, entities: list[Json]) -> tuple[str, list[Json]]:
    """Cut white space and move the entities along, without those the server finds itself.

    At the start nothing under an entity is cut.
    """
    kept = text.rstrip(" \n")
    formats = [entity for entity in entities if entity["type"] not in _AUTOMATIC and _span(entity)[1] > 0]
    lead = len(kept) - len(kept.lstrip(" \n"))
    lead = min([lead, *(_span(entity)[0] for entity in formats)])
    moved: list[Json] = []
    for entity in formats:
        offset, length = _span(entity)
        length = min(length, units(kept) - offset)
        if length > 0:
            moved.append(entity | {"offset": offset - lead, "length": length})
    return kept[lead:], sorted(moved, key=_start)


def _button(item: object) -> Json:
    if not isinstance(item, dict):
        raise bad_request("can't parse inline keyboard button: expected an Object")
    if not str(item.get("text", "")).strip():
        raise bad_request("inline keyboard button text must be non-empty")
    if not any(item.get(action) not in (None, "") for action in _ACTIONS):
        reason = "Text buttons are unallowed in the inline keyboard"
        raise bad_request(f"can't parse inline keyboard button: {reason}")
    if len(str(item.get("callback_data", "")).encode()) > _MAX_CALLBACK_BYTES:
        raise bad_request("BUTTON_DATA_INVALID")
    if item.get("style", "") not in ("", "default", "primary", "success", "danger"):
        raise bad_request("can't parse inline keyboard button: invalid button style specified")
    url = item.get("url")
    if url and not re.match(r"(https?|tg|ton)://[^\s]+", str(url)):
        raise bad_request(f"inline keyboard button URL '{url}' is invalid: Wrong HTTP URL")
    return item


def _rows(value: object) -> list[object]:
    return _list(value, "inline keyboard")


def _list(value: object, what: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise bad_request(f"can't parse {what} JSON object")
    return value


def _span(entity: Json) -> tuple[int, int]:
    offset, length = entity.get("offset"), entity.get("length")
    return (offset, length) if isinstance(offset, int) and isinstance(length, int) else (0, 0)


def _start(entity: Json) -> tuple[int, int]:
    offset, length = _span(entity)
    return offset, -length


def _overlaps(entity: Json, offset: int, length: int) -> bool:
    start, size = _span(entity)
    return start < offset + length and offset < start + size
