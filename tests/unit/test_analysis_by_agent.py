"""Asking the agent: retried once, then rules; failures are told apart."""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from core import texts
from core.analysis.by_agent import ByAgent
from core.analysis.by_rules import ByRules
from core.analysis.scripted import Scripted
from core.clock import SystemIds
from core.errors import AgentDied, AgentMissing, AgentRefused, AgentTooOld, AnalysisFailed
from core.model.evidence import Evidence
from core.model.proposal import Finding, Verdict
from core.ports import AgentSession, AgentSpec

SPEC = AgentSpec(("pi",), Path("/srv/shop"))
EVIDENCE = Evidence(None, words="You should ask first")
GOOD = json.dumps({"verdict": "new", "rule": "Ask before deleting."})


class Oracle:
    """A runner that answers questions from a list; `asked` keeps text and timeout of each."""

    def __init__(self, answers: Iterable[str | BaseException], delay_s: float = 0) -> None:
        self.asked: list[tuple[str, float]] = []
        self._answers = iter(answers)
        self._delay_s = delay_s

    async def open(self, spec: AgentSpec) -> AgentSession:
        """Refuse: an analysis opens no session."""
        raise AssertionError(spec)

    async def ask(self, spec: AgentSpec, text: str, timeout_s: float) -> str:
        """Give the next answer."""
        self.asked.append((text, timeout_s))
        await asyncio.sleep(self._delay_s)
        answer = next(self._answers)
        if isinstance(answer, BaseException):
            raise answer
        return answer


async def ask(oracle: Oracle, timeout_s: float = 120.0) -> Finding:
    """Analyse with that oracle."""
    return await ByAgent(oracle, SystemIds(), ByRules(), timeout_s).analyse(EVIDENCE, SPEC)


async def test_a_good_reply_is_the_finding() -> None:
    """One question, 120 s at most."""
    oracle = Oracle([GOOD])

    found = await ask(oracle)

    assert (found.rule, found.is_by_rules) == ("Ask before deleting.", False)
    assert [119 < timeout_s <= 120 for _, timeout_s in oracle.asked] == [True]


async def test_a_malformed_reply_is_asked_for_again_with_the_error() -> None:
    """The second question shows what was wrong with the first answer."""
    oracle = Oracle(["Sure, here is a lesson.", GOOD])

    found = await ask(oracle)

    assert found.rule == "Ask before deleting."
    second = oracle.asked[1][0]
    assert second.startswith("AUTO-IMPROVE ANALYSIS\n")
    assert "could not be used: it is not valid JSON" in second


async def test_the_second_question_has_a_fence_of_its_own() -> None:
    """A reply that repeats the first nonce cannot end the second fence."""
    oracle = Oracle(["nonsense", GOOD])

    await ask(oracle)

    first, second = (
        {line for line in text.splitlines() if line.startswith("----- end")} for text, _ in oracle.asked
    )
    assert len(second - first) == 1


async def test_malformed_twice_is_judged_by_rules() -> None:
    """The finding says so, and there is no third question."""
    oracle = Oracle(["no", '{"verdict": "unknown"}'])

    found = await ask(oracle)

    assert (found.verdict, found.is_by_rules, found.rule) == (Verdict.NEW, True, "Ask first")
    assert len(oracle.asked) == 2


@pytest.mark.parametrize(
    ("fault", "key"),
    [
        (AgentMissing("agent.missing", command="pi"), "analysis.not_started"),
        (AgentTooOld("agent.too_old", found="0.73", needed="0.84"), "analysis.not_started"),
        (AgentDied("agent.died", error="segfault"), "analysis.not_started"),
        (AgentRefused("agent.refused", error="429 overloaded"), "analysis.refused"),
        (TimeoutError(), "analysis.timeout"),
    ],
)
async def test_failures_are_told_apart(fault: BaseException, key: str) -> None:
    """Not started, provider error, time out: each has its text, with the cause in it."""
    with pytest.raises(AnalysisFailed) as caught:
        await ask(Oracle([fault]))

    assert caught.value.key == key
    assert "{" not in texts.say_error(caught.value, "fr")


async def test_both_attempts_share_one_timeout() -> None:
    """The retry gets what the first attempt left, nothing where it left nothing."""
    oracle = Oracle(["no", GOOD], delay_s=0.05)

    with pytest.raises(AnalysisFailed) as caught:
        await ask(oracle, timeout_s=0.04)

    assert caught.value.key == "analysis.timeout"
    assert len(oracle.asked) == 1


async def test_a_failure_on_the_retry_is_a_failure() -> None:
    """A provider that breaks between the attempts is not hidden behind the rules."""
    with pytest.raises(AnalysisFailed):
        await ask(Oracle(["no", AgentRefused("agent.refused", error="500")]))


async def test_without_an_agent_it_says_so() -> None:
    """Nothing to start: a clear failure."""
    with pytest.raises(AnalysisFailed) as caught:
        await ByAgent(Oracle([]), SystemIds(), ByRules()).analyse(EVIDENCE, None)

    assert caught.value.key == "analysis.no_agent"


async def test_the_scripted_analyst_plays_its_steps_then_judges_by_rules() -> None:
    """In their order, failures too; it remembers what it was asked."""
    analyst = Scripted([Finding(Verdict.NONE, cause="fine"), AnalysisFailed("analysis.no_agent")])

    first = await analyst.analyse(EVIDENCE, None)
    with pytest.raises(AnalysisFailed):
        await analyst.analyse(EVIDENCE, None)
    last = await analyst.analyse(EVIDENCE, None)

    assert (first.cause, last.rule) == ("fine", "Ask first")
    assert analyst.asked == [EVIDENCE] * 3
