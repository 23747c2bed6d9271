"""What Pi says over RPC, as events: a state machine without I/O (after h11).

Commands go out through `data_to_send`, records come in through `receive`. Verified with 1.6.0 and 0.84.2
(pi-protocol.md 3). Rules:

1. A prompt is taken up when Pi says `agent_start`, answers it with "started", or asks something for it.
   One accepted prompt makes exactly one `Started` and one `Ended`.
2. A run is over at `agent_settled` and only then: retries, compactions and steered messages lie inside it.
3. A prompt answered "handled" was a command of an extension: what the command notified is the answer. 0.84
   does not say so: there `get_state` is asked behind the answer, and "not streaming" without `agent_start`
   means the same.
4. The answer is the text of the last assistant message that has any, out of `message_end`; Pi forgets
   messages that were cut or failed, and so must not be asked for it.
5. `Text` of a later message in a run begins with a blank line, so that all deltas joined are readable.
6. A provider's error is no refused command: it is the `stopReason` of the last message.
7. A run that Pi began by itself (an extension sent a message) is a run like any other.
8. Once abort is asked for, dialogs are cancelled unseen: an open one blocks the abort for ever. An abort that
   Pi answers before it took the prompt up is repeated when it does.
9. Unknown types, unknown ids and missing keys are ignored.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from core.agents.pi.framing import Overlong, Record
from core.agents.pi.records import (
    mapping,
    one_line,
    read_dialog,
    read_extension_error,
    read_notice,
    string,
    strings,
)
from core.agents.pi.run import Run
from core.events import Ended, Event, Notice, Outcome, Started

COMPACTING = "The conversation is long: it is being summarised first."
LINE_DROPPED = "A line of {size_mb} MB from the agent was dropped."


@dataclass(frozen=True, slots=True)
class Reply:
    """Pi's answer to the command with this id."""

    id: str
    is_ok: bool
    error: str
    data: Record


