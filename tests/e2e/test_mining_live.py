"""Failures of real headless runs of Pi, all the way to what a fresh session is told (learning.md 5).

Three runs of the real Pi fail and recover; their session files are imported, the candidate is accepted at the
command line, and a fourth run's request to its provider is looked at. Each check has its name.
"""

import asyncio
import contextlib
import io
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.__main__ import COMMANDS, FILTERS
from core.agents.pi.runner import EXTENSION
from core.cli import border
from core.cli.group import root
from core.model.trace import ErrorClass, Trace
from core.services import context
from core.settings import CoreSettings, project_of
from core.store.sqlite import open_store
from core.store.traces import open_traces
from tests.e2e.pi_install import pi_command
from tests.fakes.pi_home import MODEL, make_pi_home
from tests.fakes.stub_provider import StubProvider
from tests.integration.shell import sit_down

pytestmark = [pytest.mark.pi, pytest.mark.timeout(180)]

RUNS = 3
ID = "bash:check.sh#usage"
SECRET = "ghp_" + "x7Kq2Rm9Tz4Wv8Yb3Nc6Pd1Fg5Hj0LsAeUi2"
CHECK = f"""#!/bin/sh
[ "$1" = --each ] && echo fine && exit 0
echo "signed in with {SECRET}" >&2
echo "check.sh: unknown option $1" >&2
exit 2
"""
PROMPT = "Run the checks"
Json = dict[str, object]


def called(command: str) -> Json:
    """Let the model call the shell."""
    return {"tool_calls": [{"name": "bash", "arguments": {"command": command}}]}


SCRIPT = {
    "rules": [
        {
            "match": PROMPT,
            "replies": [called("./check.sh --all"), called("./check.sh --each"), {"text": "Checked."}],
        }
    ]
}


@dataclass
class Lived:
    """What was seen on the way, in order."""

    imported: list[Json] = field(default_factory=list)
    again: list[Json] = field(default_factory=list)
    candidates: list[Json] = field(default_factory=list)
    accepted: list[Json] = field(default_factory=list)
    after: list[Json] = field(default_factory=list)
    block: str = ""
    requests: list[str] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    disk: bytes = b""
    skill: str = ""


class Bench:
    """A person's machine: a project, a real Pi, our command line."""

    def __init__(self, folder: Path, project: Path, stub: StubProvider) -> None:
        self.project, self._folder, self._stub = project, folder, stub
        self._env = make_pi_home(folder / "pi", stub.base_url)
        self.settings = CoreSettings(home=folder / "home")

    def pi(self, name: str) -> Path:
        """Run Pi once without a terminal, hosted as the bot hosts it; give its session file."""
        session = self._folder / f"{name}.jsonl"
        file = self.settings.context_folder / f"session-{name}.md"
        context.write_file(file, asyncio.run(self._told()))
        hosted = {"AUTO_IMPROVE_HOSTED": str(EXTENSION), "AUTO_IMPROVE_CONTEXT_FILE": str(file)}
        options = ("-p", "--session", str(session), "-e", str(EXTENSION), "-na", "--model", MODEL)
        subprocess.run(
            [*pi_command(), *options, PROMPT], cwd=self.project, env={**self._env, **hosted},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True,
        )  # fmt: skip
        return session

    async def _told(self) -> str:
        home = project_of(self.project)
        async with open_store(self.settings.store_path) as store:
            return (await store.read(lambda tx: context.current(tx, home, self.settings))).text

    def ours(self, *argv: str) -> list[Json]:
        """Run one of our commands with `--json`."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert border.run(root(COMMANDS, FILTERS), [*argv, "--json"]) == 0
        rows: list[Json] = json.loads(printed.getvalue())
        return rows

    async def kept(self) -> list[Trace]:
        """Give the traces, oldest first."""
        async with open_traces(self.settings.traces_path) as traces:
            return (await traces.read(lambda tx: tx.traces.newest(100)))[::-1]

    def seen(self) -> list[str]:
        """Give each request that the provider got, as text."""
        return [json.dumps(each, ensure_ascii=False) for each in self._stub.requests]


def live(bench: Bench) -> Lived:
    """Live through it."""
    lived = Lived()
    files = [str(bench.pi(f"run-{n}")) for n in range(RUNS)]
    lived.imported = bench.ours("traces", "import", *files)
    lived.again = bench.ours("traces", "import", *files)
    lived.candidates = bench.ours("patterns", "list")
    lived.accepted = bench.ours("patterns", "accept", ID)
    lived.after = bench.ours("patterns", "list")
    lived.block = asyncio.run(bench._told())
    bench.pi("fresh")
    lived.requests = bench.seen()
    lived.traces = asyncio.run(bench.kept())
    lived.disk = b"".join(each.read_bytes() for each in bench.settings.home.rglob("*") if each.is_file())
    lived.skill = "".join(each.read_text() for each in bench.settings.home.rglob("SKILL.md"))
    return lived


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    """The whole way, once for all checks."""
    folder = tmp_path_factory.mktemp("live")
    with pytest.MonkeyPatch.context() as patch, StubProvider(SCRIPT) as stub:
        project = sit_down(folder, patch)
        (project / "check.sh").write_text(CHECK)
        (project / "check.sh").chmod(0o755)
        yield live(Bench(folder, project, stub))


def test_each_run_was_traced(lived: Lived) -> None:
    """Three files, two calls each."""
    assert [row["new"] for row in lived.imported] == [2] * RUNS
    assert len({trace.session for trace in lived.traces}) == RUNS


def test_a_second_import_adds_nothing(lived: Lived) -> None:
    """Importing is idempotent."""
    assert [row["new"] for row in lived.again] == [0] * RUNS


def test_each_call_has_its_verb(lived: Lived) -> None:
    """A script is named, not its path."""
    assert {trace.verb for trace in lived.traces} == {"check.sh"}


def test_each_failure_was_counted_and_no_success(lived: Lived) -> None:
    """One failure a run."""
    assert [trace.is_failure for trace in lived.traces] == [True, False] * RUNS
    assert [(row["failures"], row["total"]) for row in lived.candidates] == [(RUNS, 2 * RUNS)]


def test_the_exit_status_was_read(lived: Lived) -> None:
    """From Pi's own note under the output."""
    assert {trace.exit_code for trace in lived.traces if trace.is_failure} == {2}


