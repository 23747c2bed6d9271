"""The deterministic analyst: it makes a lesson of the person's words and says so (learning.md 4)."""

from core import texts
from core.analysis import wording
from core.model.evidence import Evidence
from core.model.lesson import Domain, Lesson
from core.model.proposal import Finding, Origin, Verdict
from core.ports import AgentSpec
from core.rules.approval import folded
from core.rules.redact import redact


class ByRules:
    """Judge without a model: the same evidence always gives the same finding."""

    async def analyse(self, evidence: Evidence, spec: AgentSpec | None) -> Finding:  # noqa: ARG002  # the port's
        """Give a finding at once; it never fails."""
        return judge(evidence)


def judge(evidence: Evidence) -> Finding:
    """Word the lesson; without words answer `none` and ask for them."""
    # Masked before it is cut, so that no half of a secret is left at the edge (reliability.md S6).
    rule = wording.word(redact(evidence.remark or evidence.words))
    domain = evidence.run.domain if evidence.run else Domain.GENERAL
    if not rule:
        cause = texts.say("analysis.asks_words", evidence.language)
        return Finding(Verdict.NONE, cause=cause, domain=domain, origin=Origin.PERSON, is_by_rules=True)
    if evidence.sharpen is not None:
        return _about(evidence.sharpen, Verdict.MERGE, rule, evidence.language)
    for lesson in evidence.in_scope:
        if folded(lesson.rule) == folded(rule):
            return _about(lesson, Verdict.VIOLATED, lesson.rule, evidence.language)
    return Finding(
        Verdict.NEW,
        rule=rule,
        rationale=texts.say("analysis.own_words", evidence.language),
        domain=domain,
        origin=Origin.PERSON,
        is_by_rules=True,
    )


def _about(lesson: Lesson, verdict: Verdict, rule: str, language: str) -> Finding:
    key = "analysis.already_said" if verdict is Verdict.VIOLATED else "analysis.own_words"
    return Finding(
        verdict,
        rule=rule,
        rationale=lesson.rationale,
        domain=lesson.domain,
        scope=lesson.scope,
        lesson=lesson.id,
        cause=texts.say(key, language),
        origin=Origin.PERSON,
        is_by_rules=True,
    )
