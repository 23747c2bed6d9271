"""Pi's protocol as a pure machine: records in, events out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agents.pi.framing import LineSplitter, Overlong, Record, decode, encode
from core.agents.pi.protocol import PiProtocol, Reply
from core.agents.pi.records import cap, one_line, read_tool_end
from core.events import (
    Asked,
    Dialog,
    Ended,
    Event,
    Notice,
    Outcome,
    Retrying,
    Started,
    Text,
    ToolEnded,
    Usage,
)

START: Record = {"type": "agent_start"}
SETTLED: Record = {"type": "agent_settled", "aborted": False}
ABORTED: Record = {"type": "agent_settled", "aborted": True}


def delta(text: str) -> Record:
    """A piece of the running message."""
    return {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": text}}


def message(text: str, stop: str = "stop", role: str = "assistant", error: str | None = None) -> Record:
    """A finished message."""
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
    told = {"role": role, "content": content, "stopReason": stop, "errorMessage": error}
    return {"type": "message_end", "message": told}


def accepted(command: str, disposition: str | None = "started") -> Record:
    """Pi's good answer to a prompt, as 1.6 gives it or (None) as 0.84 does."""
    data = {} if disposition is None else {"data": {"disposition": disposition}}
    return {"id": command, "type": "response", "command": "prompt", "success": True, **data}


def notify(text: str, level: str = "info") -> Record:
    """A line from an extension."""
    return {
        "type": "extension_ui_request",
        "id": "n",
        "method": "notify",
        "message": text,
        "notifyType": level,
    }


def events(pi: PiProtocol, *records: Record) -> list[Event]:
    """Feed the records; keep what is no reply."""
    return [item for record in records for item in pi.receive(record) if not isinstance(item, Reply)]


def run(*records: Record) -> list[Event]:
    """Feed the records of one run that Pi has accepted."""
    pi = PiProtocol()
    return events(pi, accepted(pi.prompt("hi")), START, *records)


# ---- framing


@given(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"")), max_size=8), st.integers(1, 9))
def test_lines_are_the_same_however_the_bytes_are_cut(lines: list[bytes], step: int) -> None:
    """Chunk borders mean nothing."""
    data = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter()

    found = [line for i in range(0, len(data), step) for line in splitter.receive(data[i : i + step])]

    assert found == [line for line in lines if line]
    assert splitter.receive_eof() == []


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text()), min_size=1))
def test_a_record_survives_the_wire(record: dict[str, object]) -> None:
    """What is encoded is decoded to the same, U+2028 and all."""
    line = encode(record)

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == record


def test_a_line_above_the_limit_is_dropped_and_the_next_one_read() -> None:
    """One monster does not end the session."""
    splitter = LineSplitter(limit_b=10)

    found = [*splitter.receive(b"x" * 8), *splitter.receive(b"x" * 8), *splitter.receive(b"\n{}\n")]

    assert found == [Overlong(16), b"{}"]


def test_an_over_long_line_becomes_a_notice() -> None:
    """The person is told that something is missing."""
    (notice,) = PiProtocol().receive(Overlong(70 * 2**20))

    assert notice == Notice("A line of 70 MB from the agent was dropped.", "warning")


@pytest.mark.parametrize(
    "line",
    [
        b"Warning: something",
        b"[1,2]",
        b'{"type":',
        b"null",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"type":"x","n":' + b"9" * 5000 + b"}",
        b"\x00\xff",
        b'{"type":"agent_end","messages":[]}',
    ],
)
def test_noise_and_repetitions_are_no_records(line: bytes) -> None:
    """What is not a useful JSON object is skipped, whatever it is (S17)."""
    assert decode(line) is None


def test_line_separators_inside_strings_do_not_cut_a_record() -> None:
    """U+2028, U+2029 and U+0085 are ordinary characters."""
    line = '{"type":"x","text":"a\u2028b\u2029c\x85d"}\r'.encode()

    assert LineSplitter().receive(line + b"\n") == [line]
    assert decode(line) == {"type": "x", "text": "a\u2028b\u2029c\x85d"}


def test_invalid_utf8_is_replaced() -> None:
    """Broken bytes cost a character, not the record."""
    assert decode(b'{"type":"x","text":"a\xffb"}') == {"type": "x", "text": "a\ufffdb"}


