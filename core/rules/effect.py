"""Say whether a lesson helps, from voted runs with and without it (learning.md 7).

A share is never shown bare but with its interval (Wilson); two shares are compared by Newcombe's interval
of their difference. Both are for one look. Harm is looked for after every vote, so it has its own test: a
mixture sequential probability ratio test, valid however often one looks.
"""

from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import NormalDist

CONFIDENCE = 0.90
FALSE_ALARM = 0.05
FEWEST_RUNS = 20  # of each kind, before anything may be called harmful; the test leans on large numbers
_TYPICAL_HARM = 0.2  # spread of the differences the test is tuned for, in shares
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Votes:
    """Voted runs of one kind: how many, and how many of them got 👎.

    Raises ValueError on counts that no runs can have.
    """

    negative: int
    runs: int

    def __post_init__(self) -> None:
        """Hold the invariant of the docstring above."""
        if not 0 <= self.negative <= self.runs:
            raise ValueError(f"{self.negative} negative votes of {self.runs} runs")

    @property
    def share(self) -> float:
        """Return the share of 👎; 0 without runs."""
        return self.negative / self.runs if self.runs else 0.0


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its bounds, as shares (0.1 is 10 %) or differences of shares."""

    low: float
    estimate: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Tell whether zero lies outside."""
        return self.low > 0 or self.high < 0


def share(votes: Votes, confidence: float = CONFIDENCE) -> Interval:
    """Return the share of 👎 with Wilson's interval; the whole range without runs."""
    if votes.runs == 0:
        return Interval(0.0, 0.0, 1.0)
    z = _NORMAL.inv_cdf((1 + confidence) / 2)
    runs, part = votes.runs, votes.share
    scale = 1 + z * z / runs
    centre = (part + z * z / (2 * runs)) / scale
    half = z * sqrt(part * (1 - part) / runs + z * z / (4 * runs * runs)) / scale
    return Interval(min(max(0.0, centre - half), part), part, max(min(1.0, centre + half), part))


def difference(told: Votes, untold: Votes, confidence: float = CONFIDENCE) -> Interval:
    """Return the share of 👎 with the lesson minus that without, with Newcombe's hybrid score interval.

    Positive means harm. The whole range while one side has no runs.
    """
    if not told.runs or not untold.runs:
        return Interval(-1.0, 0.0, 1.0)
    one, two = share(told, confidence), share(untold, confidence)
    estimate = one.estimate - two.estimate
    low = sqrt((one.estimate - one.low) ** 2 + (two.high - two.estimate) ** 2)
    high = sqrt((one.high - one.estimate) ** 2 + (two.estimate - two.low) ** 2)
    return Interval(estimate - low, estimate, estimate + high)


def evidence_of_harm(told: Votes, untold: Votes) -> float:
    """Return how many times better "it harms" explains the votes than "it does nothing".

    A likelihood ratio averaged over harms of half-normal size (mixture SPRT). Under "it does nothing" it
    reaches 1 / alpha at any time, over however many looks, with probability at most alpha (Ville).
    """
    if min(told.runs, untold.runs) < FEWEST_RUNS:
        return 1.0
    pooled = (told.negative + untold.negative + 1) / (told.runs + untold.runs + 2)
    variance = pooled * (1 - pooled) * (1 / told.runs + 1 / untold.runs)
    spread = 1 / (1 / variance + 1 / _TYPICAL_HARM**2)
    centre = spread * (told.share - untold.share) / variance
    weight = max(_NORMAL.cdf(centre / sqrt(spread)), 1e-300)
    exponent = log(2 * weight) + 0.5 * log(spread) - log(_TYPICAL_HARM) + centre**2 / (2 * spread)
    return exp(min(exponent, 700.0))


def is_harmful(told: Votes, untold: Votes, false_alarm: float = FALSE_ALARM) -> bool:
    """Tell whether to propose disabling; may be asked after every vote. Never true where 👎 got rarer."""
    return told.share > untold.share and evidence_of_harm(told, untold) >= 1 / false_alarm
