"""What our extension costs Pi: a prompt and a tool call on the real Pi, without it and with it.

Run as `python -m tests.bench.bench_extension [--rounds N] [--version 1.6.0]`. Three Pis run side by side: one
`bare`, one with `any` extension (an empty one: what Pi itself pays for having one), and one with `ours`. They
take turns in changing order, so that whatever else the machine does falls on all alike, and medians of the
differences within a round are given. The time inside our own handlers is measured as well, by a clock around
each, and the processor time of all three.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.e2e.pi_install import PI_16, pi_command
from tests.fakes.own_pi import OwnPi, Rpc, bash, installed_pi, make_own_pi, script
from tests.fakes.stub_provider import StubProvider

PROMPT_LIMIT_MS, CALL_LIMIT_MS = 2.0, 1.0
CALLS = 5
FRESH_EVERY = 10
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
    """Give what a prompt and a call cost more than elsewhere, and the time in our handlers."""
    for name in ("bare", "any", "ours"):
        (folder / name).mkdir()
    bare = make_own_pi(folder / "bare", command, stub)
    empty, ours = (installed_pi(folder / name, command, stub) for name in ("any", "ours"))
    (empty.agent / "extensions" / "auto-improve.ts").write_text("export default function () {}\n")
    time_handlers(ours)
    async with bare.rpc() as first, empty.rpc() as second, ours.rpc() as third:
        pis = {"bare": first, "any": second, "ours": third}
        for pi in pis.values():
            for _ in range(10):
                await pi.say("work")  # all warm
        taken = await in_turns(pis, rounds)
    times = json.loads((folder / "ours" / "times.json").read_text())
    cost = taken["ours_over_bare"]
    is_within = cost["prompt_ms"] <= PROMPT_LIMIT_MS and cost["call_ms"] <= CALL_LIMIT_MS
    return {**taken, **handlers(times), "is_within_limits": is_within}


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


async def in_turns(pis: dict[str, Rpc], rounds: int) -> dict[str, Any]:
    """Give the medians of a prompt without and with several calls, and their differences, in ms."""
    took: dict[str, dict[str, list[float]]] = {name: {"hello": [], "work": []} for name in pis}
    cpu_s = {name: pi.cpu_s() for name, pi in pis.items()}
    order = list(pis)
    for number in range(rounds):
        if number % FRESH_EVERY == 0:
            await renew(pis)
        order.append(order.pop(0))
        for name in order:
            for kind, found in took[name].items():
                began = time.perf_counter()
                await pis[name].say(kind)
                found.append((time.perf_counter() - began) * 1000)
    spent = {name: (pi.cpu_s() - cpu_s[name]) * 1000 / rounds / CALLS for name, pi in pis.items()}
    medians = {
        f"{k}_{name}_ms": statistics.median(v) for name, kinds in took.items() for k, v in kinds.items()
    }
    cost = {
        f"{one}_over_{other}": rounded(
            {
                **added(took[one], took[other]),
                "cpu_per_call_ms": spent[one] - spent[other],  # that of two prompts included
            }
        )
        for one, other in (("any", "bare"), ("ours", "any"), ("ours", "bare"))
    }
    return {**rounded(medians), **cost}


async def renew(pis: dict[str, Rpc]) -> None:
    """Begin new sessions: each request sends the whole one, and a long one drowns what is measured."""
    for pi in pis.values():
        await pi.renew()
    await asyncio.sleep(1.0)
    for pi in pis.values():
        for _ in range(2):
            await pi.say("work")  # warm again


def added(one: dict[str, list[float]], other: dict[str, list[float]]) -> dict[str, float]:
    """Give what a prompt and a call took longer, as the median over the rounds."""
    prompts = [a - b for a, b in zip(one["hello"], other["hello"], strict=True)]
    works = [a - b for a, b in zip(one["work"], other["work"], strict=True)]
    prompt = statistics.median(prompts)
    return {"prompt_ms": prompt, "call_ms": (statistics.median(works) - prompt) / CALLS}


def handlers(times: dict[str, list[float]]) -> dict[str, object]:
    """Give the time inside our handlers, all of a call's together."""
    prompt = times["before_agent_start"]
    ended = times["tool_execution_end"]
    rest = [statistics.median(times[each]) for each in ("tool_execution_start", "tool_result")]
    call = statistics.median(ended) + sum(rest)
    return {
        **rounded({"handler_prompt_ms": statistics.median(prompt), "handler_call_ms": call}),
        **rounded({"handler_call_p95_ms": statistics.quantiles(ended, n=20)[-1] + sum(rest)}),
    }


def rounded(values: dict[str, float]) -> dict[str, float]:
    """Give values to the microsecond."""
    return {name: round(value, 3) for name, value in values.items()}


if __name__ == "__main__":
    asyncio.run(main())
