"""`lessons similar --stdin` on the labelled pairs beside 2,400 real rules in one store (issue 4)."""

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from functools import partial

import pytest

from bot.__main__ import COMMANDS, FILTERS
from core.cli import border
from core.cli.group import root
from core.model.proposal import Verdict
from core.services import proposals
from tests.bench.bench_similar import Pair, pairs, rules
from tests.factories import ANN, NOW, World, a_finding, a_lesson, a_proposal
from tests.integration.shell import sit_down
from tests.shared import needs_shared

pytestmark = needs_shared

Found = list[tuple[Pair, bool, bool]]


def a_file(texts: list[str]) -> str:
    """Write the exchange file of those rules, in a person's hand."""
    time = "2026-01-01T00:00:00Z"
    same = {"created": time, "domain": "general", "rationale": "", "source_feedback": [], "active": True}
    entries = [
        {"id": f"l-{number:03d}", "rule": text, "positive_examples": 0, "violations": 0, **same}
        for number, text in enumerate(texts, 1)
    ]
    return json.dumps({"project": "global", "updated": time, "lessons": entries})


def run(*argv: str, stdin: str = "") -> str:
    """Run one command in this process; give what it printed."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patched, contextlib.redirect_stdout(printed):
        patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        assert border.run(root(COMMANDS, FILTERS), argv) == 0
    return printed.getvalue()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Found]:
    """Import rules and both halves of each pair, ask for each first half: is the partner found, warned?"""
    folder, some = tmp_path_factory.mktemp("pairs"), pairs()
    texts = list(dict.fromkeys([*rules(), *(each for pair in some for each in (pair.a, pair.b))]))
    (folder / "in" / "lessons").mkdir(parents=True)
    (folder / "in" / "lessons" / "global.json").write_text(a_file(texts), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        sit_down(folder, patched)
        run("import", str(folder / "in"))
        asked = "".join(json.dumps(pair.a) + "\n" for pair in some)
        answers = run("lessons", "similar", "--stdin", "--limit", "5", stdin=asked).splitlines()
    yield [_looked_up(pair, json.loads(answer), texts) for pair, answer in zip(some, answers, strict=True)]


def _looked_up(pair: Pair, answer: list[dict[str, object]], texts: list[str]) -> tuple[Pair, bool, bool]:
    partner = f"l-{texts.index(pair.b) + 1:03d}"
    hits = [each for each in answer[:5] if each["id"] == partner]
    return pair, bool(hits), any(each["warning"] == "may contradict" for each in hits)


def share(found: Found, label: str, lang: str) -> float:
    """Give the share of pairs whose partner is among the first five."""
    some = [is_found for pair, is_found, _ in found if (pair.label, pair.lang) == (label, lang)]
    return sum(some) / len(some)


def test_partners_of_duplicates_are_among_the_first_five(found: Found) -> None:
    """At least 65 % in English, 90 % in French."""
    assert share(found, "dup", "en") >= 0.65
    assert share(found, "dup", "fr") >= 0.90


def test_contradictions_that_are_found_carry_the_warning(found: Found) -> None:
    """At least 95 % of them; at most 25 % of the duplicates do."""
    opposite = [is_warned for pair, is_found, is_warned in found if pair.label == "contradict" and is_found]
    alike = [is_warned for pair, is_found, is_warned in found if pair.label == "dup" and is_found]

    assert sum(opposite) >= 0.95 * len(opposite)
    assert sum(alike) <= 0.25 * len(alike)


def test_no_contradiction_is_ever_proposed_as_a_plain_merge() -> None:
    """Whatever an analyst calls it, the proposal names the lesson and asks for a choice."""
    for pair in (each for each in pairs() if each.label == "contradict"):
        world = World()
        lesson = a_lesson(world.tx, pair.a)
        merge = a_proposal(world.tx, a_finding(pair.b, Verdict.MERGE, lesson))
        assert merge.conflicts == (lesson.id,)
        assert world.refused(partial(proposals.approve, id=merge.id, version=1, who=ANN, now=NOW)) is not None
