"""Failures become patterns, and some of them candidates (learning.md 5.3)."""

from dataclasses import replace

import pytest

from core.model.trace import ErrorClass, Trace
from core.rules.mining import (
    DAY_S,
    Decision,
    Pattern,
    PatternKey,
    State,
    Tally,
    Thresholds,
    attach,
    decide,
    is_candidate,
    is_expired,
    observe,
    rank,
    score,
    state_of,
)
from core.rules.recovery import Recovery, Relation

KEY = PatternKey("/p", "bash", "npm:test", ErrorClass.TIMEOUT)


def make(
    ts: float = 1.0, run: str = "r", session: str = "s", error: ErrorClass | None = ErrorClass.TIMEOUT
) -> Trace:
    """Make a completed call of `npm test`."""
    return Trace(
        ts, session, run, 1, "/p", "pi", "bash", error is not None, verb="npm:test", cmd="npm test",
        error_class=error, snippet=f"at {ts}",
    )  # fmt: skip


def test_keys_are_written_and_read() -> None:
    """An id has its class, a key none, a tool without verbs its name alone."""
    assert (KEY.id, KEY.key, KEY.whole.id) == ("bash:npm:test#timeout", "bash:npm:test", "bash:npm:test")
    assert PatternKey.parse("/p", "bash:npm:test#timeout") == KEY
    assert PatternKey.parse("/p", "read").key == "read"


@pytest.mark.parametrize("text", ["", "#timeout", "bash:x#nonsense"])
def test_a_malformed_id_is_refused(text: str) -> None:
    """An unknown class or an empty key raises."""
    with pytest.raises(ValueError):
        PatternKey.parse("/p", text)


def test_counting_keeps_the_newest_evidence() -> None:
    """An older failure that arrives late counts but does not overwrite."""
    pattern = observe(None, make(5.0), is_new_run=True, is_new_session=True)
    pattern = observe(pattern, make(2.0), is_new_run=False, is_new_session=False)

    assert (pattern.failures, pattern.runs, pattern.sessions) == (2, 1, 1)
    assert (pattern.first_ts, pattern.last_ts, pattern.last_error) == (2.0, 5.0, "at 5.0")


@pytest.mark.parametrize(
    ("failures", "runs", "sessions", "calls", "expected"),
    [
        (2, 2, 2, 6, True),
        (2, 1, 1, 2, False),
        (1, 1, 1, 1, False),
        (3, 2, 2, 10, False),
        (5, 3, 3, 1000, True),
        (5, 2, 2, 1000, False),
    ],
)
def test_candidates_recur(failures: int, runs: int, sessions: int, calls: int, expected: bool) -> None:
    """Two failures in two runs above the ratio, or five of a class in three sessions."""
    assert is_candidate(Pattern(KEY, failures, runs, sessions), calls) is expected


def test_thresholds_are_settings() -> None:
    """One run suffices where the person says so."""
    assert is_candidate(Pattern(KEY, 2, 1, 1), 2, Thresholds(min_runs=1))


def test_the_tally_counts_calls_red_runs_and_different_runs() -> None:
    """A red run is a call of its verb and no failure."""
    tally = Tally()
    for trace in (make(1.0, "a", "a"), make(2.0, "a", "a"), make(3.0, "b", "b"), make(4.0, error=None),
                  make(5.0, error=ErrorClass.TEST_FAILURE)):  # fmt: skip
        tally.add(trace)

    [pattern] = tally.candidates()
    assert (pattern.failures, pattern.runs, pattern.sessions, tally.calls[KEY.whole]) == (3, 2, 2, 5)


def test_rank_is_by_ratio_and_age_then_count_then_recency() -> None:
    """A week halves the score."""
    fresh, old = Pattern(KEY, 2, last_ts=14 * DAY_S), Pattern(replace(KEY, verb="a"), 2, last_ts=7 * DAY_S)
    many = Pattern(replace(KEY, verb="b"), 4, last_ts=14 * DAY_S)
    calls = {fresh.key.whole: 4, old.key.whole: 4, many.key.whole: 8}

    assert score(old, 4, 14 * DAY_S) == pytest.approx(0.25)
    assert rank([old, fresh, many], calls, 14 * DAY_S) == [many, fresh, old]


def test_states_go_from_observed_to_regression() -> None:
    """Quiet for 30 days is resolved; a failure after that is a regression."""
    observed, candidate = Pattern(KEY, 1, 1, 1, last_ts=1.0), Pattern(KEY, 2, 2, 2, last_ts=1.0)
    accepted = decide(candidate, Decision.ACCEPTED, now=DAY_S)
    again = observe(accepted, make(40 * DAY_S), is_new_run=True, is_new_session=True)
    soon = observe(accepted, make(20 * DAY_S), is_new_run=True, is_new_session=True)

    states = [(observed, 1.0), (candidate, 1.0), (accepted, 2 * DAY_S), (accepted, 31 * DAY_S)]
    assert [state_of(one, 2, now) for one, now in states] == ["observed", "candidate", "accepted", "resolved"]
    assert state_of(again, 2, 41 * DAY_S) is State.REGRESSION
    assert state_of(again, 2, 71 * DAY_S) is State.RESOLVED
    assert state_of(soon, 2, 41 * DAY_S) is State.ACCEPTED


def test_a_rejection_is_silent_until_reopened() -> None:
    """Of one class or of everything about the verb."""
    candidate = Pattern(KEY, 2, 2, 2)
    rejected = decide(candidate, Decision.REJECTED, now=1.0)

    assert state_of(rejected, 2, 1.0) is State.REJECTED
    assert state_of(candidate, 2, 1.0, whole=Decision.REJECTED) is State.REJECTED
    assert state_of(decide(rejected, None, now=2.0), 2, 2.0) is State.CANDIDATE
    assert (is_expired(rejected, 400 * DAY_S), is_expired(candidate, 400 * DAY_S)) == (False, True)


def test_the_newest_failures_recovery_is_kept() -> None:
    """An older recovery that arrives late does not overwrite."""
    new = Recovery(make(5.0), make(6.0, error=None), Relation.SAME_PROGRAM, "new")
    old = Recovery(make(1.0), make(2.0, error=None), Relation.SAME_PROGRAM, "old")

    assert attach(attach(Pattern(KEY), new), old).last_recovery == "new"
