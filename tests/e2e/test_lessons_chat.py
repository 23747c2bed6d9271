"""Lessons in the chat and at the command line: lists, cards, what is told (product.md 1.5, 3)."""

import json

import pytest

from bot.local.wire import MessageView
from core.model.lesson import Domain, Lesson, Scope
from core.tables import Tx
from tests.e2e.conftest import Build
from tests.e2e.house import House
from tests.e2e.scenes import RULE

pytestmark = pytest.mark.pi
WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett")


async def _lessons(house: House) -> list[Lesson]:
    return await house.store(lambda tx: tx.lessons.all())


async def _teach(house: House, *rules: str) -> None:
    for rule in rules:
        await house.tell(f"/lesson_add {rule}")


async def _open(house: House, number: str = "1") -> MessageView:
    """Open a card from the list."""
    listed = await house.tell("/lessons")
    await house.tap(listed, number)
    return await house.see(lambda m: "broken: " in m.text, after=listed)


async def test_an_empty_list_says_how_to_begin(house: House) -> None:
    """No lessons yet: the list says what makes one."""
    listed = await house.tell("/lessons")

    assert "No lessons here yet" in listed.text


@pytest.mark.parametrize("command", ["/lesson_add", "/lesson-add", "/Lesson_Add"])
async def test_a_lesson_is_added_by_command(house: House, command: str) -> None:
    """Domain and scope in front of the rule; the dash works as well; the card shows what was made."""
    card = await house.tell(f"{command} debug project {RULE}")

    assert "l-001 · active" in card.text and RULE in card.text
    (lesson,) = await _lessons(house)
    assert (lesson.rule, lesson.domain, lesson.scope) == (RULE, Domain.DEBUG, Scope.PROJECT)
    await house.ask("and now?")
    assert RULE in house.told()


async def test_a_lesson_is_removed_by_command(house: House) -> None:
    """Disabled, told no more, still listed under inactive."""
    await _teach(house, RULE)

    said = await house.tell("/lesson-remove l-001")

    assert said.text == "l-001 is disabled."
    await house.ask("and now?")
    assert RULE not in house.told()
    assert RULE in (await house.tell("/lessons inactive")).text


@pytest.mark.parametrize("command", ["/lesson_add", "/lesson_remove", "/lesson_remove l-099", "/nonsense"])
async def test_a_wrong_command_says_what_to_do(house: House, command: str) -> None:
    """One clear line; nothing is stored, and the agent is not asked."""
    said = await house.tell(command)

    assert "/lesson" in said.text or "l-099" in said.text or "/help" in said.text
    assert await _lessons(house) == [] and house.prompts() == []


async def test_long_lists_have_pages(house: House) -> None:
    """Eight a page, turned in place, each marked as told."""
    await _teach(house, *(f"Remember the word {word} at all times." for word in WORDS))
    listed = await house.tell("/lessons")
    assert "8. ● l-008" in listed.text and "l-009" not in listed.text and "page 1 of 2" in listed.text

    await house.tap(listed, "▶")

    second = await house.change(listed, lambda m: "page 2 of 2" in m.text)
    assert "l-010" in second.text and second.rows == [["1", "2"], ["◀"]]
    await house.tap(second, "2")
    card = await house.see("l-010 · active")
    assert "juliett" in card.text


@pytest.mark.parametrize(
    ("which", "shown"),
    [("global", "l-001"), ("project", "l-002"), ("domain debug", "l-001"), ("search bravo", "l-002")],
)
async def test_lists_are_filtered(house: House, which: str, shown: str) -> None:
    """By scope, by domain, by words."""
    await _teach(house, "debug Say alpha first.", "project Say bravo first.")

    listed = await house.tell(f"/lessons {which}")

    assert [each for each in ("l-001", "l-002") if each in listed.text] == [shown]


async def test_a_card_disables_and_enables(house: House) -> None:
    """Each tap changes the lesson and the card."""
    await _teach(house, RULE)
    card = await _open(house)

    assert await house.tap(card, "🚫 Disable") == "l-001 is disabled."

    card = await house.change(card, lambda m: "✅ Enable" in m.buttons)
    assert [each.active for each in await _lessons(house)] == [False]
    assert await house.tap(card, "✅ Enable") == "l-001 is active again."
    await house.change(card, lambda m: "🚫 Disable" in m.buttons)
    assert [each.active for each in await _lessons(house)] == [True]


async def test_a_card_edits_and_moves(house: House) -> None:
    """Edit asks for a wording; the scope goes round; the history keeps the old words."""
    await _teach(house, RULE)
    card = await _open(house)
    await house.tap(card, "Scope: global")
    card = await house.change(card, lambda m: "Scope: project" in m.buttons)
    await house.tap(card, "✏️ Edit")
    asked = await house.see("new wording of l-001")

    await house.ada.say("Test first.", reply_to=asked)

    changed = await house.see("Test first.", after=asked)
    assert RULE in changed.text and "History" in changed.text
    (lesson,) = await _lessons(house)
    assert (lesson.rule, lesson.scope) == ("Test first.", Scope.PROJECT)


