"""The domain of a run, from what its tools did."""

import pytest

from core.model.lesson import Domain
from core.model.trace import ErrorClass, Trace
from core.rules.domains import Call, call_of_tool, call_of_trace, domain_of
from core.rules.toolbox import Act, name_act

RED = "FAILED tests/test_a.py::test_sum - assert 1 == 2\n1 failed in 0.02s"


def bash(cmd: str, output: str = "", *, fails: bool = False) -> Call:
    """Make a shell call."""
    return Call("bash", None, cmd, fails, output, 1 if fails else 0)


def read(file: str) -> Call:
    """Make a read that worked."""
    return Call("read", file)


def edit(file: str) -> Call:
    """Make an edit that worked."""
    return Call("edit", file)


def write(file: str) -> Call:
    """Make a write that worked."""
    return Call("write", file)


def test_a_red_test_before_the_first_edit_is_debug() -> None:
    """Something failed and was then mended."""
    calls = [bash("pytest -q", RED, fails=True), read("a.py"), edit("a.py"), bash("pytest -q")]

    assert domain_of(calls) is Domain.DEBUG


def test_a_red_test_after_the_edits_is_verification() -> None:
    """95 % of real runs contain a test command."""
    calls = [read("a.py"), read("b.py"), edit("a.py"), edit("b.py"), bash("pytest", RED, fails=True)]

    assert domain_of(calls) is Domain.REFACTORING


def test_a_green_test_before_the_edits_says_nothing() -> None:
    """A base line is no hunt."""
    calls = [bash("npm test", "5 passing"), edit("a.ts"), edit("b.ts")]

    assert domain_of(calls) is Domain.REFACTORING


def test_a_red_test_hidden_by_a_pipe_is_debug() -> None:
    """`pytest | tail` ends with status 0."""
    assert domain_of([bash("pytest | tail -5", RED), edit("a.py")]) is Domain.DEBUG


def test_a_runner_that_could_not_run_is_no_failing_test() -> None:
    """`npm test` without such a script tested nothing."""
    missing = bash("npm test", 'npm ERR! Missing script: "test"', fails=True)

    assert domain_of([missing, edit("a.ts"), edit("b.ts")]) is Domain.REFACTORING


@pytest.mark.parametrize(
    "call",
    [
        bash('grep -rn "TypeError: x is undefined" src'),
        bash("rg -i 'failed to connect' ."),
        bash("tail -50 logs/app.log"),
        bash("docker logs api"),
        bash("git bisect start"),
        bash("python app.py", "Traceback (most recent call last):\n  File", fails=True),
        Call("Grep", "src", "NullPointerException: "),
        Call("read", "/var/log/app.log"),
        Call("run_tests", is_error=True, output="2 failed"),
    ],
)
def test_searching_for_an_error_before_the_first_edit_is_debug(call: Call) -> None:
    """Error search, stack trace, log: the other signs of a hunt."""
    assert domain_of([call, read("a.py"), edit("a.py")]) is Domain.DEBUG


@pytest.mark.parametrize(
    "cmd", ['grep -n "class ValidationError" src', 'grep -rn "raise ValueError" src', "rg handler ."]
)
def test_searching_for_code_is_no_error_search(cmd: str) -> None:
    """Code that raises errors is code."""
    assert domain_of([bash(cmd), read("a.py")]) is Domain.REVIEW


def test_new_files_are_a_feature() -> None:
    """Written files that were not there before."""
    assert domain_of([read("app.py"), write("api.py"), write("routes.py"), edit("app.py")]) is Domain.FEATURE


def test_writing_over_a_file_that_was_read_is_no_new_file() -> None:
    """A whole-file write is an edit."""
    assert (
        domain_of([read("/srv/app/a.py"), write("a.py"), read("b.py"), write("b.py")]) is Domain.REFACTORING
    )


def test_a_failed_read_does_not_make_a_file_known() -> None:
    """It was looked for and was not there."""
    missing = Call("read", "notes.md", None, True, "ENOENT")

    assert domain_of([missing, write("notes.md")]) is Domain.FEATURE


def test_several_existing_files_and_few_new_ones_are_refactoring() -> None:
    """One extracted module does not make a feature."""
    calls = [edit(f"src/{name}.py") for name in "abcdef"] + [write("src/common.py")]

    assert domain_of(calls) is Domain.REFACTORING


def test_words_of_the_prompt_break_a_tie() -> None:
    """Six edits and a new file: what was asked decides."""
    calls = [edit(f"src/{name}.py") for name in "abcdef"] + [write("src/common.py")]

    assert domain_of(calls, "Ajoute une nouvelle fonctionnalité") is Domain.FEATURE
    assert domain_of(calls, "Renomme et découpe ce module") is Domain.REFACTORING


def test_words_of_the_prompt_decide_nothing_without_a_tie() -> None:
    """What was done counts."""
    assert domain_of([read("a.py")], "Fix the bug and add a feature") is Domain.REVIEW
    assert domain_of([], "Fix the bug") is Domain.GENERAL


def test_reading_and_searching_alone_is_review() -> None:
    """Nothing modified, also with a test run among it."""
    calls = [read("a.py"), bash("rg -n foo src"), bash("git diff main"), bash("pytest -q", "3 passed")]

    assert domain_of(calls) is Domain.REVIEW


