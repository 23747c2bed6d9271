"""The default analyst: the agent itself, asked afresh without tools, session or lessons (learning.md 4)."""

import asyncio

from core.analysis import reply, request
from core.errors import (
    AgentDied,
    AgentError,
    AgentMissing,
    AgentTooOld,
    AnalysisFailed,
    MalformedReply,
)
from core.model.evidence import Evidence
from core.model.proposal import Finding
from core.ports import AgentRunner, AgentSpec, Analyst, Ids

TIMEOUT_S = 120.0


class ByAgent:
    """Ask the agent; a malformed reply is asked for once more with the error shown, then rules take over."""

    def __init__(self, runner: AgentRunner, ids: Ids, rules: Analyst, timeout_s: float = TIMEOUT_S) -> None:
        self._runner = runner
        self._ids = ids
        self._rules = rules
        self._timeout_s = timeout_s

    async def analyse(self, evidence: Evidence, spec: AgentSpec | None) -> Finding:
        """Give the agent's verdict, or that of the rules. Both attempts share one timeout.

        Raises AnalysisFailed (not started, provider error, time out).
        """
        if spec is None:
            raise AnalysisFailed("analysis.no_agent")
        until = asyncio.get_running_loop().time() + self._timeout_s
        # Masking megabytes takes a while: the loop goes on serving taps meanwhile.
        text = await asyncio.to_thread(request.write, evidence, self._ids.token())
        answer = await self._ask(spec, text, until)
        try:
            return reply.parse(answer, evidence)
        except MalformedReply as fault:
            text = request.write_again(text, answer, str(fault.values["reason"]), self._ids.token())
        answer = await self._ask(spec, text, until)
        try:
            return reply.parse(answer, evidence)
        except MalformedReply:
            return await self._rules.analyse(evidence, spec)

    async def _ask(self, spec: AgentSpec, text: str, until: float) -> str:
        left_s = until - asyncio.get_running_loop().time()
        try:
            if left_s <= 0:
                raise TimeoutError
            return await self._runner.ask(spec, text, timeout_s=left_s)
        except TimeoutError:
            raise AnalysisFailed("analysis.timeout", seconds=round(self._timeout_s)) from None
        except (AgentMissing, AgentTooOld, AgentDied) as reason:
            raise AnalysisFailed("analysis.not_started", reason=reason) from reason
        except AgentError as reason:
            raise AnalysisFailed("analysis.refused", reason=reason) from reason
