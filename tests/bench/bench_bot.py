"""Time the bot beside bare python-telegram-bot, each in its own process, both in the same minute.

Times are taken by the local Bot API server: from the update to the arrival of the first call for its chat,
and from the tap to the end of its answer. Ours stores every update before it acknowledges it, and every
effect before it answers; the peer stores nothing. A busy machine only adds: of the rounds the best figure
counts, and the load is printed. Targets: reliability.md 4 and telegram.md 6.

usage: python -m tests.bench.bench_bot [ROUNDS=3]
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from tests.bench.rig import Rig, open_rig

PEOPLE = 50
ALONE = 30  # times one at a time
FLOOD = ("up", "down") * 10  # taps of each person, all at once

Figures = Sequence[float]
Scene = Callable[[Rig], Awaitable[Figures]]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: seconds of each round, `scene` by scene."""

    name: str
    scene: Scene
    target: str = ""
    is_for_ours_alone: bool = False


async def say_alone(rig: Rig) -> Figures:
    """Say one thing after the other."""
    return await _alone(lambda: rig.say(rig.people[:1], "/why"))


async def prompt_alone(rig: Rig) -> Figures:
    """Put one prompt after the other: the first sign is a reaction."""
    found = []
    for person in rig.people[:10]:
        found += await rig.say([person], "hello")
        await rig.settle()
    return found


async def say_at_once(rig: Rig) -> Figures:
    """Let half of the people write at once: what may leave in a second."""
    return await rig.say(rig.people[:25], "/why")


async def tap_alone(rig: Rig) -> Figures:
    """Tap once after the other."""
    turns = iter(("up", "down") * ALONE)
    return await _alone(lambda: rig.tap(rig.people[:1], (next(turns),)))


async def tap_at_once(rig: Rig) -> Figures:
    """Tap in every chat at once."""
    return await rig.tap(rig.people)


async def tap_one_chat(rig: Rig) -> Figures:
    """Tap fifty times at once in one chat, where order is kept."""
    return await rig.tap(rig.people[:1], ("up", "down") * 25)


async def tap_far_away(rig: Rig) -> Figures:
    """Tap in every chat at once, 50 ms of network away."""
    with rig.latency():
        await asyncio.sleep(0.2)
        return await rig.tap(rig.people)


async def tap_in_run(rig: Rig) -> Figures:
    """Tap while the agent of the same chat streams."""
    person = rig.people[1]
    rig.server.state.say(person, person, "stream")
    await asyncio.sleep(3.0)
    turns = iter(("up", "down") * ALONE)
    found = await _alone(lambda: rig.tap([person], (next(turns),)))
    rig.server.state.say(person, person, "/stop")
    await rig.settle()
    return found


async def tap_beside_429(rig: Rig) -> Figures:
    """Tap in the chat in which a message waits out a 429."""
    person = rig.people[2]
    with rig.fault(method="sendMessage", chat_id=person, code=429, retry_after_s=5, times=1):
        rig.server.state.say(person, person, "/why")
        await asyncio.sleep(0.5)
        turns = iter(("up", "down") * 5)
        found = await _alone(lambda: rig.tap([person], (next(turns),)), times=10)
    await asyncio.sleep(5.0)
    return found


async def flood(rig: Rig) -> Figures:
    """Tap as fast as can be taken; give seconds a tap, then processor seconds a tap."""
    began, before = time.time(), rig.usage()[1]
    count = len(await rig.tap(rig.people, FLOOD))
    return [(time.time() - began) / count, (rig.usage()[1] - before) / count]


async def _alone(act: Callable[[], Awaitable[Figures]], times: int = ALONE) -> Figures:
    found: list[float] = []
    for _ in range(times):
        found += await act()
        await asyncio.sleep(0.05)
    return found


