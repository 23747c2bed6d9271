"""Is a finished tool call a failure, and of which class (learning.md 5.1)."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from core.model.trace import TEXT_LIMIT, ErrorClass, Trace
from core.rules.error_classes import classify, find_evidence, finder
from core.rules.grammar import Segment
from core.rules.programs import word_set
from core.rules.roles import Role, role_of
from core.rules.shell import Command, parse
from core.rules.test_runs import could_not_run, is_red, is_test_run

_TEXT_LIMIT = 12_000

ANSWERS: dict[str, frozenset[int]] = {
    **dict.fromkeys(
        word_set(
            "grep egrep fgrep zgrep rg ag ack diff cmp test pgrep pidof which whereis type command hash expr"
            " let ps fuser lsof mountpoint sdiff colordiff git:grep git:ls-files git:diff git:show-ref"
            " git:rev-parse git:merge-base git:check-ignore git:config git:symbolic-ref git:ls-remote"
            " git:cat-file kill"
        ),
        frozenset({1}),
    ),
    "git:ls-remote": frozenset({2}),
    "getent": frozenset({1, 2}),
    "systemctl:is-active": frozenset({1, 3, 4}),
    "systemctl:is-enabled": frozenset({1, 3, 4}),
    "systemctl:is-failed": frozenset({1}),
    "jq": frozenset({1}),
}
"""Programs (or verbs) whose status is an answer, and which statuses are."""

_ANSWER_NEEDS = {
    "git:diff": "--exit-code --quiet --check --no-index",
    "git:rev-parse": "--verify -q --quiet --is-inside-work-tree",
    "git:merge-base": "--is-ancestor",
    "git:cat-file": "-e",
    "git:config": "--get --get-all --get-regexp",
    "git:symbolic-ref": "-q --quiet",
    "git:ls-files": "--error-unmatch",
    "git:ls-remote": "--exit-code",
    "command": "-v -V",
    "kill": "-0",
    "jq": "-e --exit-status",
}
"""Options without which the status of these is none."""

_DIFF_LINE = re.compile(r"^[<>+\-@ ].*$", re.MULTILINE)
_NOTE = re.compile(r"\s*(?:\(no output\)|Command exited with code -?\d+|\[exit code:? -?\d+\])\s*$")
_ABORTED = re.compile(
    r"(?:Command aborted|Operation aborted|Request was aborted|\[Request interrupted by user[^\]]*\])\s*$"
)
_REFUSED = re.compile(
    r"doesn't want to proceed with this tool use|Permission to use \S+ has been denied"
    r"|requested permissions? to|(?:rejected|denied|refused|declined|blocked) by (?:the )?user"
    r"|user (?:rejected|denied|declined|refused)|tool use was rejected|requires approval",
    re.IGNORECASE,
)
_REFUSAL = r"""
    proceed\ with\ this | has\ been\ denied | requested\ permission | by\ (?:the\ )?user | tool\ use\ was
    | user\ (?:rejected|denied|declined|refused) | requires\ approval"""
"""What every refusal holds, looked for first: `re` is slow at `_REFUSED`."""


class Kind(StrEnum):
    """What a finished call was."""

    SUCCESS = "success"
    FAILURE = "failure"
    ANSWER = "answer"
    RED_TESTS = "red-tests"
    ABORTED = "aborted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a call was and, for failures and red test runs, the class of error."""

    kind: Kind
    error_class: ErrorClass | None = None


_SUCCESS = Judgement(Kind.SUCCESS)
_ABORTED_CALL = Judgement(Kind.ABORTED)


def judge(trace: Trace, output: str | None = None) -> Judgement:
    """Judge a call by flag and status first, by text only where there is neither.

    `output` is the whole output where it is still at hand; a stored trace is judged by its snippet.
    """
    text = trace.snippet if output is None else output
    if trace.is_flagged:
        return _judge_error(trace, _shorten(text))
    if trace.aborted:
        return _ABORTED_CALL
    return _judge_unflagged(trace, parse(trace.cmd) if trace.cmd else None, text)


def _judge_error(trace: Trace, text: str) -> Judgement:
    if trace.aborted or _ABORTED.search(text):
        return _ABORTED_CALL
    command = parse(trace.cmd, text) if trace.cmd else None
    if finder(_REFUSAL)(text) and _REFUSED.search(text):
        return Judgement(Kind.REFUSED)
    bare = _strip_notes(text)
    if command and _is_answer(command, trace.exit_code or read_exit_code(text), bare):
        return Judgement(Kind.ANSWER)
    return _judge_flagged(trace, command, bare)


