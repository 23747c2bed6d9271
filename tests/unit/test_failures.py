"""What is a failure, and of which class (learning.md 5.1)."""

import pytest

from core.model.trace import ErrorClass, Trace
from core.rules.failures import Kind, excerpt, judge, read_exit_code
from tests.calls import complete


def make(cmd: str, text: str = "", exit_code: int | None = 1, **fields: object) -> Trace:
    """Make a shell call that its tool flagged."""
    given = {"is_error": True, "exit_code": exit_code, "cmd": cmd, "snippet": text, **fields}
    return Trace(ts=1.0, session="s", run="r", turn=1, project="/p", agent="pi", tool="bash", **given)


@pytest.mark.parametrize(
    ("cmd", "text", "exit_code"),
    [
        ("grep foo x", "", 1),
        ("cd web && rg foo | head", "(no output)\n\nCommand exited with code 1", None),
        ("ls | grep foo", "", 1),
        ("diff a b", "< error: No such file\n> b", 1),
        ("[ -f x ] && cat x", "", 1),
        ("which foo", "which: no foo in (/bin)", 1),
        ("git diff --exit-code", "+error: x", 1),
        ("systemctl is-active x", "inactive", 3),
    ],
)
def test_a_status_that_answers_is_no_failure(cmd: str, text: str, exit_code: int | None) -> None:
    """A search that finds nothing is an answer."""
    assert judge(complete(make(cmd, text, exit_code))).kind is Kind.ANSWER


@pytest.mark.parametrize(
    ("cmd", "text", "exit_code"),
    [
        ("grep foo x", "grep: x: No such file or directory", 2),
        ("cd nowhere && grep foo x", "bash: line 1: cd: nowhere: No such file or directory", 1),
        ("git diff", "fatal: not a git repository", 1),
        ("npm run check", "error TS2339: no such property", 2),
    ],
)
def test_an_error_text_makes_it_a_failure(cmd: str, text: str, exit_code: int) -> None:
    """A status of a search is no answer when something went wrong."""
    assert judge(make(cmd, text, exit_code)).kind is Kind.FAILURE


def test_aborts_and_refusals_are_no_failures() -> None:
    """What a person stopped or forbade says nothing about the command."""
    assert judge(make("npm test", aborted=True, exit_code=-1)).kind is Kind.ABORTED
    assert judge(make("npm test", "...\n\nCommand aborted")).kind is Kind.ABORTED
    assert judge(make("rm x", "Permission to use Bash has been denied")).kind is Kind.REFUSED


@pytest.mark.parametrize(
    ("cmd", "text", "exit_code"),
    [
        ("npm test", "1 failing: expected 2 to equal 3", 1),
        ("pytest tests", "==== 1 failed, 3 passed in 0.1s ====", 1),
        ("pytest", "E   ModuleNotFoundError\n== 1 failed, 3 passed in 0.1s ==", 1),
        ("bin/test sympy/core", "tests finished: 12 passed, 1 failed, in 1.2 seconds", 1),
        ("python tests/runtests.py i18n", "Ran 3 tests in 1s\n\nFAILED (errors=1)", 1),
        ("go test ./...", "--- FAIL: TestX", 1),
        ("cargo test | tail", "test result: FAILED. 1 passed", 0),
    ],
)
def test_a_red_test_run_is_a_result(cmd: str, text: str, exit_code: int) -> None:
    """Red tests are labelled and do not count, whether a pipe hides the status or not."""
    done = complete(make(cmd, text, exit_code, is_error=exit_code != 0))

    assert (done.error_class, done.is_failure) == (ErrorClass.TEST_FAILURE, False)


@pytest.mark.parametrize(
    ("cmd", "text", "exit_code", "expected"),
    [
        ("pytest", "bash: line 1: pytest: command not found", 127, "command-not-found"),
        ("python -m pytest", "/usr/bin/python: No module named pytest", 1, "import-error"),
        ("pytest x", "ERROR collecting x\nInterrupted: 1 error during collection", 2, "import-error"),
        ("pytest x.py", "ERROR: file or directory not found: x.py", 4, "no-such-file"),
        ("pytest --foo", "pytest: error: unrecognized arguments: --foo", 4, "usage"),
        ("npm test", 'npm ERR! Missing script: "test"', 1, "usage"),
        ("npm test", "Command timed out after 120 seconds", 124, "timeout"),
    ],
)
def test_a_runner_that_could_not_run_failed(cmd: str, text: str, exit_code: int, expected: str) -> None:
    """Not found, import, collection, usage and time-out are mistakes."""
    assert complete(make(cmd, text, exit_code)).error_class == expected


@pytest.mark.parametrize(
    ("text", "exit_code", "expected"),
    [
        ("", 126, "permission-denied"),
        ("permission denied while trying to connect to the Docker daemon socket", 1, "permission-denied"),
        ("sh: 1: foo: not found", 1, "command-not-found"),
        ("make: *** No rule to make target 'x'", 2, "usage"),
        ('error Command "foo" not found.', 1, "usage"),
        ("error: unknown option '--x'", 1, "usage"),
        ("Error: Cannot find module './x'", 1, "import-error"),
        ("bash: -c: line 4: syntax error near unexpected token `)'", 2, "syntax"),
        ("curl: (6) Could not resolve host: x", 6, "network"),
        ("CONFLICT (content): Merge conflict in a", 1, "conflict"),
        (
            "Traceback (most recent call last):\n  open('No module named x')\nFileNotFoundError: x",
            1,
            "no-such-file",
        ),
        ("! [rejected] main -> main (fetch first)", 1, "conflict"),
        ("Retrying: Temporary failure in name resolution\nNo matching distribution found", 1, "network"),
        ('error: Script not found "build"', 1, "usage"),
        ("npm ERR! code E401", 1, "permission-denied"),
        ("half a character: \ud800", 1, "other"),
        ("boom", 1, "other"),
    ],
)
def test_a_failure_gets_its_class(text: str, exit_code: int, expected: str) -> None:
    """Status first, then the text; of a traceback its last line."""
    assert complete(make("tool run", text, exit_code)).error_class == expected


def test_text_is_sniffed_only_without_flag_and_status() -> None:
    """A success that prints an error stays one."""
    text = "ls: cannot access 'x': No such file or directory"

    assert judge(make("ls x", text, 0, is_error=False)).kind is Kind.SUCCESS
    assert judge(make("ls x", text, None, is_error=None)).kind is Kind.FAILURE


def test_complete_fills_what_a_record_lacks() -> None:
    """Status and verb are computed, and the other tools have their own name."""
    done = complete(
        make("cd web && npm run build", "npm error Missing script\n\nCommand exited with code 1", None)
    )
    read = complete(Trace(1.0, "s", "r", 1, "/p", "pi", "read", False, file="a"))

    assert (done.verb, done.exit_code, done.error_class) == ("npm:build", 1, ErrorClass.USAGE)
    assert (read.verb, read.error_class) == ("read", None)
    assert read_exit_code("fine") is None


def test_the_excerpt_shows_the_line_that_says_most() -> None:
    """Of a long output the error is kept, not the head."""
    output = "noise\n" * 200 + "npm ERR! Missing script: test\n" + "tail\n" * 200

    assert excerpt(output).startswith("npm ERR! Missing script: test")
    assert len(excerpt(output)) <= 300
    assert excerpt("short\n\nCommand exited with code 2") == "short"
