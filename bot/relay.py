"""From what an agent does to what the chat shows while it does it: one progress message, edited.

Pure: events in, a view out; who sends it and how often is the runner's and the sender's business.
"""

from dataclasses import dataclass

from bot.draft import Draft, clip
from bot.locales import say
from bot.markup import extract_buttons, withhold_tail
from bot.outbox import Keyboard, Message
from core.events import Ended, Event, Notice, Retrying, Started, Text, ToolEnded, ToolStarted
from core.model.run import Call
from core.rules.redact import Redactor

SHOWN_CALLS = 5
SHOWN_TEXT_UNITS = 1200
SHOWN_COMMAND_UNITS = 80
KEPT_CALLS = 200

_FILE_KEYS = ("file_path", "path", "filename", "pattern", "query", "url")


@dataclass(slots=True)
class _Line:
    call: str
    tool: str
    command: str
    is_error: bool | None = None  # None while it runs


class Progress:
    """What a run did so far. `now` and `started` are seconds of a steady clock."""

    def __init__(self, started: float, language: str, own_secrets: tuple[str, ...] = ()) -> None:
        self._started, self._language, self._redactor = started, language, Redactor(own_secrets)
        self._lines: list[_Line] = []
        self._text = ""
        self._notice = ""
        self.last_event = started
        self.calls: list[Call] = []

    def take(self, event: Event, now: float) -> None:
        """Take one event in."""
        self.last_event = now
        match event:
            case Text(delta):
                self._text = (self._text + delta)[-4 * SHOWN_TEXT_UNITS :]
            case ToolStarted(call, tool, arguments):
                self._text = ""
                self._lines.append(_Line(call, tool, command_of(arguments)))
                del self._lines[:-SHOWN_CALLS]
            case ToolEnded():
                self._end_call(event)
            case Retrying(attempt, most, delay_s, error):
                told = {
                    "attempt": attempt,
                    "most": most,
                    "delay_s": round(delay_s),
                    "error": clip(error, 200),
                }
                self._notice = say("progress.retrying", self._language, **told)
            case Notice(text):
                self._notice = clip(text, 300)
            case Started() | Ended():
                self._notice = ""
            case _:
                pass

    def _end_call(self, event: ToolEnded) -> None:
        for line in self._lines:
            if line.call == event.call:
                line.is_error = event.is_error
        command = command_of(event.arguments)
        self.calls.append(
            Call(
                tool=event.tool,
                command=self._redactor.snippet(command),
                is_error=event.is_error,
                error=self._redactor.snippet(event.output) if event.is_error else "",
                exit_code=event.exit_code,
                is_aborted=event.is_aborted,
            )
        )
        del self.calls[:-KEPT_CALLS]

    def view(self, now: float, keyboard: Keyboard) -> Message:
        """Give the progress message: the last calls, the running text, the time, and Stop."""
        draft, own_only = Draft(), self._redactor.own_only
        for line in self._lines:
            mark = {None: "…", False: "✓", True: "✗"}[line.is_error]
            draft.plain(f"{mark} {line.tool} ").code(_shown(own_only(line.command))).line()
        if text := extract_buttons(withhold_tail(own_only(self._text))).text.strip():
            draft.line(_tail(text, SHOWN_TEXT_UNITS)).line()
        if self._notice:
            draft.line().italic(own_only(self._notice)).line()
        draft.line(say("progress.elapsed", self._language, time=_elapsed(now - self._started)))
        return draft.message(keyboard)

    def last_output(self) -> str:
        """Give the last thing the agent did or said, for a person who wonders why it is silent."""
        if text := self._redactor.own_only(self._text).strip():
            return _tail(text, SHOWN_TEXT_UNITS)
        if self._lines:
            line = self._lines[-1]
            return self._redactor.own_only(f"{line.tool} {line.command}")
        return say("progress.nothing_yet", self._language)


def command_of(arguments: dict[str, object]) -> str:
    """Give the one line that says what a call does: its command, else the file it is about."""
    for key in ("command", "cmd", *_FILE_KEYS):
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return value
    texts = [value for value in arguments.values() if isinstance(value, str)]
    return texts[0] if texts else ""


def _shown(command: str) -> str:
    return clip(" ".join(command.split()), SHOWN_COMMAND_UNITS)


def _tail(text: str, units: int) -> str:
    """Keep the end of a text: that is where it goes on."""
    if len(text) <= units // 2:
        return text
    kept = text[-(units // 2) :]
    return "…" + kept


def _elapsed(seconds: float) -> str:
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