class Findings(NamedTuple):
    """What is computed of a call, by the fields of its trace."""

    verb: str | None
    exit_code: int | None
    error_class: ErrorClass | None
    aborted: bool


def examine(trace: Trace, output: str | None = None) -> Findings:
    """Compute what a record lacks: status, verb and error class; a class given for a failure stays."""
    text = trace.snippet if output is None else output
    if trace.exit_code is None and trace.is_error and (exit_code := read_exit_code(text)) is not None:
        trace = replace(trace, exit_code=exit_code)
    judgement = judge(trace, output)
    is_failure = judgement.kind is Kind.FAILURE
    verb = trace.verb or name_verb(trace.tool, trace.cmd, text if is_failure else "")
    error_class = (trace.error_class if is_failure else None) or judgement.error_class
    return Findings(verb, trace.exit_code, error_class, judgement.kind is Kind.ABORTED)


def name_verb(tool: str, cmd: str | None, error_text: str = "") -> str | None:
    """Name what was done: a command line's verb, any other tool's own name."""
    return tool if cmd is None else parse(cmd, error_text).verb


def read_exit_code(text: str) -> int | None:
    """Read the status from the note that Pi puts under the output of a failed command."""
    match = re.search(r"Command exited with code (-?\d+)\s*$", text[-200:])
    return int(match[1]) if match else None


def excerpt(output: str, limit: int = TEXT_LIMIT) -> str:
    """Choose the part of a failed call's (masked) output that says most, at most `limit` characters."""
    text = _strip_notes(output).strip() or output.strip()
    if len(text) <= limit:
        return text
    evidence = find_evidence(_shorten(text))
    if evidence is None:
        return text[-limit:].lstrip()
    start = max(0, text.find(evidence))
    start = text.rfind("\n", 0, start) + 1 if start - text.rfind("\n", 0, start) < limit // 2 else start
    return text[start : start + limit].rstrip()


def _judge_unflagged(trace: Trace, command: Command | None, text: str) -> Judgement:
    if command and is_test_run(command) and is_red(_shorten(text)):
        return Judgement(Kind.RED_TESTS, ErrorClass.TEST_FAILURE)  # a pipe hides its status
    has_neither = trace.is_error is None and trace.exit_code is None
    if has_neither and (found := classify(_shorten(text), None)) is not ErrorClass.OTHER:
        return Judgement(Kind.FAILURE, found)
    return _SUCCESS


def _judge_flagged(trace: Trace, command: Command | None, text: str) -> Judgement:
    exit_code = trace.exit_code
    if command and _ran_tests(command, text) and not could_not_run(command, exit_code, text):
        return Judgement(Kind.RED_TESTS, ErrorClass.TEST_FAILURE)
    return Judgement(Kind.FAILURE, classify(text, exit_code))


def _ran_tests(command: Command, text: str) -> bool:
    """Say whether the failing command ran tests, if only inside a script; a look beside them did not."""
    chosen = command.chosen
    return is_test_run(command) or (chosen is not None and role_of(chosen) is Role.RUN and is_red(text))


# A status that is an answer


def _is_answer(command: Command, exit_code: int | None, text: str) -> bool:
    asked = [one for one in command.segments if _answers(one, exit_code)]
    if not asked or find_evidence(_DIFF_LINE.sub("", text)):
        return False
    return command.last in asked or not text.strip()


def _answers(segment: Segment, exit_code: int | None) -> bool:
    name = segment.verb if segment.verb in ANSWERS else segment.program
    if name not in ANSWERS or segment.is_local or exit_code not in (ANSWERS[name] | {None}):
        return False
    needed = _ANSWER_NEEDS.get(name)
    return needed is None or not set(needed.split()).isdisjoint(segment.args)


def _strip_notes(text: str) -> str:
    for _ in range(2):
        text = _NOTE.sub("", text)
    return text


def _shorten(text: str) -> str:
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()  # half characters are none to the patterns
    if len(text) <= _TEXT_LIMIT:
        return text
    return f"{text[: _TEXT_LIMIT // 3]}\n{text[-2 * _TEXT_LIMIT // 3 :]}"
