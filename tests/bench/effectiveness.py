"""The effectiveness benchmark: frozen scenarios, metrics as defined beside them (learning.md 5, 6, 8).

Each scenario goes the whole way: its events (without their verbs) are imported into an empty store, what it
accepts is accepted, and a third session's block and the skills on disk are read. Each metric is a function of
a scenario and of what was made of it. Run: python -m tests.bench.effectiveness [FILE]
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.model.skill import Skill
from core.model.trace import Trace
from core.rules import skills
from core.rules.mining import State
from core.rules.shell import parse
from core.services import context, skill_store
from core.services.changes import By
from core.services.importing.files import import_file
from core.services.pattern_gate import Gate
from core.services.patterns import Standing
from core.settings import CoreSettings
from core.store.sqlite import open_store
from core.store.traces import open_traces
from tests.shared import DATA

SCENARIOS = DATA / "effectiveness" / "scenarios.json"
MAX_BODY = 2_000

Scenario = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was made of a scenario: traces in order, candidates as they were, blocks, skills by pattern."""

    traces: list[Trace]
    candidates: dict[str, Standing]
    first_block: str
    block: str
    skills: dict[str, Skill]


async def run(scenario: Scenario, home: Path) -> Outcome:
    """Live through a scenario in an empty home."""
    settings = CoreSettings(home=home)
    project = str(scenario["events"][0]["project"])
    now = max(event["ts"] for event in scenario["events"]) + 60.0
    async with open_store(settings.store_path) as store, open_traces(settings.traces_path) as traces:
        gate = Gate(store, traces, settings)
        first = await store.read(lambda tx: context.current(tx, project, settings))
        await import_file(traces, write_events(scenario, home), project, now, format="events")
        found = await gate.listing(project, now, tuple(State))
        for number, key in enumerate(scenario["accept"]):
            await gate.accept(key, project, By("person", now + number))
        third = await store.read(lambda tx: context.current(tx, project, settings))
        kept = await traces.read(lambda tx: tx.traces.newest(10_000))
    written = skill_store.listing((skill_store.Root(skill_store.home(settings), skill_store.OURS),))
    return Outcome(
        kept[::-1],
        {each.id: each for each in found if each.state is State.CANDIDATE},
        first.text,
        third.text,
        {each.origin.removeprefix("pattern "): each for each in written.skills},
    )


def write_events(scenario: Scenario, home: Path) -> Path:
    """Write a scenario's events without their verbs, which are the expectation."""
    path = home / "events.jsonl"
    events = [
        {name: value for name, value in event.items() if name != "verb"} for event in scenario["events"]
    ]
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


def detects_patterns(scenario: Scenario, outcome: Outcome) -> bool:
    """Score pattern detection."""
    expected = scenario["expect"]
    keys = {*outcome.candidates, *(each.key.key for each in outcome.candidates.values())}
    return keys.issuperset(expected["candidates"]) and keys.isdisjoint(expected["not_candidates"])


def names_verbs(scenario: Scenario, outcome: Outcome) -> bool:
    """Score verb accuracy."""
    return [event["verb"] for event in scenario["events"]] == [trace.verb for trace in outcome.traces]


def links_recoveries(scenario: Scenario, outcome: Outcome) -> bool:
    """Score recovery linkage."""
    return all(
        (one := find(outcome, key)) is not None and contains(one.pattern.last_recovery, text)
        for key, text in scenario["expect"]["recoveries"].items()
    )


def captures_snippets(scenario: Scenario, outcome: Outcome) -> bool:
    """Score snippet capture."""
    return all(
        (one := find(outcome, key)) is not None and contains(one.pattern.last_error, text)
        for key, text in scenario["expect"]["snippets"].items()
    )


def tells_well(scenario: Scenario, outcome: Outcome) -> bool:
    """Score lesson quality: a whole line a key with command, error and recovery, and no more of outputs."""
    lines = lines_of(outcome.block)
    mine = {key: [line for line in lines if is_line_of(line, key, scenario)] for key in scenario["accept"]}
    if any(len(found) != 1 for found in mine.values()) or any("…" in line for line in lines):
        return False
    rest = remainder("\n".join(lines), scenario)
    outputs = (line.strip() for event in scenario["events"] for line in event["snippet"].splitlines())
    return all(line not in rest for line in outputs if len(line) > 1)


