"""Print what the intervals cover and how often harm is called, against a known truth.

Run with `python -m tests.bench.simulate_effect`; about a minute. Coverage is exact (every outcome weighted by
its probability), the sequential figures are simulated with a fixed seed.
"""

import random
from collections.abc import Iterable
from math import comb

from core.rules.effect import Votes, difference, is_harmful

TRUTHS = ((0.1, 0.1), (0.1, 0.2), (0.1, 0.3), (0.3, 0.3))
RUNS = range(20, 201, 20)
REPEATS = 1000


def coverage(untold_share: float, told_share: float, runs: int) -> float:
    """Return the probability that the interval holds the true difference, `runs` voted runs of each kind."""
    told, untold = list(_weights(runs, told_share)), list(_weights(runs, untold_share))
    truth = told_share - untold_share
    return sum(
        weight * other_weight
        for negative, weight in told
        for other, other_weight in untold
        if (interval := difference(Votes(negative, runs), Votes(other, runs))).low <= truth <= interval.high
    )


def _weights(runs: int, true_share: float) -> Iterable[tuple[int, float]]:
    for negative in range(runs + 1):
        weight = comb(runs, negative) * true_share**negative * (1 - true_share) ** (runs - negative)
        if weight > 1e-7:
            yield negative, weight


def alarms(
    untold_share: float, told_share: float, baseline: int, looks: int, repeats: int = REPEATS
) -> float:
    """Return how often harm is called within `looks` voted runs, one look after each.

    `baseline` runs without the lesson came before; with 0 the two kinds alternate.
    """
    source = random.Random(f"{untold_share} {told_share} {baseline} {looks}")
    return (
        sum(_is_called(source, untold_share, told_share, baseline, looks) for _ in range(repeats)) / repeats
    )


def _is_called(
    source: random.Random, untold_share: float, told_share: float, baseline: int, looks: int
) -> bool:
    told = [0, 0]
    untold = [sum(source.random() < untold_share for _ in range(baseline)), baseline]
    for look in range(looks):
        is_told = baseline > 0 or look % 2 == 0
        side, true_share = (told, told_share) if is_told else (untold, untold_share)
        side[0] += source.random() < true_share
        side[1] += 1
        if is_harmful(Votes(*told), Votes(*untold)):
            return True
    return False


def main() -> None:
    """Print the three tables."""
    print("Coverage of the 90 % interval of the difference (exact), n voted runs of each kind")
    print(f"{'without → with':<16}" + "".join(f"{runs:>7}" for runs in RUNS) + "   mean")
    for untold, told in TRUTHS:
        row = [coverage(untold, told, runs) for runs in RUNS]
        cells = "".join(f"{each:7.3f}" for each in row)
        print(f"{untold:.0%} → {told:.0%}".ljust(16) + cells + f"{sum(row) / len(row):7.3f}")
    designs = (
        (0, 300, "alternating"),
        (0, 600, "alternating"),
        (50, 300, "50 before"),
        (300, 300, "300 before"),
    )
    print("\nHarmless lesson called harmful, one look after each voted run (at most 5 %)")
    for baseline, looks, name in designs:
        row = [alarms(each, each, baseline, looks) for each in (0.03, 0.1, 0.3, 0.5)]
        print(f"{name:<12} {looks} looks, 👎 3/10/30/50 %: " + "  ".join(f"{each:.3f}" for each in row))
    print(
        "\nLesson that raises 👎 from 10 to 30 % called harmful within 150 runs of each kind (at least 80 %)"
    )
    print(f"alternating {alarms(0.1, 0.3, 0, 300):.3f}   150 before {alarms(0.1, 0.3, 150, 150):.3f}")


if __name__ == "__main__":
    main()
