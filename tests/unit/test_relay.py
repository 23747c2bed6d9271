"""What the chat sees of a run while it goes on; pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.draft import MAX_UNITS
from bot.entities import count_units
from bot.outbox import Key
from bot.relay import KEPT_CALLS, SHOWN_CALLS, Progress, command_of
from core.events import Ended, Event, Notice, Outcome, Retrying, Started, Text, ToolEnded, ToolStarted

STOP = ((Key("Stop", "1:r:abcdefghijk:stop"),),)


def progress(*events: Event, language: str = "en") -> Progress:
    """Give the progress after some events, one a second."""
    held = Progress(100.0, language, own_secrets=("own-secret-value",))
    for number, event in enumerate(events, 1):
        held.take(event, 100.0 + number)
    return held


def call(name: str, command: str) -> ToolStarted:
    """Begin a shell call."""
    return ToolStarted(name, "bash", {"command": command})


def done(name: str, *, is_error: bool = False, output: str = "") -> ToolEnded:
    """End it."""
    return ToolEnded(name, "bash", is_error, output, {"command": f"cmd {name}"}, exit_code=int(is_error))


def test_calls_show_how_they_ended() -> None:
    """Running, well and badly ended ones look different; the newest stand last."""
    held = progress(
        call("1", "ls"), done("1"), call("2", "make"), done("2", is_error=True), call("3", "sleep 9")
    )

    lines = held.view(105.0, STOP).text.splitlines()
    assert lines[:3] == ["✓ bash ls", "✗ bash make", "… bash sleep 9"]


def test_only_the_last_calls_are_shown() -> None:
    """The message stays short."""
    held = progress(*(call(str(n), f"step {n}") for n in range(20)))

    text = held.view(200.0, STOP).text
    assert [f"step {n}\n" in text for n in (14, 15, 19)] == [False, True, True] and SHOWN_CALLS == 5


def test_the_running_text_follows_and_a_call_ends_it() -> None:
    """What was said before a call is old news."""
    held = progress(Text("I look "), Text("around."))
    assert "I look around." in held.view(103.0, STOP).text

    held.take(call("1", "ls"), 104.0)
    assert "I look around." not in held.view(104.0, STOP).text


@pytest.mark.parametrize("tail", ["<", "<!-", "<!-- telegr", '<!-- telegram_button {"label":'])
def test_what_may_become_a_hidden_button_is_withheld(tail: str) -> None:
    """telegram.md 1: nobody sees half a marker."""
    text = progress(Text(f"Done.\n{tail}")).view(102.0, STOP).text

    assert "Done." in text and "<" not in text


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (59.9, "59 s"), (61, "1 min 01 s"), (3700, "1 h 01 min"), (-5, "0 s")]
)
def test_the_time_is_shown(seconds: float, shown: str) -> None:
    """Counted from the start on a steady clock (D11)."""
    assert progress().view(100.0 + seconds, STOP).text == f"⏳ {shown}"


def test_a_retry_of_the_provider_is_told_in_the_language_of_the_chat() -> None:
    """With how often and how long; it goes when the agent goes on."""
    retrying = Retrying(2, 3, 4.4, "overloaded")
    held = progress(retrying, language="fr")
    assert "overloaded" in held.view(101.0, STOP).text and "(2" in held.view(101.0, STOP).text

    held.take(Started(), 102.0)
    assert "overloaded" not in held.view(102.0, STOP).text


def test_stop_stands_under_it() -> None:
    """The keyboard is the one given."""
    assert progress(Notice("hm")).view(101.0, STOP).keyboard == STOP


def test_calls_are_kept_without_secrets() -> None:
    """S6: what the analysis sees later is masked before it is kept; a good call keeps no output."""
    held = progress(done("1", is_error=True, output="denied: own-secret-value"), done("2", output="fine"))

    failed, good = held.calls
    assert "own-secret-value" not in failed.error and failed.error.startswith("denied")
    assert (good.error, good.exit_code) == ("", 0)


def test_our_own_secrets_never_reach_the_chat() -> None:
    """S8: an agent that found the bot's token shows a mask, even when it comes in pieces."""
    held = progress(
        call("1", "echo own-secret-value"),
        Text("it is own-sec"),
        Text("ret-value"),
        Notice("own-secret-value"),
    )

    shown = held.view(110.0, STOP).text + held.last_output()
    assert "secret-value" not in shown and "it is" in shown


def test_a_run_of_thousands_of_calls_keeps_the_last() -> None:
    """D17: memory does not grow with the run."""
    held = progress(*(done(str(n)) for n in range(KEPT_CALLS + 50)))

    assert (len(held.calls), held.calls[-1].command) == (KEPT_CALLS, f"cmd {KEPT_CALLS + 49}")


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        ([], "Nothing yet."),
        ([call("1", "make")], "bash make"),
        ([call("1", "make"), Text(" so far ")], "so far"),
        ([Text("x" * 2000)], "…" + "x" * 600),
    ],
)
def test_the_last_output_is_what_it_did_or_said_last(events: list[Event], shown: str) -> None:
    """For a person who wonders why it is silent."""
    assert progress(*events).last_output() == shown


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"command": "ls"}, "ls"),
        ({"path": "a.py", "text": "x"}, "a.py"),
        ({"other": "words"}, "words"),
        ({"command": "", "query": "q"}, "q"),
        ({"command": ["ls"], "n": 1}, ""),
        ({}, ""),
    ],
)
def test_one_line_says_what_a_call_does(arguments: dict[str, object], line: str) -> None:
    """The command, else the file, else the first text."""
    assert command_of(arguments) == line


@given(st.lists(st.text(max_size=400), max_size=12))
def test_a_view_always_fits(texts: list[str]) -> None:
    """D14: floods, control characters and lone surrogates make no message that Telegram refuses."""
    held = progress()
    for number, text in enumerate(texts):
        held.take(ToolStarted(str(number), text[:20], {"command": text * 9}), 101.0)
        held.take(Text(text * 9), 101.0)
        held.take(Notice(text * 9), 101.0)
    view = held.view(102.0, STOP)

    view.text.encode()
    assert 0 < count_units(view.text) <= MAX_UNITS


def test_the_end_clears_the_notice() -> None:
    """An old warning does not outlive the run."""
    held = progress(Notice("slow disk"), Ended(Outcome.DONE, "ok"))

    assert "slow disk" not in held.view(103.0, STOP).text
