"""Session files of Claude Code: every line an envelope around a message; results come as the user's parts."""

import re
from collections.abc import Iterator

from core.services.importing import fields
from core.services.importing.calls import Source, Talk, talk_of
from core.services.importing.lines import Line, Record
from core.services.traces import Finished, call_key

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d+)\s*(?:\n|$)")
_TAGS = re.compile(r"</?tool_use_error>")


def knows(record: Record) -> bool:
    """Say whether this looks like a line of such a file."""
    return "sessionId" in record and record.get("type") in ("user", "assistant", "system", "attachment")


class ClaudeReader:
    """See `core.services.importing.calls.Reader`."""

    def __init__(self, source: Source, state: dict[str, object]) -> None:
        self._now = source.now
        self._talk = talk_of(state, Talk(source.name, "claude", source.project, source.project))
        self._message = ""

    def state(self) -> dict[str, object]:
        return self._talk.state()

    def take(self, line: Line) -> Iterator[Finished]:
        record = line.record or {}
        message = record.get("message")
        if not isinstance(message, dict):
            return
        self._enter(record)
        parts = message.get("content")
        if record.get("type") == "assistant":
            self._say(message, parts)
        elif record.get("type") == "user":
            yield from self._hear(record, parts)

    def _enter(self, record: Record) -> None:
        folder, session = fields.text(record, "cwd"), fields.text(record, "sessionId")
        if folder and folder != self._talk.folder:
            self._talk.folder, self._talk.project = folder, fields.project(folder)
        if session and session != self._talk.session:
            self._talk.session, self._talk.run, self._talk.turn = session, 0, 0

    def _say(self, message: Record, parts: object) -> None:
        # One answer of the model is written as several lines with the same message id.
        id = fields.text(message, "id")
        if id is None or id != self._message:
            self._talk.turn += 1
            self._message = id or ""
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, dict) and part.get("type") == "tool_use":
                call, tool = fields.text(part, "id"), fields.text(part, "name")
                if call and tool:
                    self._talk.start(call, tool.lower(), part.get("input"))

    def _hear(self, record: Record, parts: object) -> Iterator[Finished]:
        results = [
            part
            for part in (parts if isinstance(parts, list) else [])
            if isinstance(part, dict) and part.get("type") == "tool_result"
        ]
        if not results and not record.get("isMeta"):
            self._talk.ask()
        for part in results:
            found = self._end_call(record, part)
            if found is not None:
                yield found

    def _end_call(self, record: Record, part: Record) -> Finished | None:
        call = fields.text(part, "tool_use_id")
        if call is None:
            return None
        ts = fields.time(record, "timestamp") or self._now
        output = _TAGS.sub("", fields.content(part.get("content")))
        status = _EXIT_CODE.match(output)
        return self._talk.end(
            call,
            call_key(call, int(ts * 1000)),
            ts,
            output[status.end() :] if status else output,
            is_error=bool(fields.flag(part, "is_error")),
            exit_code=int(status[1]) if status and len(status[1]) < 10 else None,
        )
