"""What is known of one run while it is on. Pure; `PiProtocol` feeds it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from core.agents.pi.framing import Record
from core.agents.pi.records import mapping, one_line, read_retry, read_tool_end, read_usage, string, text_of
from core.events import Ended, Event, Notice, Outcome, Text, ToolStarted

CUT_SHORT = "The answer was cut at the model's output limit."
CANCELLED = "Retry cancelled"


@dataclass(slots=True, eq=False)
class Run:
    """Collect answer, errors and open tool calls. `is_live`: Pi itself said that it runs."""

    is_live: bool = False
    is_abort_asked: bool = False
    answer: str = ""
    stop: str = ""
    error: str = ""
    has_text: bool = False
    has_message_text: bool = False
    arguments: dict[str, dict[str, object]] = field(default_factory=dict)

    def receive(self, record: Record) -> Iterator[Event]:
        """Take a record of the run; give what it means."""
        match record.get("type"):
            case "message_update":
                yield from self._update(mapping(record.get("assistantMessageEvent")))
            case "message_end":
                yield from self._close_message(mapping(record.get("message")))
            case "tool_execution_start":
                yield self._start_tool(record)
            case "tool_execution_end":
                yield read_tool_end(record, self.arguments.pop(string(record.get("toolCallId")), {}))
            case "auto_retry_start":
                yield read_retry(record)
            case "auto_retry_end":
                self._close_retry(record)

    def settle(self, is_aborted: bool) -> Ended:
        """Say how the run ended, by its last message (a provider's error is no failed command)."""
        if is_aborted or self.stop == "aborted" or (self.is_abort_asked and self.stop != "stop"):
            return Ended(Outcome.STOPPED, self.answer)
        if self.stop == "error":
            return Ended(Outcome.FAILED, self.answer, self.error or "unknown error")
        return Ended(Outcome.DONE, self.answer)

    def _update(self, event: Record) -> Iterator[Event]:
        if event.get("type") == "text_delta":
            yield from self._say(string(event.get("delta")))

    def _close_message(self, message: Record) -> Iterator[Event]:
        if message.get("role") != "assistant":  # 1.x sends the system prompt as a message too
            return
        text = text_of(message.get("content"))
        if not self.has_message_text:
            yield from self._say(text)
        self.has_message_text = False
        self.answer = text if text.strip() else self.answer
        self.stop = string(message.get("stopReason"))
        self.error = one_line(message.get("errorMessage"))
        if usage := read_usage(message):
            yield usage
        if self.stop == "length":
            yield Notice(CUT_SHORT, "warning")

    def _say(self, delta: str) -> Iterator[Event]:
        if not delta:
            return
        is_next = self.has_text and not self.has_message_text
        self.has_text = self.has_message_text = True
        yield Text(f"\n\n{delta}" if is_next else delta)

    def _start_tool(self, record: Record) -> ToolStarted:
        call, arguments = string(record.get("toolCallId")), mapping(record.get("args"))
        self.arguments[call] = arguments
        return ToolStarted(call, string(record.get("toolName")), arguments)

    def _close_retry(self, record: Record) -> None:
        if record.get("success") is False:
            self.stop = "aborted" if record.get("finalError") == CANCELLED else "error"
            self.error = one_line(record.get("finalError")) or self.error