def test_lone_surrogates_are_replaced_and_pairs_kept() -> None:
    """Everything that comes out can be encoded again."""
    record = decode(b'{"type":"x","t":["\\ud83d","\\ud83d\\ude00"],"o":{"k\\udc00":1}}')

    assert record == {"type": "x", "t": ["\ufffd", "\U0001f600"], "o": {"k\ufffd": 1}}


# ---- runs


def test_a_run_is_told_in_our_events() -> None:
    """The plain case, with the system prompt and the person's own message left out."""
    told = run(
        message("You are Pi", role="system"),
        message("hi", role="user"),
        delta("Hel"),
        delta("lo"),
        message("Hello"),
        SETTLED,
    )

    assert told == [Started(), Text("Hel"), Text("lo"), Ended(Outcome.DONE, "Hello")]


def test_the_answer_is_the_last_message_that_has_text() -> None:
    """What was said before a tool is no answer; an empty last message does not erase one."""
    told = run(message("Step one.", "toolUse"), message("Done."), message(""), SETTLED)

    assert told[-1] == Ended(Outcome.DONE, "Done.")
    assert "".join(e.delta for e in told if isinstance(e, Text)) == "Step one.\n\nDone."


def test_a_message_without_deltas_is_still_told() -> None:
    """A provider that does not stream gives its text at once."""
    assert run(message("All at once"), SETTLED)[1] == Text("All at once")


def test_an_empty_answer_is_done_with_nothing() -> None:
    """Nothing is invented."""
    assert run(message(""), SETTLED) == [Started(), Ended(Outcome.DONE, "")]


def test_a_cut_answer_keeps_its_text_and_says_so() -> None:
    """finish_reason length: Pi forgets the message, we do not."""
    told = run(delta("half"), message("half", "length"), SETTLED)

    assert told[2] == Notice("The answer was cut at the model's output limit.", "warning")
    assert told[-1] == Ended(Outcome.DONE, "half")


def test_a_provider_error_fails_the_run_with_one_clean_line() -> None:
    """The wrapping of the provider is taken off."""
    error = '401: {"message":"Incorrect API key provided","type":"x","code":401}'

    told = run(message("", "error", error=error), SETTLED)

    assert told == [Started(), Ended(Outcome.FAILED, "", "401 Incorrect API key provided")]


def test_retries_lie_inside_one_run() -> None:
    """Failure, waiting and success are one Started and one Ended."""
    retry: Record = {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 300}

    told = run(message("", "error", error="500 x"), retry, START, message("ok"), SETTLED)

    assert told == [Started(), Retrying(1, 3, 0.3, ""), Text("ok"), Ended(Outcome.DONE, "ok")]


def test_retries_that_run_out_fail_with_the_last_error() -> None:
    """The final error is what the person reads."""
    end: Record = {"type": "auto_retry_end", "success": False, "finalError": "529 overloaded"}

    told = run(message("", "error", error="500 x"), end, SETTLED)

    assert told[-1] == Ended(Outcome.FAILED, "", "529 overloaded")


@pytest.mark.parametrize(
    "records",
    [
        [message("par", "aborted"), ABORTED],
        [message("par", "aborted"), {"type": "agent_settled"}],
        [message("par", "error"), ABORTED],
        [
            message("par"),
            {"type": "auto_retry_end", "success": False, "finalError": "Retry cancelled"},
            SETTLED,
        ],
    ],
)
def test_every_way_to_be_aborted_is_stopped(records: list[Record]) -> None:
    """In mid text, in 0.84 without the flag, in a retry wait."""
    assert run(*records)[-1] == Ended(Outcome.STOPPED, "par")


def test_an_abort_answered_without_an_end_ends_the_run() -> None:
    """The answer to abort comes behind everything: a run still open then is over."""
    pi = PiProtocol()
    events(pi, accepted(pi.prompt("x")), START)
    abort = pi.abort()

    told = events(pi, {"id": abort, "type": "response", "command": "abort", "success": True})

    assert told == [Ended(Outcome.STOPPED)]


