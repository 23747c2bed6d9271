"""Session files of Pi, v1 to v3 (pi-protocol.md): a header, then entries; results follow their calls."""

from collections.abc import Iterator

from core.services.importing import fields
from core.services.importing.calls import Source, Talk, talk_of
from core.services.importing.lines import Line, Record
from core.services.traces import Finished, call_key


def knows(record: Record) -> bool:
    """Say whether this looks like an entry of such a file."""
    if record.get("type") == "session" and "cwd" in record:
        return True
    message = record.get("message")
    return record.get("type") == "message" and isinstance(message, dict) and "role" in message


class PiReader:
    """See `core.services.importing.calls.Reader`."""

    def __init__(self, source: Source, state: dict[str, object]) -> None:
        self._now = source.now
        self._talk = talk_of(state, Talk(source.name, "pi", source.project, source.project))

    def state(self) -> dict[str, object]:
        return self._talk.state()

    def take(self, line: Line) -> Iterator[Finished]:
        record = line.record or {}
        match record.get("type"):
            case "session":
                self._begin(record)
            case "message" if isinstance(record.get("message"), dict):
                yield from self._hear(record, record["message"])

    def _begin(self, header: Record) -> None:
        folder = fields.text(header, "cwd") or self._talk.folder
        session = fields.text(header, "id") or self._talk.session
        self._talk = Talk(session, "pi", folder, fields.project(folder))

    def _hear(self, entry: Record, message: Record) -> Iterator[Finished]:
        match message.get("role"):
            case "user":
                self._talk.ask()
            case "assistant":
                self._talk.turn += 1
                self._start_calls(message.get("content"))
            case "toolResult":
                found = self._end_call(entry, message)
                if found is not None:
                    yield found

    def _start_calls(self, content: object) -> None:
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict) and part.get("type") == "toolCall":
                call, tool = fields.text(part, "id"), fields.text(part, "name")
                if call and tool:
                    self._talk.start(call, tool, part.get("arguments"))

    def _end_call(self, entry: Record, message: Record) -> Finished | None:
        call = fields.text(message, "toolCallId")
        if call is None:
            return None
        ts = fields.time(message, "timestamp") or fields.time(entry, "timestamp") or self._now
        output = fields.content(message.get("content"))
        flag = fields.flag(message, "isError")
        # A fork copies entries with their times: the same call in another file.
        return self._talk.end(call, call_key(call, int(ts * 1000)), ts, output, is_error=flag, exit_code=None)
