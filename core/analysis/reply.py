"""Read an analyst's reply (product.md 6): one JSON object, as agreed, or `MalformedReply` with the reason."""

import json
import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import MalformedReply
from core.model.evidence import Evidence
from core.model.ids import LessonId
from core.model.lesson import MAX_RULE_CHARS, Domain, Scope
from core.model.proposal import Finding, Origin, Verdict

MAX_REPLY_CHARS = 100_000
MAX_REASONING_CHARS = 600

# Verdicts about a lesson that exists.
_ABOUT_A_LESSON = (Verdict.MERGE, Verdict.VIOLATED, Verdict.HARMFUL)
_FENCED = re.compile(r"\A```[ \t]*(?:json|JSON)?[ \t]*\r?\n(.*?)\r?\n?```\Z", re.DOTALL)


class Reply(BaseModel):
    """The fields as they come; fields of the analyst's own invention are not read."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    verdict: Literal["new", "merge", "violated", "harmful", "none"]
    rule: str | None = None
    rationale: str | None = Field(None, max_length=MAX_REASONING_CHARS)
    domain: Literal["debug", "refactoring", "feature", "review", "general"] | None = None
    scope: Literal["global", "project", "domain"] | None = None
    lesson: str | None = None
    relation: Literal["duplicate", "broader", "narrower", "contradicts", "different"] | None = None
    cause: str | None = Field(None, max_length=MAX_REASONING_CHARS)


def parse(text: str, evidence: Evidence, project: str | None = None) -> Finding:
    """Check a reply against what was asked; `project` is that of a reply about no known run.

    Raises MalformedReply; its reason is written for the analyst.
    """
    try:
        reply = Reply.model_validate(_read_object(text))
    except ValidationError as error:
        raise _malformed(_first_fault(error)) from None
    finding = Finding(
        verdict=Verdict(reply.verdict),
        rule=_one_line(reply.rule),
        rationale=_one_line(reply.rationale),
        domain=Domain(reply.domain or Domain.GENERAL),
        scope=Scope(reply.scope or Scope.GLOBAL),
        lesson=LessonId(reply.lesson) if reply.lesson else None,
        relation=reply.relation,
        cause=_one_line(reply.cause),
        origin=Origin.AGENT,
        is_placed=reply.scope is not None,
    )
    _check(finding, evidence, project or (evidence.run.project if evidence.run else None))
    return finding


def _read_object(text: str) -> object:
    body = text.strip().removeprefix("\ufeff")
    if len(body) > MAX_REPLY_CHARS:
        raise _malformed(f"it is longer than {MAX_REPLY_CHARS} characters")
    if fenced := _FENCED.match(body):
        body = fenced[1]
    try:
        value = json.loads(body, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise _malformed(_why_no_json(body, error)) from None
    except (RecursionError, ValueError):
        raise _malformed("it is not one JSON object") from None  # nested too deep, or a number too long
    if not _is_text(value):
        raise _malformed("it contains half of a character (a lone surrogate)")
    if not isinstance(value, dict):
        raise _malformed("it is not one JSON object")
    return value


def _is_text(value: object) -> bool:
    """Say whether everything in it can be stored and sent as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _why_no_json(body: str, error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return "there is something after the JSON object; reply with exactly one object and nothing else"
    if "{" in body and not body.startswith("{"):
        return "there is text around the JSON object; reply with the object and nothing else"
    return f"it is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _malformed("a field is given twice")
    return found


def _refuse_constant(name: str) -> object:
    raise _malformed(f"{name} is not JSON")


def _first_fault(error: ValidationError) -> str:
    fault = error.errors()[0]
    name = ".".join(map(str, fault["loc"]))
    return f"field {name!r}: {fault['msg']}"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _check(finding: Finding, evidence: Evidence, project: str | None) -> None:
    """Hold what the fields must say together; each verdict needs its own."""
    _check_text(finding)
    _check_lesson(finding, evidence)
    if finding.scope is Scope.PROJECT and project is None:
        raise _malformed("scope 'project' needs a project, and this run has none")
    if evidence.sharpen is not None:
        _check_sharpening(finding, evidence.sharpen.id)


def _check_text(finding: Finding) -> None:
    if len(finding.rule) > MAX_RULE_CHARS:
        raise _malformed(f"'rule' has {len(finding.rule)} characters, at most {MAX_RULE_CHARS} are allowed")
    if not finding.rule and finding.verdict in (Verdict.NEW, Verdict.MERGE):
        raise _malformed(f"verdict {finding.verdict.value!r} needs a 'rule'")
    if finding.verdict is Verdict.NONE and not (finding.cause or finding.rationale):
        raise _malformed("verdict 'none' needs a 'cause': one line why")


def _check_lesson(finding: Finding, evidence: Evidence) -> None:
    """Only a lesson that is in force can be meant: a disabled one is told to nobody."""
    known = {lesson.id for lesson in (*evidence.in_scope, *evidence.told) if lesson.active}
    if evidence.sharpen is not None:
        known.add(evidence.sharpen.id)
    if finding.lesson is not None and finding.lesson not in known:
        raise _malformed(f"there is no lesson {finding.lesson!r} in the data")
    if finding.verdict in _ABOUT_A_LESSON and finding.lesson is None:
        raise _malformed(f"verdict {finding.verdict.value!r} needs the id of a lesson in 'lesson'")
    told = {lesson.id for lesson in evidence.told}
    if finding.verdict is Verdict.HARMFUL and finding.lesson not in told:
        raise _malformed(f"lesson {finding.lesson!r} was not told in this run, so it cannot have caused this")


def _check_sharpening(finding: Finding, lesson: LessonId) -> None:
    if finding.verdict is Verdict.NONE or (finding.verdict is Verdict.MERGE and finding.lesson == lesson):
        return
    raise _malformed(f"the person wants lesson {lesson!r} sharpened: 'merge' with that lesson, or 'none'")


def _malformed(reason: str) -> MalformedReply:
    return MalformedReply("analysis.malformed", reason=reason)
