"""Read the parts of Pi's records into our events. Pure and tolerant: a missing key is an empty value."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath

from core.agents.pi.framing import Record
from core.events import Asked, Dialog, Notice, Retrying, ToolEnded, Usage

OUTPUT_KEPT_B = 32 * 1024  # of head and of tail (events.ToolEnded)
ERROR_READ = 4000
ERROR_KEPT = 300

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-_]|[\x00-\x08\x0b-\x1f\x7f]")
_TAGS = re.compile(r"<[^<>]*>")
_STATUS = re.compile(r"(?:Error: )?(\d{3}):? (?=\{)")
_EXIT = re.compile(r"\ACommand exited with code (-?\d{1,9})\Z")
_DIALOGS = {dialog.value: dialog for dialog in Dialog}
_ABORTED = ("Command aborted", "Operation aborted")


def strings(value: object) -> tuple[str, ...]:
    """Take the strings of a list."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def string(value: object) -> str:
    """Take a string, else an empty one."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> Record:
    """Take an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def number(value: object) -> float | None:
    """Take a number that is none of JSON's true and false."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def whole(value: object) -> int | None:
    """Take a number as a whole one, if it is finite."""
    found = number(value)
    return int(found) if found is not None and abs(found) < 2**53 else None


def text_of(content: object) -> str:
    """Join the text blocks of a message, as Pi itself does."""
    if isinstance(content, str):
        return content
    blocks: Iterable[object] = content if isinstance(content, list) else ()
    return "".join(
        string(mapping(block).get("text")) for block in blocks if mapping(block).get("type") == "text"
    )


def cap(text: str, kept_b: int = OUTPUT_KEPT_B) -> str:
    """Keep head and tail of a long text, each `kept_b` bytes of UTF-8 at most."""
    if len(text) <= kept_b // 2:  # at most 4 bytes a character, two parts: surely short enough
        return text
    data = text.encode("utf-8", "replace")
    if len(data) <= 2 * kept_b:
        return text
    mark = b"\n[...]\n"
    head, tail = data[: kept_b - len(mark)], data[-kept_b:]
    return (head.decode(errors="ignore").encode() + mark + tail).decode(errors="ignore")


def one_line(error: object) -> str:
    """Make one clean line of a provider's error: no JSON wrapping, no markup, no terminal escapes."""
    text = string(error)[:ERROR_READ]
    if status := _STATUS.match(text):
        text = f"{status[1]} {_told(text[status.end() :])}"
    if "<" in text and "html" in text.lower():
        text = _TAGS.sub(" ", text)
    text = " ".join(_ESCAPES.sub("", text).split())
    return text if len(text) <= ERROR_KEPT else text[: ERROR_KEPT - 1].rstrip() + "…"


def _told(body: str) -> str:
    """Find the sentence in a provider's JSON error; the body itself when there is none."""
    try:
        value = mapping(json.loads(body))
    except (ValueError, RecursionError):
        return body
    inner = mapping(value.get("error"))
    found = inner.get("message") or value.get("message") or value.get("error") or value.get("detail")
    return found if isinstance(found, str) else body


def read_tool_end(record: Record, arguments: dict[str, object]) -> ToolEnded:
    """Read `tool_execution_end`; the copies of the output in structuredContent are left behind."""
    result = mapping(record.get("result"))
    output = text_of(result.get("content"))
    is_error = record.get("isError") is True
    last = output.rstrip()[-100:].rpartition("\n")[2]
    return ToolEnded(
        call=string(record.get("toolCallId")),
        tool=string(record.get("toolName")),
        is_error=is_error,
        output=cap(output),
        arguments=arguments,
        exit_code=_exit_code(result, last),
        is_aborted=is_error and last in _ABORTED,
        duration_ms=whole(record.get("durationMs")),
    )


def _exit_code(result: Mapping[str, object], last_line: str) -> int | None:
    structured = whole(mapping(result.get("structuredContent")).get("exit_code"))
    if structured is not None:
        return structured
    found = _EXIT.match(last_line)
    return int(found[1]) if found else None


def read_dialog(record: Record) -> Asked | None:
    """Read an `extension_ui_request` that waits for an answer; None for the others."""
    dialog = _DIALOGS.get(string(record.get("method")))
    if dialog is None:
        return None
    timeout_ms = number(record.get("timeout"))
    return Asked(
        request=string(record.get("id")),
        dialog=dialog,
        title=string(record.get("title")),
        message=string(record.get("message")) or string(record.get("placeholder")),
        options=strings(record.get("options")),
        prefill=string(record.get("prefill")),
        timeout_s=None if timeout_ms is None else timeout_ms / 1000,
    )


def read_notice(record: Record) -> Notice | None:
    """Read a `notify`; status lines, widgets and titles are for a terminal and dropped."""
    text = string(record.get("message"))
    if record.get("method") != "notify" or not text:
        return None
    level = string(record.get("notifyType"))
    return Notice(text, level if level in ("warning", "error") else "info")


def read_extension_error(record: Record) -> Notice:
    """Read `extension_error`: which extension, and what it said."""
    name = PurePath(string(record.get("extensionPath"))).name
    error = one_line(record.get("error"))
    return Notice(f"{name}: {error}" if name else error, "error")


def read_retry(record: Record) -> Retrying:
    """Read `auto_retry_start`."""
    return Retrying(
        attempt=whole(record.get("attempt")) or 0,
        max_attempts=whole(record.get("maxAttempts")) or 0,
        delay_s=(number(record.get("delayMs")) or 0) / 1000,
        error=one_line(record.get("errorMessage")),
    )


def read_usage(message: Record) -> Usage | None:
    """Read the tokens of a model call, cached ones counted as input; None when nothing was counted."""
    usage = mapping(message.get("usage"))
    told = sum(whole(usage.get(name)) or 0 for name in ("input", "cacheRead", "cacheWrite"))
    written = whole(usage.get("output")) or 0
    return Usage(told, written) if told or written else None
