"""Streams recorded from the real Pi, replayed through bytes, records and events.

The recordings lie in the folder `shared` beside the repository (AUTO_IMPROVE_SHARED overrides); a few of our
own are inline, so that the suite means something without it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.agents.pi.framing import LineSplitter, Record, decode
from core.agents.pi.protocol import PiProtocol, Reply
from core.events import Asked, Ended, Event, Outcome, Retrying, Started, Text, ToolEnded
from tests.shared import DATA, needs_shared

TRANSCRIPTS = DATA / "pi-transcripts"
DUPLEX = sorted(TRANSCRIPTS.glob("*.pi16.duplex.jsonl"))
STDOUT = sorted([*TRANSCRIPTS.glob("*.pi16.stdout.jsonl"), *TRANSCRIPTS.glob("json-*.pi16.jsonl")])
D, F, S = Outcome.DONE, Outcome.FAILED, Outcome.STOPPED


@dataclass
class Replay:
    """What came of a recorded conversation."""

    events: list[Event] = field(default_factory=list)
    accepted: int = 0

    @property
    def ends(self) -> list[Ended]:
        """The ends of the runs."""
        return [event for event in self.events if isinstance(event, Ended)]

    @property
    def marks(self) -> list[type[Event]]:
        """Starts and ends in order."""
        return [type(event) for event in self.events if isinstance(event, Started | Ended)]


def replay_stdout(data: bytes, chunk_b: int = 65536) -> Replay:
    """Feed Pi's raw stdout in chunks, without knowing what was asked."""
    pi, splitter, replay = PiProtocol(), LineSplitter(), Replay()
    for start in range(0, len(data), chunk_b):
        for line in splitter.receive(data[start : start + chunk_b]):
            _feed(pi, line, replay)
    replay.events += pi.receive_eof("died")
    return replay


def replay_duplex(lines: Iterable[bytes]) -> Replay:
    """Feed both directions: our commands get our ids, Pi's answers to them follow."""
    pi, replay, ids = PiProtocol(), Replay(), dict[str, str]()
    for line in lines:
        entry = json.loads(line)
        message = entry["msg"]
        if not isinstance(message, dict):
            continue
        if entry["dir"] == "client->pi":
            _send(pi, message, ids)
            continue
        data = message.get("data") or {}
        is_prompt = message.get("command") == "prompt" and message.get("success") is True
        replay.accepted += is_prompt and data.get("disposition") in ("started", "handled")
        message = message | ({"id": ids[message["id"]]} if message.get("id") in ids else {})
        _feed(pi, json.dumps(message).encode(), replay)
    return replay


def _send(pi: PiProtocol, message: Record, ids: dict[str, str]) -> None:
    kind, told, own = message.get("type"), str(message.get("message", "")), str(message.get("id"))
    if kind == "prompt" and "streamingBehavior" in message:
        ids[own] = pi.steer(told)
    elif kind == "prompt" and not pi.is_busy:
        ids[own] = pi.prompt(told)
    elif kind == "abort":
        ids[own] = pi.abort()


def _feed(pi: PiProtocol, line: object, replay: Replay) -> None:
    record = decode(line) if isinstance(line, bytes) else None
    if record is not None:
        replay.events += [item for item in pi.receive(record) if not isinstance(item, Reply)]


# ---- the recordings


@needs_shared
def test_the_recordings_are_there() -> None:
    """Of none at all every test below would be green."""
    assert len(DUPLEX) >= 35 and len(STDOUT) >= 41


@needs_shared
@pytest.mark.parametrize("path", DUPLEX, ids=lambda path: path.name.split(".")[0])
def test_every_accepted_prompt_has_one_start_and_one_end(path: Path) -> None:
    """Counted against the prompts in the recording that Pi accepted."""
    replay = replay_duplex(path.read_bytes().splitlines())

    assert replay.marks == [Started, Ended] * replay.accepted


@needs_shared
@pytest.mark.parametrize("path", STDOUT, ids=lambda path: path.name.split(".")[0])
def test_raw_stdout_alone_gives_whole_runs(path: Path) -> None:
    """In any chunks, starts and ends alternate and nothing is left open."""
    data = path.read_bytes()

    replay = replay_stdout(data)

    assert replay.marks == [Started, Ended] * (len(replay.marks) // 2)
    assert "died" not in [end.error for end in replay.ends]
    assert replay.events == replay_stdout(data, chunk_b=1000).events


@needs_shared
@pytest.mark.parametrize("path", STDOUT, ids=lambda path: path.name.split(".")[0])
def test_the_answer_is_the_text_pi_itself_tells_at_the_end(path: Path) -> None:
    """Compared with the messages of `agent_end`, which we do not read."""
    data = path.read_bytes()

    replay = replay_stdout(data)

    assert [end.answer for end in replay.ends if end.answer] == [text for text in told_at_end(data) if text]


def told_at_end(data: bytes) -> list[str]:
    """Find the last text of each run in Pi's own summary of it."""
    found, last = [], ""
    for record in map(
        json.loads, filter(lambda line: line.startswith(b'{"type":"agent_'), data.split(b"\n"))
    ):
        for message in record.get("messages", ()):
            blocks = message["content"] if message["role"] == "assistant" else ()
            last = "".join(block.get("text", "") for block in blocks) or last
        if record["type"] == "agent_settled":
            found.append(last)
            last = ""
    return found


@needs_shared
@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("rpc-error-500-then-ok", [(D, "Hello from the stub: hello", None)]),
        ("rpc-error-429-then-ok", [(D, "Hello from the stub: hello", None)]),
        ("rpc-error-500-always", [(F, "", "500 internal boom")]),
        ("rpc-error-401", [(F, "", "401 Incorrect API key provided")]),
        ("rpc-retry-off", [(F, "", "500 internal boom")]),
        ("rpc-abort-retry", [(S, "", None)]),
        ("rpc-abort-during-retry", [(S, "", None)]),
        ("rpc-abort-tool", [(S, "", None)]),
        ("rpc-abort-with-dialog", [(S, "", None)]),
        ("rpc-empty-answer", [(D, "", None)]),
        ("json-error-401", [(F, "", "401 Incorrect API key provided")]),
    ],
)
def test_retries_aborts_and_errors_are_told_apart(
    name: str, ends: list[tuple[Outcome, str, str | None]]
) -> None:
    """Each recording by name, with the end it must have."""
    (path,) = [path for path in STDOUT if path.name.split(".")[0] == name]

    replay = replay_stdout(path.read_bytes())

    assert [(end.outcome, end.answer, end.error) for end in replay.ends] == ends


