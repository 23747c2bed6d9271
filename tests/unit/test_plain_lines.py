"""Plain lines are read without the grammar, to the very same result (learning.md 5.2)."""

import gzip
import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.rules import plain_lines, shell
from core.rules.shell import Command
from tests.shared import DATA, needs_shared

CALLS = DATA / "traces/shell_calls.jsonl.gz"
MISREAD = re.compile(r"\|[^|&;\n]*\|[^|&;\n]*(?:&&|\|\|)")
"""Of some lines `a | b | c || d` the grammar makes `a | b | (c || d)`: there the plain reading is right."""
PIECES = (
    "a", "ls ", "git commit", " ", ";", "|", "&&", " || ", " 2>&1", "2>/dev/null", "'x y'", '"q r"', " -m ",
    "./b", "=", "1", "%", "^", "@", ":", "+", ",", "cd d", "bash -c 'ls; npm test'", "echo ", "true", "!",
    "time ", "{", "sudo ", " # c", "*", "~", "in ", "-", "$x", "\\", "A=b ", "\n", "# c\n", "cat f", "\n\n",
    " > f.txt", " >> out/a ", ">g", " <<'E'", " <<E", "\nE\n", "\nE", " E", "E2\n",
    "python - <<'E'\nx (\nE\n", "cat > h <<E\nx\nE\n", "x = '1'\n", "bash <<'E'\n",
    " > 5", " > /dev/tty", "kill %1", "exec ", '"a\nb"',
)  # fmt: skip


def by_grammar(line: str) -> Command:
    """Read a line with the grammar, plain or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_lines, "split", lambda _text: None)
        return shell._read(line)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("npm test", [[["npm", "test"]]]),
        ("cd web && npm test 2>&1 | tail -5;", [[["cd", "web"]], [["npm", "test"]], [["tail", "-5"]]]),
        ("grep -n 'def foo' \"a b\"", [[["grep", "-n", "def foo", "a b"]]]),
        ("make # all\n\nls", [[["make"]], [["ls"]]]),
        ("cat <<'EOF' > a.py\nx = $(1\nEOF\npython a.py", [[["cat"]], [["python", "a.py"]]]),
        ("cat <<EOF\n$x\nEOF", None),
        ("cat <<EOF\nx\nEOF2\nEOF", None),
        ("bash <<EOF\nls\nEOF", None),
        ('echo "$HOME"', None),
        ("for f in x; do ls; done", None),
        ("A=b make", None),
        ("cat <<EOF", None),
        ("ls > out.txt", [[["ls"]]]),
        ("ls > 5", None),
        ("make &", None),
        ("'quoted program' x", None),
        ("ls && ", None),
        ("", None),
    ],
)
def test_a_plain_line_is_split_and_others_are_left_to_the_grammar(
    line: str, expected: list[list[list[str]]] | None
) -> None:
    """Only what is surely plain."""
    found = plain_lines.split(line)

    assert (None if found is None else [one.commands for one in found]) == expected


@pytest.mark.parametrize(
    "piece", ["a | ", "a 2>&1 | ", "a; ", "a && ", "a\n", "a # b\n", "cat <<'E'\nx\nE\n"]
)
def test_a_line_of_very_many_commands_is_read_as_by_the_grammar(piece: str) -> None:
    """Its limits hold: nothing is deeper or longer here than there."""
    for count in (30, 39, 40, 41, 60, 300):
        line = piece * count + "b"

        assert shell._read(line) == by_grammar(line)


def test_a_file_that_is_written_belongs_to_the_whole_statement() -> None:
    """As the grammar has it: the redirection stands over the list."""
    found = plain_lines.split("cd a && cat <<'E' > f.py\nx\nE\nls; make > log && ls")

    assert found is not None
    assert [(one.written, one.ends) for one in found] == [
        (None, False), ("f.py", True), (None, True), ("log", False), (None, True),
    ]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join))
def test_any_line_means_the_same_with_and_without_the_grammar(line: str) -> None:
    """Verb, programs, arguments, directory: all of it."""
    assume(not MISREAD.search(line))

    assert shell._read(line) == by_grammar(line)


@needs_shared
def test_real_lines_mean_the_same_and_most_are_plain() -> None:
    """Lines that agents really typed."""
    rows = gzip.decompress(CALLS.read_bytes()).decode().splitlines()[::4]
    lines = [json.loads(row)["cmd"] for row in rows]
    plain = [line for line in lines if plain_lines.split(line) is not None]

    assert [line for line in plain if shell._read(line) != by_grammar(line)] == []
    assert len(plain) > 0.9 * len(lines)