async def test_an_old_card_changes_nothing(house: House) -> None:
    """Disable on a card whose lesson has changed meanwhile: refused, the card shows how it stands."""
    await _teach(house, RULE)
    card = await _open(house)
    await house.cli("lessons", "edit", "l-001", "Test first.")

    toast = await house.tap(card, "🚫 Disable")

    assert "changed meanwhile" in toast
    await house.change(card, lambda m: "Test first." in m.text)
    assert [each.active for each in await _lessons(house)] == [True]


async def test_why_names_what_a_run_was_told(house: House) -> None:
    """As a reply to an answer: the lessons of that very run, each opening its card."""
    answer = await house.ask("one")
    await _teach(house, RULE)
    later = await house.ask("two")

    assert (await house.tell("/why", reply_to=answer)).text == "That run was told nothing."
    told = await house.tell("/why", reply_to=later)

    assert "l-001" in told.text
    await house.tap(told, "1")
    assert "🚫 Disable" in (await house.see("l-001 · active", after=told)).buttons


async def test_context_shows_byte_for_byte_what_the_next_run_is_told(house: House) -> None:
    """The block in the chat is the block in the system text."""
    await _teach(house, f"debug {RULE}", "Say alpha first.")

    shown = await house.tell("/context")

    await house.ask("and now?")
    assert shown.text in house.told() and RULE in shown.text and "alpha" in shown.text


async def test_lessons_off_runs_this_chat_without_any(house: House) -> None:
    """Off until on, in this session and after /new; the run records it."""
    await _teach(house, RULE)
    await house.tell("/lessons off")
    await house.ask("one")
    assert RULE not in house.told()
    assert "lessons are off" in (await house.tell("/context")).text
    run = await house.store(lambda tx: tx.runs.newest())
    assert run is not None and run.is_lessons_off and run.told == ()

    await house.tell("/lessons on")

    await house.ask("two")
    assert RULE in house.told()


async def test_a_lesson_of_the_command_line_is_announced_with_undo(house: House) -> None:
    """One message to the owner, that rings; Undo takes it back, once."""
    code, _, error = await house.cli("lessons", "add", RULE)
    assert (code, error) == (0, "")

    told = await house.see("📣")

    assert "l-001" in told.text and RULE in told.text and not told.is_silent
    assert await house.tap(told, "↩ Undo") == "Undone."
    await house.change(told, lambda m: "Undone: 1 of 1" in m.text)
    assert [each.active for each in await _lessons(house)] == [False]
    assert "used" in await house.tap(told, "↩ Undo")


async def test_what_changed_while_the_bot_was_down_is_announced_too(house: House) -> None:
    """The command line needs no bot; the bot tells of it when it is back."""
    await house.kill()
    await house.cli("lessons", "add", RULE)

    await house.start()

    await house.see("📣")


async def test_a_french_person_reads_french(build: Build) -> None:
    """Buttons, toasts, cards, help and lists, in the language of who writes."""
    house = await build()
    house.ada = await house.telegram.person("Amélie", language_code="fr", person_id=1002)
    await house.restart(AUTO_IMPROVE_ALLOWED_USERS="1002")
    answer = await house.ask("fix the bug")

    assert (await house.tap(answer, "👎")).startswith("Noté 👎")

    asked = await house.change(answer, lambda m: len(m.buttons) > 2)
    english = {"Wrong result", "Too much changed", "Ignored me", "Too slow", "Other…", "Just note it"}
    assert not english & set(asked.buttons)
    await house.tap(asked, asked.rows[1][0])
    card = await house.see(lambda m: "p-001" in m.text and bool(m.buttons))
    assert "New lesson" not in card.text and "✅ Approve" not in card.buttons
    await house.ada.say("oui", reply_to=card)
    await house.see(lambda m: "l-001" in m.text and "Amélie" in m.text)
    assert "What I understand" not in (await house.tell("/help")).text


def _sessions(tx: Tx) -> list[str]:
    return [each.id for each in tx.runs.sessions("1001")]


async def test_help_lists_the_commands_of_the_menu(house: House) -> None:
    """The eight of the menu at first, all with more; the menu that Telegram shows is of the same table."""
    short, long = await house.tell("/help"), await house.tell("/help more")

    menu = await house.telegram.wait_for_call("setMyCommands")
    names = [f"/{each['command']}" for each in json.loads(menu.params["commands"])]
    assert all(name in short.text for name in names)
    assert "/lesson_add" in long.text and "/steer" in long.text and "/lesson_add" not in short.text


async def test_new_starts_a_fresh_session(house: House) -> None:
    """The agent knows nothing of what was said before; the old session is kept."""
    await house.ask("remember the word alpha")
    await house.tell("/new")

    await house.ask("and now?")

    body = house.prompts()[-1]["body"]
    assert "alpha" not in str(body) and len(await house.store(_sessions)) == 2