@pytest.mark.parametrize("calls", [[], [edit("a.py")], [bash("npm install")], [bash("git push")]])
def test_what_is_not_clear_is_general(calls: list[Call]) -> None:
    """One changed file, an installation, nothing at all."""
    assert domain_of(calls) is Domain.GENERAL


def test_failed_edits_change_nothing() -> None:
    """An edit whose text was not found."""
    failed = Call("edit", "a.py", None, True)

    assert domain_of([read("a.py"), read("b.py"), failed, Call("edit", "b.py", None, True)]) is Domain.REVIEW


def test_scratch_files_are_neither_features_nor_edits() -> None:
    """A reproduction script comes before the hunt, not after it."""
    calls = [write("/tmp/try.py"), write("reproduce_issue.py"), bash("pytest", RED, fails=True), edit("a.py")]

    assert domain_of(calls) is Domain.DEBUG


def test_files_removed_again_are_no_feature() -> None:
    """Helpers that the agent cleaned up."""
    calls = [write("check.py"), bash("python check.py"), bash("rm check.py"), edit("a.py"), edit("b.py")]

    assert domain_of(calls) is Domain.REFACTORING


@pytest.mark.parametrize(
    ("cmds", "expected"),
    [
        (["cat a.py", "sed -i 's/x/y/' a.py", "cat b.py", "sed -i 's/x/y/' b.py"], Domain.REFACTORING),
        (["cat > src/new.py << 'EOF'\nprint(1)\nEOF", "python src/new.py"], Domain.FEATURE),
        (["git mv a.py b.py", "git mv c.py d.py"], Domain.REFACTORING),
        (["ls -la", "cat README.md | head -20", "find . -name '*.py'"], Domain.REVIEW),
        (["pytest > /dev/null 2>&1; cat a.py", "cat b.py 2>/dev/null"], Domain.REVIEW),
        (["bash -lc 'cd src && cat a.py'"], Domain.REVIEW),
    ],
)
def test_an_agent_with_a_shell_alone_is_understood(cmds: list[str], expected: Domain) -> None:
    """Reading, editing and creating by command line."""
    assert domain_of([bash(cmd) for cmd in cmds]) is expected


def test_a_patch_names_its_files() -> None:
    """Codex edits by `apply_patch`, several files at once."""
    added = "*** Begin Patch\n*** Add File: src/a.ts\n+x\n*** End Patch"
    updated = "*** Begin Patch\n*** Update File: a.ts\n*** Update File: b.ts\n*** End Patch"

    assert domain_of([Call("apply_patch", None, added)]) is Domain.FEATURE
    assert domain_of([Call("apply_patch", None, updated)]) is Domain.REFACTORING


@pytest.mark.parametrize(
    ("tool", "act"),
    [
        *(
            (name, Act.READ)
            for name in ("read", "Read", "cat", "open", "view_file", "read_many_files", "mcp__fs__read_file")
        ),
        *(
            (name, Act.SEARCH)
            for name in ("grep", "Glob", "LS", "search_file_content", "codebase_search", "list_dir")
        ),
        *(
            (name, Act.EDIT)
            for name in ("Edit", "MultiEdit", "apply_patch", "str_replace", "search_replace", "NotebookEdit")
        ),
        *(
            (name, Act.WRITE)
            for name in ("write", "Write", "create", "write_file", "mcp__fs__write_file", "createFile")
        ),
        *(
            (name, Act.SHELL)
            for name in ("bash", "Bash", "shell", "exec_command", "run_terminal_cmd", "local_shell")
        ),
        *((name, Act.OTHER) for name in ("TodoWrite", "WebFetch", "Task", "update_plan", "frobnicate")),
    ],
)
def test_other_agents_tools_are_known_by_their_words(tool: str, act: Act) -> None:
    """Names of Pi, Claude Code, Codex, Gemini, Cursor and MCP servers."""
    assert name_act(tool) is act


def test_an_editor_tool_with_commands_of_its_own_is_understood() -> None:
    """`str_replace_editor view` changes nothing."""
    assert domain_of([Call("str_replace_editor", "a.py", "view")]) is Domain.REVIEW
    assert domain_of([Call("str_replace_editor", "a.py", "create")]) is Domain.FEATURE


def test_arguments_of_any_agent_become_a_call() -> None:
    """`path`, `file_path`, `command` as a list: one call."""
    call = call_of_tool("Edit", {"file_path": "a.py", "old_string": "x"}, False)
    shell = call_of_tool("shell", {"command": ["bash", "-lc", "ls"]}, False)

    assert (call.file, shell.cmd) == ("a.py", "bash -lc ls")


def test_a_record_becomes_a_call() -> None:
    """A red test run is one, whether its tool flagged it or not."""
    trace = Trace(
        1.0,
        "s",
        "r",
        1,
        "/srv/app",
        "pi",
        "bash",
        False,
        0,
        cmd="pytest | tail",
        error_class=ErrorClass.TEST_FAILURE,
    )

    assert call_of_trace(trace).is_error
    assert domain_of([call_of_trace(trace), edit("a.py")]) is Domain.DEBUG
