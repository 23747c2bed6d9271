"""The scripted analyst of the demo: one lesson for its one fault, or the person's own words."""

import asyncio
from dataclasses import replace

from bot.demo.script import task_of
from bot.demo.words import tell
from core.analysis.by_rules import judge
from core.model.evidence import Evidence
from core.model.lesson import Domain
from core.model.proposal import Finding, Verdict
from core.ports import AgentSpec

PAUSE_S = 1.5  # as long as it takes to see that something is analysed


class DemoAnalyst:
    """Judge at once what the script does; everything else as the rules do."""

    def __init__(self, pause_s: float = PAUSE_S) -> None:
        self._pause_s = pause_s

    async def analyse(self, evidence: Evidence, spec: AgentSpec | None) -> Finding:  # noqa: ARG002  # the port's
        """Give a finding; it never fails."""
        await asyncio.sleep(self._pause_s)
        return find(evidence)


def find(evidence: Evidence) -> Finding:
    """Propose the lesson of the script, unless there are words of the person or nothing went wrong."""
    by_words = replace(judge(evidence), is_by_rules=False)
    if evidence.remark or by_words.verdict is not Verdict.NONE:
        return by_words
    language, run = evidence.language, evidence.run
    if run is None or task_of(run.prompt) is None:
        return by_words
    if any("unittest" in call.command for call in run.calls):
        return Finding(Verdict.NONE, cause=tell("analysis.nothing", language))
    return Finding(
        Verdict.NEW,
        rule=tell("analysis.rule", language),
        rationale=tell("analysis.why", language),
        domain=Domain.DEBUG,
        cause=tell("analysis.cause", language),
    )
