"""Finding out under whom a command runs, from what the kernel says of its ancestors."""

import os
from pathlib import Path

import pytest

from core.cli import ancestry


def process(proc: Path, pid: int, parent: int, environ: str, name: str = "sh") -> None:
    """Write what the kernel would say of a process."""
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "stat").write_text(f"{pid} ({name}) S {parent} {pid} {pid} 0 -1")
    (folder / "environ").write_text(environ)


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a process table of our own, in which our parent is 100."""
    monkeypatch.setattr(ancestry, "PROC", tmp_path)
    monkeypatch.setattr(os, "getppid", lambda: 100)
    return tmp_path


def test_our_own_environment_comes_first(proc: Path) -> None:
    """Also where nothing is known of the parents."""
    assert [dict(each) for each in ancestry.environments()] == [dict(os.environ), {}]


def test_every_ancestor_is_looked_at(proc: Path) -> None:
    """Up to the first process, nearest first."""
    process(proc, 100, 50, "A=1\0B=x=y\0")
    process(proc, 50, 1, "PI_SESSION_ID=s\0")
    process(proc, 1, 0, "")

    assert list(ancestry.environments())[1:] == [{"A": "1", "B": "x=y"}, {"PI_SESSION_ID": "s"}, {}]


@pytest.mark.parametrize("name", ["a) R 7 (b", "two words", "((", "\n) S 1"])
def test_the_name_of_a_program_does_not_confuse_it(proc: Path, name: str) -> None:
    """A program may call itself anything, brackets and spaces included."""
    process(proc, 100, 50, "", name)
    process(proc, 50, 0, "PI_SESSION_ID=s\0")

    assert {"PI_SESSION_ID": "s"} in list(ancestry.environments())


def test_a_process_that_hides_its_memory_does_not_hide_its_parents(proc: Path) -> None:
    """The bot itself is such a one."""
    process(proc, 100, 50, "")
    (proc / "100" / "environ").unlink()
    process(proc, 50, 0, "CLAUDECODE=1\0")

    assert list(ancestry.environments())[1:] == [{}, {"CLAUDECODE": "1"}]


def test_a_loop_in_the_table_ends(proc: Path) -> None:
    """Process ids may be reused while we look."""
    process(proc, 100, 100, "A=1\0")

    assert len(list(ancestry.environments())) < 100


def test_what_is_no_text_is_read_all_the_same(proc: Path) -> None:
    """An environment is bytes; entries without a name do not count."""
    process(proc, 100, 0, "")
    (proc / "100" / "environ").write_bytes(b"\xff=\xfe\0nonsense\0PI_SESSION_ID=s\0")

    assert list(ancestry.environments())[1]["PI_SESSION_ID"] == "s"


NODE = ["/opt/node", "/opt/pi-coding-agent/dist/cli.js"]
WHOLE = " ".join(NODE)


def run_as(proc: Path, pid: int, parent: int, *argv: str) -> None:
    """Write what the kernel would say of a process that was started like that."""
    process(proc, pid, parent, "")
    (proc / str(pid) / "cmdline").write_bytes(b"".join(each.encode() + b"\0" for each in argv))


@pytest.mark.parametrize("argv", [["pi", "", ""], ["pi   "], NODE, [NODE[0], "--no-warnings", NODE[1]]])
def test_the_outermost_pi_is_found_by_its_title_or_its_program(proc: Path, argv: list[str]) -> None:
    """One that an agent started inside of another does not count."""
    run_as(proc, 100, 90, "pi")
    run_as(proc, 90, 80, "/bin/bash", "-c", "pi -p hello")
    run_as(proc, 80, 70, *argv)
    run_as(proc, 70, 0, "-bash")

    assert ancestry.outermost_pi() == 80


@pytest.mark.parametrize(
    "argv", [["sh", "-c", WHOLE], ["-bash", "-c", WHOLE], ["/usr/bin/tmux", "new", WHOLE], ["sudo", *NODE]]
)
def test_what_started_pi_is_no_pi(proc: Path, argv: list[str]) -> None:
    """A shell stays above the Pi whose path is in its command line: the person's tickets are Pi's own."""
    run_as(proc, 100, 90, "pi")
    run_as(proc, 90, 0, *argv)

    assert ancestry.outermost_pi() == 100


def test_without_a_pi_above_there_is_none(proc: Path) -> None:
    """A person's own shell, and a process whose command line cannot be read."""
    run_as(proc, 100, 90, "bash")
    process(proc, 90, 0, "")

    assert ancestry.outermost_pi() is None
