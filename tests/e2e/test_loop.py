"""The whole loop with a real Pi: an answer, a 👎, a proposal, an approval, a better next run."""

import hashlib

import pytest

from core.model.lesson import Domain
from core.services.context import file_name
from tests.e2e.conftest import Build
from tests.e2e.house import House
from tests.e2e.pi_install import PI_084, PI_16
from tests.e2e.scenes import RULE, analysis, bash, finding, rule, script

pytestmark = pytest.mark.pi
BOTH = pytest.mark.parametrize("pi", [PI_16, pytest.param(PI_084, marks=pytest.mark.long)])

FAILING_TOOL = script(rule("^fix", bash("echo looking; exit 3"), "I **fixed** it."))


@BOTH
async def test_a_complaint_becomes_a_lesson_that_the_next_prompt_is_told(build: Build, pi: str) -> None:
    """Prompt, answer, 👎, reason, analysis, card, "ok": then told, in this session and in a new one."""
    house = await build(FAILING_TOOL, pi=pi)

    card = await house.propose()
    await house.ada.say("ok", reply_to=card)
    await house.card("Approved", after=None)

    before = house.told()
    await house.ask("and now?")
    assert RULE in house.told() and RULE not in before
    await house.tell("/new")
    await house.ask("again")
    assert RULE in house.told()


@BOTH
async def test_the_analyst_reads_the_run_and_the_persons_words(build: Build, pi: str) -> None:
    """The request names the prompt, the failed command, the answer, the reason; it has no tools."""
    house = await build(FAILING_TOOL, pi=pi)

    await house.propose()

    (asked,) = house.analyses()
    for part in ("fix the bug", "exit 3", "fixed", "wrong_result"):
        assert part in asked
    (request,) = [each for each in house.stub.requests if each["last_user"] == asked]
    assert not request.get("tools")


@BOTH
async def test_a_rejected_proposal_is_never_told(build: Build, pi: str) -> None:
    """After "non" neither this session nor a new one hears of it, and no lesson is stored."""
    house = await build(pi=pi)

    card = await house.propose()
    await house.ada.say("non", reply_to=card)
    await house.see("Rejected by Ada")

    await house.ask("and now?")
    assert RULE not in house.told()
    await house.tell("/new")
    await house.ask("again")
    assert RULE not in house.told()
    assert await house.store(lambda tx: tx.lessons.all()) == []


async def test_nothing_is_told_while_a_proposal_waits(house: House) -> None:
    """Before the approval the next prompt carries no word of it."""
    await house.propose()

    await house.ask("and now?")

    assert RULE not in house.told()


async def test_the_system_text_stays_the_same_between_two_prompts(build: Build) -> None:
    """With a lesson told, two prompts of one session have the same system text, byte for byte."""
    house = await build()
    await house.tell(f"/lesson_add {RULE}")
    await house.ask("one")
    first = house.told()

    await house.ask("two")

    assert house.told() == first and RULE in first


async def test_a_run_records_what_it_was_told(house: House) -> None:
    """The run knows its lessons and the hash of the very block that /context shows."""
    await house.tell(f"/lesson_add {RULE}")
    await house.ask("one")

    run = await house.store(lambda tx: tx.runs.newest())

    assert run is not None and run.told == ("l-001",)
    _, block, _ = await house.cli("context")
    assert run.told_sha256 == hashlib.sha256(block.encode()).hexdigest()
    assert block.strip() in house.told()


async def test_an_approved_domain_lesson_is_pointed_to_and_written_to_its_file(build: Build) -> None:
    """Scope domain: the block holds the pointer, the file it names holds the rule."""
    house = await build(script(analysis(finding(scope="domain"))))
    card = await house.propose()
    await house.tap(card, "✅ Approve")

    await house.ask("and now?")

    file = house.home / "context" / file_name(Domain.DEBUG)
    assert RULE in file.read_text() and RULE not in house.told() and file.name in house.told()


async def test_a_project_lesson_reaches_its_project(build: Build) -> None:
    """Scope project, as the analyst proposed it: told here."""
    house = await build(script(analysis(finding(scope="project"))))
    card = await house.propose()
    assert "Scope: project" in card.buttons
    await house.tap(card, "✅ Approve")

    await house.ask("and now?")

    assert RULE in house.told()


async def test_undone_lessons_are_told_no_more(house: House) -> None:
    """Undo within ten minutes: the next prompt is without it, the proposal waits again."""
    card = await house.propose()
    await house.tap(card, "✅ Approve")
    approved = await house.change(card, lambda m: "↩ Undo" in m.buttons)

    toast = await house.tap(approved, "↩ Undo")

    assert toast == "Undone."
    await house.change(card, lambda m: "✅ Approve" in m.buttons)
    await house.ask("and now?")
    assert RULE not in house.told()


async def test_the_prompt_can_be_tried_again_with_the_lesson(house: House) -> None:
    """Try again runs the same prompt once more, now with what was learned."""
    card = await house.propose()
    await house.tap(card, "✅ Approve")
    approved = await house.change(card, lambda m: "🔁 Try again with it" in m.buttons)

    await house.tap(approved, "🔁 Try again with it")

    await house.see("fixed", after=card)
    assert RULE in house.told() and house.prompts()[-1]["last_user"] == "fix the bug"
