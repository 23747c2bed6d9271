"""The before-and-after experiment: the same broken project, N runs of the real Pi, learning between them.

After each run its session file is imported, and what became a candidate is accepted, as a person would; the
next run is told. With `--control` as many runs follow in which nothing is accepted. Without `--model` the
model is a script that makes three habitual mistakes unless it is told of them: a SIMULATION of the mechanism,
no measurement of a model. With `--model NAME` it is a real one, from the person's own configuration of Pi.

usage: python -m tests.bench.measure [N=5] [--control] [--model NAME]
"""

import argparse
import asyncio
import os
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.agents.environment import allowed_env
from core.agents.pi.runner import EXTENSION
from core.rules.mining import State
from core.services import context
from core.services.changes import By
from core.services.importing.files import import_file
from core.services.pattern_gate import Gate
from core.settings import CoreSettings, project_of
from core.store.sqlite import open_store
from core.store.traces import open_traces
from tests.e2e.pi_install import pi_command
from tests.fakes.pi_home import MODEL, make_pi_home
from tests.fakes.stub_provider import Json, StubProvider, _turns

PROMPT = (
    "This project has three bugs. Read the notes, run the checks and the tests, fix the bugs, test again."
)
TIMEOUT_S = 900
FILES = {
    "docs/notes.md": "shop.py adds, joins and halves. Tests: ./test.sh (no options). Checks: sh lint.sh\n",
    "shop.py": "def add(a, b):\n    return a - b\n\n\ndef join(words):\n    return ' '.join(word)\n\n\n"
    "def half(n):\n    return n * 2\n",
    "test_shop.py": "from shop import add, half, join\nassert add(2, 2) == 4\n"
    "assert join(['a', 'b']) == 'a b'\nassert half(4) == 2\nprint('all tests pass')\n",
    "test.sh": '#!/bin/sh\n[ $# -eq 0 ] || { echo "test.sh: unknown option $1" >&2; exit 2; }\n'
    "exec python3 test_shop.py\n",
    "lint.sh": "python3 -m py_compile shop.py && echo clean\n",
}
HABITS = (
    ("cat notes.md", "cat docs/notes.md"),
    ("./lint.sh", "sh lint.sh"),
    ("./test.sh --all", "./test.sh"),
)
"""What the scripted model tries first, and what works: it goes straight to the second once it is told."""
FIXES = (
    "sed -i 's/a - b/a + b/' shop.py",
    "sed -i 's/join(word)/join(words)/' shop.py",
    "sed -i 's/n \\* 2/n \\/\\/ 2/' shop.py",
    "./test.sh",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One run: tool calls, failures among them, seconds, and characters of the block it was told."""

    calls: int
    failures: int
    seconds: float
    injected: int


class ScriptedModel(StubProvider):
    """Makes its habitual mistakes unless the system prompt names them."""

    def choose(self, fmt: str, path: str, headers: Json, body: Json) -> tuple[int, Json]:
        """Pick the reply by what the request tells."""
        system, _ = _turns(fmt, body)
        steps = [
            command
            for wrong, right in HABITS
            for command in ((right,) if told_of(system, wrong) else (wrong, right))
        ]
        replies = [
            {"tool_calls": [{"name": "bash", "arguments": {"command": command}}]}
            for command in (*steps, *FIXES)
        ]
        self.rules = [{"match": ".", "replies": [*replies, {"text": "Fixed."}]}]
        return super().choose(fmt, path, headers, body)


def told_of(system: str, command: str) -> bool:
    """Say whether a line of the block warns of that command."""
    return re.search(rf"^- {re.escape(command)}: fails with", system, re.MULTILINE) is not None


class Lab:
    """One arm of the experiment, in a home of its own."""

    def __init__(self, folder: Path, command: Sequence[str], env: dict[str, str], model: str) -> None:
        self._folder, self._command, self._env, self._model = folder, command, env, model
        self._settings = CoreSettings(home=folder / "home", min_runs=2)
        self._project = folder / "project"

    def arm(self, count: int, *, is_learning: bool) -> list[Row]:
        """Make the runs of an arm, one after the other."""
        return [asyncio.run(self._once(number, is_learning=is_learning)) for number in range(count)]

    async def _once(self, number: int, *, is_learning: bool) -> Row:
        self._break_project()
        settings = self._settings
        project = project_of(self._project)
        async with open_store(settings.store_path) as store, open_traces(settings.traces_path) as traces:
            gate = Gate(store, traces, settings)
            block = (await store.read(lambda tx: context.current(tx, project, settings))).text
            session, seconds = self._run_pi(number, block)
            done = await import_file(traces, session, project, time.time(), format="pi")
            if is_learning:
                await accept_all(gate, project)
        return Row(done.new, done.failures, seconds, len(block))

    def _break_project(self) -> None:
        for name, text in FILES.items():
            path = self._project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self._project / "test.sh").chmod(0o755)
        (self._project / "lint.sh").chmod(0o644)

    def _run_pi(self, number: int, block: str) -> tuple[Path, float]:
        session, told = self._folder / f"run-{number}.jsonl", self._folder / f"told-{number}.md"
        told.write_text(block)
        hosted = {"AUTO_IMPROVE_HOSTED": str(EXTENSION), "AUTO_IMPROVE_CONTEXT_FILE": str(told)}
        options = ("-p", "--session", str(session), "-e", str(EXTENSION), "-na", "--model", self._model)
        begin = time.monotonic()
        subprocess.run(
            [*self._command, *options, PROMPT],
            cwd=self._project,
            env={**self._env, **hosted},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        return session, time.monotonic() - begin


async def accept_all(gate: Gate, project: str) -> None:
    """Accept every candidate, as the person of this experiment does."""
    now = time.time()
    for each in await gate.listing(project, now, (State.CANDIDATE,)):
        await gate.accept(each.id, project, By("experimenter", now, "bench"))


@contextmanager
def agent(model: str | None, folder: Path) -> Iterator[tuple[Sequence[str], dict[str, str], str]]:
    """Give command, environment and model of Pi: the person's own, or one whose model is the script."""
    if model is not None:
        command = shlex.split(os.environ.get("AUTO_IMPROVE_PI_COMMAND", "pi"))
        yield command, dict(allowed_env(os.environ)), model
        return
    with ScriptedModel() as stub:
        yield pi_command(), make_pi_home(folder / "pi", stub.base_url), MODEL


def show(title: str, rows: Sequence[Row]) -> None:
    """Print an arm: a line a run, then the means."""
    print(
        f"\n{title}\n{'run':>5} {'calls':>6} {'failures':>9} {'fail rate':>10} {'seconds':>8} {'injected':>9}"
    )
    for number, row in enumerate(rows, 1):
        print(_line(str(number), row.calls, row.failures, row.seconds, row.injected))
    mean = [
        sum(each) / len(rows)
        for each in zip(*((r.calls, r.failures, r.seconds, r.injected) for r in rows), strict=True)
    ]
    print(_line("mean", *mean))


def _line(name: str, calls: float, failures: float, seconds: float, injected: float) -> str:
    rate = failures / calls if calls else 0.0
    return f"{name:>5} {calls:6.4g} {failures:9.3g} {rate:9.0%} {seconds:9.1f} {injected:9.0f}"


def main() -> None:
    """Run the experiment and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="?", type=int, default=5)
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--model")
    chosen = parser.parse_args()
    kind = (
        f"model {chosen.model}"
        if chosen.model
        else "SIMULATION: a scripted model that acts on what it is told"
    )
    print(f"{chosen.runs} runs of the real Pi on the same project with three bugs; {kind}")
    with tempfile.TemporaryDirectory() as name, agent(chosen.model, Path(name)) as parts:
        for title, is_learning in (("learning", True), *((("control", False),) if chosen.control else ())):
            folder = Path(name) / title
            folder.mkdir()
            show(title, Lab(folder, *parts).arm(chosen.runs, is_learning=is_learning))


if __name__ == "__main__":
    main()
