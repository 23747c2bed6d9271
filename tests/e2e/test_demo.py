"""The demo in a real browser: the loop by button and by reply, in both languages, for every eye and hand."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.demo.words import tell
from tests.e2e.demo_visit import Visit, axe, open_demo, visit
from tests.e2e.pi_install import pi_command
from tests.e2e.scenes import RULE as LEARNED
from tests.e2e.scenes import script
from tests.fakes.pi_home import make_pi_home
from tests.fakes.stub_provider import StubProvider

pytestmark = pytest.mark.timeout(180)  # each starts a bot and a browser, on a machine that may be busy

CART = tell("prompt.cart", "en")
SHIPPING = tell("prompt.shipping", "en")
RULE = tell("analysis.rule", "en")


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Visit]:
    """A visitor in front of a fresh demo; the page must not have made one fault by the end."""
    async with open_demo() as link, visit(tmp_path, link) as opened:
        yield opened
        assert opened.tab.faults == []


async def test_a_lesson_approved_by_button_makes_the_next_answer_better(page: Visit) -> None:
    """Prompt, 👎, reason, Approve: the same prompt then is fixed for real, as the project's own tests say."""
    await page.complain(CART)
    assert await page.told() == "" and "2 of 3" in await page.suite("test_cart")

    await page.tap("Approve")
    await page.see("Approved by You")
    await page.step("Ask again")
    assert RULE in await page.told()

    await page.say(CART)
    await page.see("Fixed, and checked.")
    await page.step("done")
    await page.tab.wait("document.querySelector('#checks .is-passed')")
    assert "all 3 tests pass" in await page.suite("test_cart")
    assert "Ran 3 tests" in (await page.answers())[-1]


async def test_a_lesson_approved_by_reply_helps_with_another_task(page: Visit) -> None:
    """Replying "ok" to the card does the same, and what was learned is not about one prompt only."""
    await page.complain(CART)
    await page.see("New lesson?")

    await page.reply("New lesson?", "ok")
    await page.see("Approved by You")
    await page.say(SHIPPING)

    await page.see("Fixed, and checked.")
    await page.tab.wait("document.querySelector('#checks .is-passed')")
    assert "all 3 tests pass" in await page.suite("test_shipping")


async def test_a_rejected_lesson_is_told_to_nobody(page: Visit) -> None:
    """After Reject the block stays empty, the guide says so, and the next answer is as careless as before."""
    await page.complain(CART)

    await page.tap("Reject")
    await page.see("Rejected by You")
    await page.step("Ask for something")
    await page.say(SHIPPING)

    await page.see("compared with")
    assert await page.told() == ""
    assert "Fixed, and checked." not in "".join(await page.answers())
    assert "fail" in await page.suite("test_shipping")


async def test_the_visitors_own_words_become_the_lesson(page: Visit) -> None:
    """Other… takes a reply; the card shows those words, and the agent is told them."""
    await page.say(CART)
    await page.tap("👎")
    await page.tap("Other…")
    await page.see("What went wrong?")

    await page.reply("What went wrong?", "You should always run the tests first")
    await page.tap("Approve")

    await page.step("Ask again")
    assert "Always run the tests first" in await page.told()


async def test_a_button_of_the_agents_own_shows_that_nothing_was_fixed(page: Visit) -> None:
    """The hidden button runs the tests for real, shows their output, and then counts as used."""
    await page.say(CART)

    await page.tap("Run the tests of the cart")

    await page.see("FAILED (failures=2)")
    await page.tab.wait("document.querySelector('.key.is-used')")


async def test_a_french_browser_is_spoken_to_in_french(tmp_path: Path) -> None:
    """Page, bot, agent and analysis speak the browser's language, and "oui" approves."""
    async with open_demo() as link, visit(tmp_path, link, "fr-FR") as page:
        assert await page.tab.js("document.documentElement.lang") == "fr"
        await page.tab.js("document.querySelector('.steps .prompt').click()")
        await page.tap("👎")
        await page.tap("Mauvais résultat")
        await page.see("Nouvelle leçon")
        await page.reply("Nouvelle leçon", "oui")
        await page.step("Redemandez")
        await page.say(tell("prompt.cart", "fr"))
        await page.see("Corrigé, et vérifié.")
        assert tell("analysis.rule", "fr") in await page.told()
        await page.tab.wait("document.querySelector('#checks .is-passed')")
        assert "les 3 tests passent" in await page.suite("test_cart")