def test_an_abort_that_overtakes_the_prompt_is_repeated() -> None:
    """A prompt that Pi takes up after the abort was answered does not run on."""
    pi = PiProtocol()
    prompt = pi.prompt("x")
    told = pi.assume_started()
    abort = pi.abort()
    told += events(pi, {"id": abort, "type": "response", "command": "abort", "success": True})
    pi.data_to_send()

    told += events(pi, accepted(prompt), START)

    assert [record["type"] for record in pi.data_to_send()] == ["clear_queue", "abort"]
    assert told + events(pi, ABORTED) == [Started(), Ended(Outcome.STOPPED)]


def test_usage_counts_cached_tokens_as_input() -> None:
    """Tokens of a call are what the model read and wrote."""
    record = message("x")
    record["message"]["usage"] = {"input": 5, "cacheRead": 100, "cacheWrite": 10, "output": 7}  # type: ignore[index]

    assert Usage(115, 7) in run(record)


def test_a_steered_message_stays_in_the_run() -> None:
    """The answer is the one to the last message; nothing starts again."""
    told = run(message("first"), message("turn", role="user"), message("second"), SETTLED)

    assert [type(e) for e in told] == [Started, Text, Text, Ended]
    assert told[-1] == Ended(Outcome.DONE, "second")


def test_a_long_conversation_that_is_summarised_first_counts_as_started() -> None:
    """The person sees why it takes its time."""
    pi = PiProtocol()
    prompt = pi.prompt("x")

    told = events(pi, {"type": "compaction_start", "reason": "threshold"}, accepted(prompt), START, SETTLED)

    assert [type(e) for e in told] == [Started, Notice, Ended]


def test_a_failed_summary_is_a_warning_and_the_run_goes_on() -> None:
    """compaction_end with an error is said once."""
    told = run({"type": "compaction_end", "errorMessage": "too\nlong"}, message("ok"), SETTLED)

    assert told == [Started(), Notice("too long", "warning"), Text("ok"), Ended(Outcome.DONE, "ok")]


def test_death_in_mid_run_fails_it() -> None:
    """The line says what happened; what was said so far is kept."""
    pi = PiProtocol()
    events(pi, accepted(pi.prompt("x")), START, message("half", "toolUse"))

    assert pi.receive_eof("it died") == [Ended(Outcome.FAILED, "half", "it died")]
    assert pi.receive_eof("it died") == []


def test_death_of_an_idle_agent_says_nothing() -> None:
    """No run, no Ended."""
    assert PiProtocol().receive_eof("it died") == []


def test_a_run_that_pi_began_by_itself_is_a_run() -> None:
    """An extension may send a message while nobody asked."""
    told = events(PiProtocol(), START, message("news"), SETTLED)

    assert told == [Started(), Text("news"), Ended(Outcome.DONE, "news")]


def test_unknown_and_broken_records_are_ignored() -> None:
    """A newer Pi may say more than we know; a broken one may say it wrongly."""
    strange: list[Record] = [
        {"type": "new_thing"},
        {},
        {"type": 7},
        {"type": "message_end", "message": "text"},
        {"type": "message_update", "assistantMessageEvent": None},
        {"type": "response", "id": ["x"], "command": "prompt", "success": "yes", "data": 3},
        {"type": "extension_ui_request"},
        {"type": "queue_update", "steering": "x"},
    ]

    assert run(*strange, message("ok"), SETTLED) == [Started(), Text("ok"), Ended(Outcome.DONE, "ok")]


