"""Whether a lesson helps: intervals, and harm called only on evidence."""

import random

import pytest

from core.rules.effect import FEWEST_RUNS, Votes, difference, evidence_of_harm, is_harmful, share
from tests.bench.simulate_effect import alarms, coverage


def test_share_without_runs_may_be_anything() -> None:
    """No vote, no knowledge."""
    interval = share(Votes(0, 0))

    assert (interval.low, interval.high) == (0.0, 1.0)


def test_share_is_inside_its_interval_and_the_interval_inside_the_possible() -> None:
    """Also at the ends, where rounding tempts."""
    for runs in (1, 7, 30, 200):
        for negative in range(runs + 1):
            interval = share(Votes(negative, runs))

            assert 0.0 <= interval.low <= negative / runs <= interval.high <= 1.0


def test_share_matches_the_published_wilson_interval() -> None:
    """Newcombe 1998, table I: 81 of 263 at 95 % is 0.2553 to 0.3662."""
    interval = share(Votes(81, 263), confidence=0.95)

    assert (round(interval.low, 4), round(interval.high, 4)) == (0.2553, 0.3662)


def test_difference_matches_the_published_newcombe_interval() -> None:
    """Newcombe 1998, table II, method 10: 56/70 - 48/80 at 95 % is 0.0524 to 0.3339."""
    interval = difference(Votes(56, 70), Votes(48, 80), confidence=0.95)

    assert (round(interval.low, 4), round(interval.high, 4)) == (0.0524, 0.3339)
    assert interval.is_clear


def test_difference_without_runs_on_one_side_may_be_anything() -> None:
    """A new lesson has no effect yet, in either direction."""
    interval = difference(Votes(3, 10), Votes(0, 0))

    assert (interval.low, interval.high) == (-1.0, 1.0)
    assert not interval.is_clear


@pytest.mark.parametrize(("untold", "told"), [(0.1, 0.1), (0.1, 0.2), (0.1, 0.3), (0.3, 0.3)])
def test_ninety_percent_intervals_cover_what_they_promise(untold: float, told: float) -> None:
    """88 to 92 % on average over 20 to 200 voted runs, exactly computed."""
    row = [coverage(untold, told, runs) for runs in (20, 40, 80, 140, 200)]

    assert 0.88 <= sum(row) / len(row) <= 0.92


def test_few_runs_never_prove_harm() -> None:
    """Even all 👎: ask again with more votes."""
    told, untold = Votes(FEWEST_RUNS - 1, FEWEST_RUNS - 1), Votes(0, 500)

    assert evidence_of_harm(told, untold) == 1.0
    assert not is_harmful(told, untold)


def test_a_lesson_with_fewer_complaints_is_never_harmful() -> None:
    """The test is one-sided."""
    assert not is_harmful(Votes(5, 200), Votes(100, 200))


def test_plain_harm_is_called() -> None:
    """30 % against 10 % in 150 runs each."""
    assert is_harmful(Votes(45, 150), Votes(15, 150))


def test_no_effect_at_thirty_votes_retires_nothing() -> None:
    """A lesson that halves 👎 looks like none at 30 votes; nothing follows from that."""
    assert not is_harmful(Votes(3, 30), Votes(3, 30))


@pytest.mark.parametrize("true_share", [0.1, 0.3])
def test_a_harmless_lesson_is_hardly_ever_called_harmful(true_share: float) -> None:
    """At most 5 % over 300 looks, whether runs alternate or 300 came before."""
    assert alarms(true_share, true_share, baseline=0, looks=300, repeats=200) <= 0.05
    assert alarms(true_share, true_share, baseline=300, looks=300, repeats=200) <= 0.05


def test_real_harm_is_mostly_called_within_150_runs_of_each_kind() -> None:
    """10 to 30 % in at least 80 %, in both designs."""
    assert alarms(0.1, 0.3, baseline=0, looks=300, repeats=100) >= 0.8
    assert alarms(0.1, 0.3, baseline=150, looks=150, repeats=100) >= 0.8


def test_evidence_stays_a_number_on_extreme_counts() -> None:
    """No overflow, no log of zero."""
    source = random.Random(7)
    for _ in range(200):
        told, untold = source.randint(20, 10**6), source.randint(20, 10**6)
        evidence = evidence_of_harm(Votes(source.choice([0, told]), told), Votes(0, untold))

        assert 0.0 <= evidence < float("inf")


def test_impossible_counts_are_refused() -> None:
    """More 👎 than runs is a fault of the caller."""
    with pytest.raises(ValueError, match="3 negative votes of 2 runs"):
        Votes(3, 2)