async def test_everything_can_be_done_from_the_keyboard(page: Visit) -> None:
    """Tab leads from the skip link to the messages' buttons; Enter taps, the focus stays in place."""
    await page.say(CART)
    await page.key("👎")
    await page.tab.js("document.querySelector('a, button, textarea, [tabindex]').focus()")
    assert await page.tab.js("document.activeElement.className") == "skip"

    for _ in range(30):
        if await page.tab.js("document.activeElement.textContent") == "👎":
            break
        await page.tab.press("Tab")
    await page.tab.press("Enter")

    await page.tab.wait("document.activeElement.textContent.startsWith('👎•')")
    assert await page.tab.js("document.activeElement.getAttribute('aria-pressed')") == "true"


async def test_answers_are_read_out_and_progress_is_not(page: Visit) -> None:
    """A screen reader hears what would ring on a phone."""
    await page.tab.js(
        "window.heard = []; new MutationObserver((changes) => changes.forEach((change) =>"
        " change.addedNodes.forEach((node) => heard.push(node.textContent))))"
        ".observe(document.getElementById('announcer'), {childList: true})"
    )
    await page.say(CART)
    await page.key("👎")

    heard = await page.tab.js("window.heard")

    assert [text for text in heard if "Fixed." in text] and not [text for text in heard if "⏳" in text]


async def test_the_chat_is_kept_in_a_home(tmp_path: Path) -> None:
    """With --home the chat, the lesson and what is told are there again after Ctrl-C."""
    words = ("--home", str(tmp_path / "kept"))
    async with open_demo(*words) as link, visit(tmp_path / "one", link) as page:
        await page.complain(CART)
        await page.tap("Approve")
        await page.step("Ask again")

    async with open_demo(*words) as link, visit(tmp_path / "two", link) as page:
        await page.see("Approved by You")
        assert RULE in await page.told()
        await page.tap("Try again with it")
        await page.see("Fixed, and checked.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
async def test_axe_finds_no_fault(tmp_path: Path, width: int, scheme: str) -> None:
    """Roles, names, contrast and focus order hold, on phone and desktop, light and dark, guide open."""
    source = axe()
    async with open_demo() as link, visit(tmp_path, link, width=width) as page:
        await page.tab.scheme(scheme)
        await page.complain(CART)
        await page.see("New lesson?")
        for is_open in (False, True) if width < 600 else (False,):
            if is_open:
                await page.tab.js("document.getElementById('strip').click()")
                await page.tab.wait("getComputedStyle(document.getElementById('guide')).opacity === '1'")
                await page.tab.wait("document.activeElement.id === 'guide'")
            assert await _violations(page, source) == []
        wide = await page.tab.js("document.documentElement.scrollWidth")
        assert wide <= width


async def _violations(page: Visit, source: str) -> list[str]:
    """Let axe look at the page; it is put in by the debugger, past the page's policy."""
    await page.tab.js("document.getAnimations().forEach((each) => each.cancel())")
    await page.tab.js(f"{source}; void 0")
    found = await page.tab.js(
        "axe.run(document).then((result) => result.violations.map((fault) =>"
        " `${fault.impact} ${fault.id}: ${fault.nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`))"
    )
    return [json.dumps(each, ensure_ascii=False) for each in found]


@pytest.mark.pi
async def test_the_persons_own_pi_learns_the_same_way(tmp_path: Path) -> None:
    """With --agent pi its answers, its analysis and its next system prompt are real; the page says so."""
    with StubProvider(script()) as stub:
        command = " ".join(pi_command())
        env = {"PATH": os.environ["PATH"], **make_pi_home(tmp_path / "pi", stub.base_url)}
        demo = open_demo("--agent", "pi", env={**env, "AUTO_IMPROVE_PI_COMMAND": command})
        async with demo as link, visit(tmp_path, link) as page:
            assert "Nothing is scripted" in await page.tab.js("document.body.innerText")
            await page.complain("fix the bug")
            await page.tap("Approve")
            await page.step("Ask again")
            await page.say("and now?")
            await page.see("fine")

    assert LEARNED in str(stub.requests[-1]["system"])