def test_the_error_class_is_right(lived: Lived) -> None:
    """The program ran but knows no such option."""
    assert {trace.error_class for trace in lived.traces if trace.is_failure} == {ErrorClass.USAGE}


def test_the_snippet_says_what_went_wrong(lived: Lived) -> None:
    """The line that matters, from the real output."""
    assert "check.sh: unknown option --all" in str(lived.candidates[0]["last_error"])


def test_the_secret_in_the_output_is_nowhere_on_disk(lived: Lived) -> None:
    """Masked before it was cut and before it was written."""
    assert SECRET.encode() not in lived.disk


def test_the_recovery_was_found(lived: Lived) -> None:
    """What worked a turn later."""
    assert lived.candidates[0]["last_recovery"] == "./check.sh --each"


def test_the_pattern_became_a_candidate(lived: Lived) -> None:
    """Seen in three sessions, nobody accepted it yet."""
    assert [(row["id"], row["state"], row["sessions"]) for row in lived.candidates] == [
        (ID, "candidate", RUNS)
    ]


def test_no_earlier_request_contained_it(lived: Lived) -> None:
    """Before the acceptance no run was told."""
    earlier = lived.requests[: 3 * RUNS]

    assert len(earlier) == 3 * RUNS
    assert not any("Observed failures (auto-improve)" in request for request in earlier)


def test_it_was_accepted_by_a_person(lived: Lived) -> None:
    """The decision, and the state that follows."""
    assert [(row["id"], row["decision"]) for row in lived.accepted] == [(ID, "accepted")]
    assert [row["state"] for row in lived.after] == ["accepted"]


def test_the_skill_was_written_with_it(lived: Lived) -> None:
    """Three failures in six calls are enough; what worked is in it."""
    assert "./check.sh --each" in lived.skill


def test_it_is_in_the_block(lived: Lived) -> None:
    """Command, error, what worked: one line."""
    told = '- ./check.sh --all: fails with "check.sh: unknown option --all". What worked: ./check.sh --each\n'

    assert lived.block.startswith(f"## Observed failures (auto-improve)\n{told}")


def test_the_fresh_sessions_request_contains_it(lived: Lived) -> None:
    """Word for word, from its first request on."""
    fresh = lived.requests[3 * RUNS :]
    lines = lived.block.splitlines()

    assert len(fresh) == 3
    assert all(json.dumps(line, ensure_ascii=False)[1:-1] in fresh[0] for line in lines)
