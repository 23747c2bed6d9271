"""What an analyst may answer, and what is sent back to it."""

import json
from dataclasses import replace

import pytest

from core.analysis.reply import MAX_REPLY_CHARS, parse
from core.errors import MalformedReply
from core.model.evidence import Evidence
from core.model.ids import LessonId, RunId
from core.model.lesson import Domain, Lesson, Scope
from core.model.proposal import Finding, Origin, Verdict
from core.model.run import Run, RunState


def lesson(number: int) -> Lesson:
    """Give a lesson of that number."""
    return Lesson(LessonId(f"l-{number:03d}"), "2026-01-01T00:00:00Z", Domain.GENERAL, f"Rule {number}", "")


RUN = Run(RunId("r"), None, "pi", "/srv/shop", "Fix it", RunState.DONE, 0.0)
EVIDENCE = Evidence(RUN, told=(lesson(1),), in_scope=(lesson(1), lesson(2)))


def reply(**fields: object) -> str:
    """Write a reply that is right except for the fields given."""
    right = {
        "verdict": "new",
        "rule": "Run the tests before the answer.",
        "rationale": "They failed.",
        "domain": "debug",
        "scope": "project",
        "lesson": None,
        "relation": None,
        "cause": "The tests were not run.",
    }
    return json.dumps(right | fields, ensure_ascii=False)


def reason(text: str, evidence: Evidence = EVIDENCE) -> str:
    """Give the reason a reply is refused for."""
    with pytest.raises(MalformedReply) as caught:
        parse(text, evidence)
    return str(caught.value.values["reason"])


def test_a_reply_as_agreed_becomes_a_finding() -> None:
    """Every field arrives, typed."""
    expected = Finding(
        Verdict.NEW,
        "Run the tests before the answer.",
        "They failed.",
        Domain.DEBUG,
        Scope.PROJECT,
        cause="The tests were not run.",
        origin=Origin.AGENT,
        is_placed=True,
    )

    assert expected == parse(reply(), EVIDENCE)


@pytest.mark.parametrize(
    "wrap",
    ["{}", "  {}\n", "```json\n{}\n```", "```\n{}\n```", "\n```JSON\r\n{}\r\n```\n", "\ufeff{}"],
)
def test_bare_and_fenced_objects_are_read(wrap: str) -> None:
    """One object, bare or in one fenced block, space around it does not count."""
    assert parse(wrap.replace("{}", reply()), EVIDENCE).verdict is Verdict.NEW


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I think the agent was wrong.",
        "Here it is:\n" + reply(),
        reply() + "\nHope that helps!",
        reply() + reply(),
        "```json\n" + reply() + "\n```\n```json\n" + reply() + "\n```",
        "[" + reply() + "]",
        '"new"',
        "null",
        "{" * 50_000,
        "[" * 90_000,
        '{"verdict": NaN}',
        '{"verdict": "new", "verdict": "none", "cause": "x"}',
        reply()[:-1],
        "'" + reply() + "'",
        '{"verdict": ' + "9" * 5000 + "}",
        " " * 10 + "x" * (MAX_REPLY_CHARS + 1),
    ],
)
def test_what_is_not_one_object_is_refused(text: str) -> None:
    """Prose, two objects, other JSON, half an object: each with a reason."""
    assert reason(text)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"verdict": "maybe"}, "verdict"),
        ({"verdict": None}, "verdict"),
        ({"verdict": ["new"]}, "verdict"),
        ({"rule": ""}, "needs a 'rule'"),
        ({"rule": None}, "needs a 'rule'"),
        ({"rule": " \n "}, "needs a 'rule'"),
        ({"rule": 5}, "rule"),
        ({"rule": "x" * 301}, "301 characters"),
        ({"rule": "half \ud800 character"}, "surrogate"),
        ({"rationale": "x" * 601}, "rationale"),
        ({"domain": "cooking"}, "domain"),
        ({"scope": "everywhere"}, "scope"),
        ({"relation": "cousin"}, "relation"),
        ({"lesson": "l-999"}, "'l-999'"),
        ({"lesson": "the first"}, "'the first'"),
        ({"verdict": "merge", "lesson": None}, "needs the id"),
        ({"verdict": "merge", "lesson": "l-002", "rule": ""}, "needs a 'rule'"),
        ({"verdict": "violated"}, "needs the id"),
        ({"verdict": "harmful"}, "needs the id"),
        ({"verdict": "harmful", "lesson": "l-002"}, "not told"),
        ({"verdict": "none", "cause": "", "rationale": ""}, "one line why"),
    ],
)
def test_wrong_fields_are_named(fields: dict[str, object], told: str) -> None:
    """The reason says which field is wrong and how."""
    assert told in reason(json.dumps(json.loads(reply()) | fields))


def test_a_missing_verdict_is_named() -> None:
    """An object of something else entirely is no reply."""
    assert "verdict" in reason('{"answer": 42}')


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"verdict": "merge", "lesson": "l-002"}, Verdict.MERGE),
        ({"verdict": "violated", "lesson": "l-002", "rule": ""}, Verdict.VIOLATED),
        ({"verdict": "harmful", "lesson": "l-001", "rule": None}, Verdict.HARMFUL),
        ({"verdict": "none", "rule": "", "cause": "An outage."}, Verdict.NONE),
    ],
)
def test_each_verdict_has_its_own_needs(fields: dict[str, object], verdict: Verdict) -> None:
    """All five verdicts are possible."""
    assert parse(reply(**fields), EVIDENCE).verdict is verdict


def test_optional_fields_may_be_absent() -> None:
    """A short reply is enough; domain and scope have their defaults."""
    found = parse('{"verdict": "new", "rule": "Ask first."}', EVIDENCE)

    assert (found.domain, found.scope, found.lesson) == (Domain.GENERAL, Scope.GLOBAL, None)


def test_fields_of_its_own_invention_are_not_read() -> None:
    """An extra field costs no retry and has no effect."""
    assert parse(reply(confidence=0.9, active=True), EVIDENCE).verdict is Verdict.NEW


def test_lines_become_one_line() -> None:
    """A rule is told on one line, so it is proposed as one."""
    assert parse(reply(rule=" Run\n\nthe   tests. "), EVIDENCE).rule == "Run the tests."


def test_a_project_lesson_needs_a_project() -> None:
    """A vote about no known run cannot give a lesson for its project."""
    assert "project" in reason(reply(), Evidence(None))
    assert parse(reply(), Evidence(None), "/srv/shop").scope is Scope.PROJECT


def test_sharpening_gives_that_lesson_or_nothing() -> None:
    """Asked to sharpen l-002, another verdict or lesson is refused."""
    evidence = Evidence(RUN, sharpen=lesson(2), in_scope=(lesson(1),))

    assert parse(reply(verdict="merge", lesson="l-002"), evidence).lesson == "l-002"
    assert parse(reply(verdict="none"), evidence).verdict is Verdict.NONE
    assert "l-002" in reason(reply(verdict="merge", lesson="l-001"), evidence)
    assert "l-002" in reason(reply(), evidence)


def test_a_lesson_that_is_disabled_by_now_cannot_be_meant() -> None:
    """It was told then, and is told to nobody now: there is nothing to decide about it."""
    gone = Evidence(RUN, told=(replace(lesson(1), active=False),))

    assert "no lesson" in reason(reply(verdict="harmful", lesson="l-001"), gone)
