"""Test runs: a red one is a result, unless the runner could not run (learning.md 5.1)."""

import re
from functools import lru_cache

from core.rules.error_classes import finder
from core.rules.grammar import Segment
from core.rules.programs import word_set
from core.rules.shell import Command

RUNNERS = word_set(
    "pytest py.test unittest nose nosetests nose2 trial tox nox vitest jest mocha ava tap tape"
    " jasmine karma rspec minitest phpunit pest paratest ctest gotestsum behave cucumber codecept"
    " busted bats ginkgo stestr zope-testrunner runtests.py"
)
_VERB = re.compile(
    r"[^:]+:(?:.*:)?(?:tests?|spec|specs|nextest|e2e)(?:[:_-].*)?|(?:cypress|playwright):(?:run|test)"
    r"|mvnw?:verify"
)
_SCRIPT = re.compile(r"(?:.*/)?(?:run[-_]?tests?|tests?)\.(?:py|sh|js|ts|rb)")
_LOCAL_RUNNER = re.compile(r"(?:run[-_]?)?tests?")
_INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*|node|ruby|php|deno|bun|perl")

_RED = r"""
    ^=*\ ?(?:\d+\ \w+,\ )*\d+\ (?:failed|errors?)\b[^\n]*\bin\ [\d.]+\ ?s
    | ^FAILED\ \((?:failures|errors|skipped|expected\ failures|unexpected\ successes)= | ^FAILED\ \S+::
    | ^\s*[1-9]\d*\ (?:failing|failed)\b | ^\s*Tests?\s+.*\b[1-9]\d*\ failed
    | \bTests:\s+(?:\d+\ \w+,\ )*[1-9]\d*\ failed | ^\s*FAIL\s+\S+
        | ^---\ FAIL:
    | test\ result:\ FAILED | ^FAILURES! | \d+\ examples?,\ [1-9]\d*\ failures? | ^not\ ok\ \d+
        | Failures:\ [1-9]
    | ^Tests\ run:.*(?:Failures|Errors):\ [1-9] | There\ (?:was|were)\ \d+\ failures? | BUILD\ FAILED.*test
    | ^\#\ fail\ [1-9] | \d+\ tests?\ failed"""
_SUMMARY = re.compile(
    r"^=*\ ?.*\d+ (?:passed|failed)\b|^Ran \d+ tests?|^Tests?:\s+.*\d+ (?:passed|failed)"
    r"|test result: (?:ok|FAILED)"
    r"|\d+ (?:passing|failing)|\d+ examples?, \d+ failures?|^Tests run:|^--- FAIL:",
    re.MULTILINE,
)
_NOT_COLLECTED = re.compile(
    r"errors? (?:during|while) collecti|ERROR collecting|_FailedTest|Failed to import test module|conftest"
    r"|\[(?:setup|build) failed\]|could not compile|Test suite failed to run|Failed Suites"
    r"|An error occurred while loading|COMPILATION ERROR|error TS\d+",
)
_NOT_STARTED = re.compile(
    r"command not found|: not found$|No module named \S*(?:pytest|unittest|nose|tox)|Missing script"
    r"|[Uu]nknown option"
    r"|unrecognized arguments|^(?:\S+: )?usage:|No rule to make target|file or directory not found"
    r"|^ERROR: not found:"
    r"|ERROR: usage|can't open file|Cannot find module|timed out after|[Uu]nknown command|unexpected argument"
    r"|Permission denied|No such file or directory|is not recognized as|npm (?:ERR!"
    r"|error) code (?:ENOENT|EJSONPARSE)"
    r"|Could not find a script|no such (?:command|subcommand)|ModuleNotFoundError|ImportError|SyntaxError",
    re.MULTILINE,
)
_COULD_NOT = frozenset({124, 126, 127})
_PYTEST_COULD_NOT = frozenset({2, 3, 4})


def is_test_run(command: Command) -> bool:
    """Say whether the command that counts runs tests."""
    chosen = command.chosen
    if chosen is None:
        return False
    if chosen.program in RUNNERS or (chosen.verb and ":" in chosen.verb and _VERB.fullmatch(chosen.verb)):
        return True
    return _runs_test_script(chosen)


def is_red(text: str) -> bool:
    """Say whether a test runner reports failing tests in the text."""
    return finder(_RED, ignores_case=False)(text) is not None


def could_not_run(command: Command, exit_code: int | None, text: str) -> bool:
    """Say whether the runner itself failed: not found, import, collection, usage, time-out."""
    if exit_code in _COULD_NOT:
        return True
    program = command.chosen.program if command.chosen else None
    if program in ("pytest", "py.test") and exit_code in _PYTEST_COULD_NOT:
        return True
    if _NOT_COLLECTED.search(text):
        return True
    return _SUMMARY.search(text) is None and _NOT_STARTED.search(text) is not None


def _runs_test_script(chosen: Segment) -> bool:
    is_runner, is_script, is_interpreter = _traits(chosen.program or "")
    if is_script or (is_runner and chosen.is_local) or "--test" in chosen.args:
        return True
    if not is_interpreter:
        return False
    script = next((one for one in chosen.args if not one.startswith("-")), "")
    return bool(_SCRIPT.fullmatch(script)) or script.rpartition("/")[2] in RUNNERS


@lru_cache(maxsize=1_024)
def _traits(program: str) -> tuple[bool, bool, bool]:
    """Say whether a program's name is a local test runner's, a test script's, an interpreter's."""
    return (
        _LOCAL_RUNNER.fullmatch(program) is not None,
        _SCRIPT.fullmatch(program) is not None,
        _INTERPRETER.fullmatch(program) is not None,
    )