class PiProtocol:
    """One Pi process's conversation with us."""

    def __init__(self) -> None:
        self._outgoing: list[Record] = []
        self._sent = 0
        self._prompt: str | None = None
        self._probe: str | None = None
        self._abort: str | None = None
        self._run: Run | None = None
        self._held: list[Notice] = []
        self._dialogs: set[str] = set()
        self._handlers: dict[str, Callable[[Record], Iterator[Event | Reply]]] = {
            "response": self._on_response,
            "agent_start": self._on_agent_start,
            "agent_settled": self._on_settled,
            "compaction_start": self._on_compaction,
            "compaction_end": self._on_compaction_end,
            "extension_ui_request": self._on_dialog,
            "extension_error": self._on_extension_error,
            "queue_update": self._on_queue,
        }
        self.runs = 0
        """Runs started so far."""
        self.queued = 0
        """Messages that Pi holds for later (steered ones not yet taken up)."""

    @property
    def is_busy(self) -> bool:
        """Say whether a run is on, or a prompt waits to become one."""
        return self._run is not None or self._prompt is not None

    @property
    def is_running(self) -> bool:
        """Say whether a run has started and not ended."""
        return self._run is not None

    # ---- out

    def data_to_send(self) -> list[Record]:
        """Take the records that are to be written."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def prompt(self, text: str) -> str:
        """Ask for a run; give the command's id. Only when not busy."""
        self._prompt = self._send("prompt", message=text)
        return self._prompt

    def steer(self, text: str) -> str:
        """Hand a message into the run; if that ends meanwhile, the message begins one and is not lost."""
        return self._send("prompt", message=text, streamingBehavior="steer")

    def ask_state(self) -> str:
        """Ask whether Pi is there."""
        return self._send("get_state")

    def switch_session(self, path: str) -> str:
        """Ask to open a session's file; the current one's own means: read everything but the talk anew."""
        return self._send("switch_session", sessionPath=path)

    def abort(self) -> str:
        """Cancel dialogs, drop queued messages (0.84 cannot) and end the run; give the abort's id."""
        for request in list(self._dialogs):
            self.answer(request, None)
        self._send("clear_queue")
        command = self._send("abort")
        if self._run is not None:
            self._abort = command
        self.expect_end()
        return command

    def expect_end(self) -> None:
        """Remember that the run is to end: when it does, or the process does, it was stopped."""
        if self._run is not None:
            self._run.is_abort_asked = True

    def answer(self, request: str, value: str | bool | None) -> bool:
        """Answer a dialog, None cancels; say whether it was open."""
        if request not in self._dialogs:
            return False
        self._dialogs.remove(request)
        self._reply(request, value)
        return True

    def assume_started(self) -> list[Event]:
        """Take the prompt as accepted although Pi is silent; what it says later still counts."""
        return list(self._start()) if self._prompt is not None else []

    def _reply(self, request: str, value: str | bool | None) -> None:
        match value:
            case None:
                told: Record = {"cancelled": True}
            case bool():
                told = {"confirmed": value}
            case _:
                told = {"value": value}
        self._outgoing.append({"type": "extension_ui_response", "id": request, **told})

    def _send(self, kind: str, **values: object) -> str:
        self._sent += 1
        command = f"c{self._sent}"
        self._outgoing.append({"id": command, "type": kind, **values})
        return command

    # ---- in

    def receive(self, record: Record | Overlong) -> list[Event | Reply]:
        """Take one record; give what it means."""
        if isinstance(record, Overlong):
            return [Notice(LINE_DROPPED.format(size_mb=record.size_b // 2**20), "warning")]
        handler = self._handlers.get(string(record.get("type")))
        if handler is not None:
            return list(handler(record))
        return list(self._run.receive(record)) if self._run is not None else []

    def receive_eof(self, error: str) -> list[Event]:
        """Take the end of the process; a run that was on has failed, or was stopped if that was asked for."""
        run = self._run
        if run is None:
            self._prompt = self._probe = None
            return []
        if run.is_abort_asked:
            return [self._end(Ended(Outcome.STOPPED, run.answer))]
        return [self._end(Ended(Outcome.FAILED, run.answer, error))]

    def _start(self) -> Iterator[Event]:
        if self._run is None:
            self._run = Run()
            self.runs += 1
            yield Started()
        yield from self._let_go()

    def _let_go(self) -> Iterator[Event]:
        held, self._held = self._held, []
        yield from held

    def _end(self, ended: Ended) -> Ended:
        self._run = self._prompt = self._probe = self._abort = None
        return ended

    @property
    def _is_live(self) -> bool:
        return self._run is not None and self._run.is_live

    # ---- in: answers to commands

    def _on_response(self, record: Record) -> Iterator[Event | Reply]:
        reply = Reply(
            id=string(record.get("id")),
            is_ok=record.get("success") is True,
            error=one_line(record.get("error")),
            data=mapping(record.get("data")),
        )
        if record.get("command") == "prompt":
            yield from self._on_prompt_reply(reply)
        elif reply.id and reply.id == self._probe:
            yield from self._on_probe_reply(reply)
        elif reply.id and reply.id == self._abort:
            yield from self._on_abort_reply(reply)
        yield reply

    def _on_prompt_reply(self, reply: Reply) -> Iterator[Event]:
        is_ours = reply.id == self._prompt
        disposition = reply.data.get("disposition")
        if is_ours and not reply.is_ok:
            yield from self._on_refusal(reply)
        elif reply.is_ok and disposition == "handled" and (is_ours or not self.is_busy):
            yield from self._on_handled()
        elif is_ours and disposition is None and not self._is_live:
            self._probe = self.ask_state()
        elif is_ours:
            self._prompt = None
            yield from self._start()

    def _on_probe_reply(self, reply: Reply) -> Iterator[Event]:
        self._probe = None
        if reply.data.get("isStreaming") is True:
            self._prompt = None
            yield from self._start()
        else:
            yield from self._on_handled()

    def _on_abort_reply(self, reply: Reply) -> Iterator[Event]:
        """End a run that Pi has answered the abort of without ever saying that it settled."""
        if reply.is_ok and self._run is not None and self._prompt is None:
            yield self._end(Ended(Outcome.STOPPED, self._run.answer))

    def _on_refusal(self, reply: Reply) -> Iterator[Event]:
        self._prompt = None
        yield from self._let_go()
        if self._run is not None and not self._run.is_live:
            yield self._end(Ended(Outcome.FAILED, "", reply.error))

    def _on_handled(self) -> Iterator[Event]:
        """End a prompt that was a command; one that began a run by itself ends with that."""
        self._prompt = None
        if self._is_live:
            return
        said = [notice.text for notice in self._held if notice.level == "info"]
        self._held = [notice for notice in self._held if notice.level != "info"]
        yield from self._start()
        yield self._end(Ended(Outcome.DONE, "\n".join(said)))

    # ---- in: the run

    def _on_agent_start(self, _record: Record) -> Iterator[Event]:
        yield from self._start()
        self._prompt = self._probe = None
        if self._run is not None and not self._run.is_live:
            self._run.is_live = True
            if self._run.is_abort_asked:
                self.abort()

    def _on_settled(self, record: Record) -> Iterator[Event]:
        if self._run is not None:
            yield self._end(self._run.settle(record.get("aborted") is True))

    def _on_compaction(self, record: Record) -> Iterator[Event]:
        """A prompt on a full conversation is summarised before it is answered, which takes its time."""
        if self._prompt is not None:
            yield from self._start()
        if self._run is not None and record.get("reason") != "manual":
            yield Notice(COMPACTING)

    def _on_compaction_end(self, record: Record) -> Iterator[Event]:
        if self._run is not None and record.get("errorMessage"):
            yield Notice(one_line(record.get("errorMessage")), "warning")

    # ---- in: what extensions say

    def _on_dialog(self, record: Record) -> Iterator[Event]:
        asked = read_dialog(record)
        if asked is None:
            notice = read_notice(record)
            yield from self._note(notice) if notice is not None else ()
        elif self._abort is not None:
            self._reply(asked.request, None)
        else:
            self._dialogs.add(asked.request)
            if self._prompt is not None:
                yield from self._start()
            yield asked

    def _note(self, notice: Notice) -> Iterator[Event]:
        """Hold what is said before a prompt is taken up: it may turn out to be the answer (rule 3)."""
        if self._prompt is not None and not self._is_live:
            self._held.append(notice)
        else:
            yield notice

    def _on_extension_error(self, record: Record) -> Iterator[Event]:
        yield from self._note(read_extension_error(record))

    def _on_queue(self, record: Record) -> Iterator[Event]:
        self.queued = len(strings(record.get("steering"))) + len(strings(record.get("followUp")))
        yield from ()
