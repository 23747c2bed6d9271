"""An analyst that plays what it was given: for the demo, for tests, for embedders trying out their own."""

from collections.abc import Iterable

from core.analysis.by_rules import ByRules
from core.errors import AnalysisFailed
from core.model.evidence import Evidence
from core.model.proposal import Finding
from core.ports import AgentSpec


class Scripted:
    """Give the findings (or raise the failures) in their order, then judge by rules.

    `asked` holds every evidence it was shown, in order.
    """

    def __init__(self, steps: Iterable[Finding | AnalysisFailed] = ()) -> None:
        self.asked: list[Evidence] = []
        self._steps = list(steps)
        self._rules = ByRules()

    async def analyse(self, evidence: Evidence, spec: AgentSpec | None) -> Finding:
        """Play the next step."""
        self.asked.append(evidence)
        if not self._steps:
            return await self._rules.analyse(evidence, spec)
        step = self._steps.pop(0)
        if isinstance(step, AnalysisFailed):
            raise step
        return step