@given(
    st.lists(
        st.sampled_from(
            [
                *(START, SETTLED, ABORTED, delta("x"), message("y"), message("z", "error"), accepted("c1")),
                *(accepted("c1", "handled"), accepted("c1", None), notify("n"), {"type": "compaction_start"}),
                {"type": "response", "id": "c2", "command": "get_state", "success": True, "data": {}},
                {"type": "response", "id": "c1", "command": "prompt", "success": False, "error": "no"},
            ]
        ),
        max_size=20,
    )
)
def test_starts_and_ends_alternate_whatever_pi_says(records: list[Record]) -> None:
    """Never two starts, never an end without a start, and the process's end closes what is open."""
    pi = PiProtocol()
    pi.prompt("x")

    told = [*events(pi, *records), *pi.receive_eof("died")]

    marks = [type(e) for e in told if isinstance(e, Started | Ended)]
    assert marks == [Started, Ended] * (len(marks) // 2)


# ---- commands and dialogs


def test_what_a_handled_command_says_is_its_answer() -> None:
    """No run at the model: one start, one end, the notices as text."""
    pi = PiProtocol()
    prompt = pi.prompt("/lessons")

    told = events(
        pi, notify("l-001"), notify("careful", "warning"), notify("l-002"), accepted(prompt, "handled")
    )

    assert told == [Started(), Notice("careful", "warning"), Ended(Outcome.DONE, "l-001\nl-002")]


def test_an_old_pi_is_asked_whether_the_prompt_was_a_command() -> None:
    """0.84 answers a prompt without saying what became of it."""
    pi = PiProtocol()
    prompt = pi.prompt("/good")
    pi.data_to_send()

    told = events(pi, notify("noted"), accepted(prompt, None))
    (probe,) = pi.data_to_send()
    reply: Record = {"id": probe["id"], "type": "response", "command": "get_state", "success": True}
    told += events(pi, reply | {"data": {"isStreaming": False}})

    assert probe["type"] == "get_state"
    assert told == [Started(), Ended(Outcome.DONE, "noted")]


def test_an_old_pi_that_runs_answers_the_question_by_running() -> None:
    """agent_start makes the late get_state answer meaningless."""
    pi = PiProtocol()
    prompt = pi.prompt("x")
    told = events(pi, accepted(prompt, None))
    probe = pi.data_to_send()[-1]
    reply: Record = {"id": probe["id"], "type": "response", "command": "get_state", "success": True}

    told += events(pi, START, message("ok"), SETTLED, reply | {"data": {"isStreaming": False}})

    assert told == [Started(), Text("ok"), Ended(Outcome.DONE, "ok")]


def test_a_refused_prompt_starts_nothing() -> None:
    """The refusal is the command's answer, not a run."""
    pi = PiProtocol()
    prompt = pi.prompt("x")
    record: Record = {
        "id": prompt,
        "type": "response",
        "command": "prompt",
        "success": False,
        "error": "No key",
    }

    assert pi.receive(record) == [Reply(prompt, False, "No key", {})]
    assert not pi.is_busy


def test_a_prompt_refused_late_fails_the_run_it_was_taken_for() -> None:
    """Silence counted as accepted; the refusal still reaches the person."""
    pi = PiProtocol()
    prompt = pi.prompt("x")
    told = pi.assume_started()
    record: Record = {"id": prompt, "type": "response", "command": "prompt", "success": False, "error": "No"}

    assert told + events(pi, record) == [Started(), Ended(Outcome.FAILED, "", "No")]


def test_a_dialog_before_the_answer_takes_the_prompt_up() -> None:
    """A command that asks is answered only after the person has."""
    pi = PiProtocol()
    prompt = pi.prompt("/sure")
    ask: Record = {"type": "extension_ui_request", "id": "q", "method": "confirm", "title": "Sure?"}

    told = events(pi, ask | {"message": "All lost", "timeout": 2500}, accepted(prompt, "handled"))

    asked = Asked("q", Dialog.CONFIRM, "Sure?", "All lost", timeout_s=2.5)
    assert told == [Started(), asked, Ended(Outcome.DONE, "")]


@pytest.mark.parametrize(
    ("value", "sent"), [("red", {"value": "red"}), (False, {"confirmed": False}), (None, {"cancelled": True})]
)
def test_a_dialog_is_answered_once(value: str | bool | None, sent: Record) -> None:
    """Each kind of answer in its own form; a second one is ignored."""
    pi = PiProtocol()
    events(pi, {"type": "extension_ui_request", "id": "q", "method": "select", "options": ["red"]})

    assert pi.answer("q", value)
    assert not pi.answer("q", value)
    assert pi.data_to_send() == [{"type": "extension_ui_response", "id": "q", **sent}]


def test_an_abort_cancels_dialogs_that_are_open_and_those_that_come() -> None:
    """Otherwise Pi would never answer the abort."""
    pi = PiProtocol()
    ask: Record = {"type": "extension_ui_request", "method": "input", "title": "?"}
    events(pi, accepted(pi.prompt("x")), START, ask | {"id": "one"})
    pi.data_to_send()

    pi.abort()
    told = events(pi, ask | {"id": "two"})

    sent = [(record["type"], record.get("id")) for record in pi.data_to_send()]
    assert told == []
    assert [kind for kind, _ in sent] == [
        "extension_ui_response",
        "clear_queue",
        "abort",
        "extension_ui_response",
    ]
    assert (sent[0][1], sent[3][1]) == ("one", "two")


def test_an_extension_error_names_the_extension() -> None:
    """The folder it lies in is nobody's business."""
    record: Record = {
        "type": "extension_error",
        "extensionPath": "/home/x/gate.ts",
        "error": "boom\nat line 1",
    }

    assert events(PiProtocol(), record) == [Notice("gate.ts: boom at line 1", "error")]


@pytest.mark.parametrize("method", ["setStatus", "setWidget", "setTitle", "set_editor_text", "custom"])
def test_what_is_for_a_terminal_is_dropped(method: str) -> None:
    """Status lines and widgets have no place in a chat."""
    assert events(PiProtocol(), {"type": "extension_ui_request", "id": "a", "method": method}) == []


# ---- tools and errors


def test_a_tool_call_is_joined_with_its_arguments() -> None:
    """The end of a call carries no arguments in Pi; ours does."""
    start: Record = {
        "type": "tool_execution_start",
        "toolCallId": "c",
        "toolName": "bash",
        "args": {"command": "x"},
    }
    end: Record = {"type": "tool_execution_end", "toolCallId": "c", "toolName": "bash", "isError": False}

    *_, ended, _ = run(start, end | {"result": {"content": [{"type": "text", "text": "hi"}]}}, SETTLED)

    assert ended == ToolEnded("c", "bash", False, "hi", {"command": "x"})


@pytest.mark.parametrize(
    ("text", "structured", "code", "is_aborted"),
    [
        ("partial\nboom\n\n\nCommand exited with code 3", None, 3, False),
        ("boom", {"exit_code": 4, "output": "boom"}, 4, False),
        ("started\n\n\nCommand aborted", None, None, True),
        ("Operation aborted", None, None, True),
        ("before\n\n\nCommand timed out after 1 seconds", None, None, False),
        ("grep: Command aborted: no", None, None, False),
        ("", None, None, False),
    ],
)
def test_exit_codes_and_aborts_are_read(
    text: str, structured: Record | None, code: int | None, is_aborted: bool
) -> None:
    """From the structured result, else from the last line."""
    result = {"content": [{"type": "text", "text": text}], "structuredContent": structured}

    ended = read_tool_end({"toolName": "bash", "isError": True, "result": result}, {})

    assert (ended.exit_code, ended.is_aborted) == (code, is_aborted)


@given(st.text(alphabet="aé\U0001f600", max_size=200), st.integers(16, 64))
def test_a_long_output_keeps_head_and_tail(text: str, kept_b: int) -> None:
    """Never more than both parts, never half a character, short texts untouched."""
    kept = cap(text, kept_b)

    assert len(kept.encode()) <= 2 * kept_b
    assert kept == text if len(text.encode()) <= 2 * kept_b else "\n[...]\n" in kept


@pytest.mark.parametrize(
    ("error", "line"),
    [
        ('401: {"message":"Incorrect API key provided","code":401}', "401 Incorrect API key provided"),
        ('400 {"error":{"message":"too long"}}', "400 too long"),
        ('429: {"error":"slow down"}', "429 slow down"),
        ('500: {"weird":1}', '500 {"weird":1}'),
        ('500: {"broken', '500 {"broken'),
        ("502: <html><body><h1>Bad  Gateway</h1></body></html>", "502: Bad Gateway"),
        ("\x1b[31mred\x1b[0m\r\nand\x07 more", "red and more"),
        (None, ""),
        (json.dumps({"x": "y"}), '{"x": "y"}'),
        ("x" * 500, "x" * 299 + "…"),
    ],
)
def test_errors_become_one_clean_line(error: str | None, line: str) -> None:
    """Whatever the provider wraps them in."""
    assert one_line(error) == line
