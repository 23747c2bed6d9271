"""The rules of learning.md 5 on recorded data; run with -s for the top 20 of each."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

from core.model.trace import Trace
from core.rules.failures import Kind, excerpt, judge
from core.rules.mining import Pattern, PatternKey, Tally, rank
from core.rules.recovery import Recovery, find_recoveries
from core.rules.roles import Role, acts, role_of, role_of_tool
from core.rules.shell import describe, parse
from tests.calls import complete
from tests.shared import DATA, needs_shared

pytestmark = needs_shared

_PROGRAM = re.compile(r"[\w.+@~-]*[A-Za-z][\w.+@~-]*(?::[\w.:@+-]+)?")
Recorded = list[tuple[Trace, str]]


def read_lines(path: Path) -> Iterator[dict[str, object]]:
    """Read a file of JSON lines, packed or not."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        yield from map(json.loads, lines)


@cache
def shell_calls() -> Recorded:
    """Give the 250 runs' calls with their output, without those whose command line was cut when recorded."""
    rows = read_lines(DATA / "traces" / "shell_calls.jsonl.gz")
    return [
        (read_row(row), f"{row['out']}\n{row.get('out_tail', '')}")
        for row in rows
        if not row["cmd_truncated"]
    ]


def read_row(row: dict[str, object]) -> Trace:
    """Make a trace of a recorded shell call; its project is the repository of the task."""
    project = row["session"].rpartition("-")[0]
    head = (row["ts"], row["session"], row["session"], row["turn"], project, "mini")
    return Trace(*head, row["tool"], row["isError"], row["returncode"], cmd=row["cmd"])


@cache
def pi_calls() -> Recorded:
    """Give the calls of both Pi sessions with their output."""
    return [call for path in sorted((DATA / "traces").glob("pi_session_*.gz")) for call in read_session(path)]


def read_session(path: Path) -> Iterator[tuple[Trace, str]]:
    """Read one Pi session of format v1."""
    arguments: dict[str, dict[str, object]] = {}
    cwd, turn, run = "", 0, 0
    for row in read_lines(path):
        cwd = row["cwd"] if row["type"] == "session" else cwd
        message = row.get("message", {})
        role = message.get("role")
        run += role == "user"
        turn += role == "assistant"
        if role == "assistant":
            arguments |= {
                one["id"]: one["arguments"] for one in message["content"] if one["type"] == "toolCall"
            }
        elif role == "toolResult":
            given = arguments.get(message["toolCallId"], {})
            output = "".join(part.get("text", "") for part in message["content"])
            head = (message["timestamp"] / 1000, path.name, f"{path.name}{run}", turn, cwd, "pi")
            is_error = bool(message.get("isError"))
            trace = Trace(*head, message["toolName"], is_error, cmd=given.get("command"))
            yield replace(trace, file=given.get("path")), output


def mine(recorded: Recorded) -> tuple[Tally, list[Recovery]]:
    """Complete, count and pair recorded calls."""
    traces = [replace(complete(trace, output), snippet=excerpt(output)) for trace, output in recorded]
    tally = Tally()
    for trace in traces:
        tally.add(trace)
    sessions = groupby(traces, key=lambda trace: trace.session)
    recoveries = [one for _, session in sessions for one in find_recoveries(list(session))]
    for recovery in recoveries:
        tally.recover(recovery)
    return tally, recoveries


def is_look(trace: Trace) -> bool:
    """Say whether nothing in a call acts."""
    if trace.cmd is None:
        return role_of_tool(trace.tool) is Role.LOOK
    return not any(acts(one) for one in parse(trace.cmd).segments)


def test_every_vector_is_right() -> None:
    """Programs and verbs are those that public tools' tests expect."""
    vectors = list(read_lines(DATA / "verbs" / "vectors.jsonl"))

    wrong = [one for one in vectors if not describe(one.pop("command")).items() >= one.items()]

    assert len(vectors) > 50
    assert wrong == []


def test_nearly_every_key_is_a_programs_name() -> None:
    """At most 1 % of the distinct keys on all recorded lines are none."""
    rows = read_lines(DATA / "traces" / "shell_calls.jsonl.gz")
    keys = {parse(row["cmd"]).verb for row in rows}

    odd = {key for key in keys if key is not None and not _PROGRAM.fullmatch(key)}

    print(f"\n{len(keys)} distinct keys, {len(odd)} odd: {sorted(odd)}")
    assert len(odd) <= 0.01 * len(keys)


def test_sixteen_of_pis_flagged_shell_calls_are_no_failures() -> None:
    """Answers and aborts are told from failures as measured by hand."""
    kinds = Counter(
        judge(complete(trace, output), output).kind
        for trace, output in pi_calls()
        if trace.is_error and trace.cmd
    )

    assert (kinds[Kind.ANSWER], kinds[Kind.ABORTED], kinds[Kind.FAILURE]) == (12, 4, 11)


@pytest.mark.parametrize("recorded", [shell_calls, pi_calls])
def test_candidates_rest_on_failures_only(recorded: Callable[[], Recorded]) -> None:
    """No candidate comes from statuses that answer, aborts or red tests."""
    tally, _ = mine(recorded())
    kinds: dict[PatternKey, set[Kind]] = {}
    for trace, output in recorded():
        done = complete(trace, output)
        if done.is_failure:
            kinds.setdefault(PatternKey.of(done), set()).add(judge(done, output).kind)

    found = rank(tally.candidates(), tally.calls, max(trace.ts for trace, _ in recorded()))

    show("candidates", [describe_pattern(one, tally) for one in found])
    assert all(kinds[one.key] == {Kind.FAILURE} for one in found)
    assert not any("grep" in (one.key.verb or "") for one in found)


@pytest.mark.parametrize("recorded", [shell_calls, pi_calls])
def test_nothing_recovers_by_looking(recorded: Callable[[], Recorded]) -> None:
    """Only a failed look is recovered by a look, and then at the same target."""
    _, recoveries = mine(recorded())

    by_looking = [one for one in recoveries if is_look(one.success)]

    kinds = Counter(
        (one.relation.name, one.failure.verb, str(one.failure.error_class), one.text) for one in recoveries
    )
    show("recoveries", [f"{count} {kind}" for kind, count in kinds.most_common()])
    assert len(recoveries) > 0
    assert all(is_failed_look(one) and one.relation.name == "SAME_TARGET" for one in by_looking)


def is_failed_look(recovery: Recovery) -> bool:
    """Say whether what failed was a look."""
    failed = parse(recovery.failure.cmd or "", recovery.failure.snippet).chosen
    return role_of(failed) is Role.LOOK if failed else role_of_tool(recovery.failure.tool) is Role.LOOK


def describe_pattern(pattern: Pattern, tally: Tally) -> str:
    """Say a pattern in one line."""
    key, calls = pattern.key, tally.calls[pattern.key.whole]
    return f"{key.project[-24:]} {key.id} {pattern.failures}/{calls} -> {pattern.last_recovery!r:.90}"


def show(title: str, lines: list[str]) -> None:
    """Print the top 20."""
    print(f"\n{title}: {len(lines)}")
    for line in lines[:20]:
        print(f"  {line[:220]}")
