"""What our extension costs Pi: a prompt and a tool call, with it and without it, on the real Pi.

Run as `python -m tests.bench.bench_extension [--rounds N] [--version 1.6.0]`. Both Pis run side by side and
take turns, so that whatever else the machine does falls on both alike; medians are compared. The time inside
our own handlers is measured as well, by a clock around each, and the processor time of both processes.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path

from tests.e2e.pi_install import PI_16, pi_command
from tests.fakes.own_pi import OwnPi, Rpc, bash, installed_pi, make_own_pi, script
from tests.fakes.stub_provider import StubProvider

PROMPT_LIMIT_MS, CALL_LIMIT_MS = 2.0, 1.0
CALLS = 5
BLOCK = (
    "## Lessons learned (auto-improve)\nApproved by the person.\n" + "- [debug] Run the tests first.\n" * 150
)

# Stands before our extension and times the handlers that it registers.
TIMED = """
import ours from "./ours.ts";
import { writeFileSync } from "node:fs";
const times = {};
const NAMES = ["before_agent_start", "tool_execution_start", "tool_result", "tool_execution_end"];
export default function (pi) {
  const on = (name, handler) => pi.on(name, (event, ctx) => {
    const began = performance.now();
    const made = handler(event, ctx);
    (times[name] ??= []).push(performance.now() - began);
    return made;
  });
  ours({ ...pi, on });
  pi.on("session_shutdown", () => writeFileSync(process.env.TIMES, JSON.stringify(times)));
}
"""


async def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--version", default=PI_16)
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, StubProvider() as stub:
        stub.set_script(script(work=[*[bash(output())] * CALLS, {"text": "done"}]))
        command = pi_command(told.version)
        made = await measure(Path(folder), command, stub, told.rounds)
    print(json.dumps({"version": told.version, "rounds": told.rounds, **made}, indent=2))


def output() -> str:
    """A command with 2 KB of ordinary output, the most that is looked at."""
    return "for i in 1 2 3 4 5 6 7 8 9 10; do printf '%0200d src/app/models/user.ts: error\\n' $i; done"


async def measure(
    folder: Path, command: tuple[str, ...], stub: StubProvider, rounds: int
) -> dict[str, object]:
    """Give medians of both Pis, and of our handlers."""
    (folder / "with").mkdir()
    (folder / "without").mkdir()
    ours = installed_pi(folder / "with", command, stub)
    bare = make_own_pi(folder / "without", command, stub)
    time_handlers(ours)
    async with ours.rpc() as with_us, bare.rpc() as without:
        for pi in (with_us, without):
            for _ in range(10):
                await pi.say("work")  # both warm
        taken = await in_turns(with_us, without, rounds)
    times = json.loads((folder / "with" / "times.json").read_text())
    return {**taken, **handlers(times)}


def time_handlers(own: OwnPi) -> None:
    """Put a clock around our handlers."""
    context = own.home / "context"
    context.mkdir(parents=True)
    (context / "global.md").write_text(BLOCK)
    folder = own.agent / "extensions"
    beside = own.folder / "timed"
    beside.mkdir()
    (folder / "auto-improve.ts").rename(beside / "ours.ts")
    (beside / "timed.ts").write_text(TIMED)
    (folder / "timed.ts").symlink_to(beside / "timed.ts")
    own.env["TIMES"] = str(own.folder / "times.json")


async def in_turns(with_us: Rpc, without: Rpc, rounds: int) -> dict[str, object]:
    """Give medians of a prompt without tools, and of one with several calls, in ms."""
    took: dict[str, list[float]] = {}
    cpu_s = {"with": with_us.cpu_s(), "without": without.cpu_s()}
    for _ in range(rounds):
        for name, pi in (("with", with_us), ("without", without)):
            for kind in ("hello", "work"):
                began = time.perf_counter()
                await pi.say(kind)
                took.setdefault(f"{kind}_{name}_ms", []).append((time.perf_counter() - began) * 1000)
    medians = {name: statistics.median(values) for name, values in took.items()}
    prompt = medians["hello_with_ms"] - medians["hello_without_ms"]
    call = (medians["work_with_ms"] - medians["work_without_ms"] - prompt) / CALLS
    spent = {name: pi.cpu_s() - cpu_s[name] for name, pi in (("with", with_us), ("without", without))}
    cpu = (spent["with"] - spent["without"]) * 1000 / rounds / CALLS
    medians["added_cpu_per_call_ms"] = cpu  # that of two prompts included
    return {**rounded(medians), "added_per_prompt_ms": round(prompt, 3), "added_per_call_ms": round(call, 3)}


def handlers(times: dict[str, list[float]]) -> dict[str, object]:
    """Give the time inside our handlers, all of a call's together."""
    prompt = times["before_agent_start"]
    ended = times["tool_execution_end"]
    rest = [statistics.median(times[each]) for each in ("tool_execution_start", "tool_result")]
    call = statistics.median(ended) + sum(rest)
    return {
        **rounded({"handler_prompt_ms": statistics.median(prompt), "handler_call_ms": call}),
        **rounded({"handler_call_p95_ms": statistics.quantiles(ended, n=20)[-1] + sum(rest)}),
        "is_within_limits": statistics.median(prompt) <= PROMPT_LIMIT_MS and call <= CALL_LIMIT_MS,
    }


def rounded(values: dict[str, float]) -> dict[str, float]:
    """Give values to the microsecond."""
    return {name: round(value, 3) for name, value in values.items()}


if __name__ == "__main__":
    asyncio.run(main())
