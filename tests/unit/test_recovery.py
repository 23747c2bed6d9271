"""What worked instead (learning.md 5.4)."""

from dataclasses import replace

import pytest

from core.model.trace import Trace
from core.rules.recovery import Relation, find_recoveries
from tests.calls import complete


def calls(*steps: tuple[str, str | None]) -> list[Trace]:
    """Make a run of calls, one a turn: a command (or `tool file`) and, for a failure, its error text."""
    return [make(turn, step, error) for turn, (step, error) in enumerate(steps)]


def make(turn: int, step: str, error: str | None, run: str = "r") -> Trace:
    """Make one call; `read F`, `edit F` and `write F` are tools."""
    tool, _, file = step.partition(" ")
    is_tool = tool in ("read", "edit", "write")
    fields = {"file": file} if is_tool else {"cmd": step, "exit_code": 1 if error else 0}
    return complete(
        Trace(
            ts=float(turn), session="s", run=run, turn=turn, project="/p", agent="pi",
            tool=tool if is_tool else "bash", is_error=error is not None, snippet=error or "", **fields,
        )
    )  # fmt: skip


NOT_FOUND = "No such file or directory"


@pytest.mark.parametrize(
    ("failed", "error", "worked", "relation"),
    [
        ("cat src/a.ts", NOT_FOUND, "read /p/src/a.ts", Relation.SAME_TARGET),
        ("cd src && cat a.ts", NOT_FOUND, "read src/a.ts", Relation.SAME_TARGET),
        ("./deploy.sh", "Permission denied", "bash deploy.sh", Relation.SAME_TARGET),
        ("edit a.py", "no match", "sed -i s/a/b/ a.py", Relation.SAME_TARGET),
        ("python -m tool run", "error", "python3 -m tool run", Relation.SAME_ARGUMENTS),
        ("docker build .", "permission denied", "sudo docker build .", Relation.SAME_ARGUMENTS),
        ("tool", "No module named x", "PYTHONPATH=. tool", Relation.SAME_ARGUMENTS),
        ("docker-compose up -d", "command not found", "docker compose up -d", Relation.SAME_ARGUMENTS),
        ("yarn build", "command not found", "npm run build", Relation.SAME_ARGUMENTS),
        ("rg -n foo src", "command not found", "grep -rn foo src", Relation.SAME_TARGET),
        ("fd x", "command not found", "find . -name x", Relation.SAME_TARGET),
        (
            "./gradlew build",
            "Permission denied",
            "chmod +x gradlew && ./gradlew build",
            Relation.SAME_COMMAND_LATER,
        ),
        ("npm run build", "Missing script", "npm run bundle", Relation.SAME_PROGRAM),
        ("git push", "[rejected]", "git pull --rebase", Relation.SAME_PROGRAM),
        ("npm test", "Cannot find module", "npm install && npm test", Relation.SAME_COMMAND_LATER),
    ],
)
def test_the_same_job_another_way_recovers(failed: str, error: str, worked: str, relation: Relation) -> None:
    """Each relation of the contract is found."""
    [found] = find_recoveries(calls((failed, error), (worked, None)))

    assert (found.relation, found.text) == (relation, worked)


@pytest.mark.parametrize(
    ("failed", "worked"),
    [
        ("python x.py", "cat x.py"),
        ("bin/find src/a.py", "cat src/a.py"),
        ("python x.py", "rm x.py"),
        ("python x.py", "cat > x.py <<EOF\nx\nEOF"),
        ("python x.py", "python y.py"),
        ("npm run build", "npm run build"),
        ("npm run build", "npm --version"),
        ("git push", "git status"),
        ("cat a", "cat b"),
        ("edit a.py", "read a.py"),
        ("edit a.py", "edit b.py"),
        ("npm test", "cd web"),
    ],
)
def test_looking_set_up_and_other_jobs_recover_nothing(failed: str, worked: str) -> None:
    """A look, a set-up, the same again and another job are no way out."""
    assert find_recoveries(calls((failed, "error: boom"), (worked, None))) == []


def test_what_acted_before_the_same_command_succeeded_is_the_recovery() -> None:
    """`touch x` made the second `cd x && npm run build` work; the look did not."""
    steps = (
        ("npm run build", "Cannot find module"),
        ("ls", None),
        ("touch x", None),
        ("cd /p && npm run build", None),
    )

    [found] = find_recoveries(calls(*steps))

    assert found.relation is Relation.SAME_COMMAND_LATER
    assert found.text == "touch x, then cd /p && npm run build"


def test_the_strongest_relation_wins_then_the_first() -> None:
    """A later success at the same target beats an earlier one of the same program."""
    steps = (
        ("tool a.txt", "boom"),
        ("tool --other", None),
        ("tool --force a.txt", None),
        ("tool -x a.txt", None),
    )

    [found] = find_recoveries(calls(*steps))

    assert (found.relation, found.text) == (Relation.SAME_TARGET, "tool --force a.txt")


def test_a_success_counts_within_three_turns_of_the_same_run() -> None:
    """Too late, at the same time, or in another run is no reaction."""
    late = [make(0, "npm run a", "boom"), make(4, "npm run b", None)]
    parallel = [make(0, "npm run a", "boom"), make(0, "npm run b", None)]
    elsewhere = [make(0, "npm run a", "boom"), make(1, "npm run b", None, run="other")]

    assert [find_recoveries(one) for one in (late, parallel, elsewhere)] == [[], [], []]
    assert len(find_recoveries([late[0], make(3, "npm run b", None)])) == 1


def test_a_red_test_run_is_neither_failure_nor_success() -> None:
    """A piped red run that was not flagged does not recover the time-out before it."""
    piped = make(1, "npm run test:unit | tail", None)
    red = complete(replace(piped, snippet="1 failing"))

    assert find_recoveries([make(0, "npm test", "Command timed out after 9 s"), red]) == []
