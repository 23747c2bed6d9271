"""Does a call hunt a fault: a failing test, an error searched for, a stack trace read (learning.md 2)."""

import re
from collections.abc import Sequence

from core.rules.shell import Command
from core.rules.test_runs import could_not_run, is_red, is_test_run
from core.rules.toolbox import Act, Call, is_search

_STACK_TRACE = re.compile(
    r"Traceback \(most recent call last\)|^\s+at .+[(:]\S+:\d+|File \"[^\"]+\", line \d+"
    r"|panicked at|goroutine \d+ \[|Exception in thread|^Caused by: |Segmentation fault"
    r"|Uncaught \w*(?:Error|Exception)|core dumped",
    re.MULTILINE,
)
_ERROR_WORDS = re.compile(
    r"\b(?:errors?|exceptions?|traceback|panic|fail(?:ed|ure|ures|s)?|stack ?trace|segfault|crash\w*"
    r"|undefined is not|cannot|can't|not found|not defined|erreurs?)\b"
    r"|\w(?:Error|Exception):",
    re.IGNORECASE,
)
_CODE_OF_ERRORS = re.compile(r"\b(?:class|def|raise|throw|except|catch|import|new)\b")
_LOG_FILE = re.compile(r"\.log(?:\.\d+)?$|(?:^|/)logs?/|stderr|core\.\d+$")
_LOG_VERBS = frozenset(
    {
        "docker:logs",
        "kubectl:logs",
        "journalctl",
        "dmesg",
        "gdb",
        "lldb",
        "pdb",
        "git:bisect",
        "docker-compose:logs",
    }
)


def hunts(call: Call, act: Act, command: Command | None) -> bool:
    """Say whether the call looks for a fault; `command` is the parsed command line of a shell."""
    if act not in {Act.READ, Act.SEARCH, Act.SHELL}:
        return False
    if _STACK_TRACE.search(call.output) or (call.file and _LOG_FILE.search(call.file)):
        return True
    if act is Act.SEARCH:
        return _is_error_search(call.cmd or "")
    if act is Act.SHELL and command is None:
        return call.is_error and "test" in call.tool.lower()  # a tool of its own: run_tests
    return command is not None and (_is_failing_test(call, command) or _hunts_in_shell(command))


def _is_failing_test(call: Call, command: Command) -> bool:
    if not is_test_run(command):
        return False
    is_failing = call.is_error or call.exit_code not in (None, 0)
    return is_red(call.output) or (is_failing and not could_not_run(command, call.exit_code, call.output))


def _hunts_in_shell(command: Command) -> bool:
    for segment in command.segments:
        words = [each for each in segment.args if not each.startswith("-")]
        if not {segment.program, segment.verb}.isdisjoint(_LOG_VERBS):
            return True
        if is_search(segment) and words and (_is_error_search(words[0]) or _is_log(words[1:])):
            return True
        if segment.program in {"cat", "less", "tail", "head"} and _is_log(words):
            return True
    return False


def _is_log(words: Sequence[str]) -> bool:
    return any(_LOG_FILE.search(each) for each in words)


def _is_error_search(pattern: str) -> bool:
    """Tell a search for an error from one for the code that raises errors."""
    return bool(_ERROR_WORDS.search(pattern)) and not _CODE_OF_ERRORS.search(pattern)