def remainder(told: str, scenario: Scenario) -> str:
    """Give what is left of the lines without the commands, the files and the errors that belong there."""
    events, wanted = scenario["events"], [text for text in scenario["expect"]["snippets"].values() if text]
    errors = [line.strip() for event in events for line in event["snippet"].splitlines()]
    parts = [line for line in errors if any(text in line for text in wanted)]
    parts += [part for event in events for part in (event["cmd"], event["file"]) if part]
    parts += [one.text for event in events if event["cmd"] for one in parse(event["cmd"]).segments]
    for part in sorted((form for each in parts for form in (each, each.replace('"', "'"))), key=len)[::-1]:
        told = told.replace(part, "")
    return told


def is_line_of(line: str, key: str, scenario: Scenario) -> bool:
    """Say whether a line warns of a key: the command as typed, the error, what worked."""
    error, worked = scenario["expect"]["snippets"].get(key), scenario["expect"]["recoveries"].get(key)
    tool, verb = key.partition("#")[0].split(":", 1) if ":" in key else (key, key)
    typed = [
        one.text
        for event in scenario["events"]
        if event["tool"] == tool and event["is_error"] and event["cmd"]
        for one in parse(event["cmd"]).segments
        if one.verb == verb
    ]
    return (
        any(line.startswith(f"- {command}") for command in typed or [tool])
        and (not error or error in line)
        and (not worked or worked in line)
    )


def makes_skills(scenario: Scenario, outcome: Outcome) -> bool:
    """Score skill generation."""
    return set(outcome.skills) == set(scenario["expect"]["skills"])


def writes_good_skills(scenario: Scenario, outcome: Outcome) -> bool:
    """Score skill quality."""
    return all(is_good(skill, key, scenario) for key, skill in outcome.skills.items())


def is_good(skill: Skill, key: str, scenario: Scenario) -> bool:
    """Say whether a skill is valid by Pi's rules, short, and complete."""
    whole = f"{skill.description}\n{skill.body}"
    error, worked = scenario["expect"]["snippets"].get(key), scenario["expect"]["recoveries"].get(key)
    return (
        skills.name_fault(skill.name) is None
        and 1 <= len(skill.description) <= skills.MAX_DESCRIPTION
        and len(skill.body) <= MAX_BODY
        and "use" in skill.description.lower()
        and "When to use" in skill.body
        and (not error or error in whole)
        and (not worked or worked in whole)
        and "command" in whole
    )


def warns_later(scenario: Scenario, outcome: Outcome) -> bool:
    """Score cross-session warning: the third session is told of every accepted key, the first of none."""
    lines = lines_of(outcome.block)
    return not lines_of(outcome.first_block) and all(
        any(is_line_of(line, key, scenario) for line in lines) for key in scenario["accept"]
    )


def lines_of(block: str) -> list[str]:
    """Give the lines about patterns in a block."""
    return [line for line in block.splitlines() if line.startswith("- ")]


def find(outcome: Outcome, key: str) -> Standing | None:
    """Give the candidate of an id, or the first of a key without class."""
    found = (each for each in outcome.candidates.values() if key in (each.id, each.key.key))
    return next(found, None)


def contains(found: str | None, text: str | None) -> bool:
    """Say whether a text is found; None means that there must be none."""
    return found is None if text is None else found is not None and text in found


METRICS: dict[str, Callable[[Scenario, Outcome], bool]] = {
    "pattern detection": detects_patterns,
    "verb accuracy": names_verbs,
    "recovery linkage": links_recoveries,
    "snippet capture": captures_snippets,
    "lesson quality": tells_well,
    "skill generation": makes_skills,
    "skill quality": writes_good_skills,
    "cross-session warning": warns_later,
}


def live(scenario: Scenario) -> Outcome:
    """Live through a scenario in a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        return asyncio.run(run(scenario, Path(home)))


def measure(scenarios: list[Scenario]) -> dict[str, float]:
    """Give each metric's mean over the scenarios, in percent."""
    outcomes = [(scenario, live(scenario)) for scenario in scenarios]
    return {
        name: 100 * sum(metric(*one) for one in outcomes) / len(outcomes) for name, metric in METRICS.items()
    }


def main() -> None:
    """Print the table."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else SCENARIOS
    if not path.exists():
        print(f"skipped: {path.name} is not there (shared folder absent)")
        return
    for name, percent in measure(json.loads(path.read_text("utf-8"))).items():
        print(f"{name:22} {percent:5.0f} %")


if __name__ == "__main__":
    main()
