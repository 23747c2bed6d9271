"""The effectiveness benchmark: frozen scenarios, metrics as defined beside them (learning.md 5).

Each metric is a function of a scenario and of what was made of it; the pure rules are enough for four of the
eight, the others join `METRICS` when the parts they measure exist. Run: python -m tests.bench.effectiveness
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from core.model.trace import Trace
from core.rules.failures import complete, excerpt
from core.rules.mining import Pattern, Tally
from core.rules.recovery import find_recoveries

SHARED = Path(os.environ.get("AUTO_IMPROVE_SHARED", Path(__file__).parents[3] / "shared"))
SCENARIOS = SHARED / "data" / "effectiveness" / "scenarios.json"

Scenario = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was made of a scenario: completed traces, patterns and candidates by id (and by key)."""

    traces: list[Trace]
    patterns: dict[str, Pattern]
    candidates: dict[str, Pattern]


def run(scenario: Scenario) -> Outcome:
    """Feed a scenario's events, without their verbs, into empty counts."""
    traces = [read_event(event) for event in scenario["events"]]
    tally = Tally()
    for trace in traces:
        tally.add(trace)
    for _, session in groupby(traces, key=lambda trace: trace.session):
        for recovery in find_recoveries(list(session)):
            tally.recover(recovery)
    patterns = {pattern.key.id: pattern for pattern in tally.patterns.values()}
    candidates = {pattern.key.id: pattern for pattern in tally.candidates()}
    return Outcome(traces, patterns, candidates)


def read_event(event: Mapping[str, object]) -> Trace:
    """Make a trace of an event; its verb is the expectation and is left out."""
    fields = {name: value for name, value in event.items() if name in Trace.__slots__ and name != "verb"}
    trace = Trace(**{"agent": "pi", **fields})
    done = complete(trace, trace.snippet)
    return replace(done, snippet=excerpt(trace.snippet))


def detects_patterns(scenario: Scenario, outcome: Outcome) -> bool:
    """Score pattern detection."""
    expected = scenario["expect"]
    keys = {*outcome.candidates, *(pattern.key.key for pattern in outcome.candidates.values())}
    return keys.issuperset(expected["candidates"]) and keys.isdisjoint(expected["not_candidates"])


def names_verbs(scenario: Scenario, outcome: Outcome) -> bool:
    """Score verb accuracy."""
    return [event["verb"] for event in scenario["events"]] == [trace.verb for trace in outcome.traces]


def links_recoveries(scenario: Scenario, outcome: Outcome) -> bool:
    """Score recovery linkage."""
    return all(
        contains(outcome.candidates[key].last_recovery if key in outcome.candidates else None, text)
        for key, text in scenario["expect"]["recoveries"].items()
    )


def captures_snippets(scenario: Scenario, outcome: Outcome) -> bool:
    """Score snippet capture."""
    return all(
        key in outcome.candidates and contains(outcome.candidates[key].last_error, text)
        for key, text in scenario["expect"]["snippets"].items()
    )


def contains(found: str | None, text: str | None) -> bool:
    """Say whether a text is found; None means that there must be none."""
    return found is None if text is None else found is not None and text in found


METRICS: dict[str, Callable[[Scenario, Outcome], bool]] = {
    "pattern detection": detects_patterns,
    "verb accuracy": names_verbs,
    "recovery linkage": links_recoveries,
    "snippet capture": captures_snippets,
}


def measure(scenarios: list[Scenario]) -> dict[str, float]:
    """Give each metric's mean over the scenarios, in percent."""
    outcomes = [(scenario, run(scenario)) for scenario in scenarios]
    return {
        name: 100 * sum(metric(*one) for one in outcomes) / len(outcomes) for name, metric in METRICS.items()
    }


def main() -> None:
    """Print the table."""
    if not SCENARIOS.exists():
        print(f"skipped: {SCENARIOS.name} is not there (shared folder absent)")
        return
    for name, percent in measure(json.loads(SCENARIOS.read_text("utf-8"))).items():
        print(f"{name:20} {percent:5.0f} %")


if __name__ == "__main__":
    main()
