"""Measure what a person waits for as the store grows, and how long writers wait for each other.

Run with `python -m tests.bench.bench_lessons` on a quiet machine. A page of `/lessons`, `similar` and the
block are asked through the store as the bot asks; the start-up is that of the real command. The survey of the
store is made to its end (the command stops at twenty proposals), over as many rules that are all different.
"""

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from core.model.ids import lesson_id
from core.model.lesson import MAX_RULE_CHARS, Choice, Domain, Lesson, Scope
from core.services import consolidation, context, lessons, transfer
from core.services.similarity import similar
from core.store.sqlite import open_store
from core.tables import Tx
from tests.bench.bench_similar import LESSONS, rules

SIZES = (100, 1_000, 10_000, 100_000)
PROJECT = "/srv/shop"
ASKED = 60
WRITERS, WRITES = 16, 125
ROOT = Path(__file__).parents[2]

Ask = Callable[[Tx, str], object]


def texts() -> list[str]:
    """Give real rules where the shared folder is there, else made ones."""
    if LESSONS.exists():
        return rules()
    words = ("run", "test", "commit", "file", "error", "name", "build", "small", "check", "write", "before")
    return [" ".join(words[(7 * n + k * k) % len(words)] for k in range(9)) + f" {n}" for n in range(2_400)]


def a_lesson(number: int, rule: str) -> Lesson:
    """Build a lesson; every fourth is the project's, some are on demand."""
    scope = Scope.PROJECT if number % 4 == 0 else Scope.DOMAIN if number % 50 == 1 else Scope.GLOBAL
    return Lesson(
        id=lesson_id(number),
        created="2026-01-01T00:00:00.000Z",
        domain=list(Domain)[number % 5],
        rule=rule,
        rationale="",
        scope=scope,
        project=PROJECT if scope is Scope.PROJECT else None,
        decided=number,
    )


def fill(tx: Tx, size: int) -> None:
    """Store so many lessons, the same rules again and again with a number behind."""
    base = texts()
    for number in range(1, size + 1):
        rule = base[number % len(base)] + (f" {number}" if number > len(base) else "")
        tx.lessons.put(a_lesson(number, rule))


def fill_with_differing(tx: Tx, size: int) -> None:
    """Store so many lessons, real rules first, then their words put together anew."""
    base, chance = texts(), random.Random(4)
    words = sorted({word for each in base for word in each.split()})
    for number in range(1, size + 1):
        made = " ".join(chance.choice(words) for _ in range(14))[:MAX_RULE_CHARS]
        tx.lessons.put(a_lesson(number, base[number - 1] if number <= len(base) else made))


async def look_through(folder: Path) -> None:
    """Print how long the survey of the whole store takes at each size."""
    print("\nlessons   survey, whole     a lesson    groups   first 20")
    for size in SIZES:
        async with open_store(folder / f"differing-{size}.db") as store:
            await store.write(lambda tx, size=size: fill_with_differing(tx, size))  # type: ignore[misc]
            spent, groups = [], 0
            for most in (size, consolidation.MOST_PROPOSALS):
                begun = time.perf_counter()
                found = await store.read(lambda tx, most=most: consolidation.survey(tx, most=most))  # type: ignore[misc]
                spent.append(time.perf_counter() - begun)
                groups = max(groups, len(found))
            cells = f"{spent[0]:13.2f} s{1000 * spent[0] / size:10.2f} ms{groups:10}{spent[1]:9.2f} s"
            print(f"{size:>7}   {cells}")


ASKS: dict[str, Ask] = {
    "page": lambda tx, _: lessons.page(tx, Choice(PROJECT), 3),
    "similar": lambda tx, text: similar(tx, text, PROJECT),
    "block": lambda tx, _: context.block(tx, PROJECT, "en"),
}


async def grow(folder: Path) -> None:
    """Print the median and the 95th percentile of each question at each size."""
    print(
        "lessons   " + "".join(f"{name + ' median':>16}{'95th %':>10}" for name in ASKS) + f"{'export':>12}"
    )
    for size in SIZES:
        async with open_store(folder / f"{size}.db") as store:
            await store.write(lambda tx, size=size: fill(tx, size))  # type: ignore[misc]
            cells = []
            for ask in ASKS.values():
                times_ms = []
                for text in texts()[:: len(texts()) // ASKED][:ASKED]:
                    begun = time.perf_counter()
                    await store.read(lambda tx, ask=ask, text=text: ask(tx, text))  # type: ignore[misc]
                    times_ms.append(1000 * (time.perf_counter() - begun))
                times_ms.sort()
                cells.append(f"{median(times_ms):13.1f} ms{times_ms[int(len(times_ms) * 0.95)]:7.1f} ms")
            begun = time.perf_counter()
            await store.read(transfer.export)
            print(f"{size:>7}   " + "".join(cells) + f"{time.perf_counter() - begun:10.2f} s")


async def contend(folder: Path) -> None:
    """Let 16 writers count up at once; print the longest wait."""
    waits: list[float] = []

    def count(tx: Tx) -> None:
        tx.settings.put("shared", str(int(tx.settings.get("shared") or 0) + 1))

    async def write() -> None:
        async with open_store(folder / "shared.db") as store:
            for _ in range(WRITES):
                begun = time.perf_counter()
                await store.write(count)
                waits.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    await asyncio.gather(*(write() for _ in range(WRITERS)))
    spent = time.perf_counter() - begun
    async with open_store(folder / "shared.db") as store:
        total = await store.read(lambda tx: tx.settings.get("shared"))
    waits.sort()
    print(
        f"\n{WRITERS} writers × {WRITES}: counted {total} of {WRITERS * WRITES} in {spent:.1f} s,"
        f" median wait {1000 * median(waits):.1f} ms, longest {waits[-1]:.3f} s"
    )


def start(folder: Path) -> None:
    """Print how long the command line takes to start, best and median of ten."""
    environment = {"AUTO_IMPROVE_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    print("\nstart of the command line, best and median of ten")
    for argv in (["--help"], ["lessons", "list"], ["lessons", "similar", "commit often"], ["context"]):
        times = []
        for _ in range(10):
            begun = time.perf_counter()
            command = [sys.executable, "-m", "bot", *argv]
            subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
            times.append(time.perf_counter() - begun)
        print(f"  {' '.join(argv):<32} {min(times):.3f} s   {median(times):.3f} s")


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(grow(folder))
        asyncio.run(look_through(folder))
        asyncio.run(contend(folder))
        start(folder)


if __name__ == "__main__":
    main()