LATENCY = (
    Row("command → first call, alone", say_alone, "p95 ≤ 30 ms"),
    Row("prompt → first call, alone", prompt_alone, "p95 ≤ 30 ms"),
    Row("command → first call, 25 at once", say_at_once, "p95 ≤ 30 ms"),
    Row("tap → answered, alone", tap_alone, "p95 ≤ 50 ms"),
    Row("tap → answered, 50 chats at once", tap_at_once, "p95 ≤ 50 ms"),
    Row("tap → answered, 50 at once in one chat", tap_one_chat),
    Row("tap → answered, 50 at once, 50 ms away", tap_far_away, "p99 ≤ 80 ms"),
    Row("tap → answered, during a run", tap_in_run, "p95 ≤ 50 ms"),
    Row("tap → answered, while a call waits out a 429", tap_beside_429, "p95 ≤ 50 ms"),
)


def best(rounds: Sequence[Figures], percent: int) -> float:
    """Give the best round's percentile, in milliseconds."""
    return min(quantiles(each, n=100, method="inclusive")[percent - 1] for each in rounds) * 1000


def show(name: str, ours: float, bare: float, unit: str, target: str = "") -> None:
    """Print a line of the table."""
    print(f"{name:<52} {ours:9.1f} {bare:9.1f} {unit:<5} {ours / bare:6.2f}×  {target}")


async def start_and_rest(rigs: Sequence[Rig], rounds: int) -> None:
    """Measure starts and memory, and leave both running."""
    starts: dict[str, list[float]] = {rig.name: [] for rig in rigs}
    for _ in range(rounds + 1):  # the first start makes the store and compiles
        for rig in rigs:
            await rig.stop()
            starts[rig.name].append(await rig.start())
    await asyncio.sleep(7.0)
    memory = [rig.usage()[0] for rig in rigs]
    show("start → first poll", *(min(starts[r.name][1:]) * 1000 for r in rigs), "ms", "≤ 1000 ms")  # type: ignore[misc]
    show("memory, idle", *memory, "MB", "≤ 70 MB")  # type: ignore[misc]


async def measure(rigs: Sequence[Rig], row: Row, rounds: int) -> None:
    """Play a scene on both in turn, and print p50 and p95 (p99)."""
    found: dict[str, list[Figures]] = {rig.name: [] for rig in rigs}
    for _ in range(rounds):
        for rig in rigs:
            found[rig.name].append(await row.scene(rig))
            await rig.settle()
    ours, bare = found["ours"], found["bare"]
    tail = 99 if "p99" in row.target else 95
    show(f"{row.name}, p50", best(ours, 50), best(bare, 50), "ms")
    show(f"{row.name}, p{tail}", best(ours, tail), best(bare, tail), "ms", row.target)


async def measure_flood(rigs: Sequence[Rig], rounds: int) -> None:
    """Play the flood on both in turn."""
    found: dict[str, list[Figures]] = {rig.name: [] for rig in rigs}
    for _ in range(rounds):
        for rig in rigs:
            found[rig.name].append(await flood(rig))
            await rig.settle()
    rates = [1 / min(wall for wall, _ in found[rig.name]) for rig in rigs]
    costs = [min(cpu for _, cpu in found[rig.name]) * 1e6 for rig in rigs]
    show("taps a second, ours durable", *rates, "/s", "≥ 2×")  # type: ignore[misc]
    show("processor time a tap", *costs, "µs")  # type: ignore[misc]


async def main(rounds: int) -> None:
    """Measure everything."""
    with tempfile.TemporaryDirectory() as folder:
        async with (
            open_rig("ours", Path(folder) / "a", PEOPLE) as ours,
            open_rig("bare", Path(folder) / "b", PEOPLE) as bare,
        ):
            print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, best of {rounds} rounds")
            print(f"{'':<52} {'ours':>9} {'bare PTB':>9}")
            await start_and_rest((ours, bare), rounds)
            for rig in (ours, bare):
                await rig.meet()
            await measure_flood((ours, bare), rounds)
            for row in LATENCY:
                await measure((ours, bare), row, rounds)
            memory = ", ".join(f"{rig.usage()[0]:.0f} MB" for rig in (ours, bare))
            print(f"memory afterwards: {memory}; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