@needs_shared
@pytest.mark.parametrize(
    ("name", "tools"),
    [
        ("rpc-tool-ok", [("bash", False, 0)]),
        ("rpc-abort-tool", [("bash", True, None)]),
        (
            "json-tool-fail",
            [("bash", True, 3), ("read", True, None), ("edit", True, None), ("nosuchtool", True, None)],
        ),
    ],
)
def test_tools_are_read_from_the_recordings(name: str, tools: list[tuple[str, bool, int | None]]) -> None:
    """Name, failure and exit code; every end carries its arguments."""
    (path,) = [path for path in STDOUT if path.name.split(".")[0] == name]

    ended = [event for event in replay_stdout(path.read_bytes()).events if isinstance(event, ToolEnded)]

    assert [(tool.tool, tool.is_error, tool.exit_code) for tool in ended] == tools
    assert all(tool.arguments for tool in ended)


# ---- our own


def line(**record: object) -> bytes:
    """One line as Pi writes it."""
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def assistant(text: str, stop: str = "stop") -> bytes:
    """A finished message."""
    content = [{"type": "text", "text": text}]
    return line(type="message_end", message={"role": "assistant", "content": content, "stopReason": stop})


BEGIN = line(type="agent_start")
SETTLED = line(type="agent_settled", aborted=False)

DIALOG = b"""{"id":"r1","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
{"type":"agent_start"}
{"type":"message_end","message":{"role":"system","content":"","sections":{"preamble":"You are"}}}
{"type":"tool_execution_start","toolCallId":"call_1","toolName":"bash","args":{"command":"rm -f victim.txt"}}
{"type":"extension_ui_request","id":"83a3","method":"select","title":"Allow?","options":["Allow once","Deny"]}
{"type":"tool_execution_end","toolCallId":"call_1","toolName":"bash","result":{"content":[{"type":"text",\
"text":"Denied by the user"}],"details":{}},"isError":true}
{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"Tool said: no"}],\
"stopReason":"stop"}}
{"type":"agent_end","messages":[],"willRetry":false}
{"type":"agent_settled","aborted":false}
"""
RETRIED = b"""{"type":"agent_start"}
{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"500"}}
{"type":"agent_end","messages":[],"willRetry":true}
{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":300,"errorMessage":"500: boom"}
{"type":"agent_start"}
{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Hello"}}
{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"Hello"}],"stopReason":"stop"}}
{"type":"auto_retry_end","success":true,"attempt":1}
{"type":"agent_settled","aborted":false}
"""


def test_a_denied_tool_is_asked_for_and_told() -> None:
    """A dialog in mid run, from our own recording."""
    replay = replay_stdout(DIALOG, chunk_b=7)

    assert [type(event).__name__ for event in replay.events] == [
        *("Started", "ToolStarted", "Asked", "ToolEnded", "Text", "Ended"),
    ]
    assert [event.options for event in replay.events if isinstance(event, Asked)] == [("Allow once", "Deny")]


def test_a_retried_run_is_one_run() -> None:
    """Failure and second try, from our own recording."""
    replay = replay_stdout(RETRIED, chunk_b=11)

    assert replay.events == [Started(), Retrying(1, 3, 0.3, "500: boom"), Text("Hello"), Ended(D, "Hello")]


def test_a_line_of_7_mb_is_read_and_its_output_capped() -> None:
    """NUL bytes are escaped six-fold by JSON; head and tail are kept."""
    text = "head" + "\0" * 1_200_000 + "tail"
    result = {
        "content": [{"type": "text", "text": text}],
        "structuredContent": {"output": text, "exit_code": 0},
    }
    tool = line(type="tool_execution_end", toolCallId="c", toolName="bash", isError=False, result=result)

    replay = replay_stdout(BEGIN + tool + assistant("ok") + SETTLED)

    (ended,) = [event for event in replay.events if isinstance(event, ToolEnded)]
    assert len(tool) > 7_000_000
    assert (ended.output[:4], ended.output[-4:], ended.exit_code) == ("head", "tail", 0)
    assert len(ended.output.encode()) <= 64 * 1024


def test_line_separators_and_noise_between_records_do_no_harm() -> None:
    """U+2028 inside a string, prints of an extension, empty lines, CR LF, broken UTF-8."""
    noise = b"console.log says hi\n\n\r\n\xff\xfe\n{half\n"

    replay = replay_stdout(
        noise + BEGIN.replace(b"\n", b"\r\n") + noise + assistant("a\u2028b") + noise + SETTLED
    )

    assert replay.events == [Started(), Text("a\u2028b"), Ended(D, "a\u2028b")]


def test_half_a_line_at_the_end_is_a_death() -> None:
    """The process went in the middle of a record."""
    replay = replay_stdout(BEGIN + assistant("so far", "toolUse") + SETTLED[:-20])

    assert replay.ends == [Ended(F, "so far", "died")]
