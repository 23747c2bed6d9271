"""A run as the person sees it: progress, Stop, queue, dialogs, the agent's buttons (product.md 1.1, 1.6)."""

import asyncio
import time
from pathlib import Path

import pytest

from core.model.run import RunState
from tests.e2e.conftest import Build
from tests.e2e.house import TOKEN, House
from tests.e2e.scenes import bash, rule, script

pytestmark = pytest.mark.pi
LONG_RUN = script(rule("^work", bash("echo begun; sleep 60; echo slept"), "done"))
HIDDEN = """Two ways.

<!-- telegram_button label="Show risks" prompt="List the main risks first." selected_style="danger" -->
<!-- telegram_buttons [[{"label":"Up","prompt":"/lessons"},{"value":"Next page"}]] -->
<!-- telegram_button label="👍" prompt="/good" -->
"""
ASKING = """export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "bash" || !String(event.input.command).startsWith("rm ")) return undefined;
    const said = await ctx.ui.select("Allow?", ["Allow", "Deny"]);
    if (said !== "Allow") return { block: true, reason: "Denied by the person" };
    if (!(await ctx.ui.confirm("Sure?", "All is lost"))) return { block: true, reason: "Not sure" };
    const name = await ctx.ui.input("Name?", "your name");
    return { block: true, reason: "Allowed for " + name };
  });
}
"""


async def test_a_prompt_gets_a_sign_of_life_and_one_silent_progress_message(build: Build) -> None:
    """👀 on the prompt, the running call with Stop; at the end the progress goes and the answer rings."""
    house = await build(script(rule("^work", bash("echo begun; sleep 1.5; exit 3"), "done")))
    said = await house.ada.say("work")

    progress = await house.see(lambda m: "echo begun" in m.text)

    assert progress.buttons == ["⏹ Stop"] and progress.is_silent
    assert [*(await house.ada.reload(said)).reactions.values()] == [["👀"]]
    answer = await house.see("done", after=progress)
    assert not answer.is_silent and answer.reply_to == said.id
    await house.ada.wait_until_gone(progress, timeout_s=10)
    (call,) = (await house.store(lambda tx: tx.runs.newest())).calls  # type: ignore[union-attr]
    assert call.is_error and call.exit_code == 3


@pytest.mark.parametrize("way", ["button", "command"])
async def test_stop_ends_the_run_and_holds_the_queue(build: Build, way: str) -> None:
    """Within five seconds; what waits is named, Run next goes on with it."""
    house = await build(LONG_RUN)
    await house.ada.say("work")
    progress = await house.see(lambda m: "echo begun" in m.text)
    waiting = await house.ada.say("and then?")
    await asyncio.sleep(0.5)
    begun = time.monotonic()

    await (house.ada.tap(progress, "⏹ Stop") if way == "button" else house.ada.say("/stop"))

    await house.see("⏹ Stopped", after=waiting)
    assert time.monotonic() - begun < 5
    held = await house.see("1 queued")
    await asyncio.sleep(0.5)
    assert "and then?" not in [each["last_user"] for each in house.prompts()]
    await house.tap(held, "Run next")
    await house.see("fine", after=held)
    assert [each["last_user"] for each in house.prompts()][-1] == "and then?"


async def test_a_held_queue_can_be_emptied(build: Build) -> None:
    """Clear: what waited is dropped, the next prompt runs at once."""
    house = await build(LONG_RUN)
    await house.ada.say("work")
    await house.see(lambda m: "echo begun" in m.text)
    await house.ada.say("never")
    await asyncio.sleep(0.5)
    await house.ada.say("/stop")
    held = await house.see("1 queued")

    await house.tap(held, "Clear")

    await house.change(held, lambda m: "1 dropped" in m.text and not m.buttons)
    await house.ask("and now?")
    assert "never" not in [each["last_user"] for each in house.prompts()]


async def test_a_run_ends_when_its_chat_is_gone(build: Build) -> None:
    """403 in mid-run: nobody could stop the agent, so it is stopped; once back, all goes on."""
    house = await build(LONG_RUN)
    await house.ada.say("work")
    await house.see(lambda m: "echo begun" in m.text)

    await house.ada.block()

    async with asyncio.timeout(15):
        while (run := await house.store(lambda tx: tx.runs.newest())).state is RunState.RUNNING:  # type: ignore[union-attr]
            await asyncio.sleep(0.2)
    assert run is not None and run.state is RunState.STOPPED
    await house.ada.unblock()
    await house.ask("and now?")


async def test_messages_queue_in_order_without_a_message(build: Build) -> None:
    """Each gets a reaction; they run one after the other, as they were said."""
    house = await build(script(rule("^slow", {"text": "slowly", "wait": 1.0})))
    first, second, third = [await house.ada.say(text) for text in ("slow", "two", "three")]

    await house.see(lambda m: "fine" in m.text and m.reply_to == third.id)

    assert [each["last_user"] for each in house.prompts()] == ["slow", "two", "three"]
    reacted = [[*(await house.ada.reload(each)).reactions.values()] for each in (first, second, third)]
    assert reacted == [[["👀"]], [["👌"]], [["👌"]]]


async def test_an_edited_message_that_waits_is_replaced(build: Build) -> None:
    """Edited while queued: the agent sees the new text only."""
    house = await build(script(rule("^slow", {"text": "slowly", "wait": 1.5})))
    await house.ada.say("slow")
    waiting = await house.ada.say("twi")
    await house.ada.edit(waiting, "two")

    await house.see(lambda m: "fine" in m.text and m.reply_to == waiting.id)

    assert [each["last_user"] for each in house.prompts()] == ["slow", "two"]


async def test_steer_hands_a_message_into_the_run(build: Build) -> None:
    """It reaches the model in the same run, not after it."""
    house = await build(
        script(rule("^work", bash("sleep 2"), "done"), rule("^use staging", "on staging now"))
    )
    await house.ada.say("work")
    await house.see(lambda m: "sleep 2" in m.text)

    await house.ada.say("/steer use staging")

    await house.see("on staging now")
    await house.quiet()
    runs = await house.store(lambda tx: tx.runs.newest())
    assert runs is not None and runs.prompt == "work" and runs.state is RunState.DONE


async def test_a_providers_error_is_shown_with_retry(build: Build) -> None:
    """The reason stands on the card; Retry runs it again."""
    house = await build(script(rule("^work", {"status": 400, "error": "no credit left"})))
    said = await house.ada.say("work")
    failed = await house.see("The run failed", after=said)
    assert "no credit left" in failed.text and not failed.is_silent
    house.stub.set_script(script())

    await house.tap(failed, "🔁 Retry")

    await house.see("fine", after=failed)


async def test_a_silent_agent_is_asked_about(build: Build) -> None:
    """Wait, Stop or Last output after the time that is set."""
    house = await build(script(rule("^work", {"text": "late", "wait": 60})), silence_s="1")
    await house.ada.say("work")
    asked = await house.see("has been silent")
    assert asked.buttons == ["Wait", "⏹ Stop", "Last output"]

    await house.tap(asked, "Last output")
    await house.see("Nothing yet.")
    await house.tap(asked, "⏹ Stop")

    await house.see("⏹ Stopped")


async def _asking(build: Build, extension_text: str = ASKING) -> House:
    """Build a house whose Pi has an extension that asks before it removes anything."""
    house = await build(script(rule("^remove", bash("rm x"), "{{last_tool}}")), is_started=False)
    extension = Path(house.env["PI_CODING_AGENT_DIR"]) / "extensions" / "asking.ts"
    extension.parent.mkdir()
    extension.write_text(extension_text)
    await house.start()
    return house


async def test_an_extension_may_ask_and_is_answered_from_the_chat(build: Build) -> None:
    """Select and confirm by button, input by reply; each rings."""
    house = await _asking(build)
    await house.ada.say("remove it")
    choice = await house.see("Allow?")
    assert choice.buttons == ["Allow", "Deny", "Cancel"] and not choice.is_silent

    await house.tap(choice, "Allow")
    sure = await house.see("Sure?", after=choice)
    assert "All is lost" in sure.text and sure.buttons == ["Yes", "No"]
    await house.tap(sure, "Yes")
    name = await house.see("Name?", after=sure)
    await house.ada.say("Grace", reply_to=name)

    await house.see("Allowed for Grace", after=name)


async def test_a_question_that_holds_our_token_is_shown_without_it(build: Build) -> None:
    """S6: an agent may find the bot's token in a file; neither chat nor store gets it from its question."""
    house = await _asking(build, ASKING.replace("Allow?", f"Allow {TOKEN}?"))
    await house.ada.say("remove it")

    choice = await house.see("Allow ")

    assert TOKEN not in choice.text and "[masked]" in choice.text
    assert TOKEN not in "".join(str(each) for each in await house.ada.messages())


async def test_a_refused_dialog_is_a_refusal(build: Build) -> None:
    """Deny reaches the extension; a second tap says that the button has been used."""
    house = await _asking(build)
    await house.ada.say("remove it")
    choice = await house.see("Allow?")

    await house.tap(choice, "Deny")

    await house.see("Denied by the person", after=choice)
    assert "used" in await house.tap(choice, "Allow")


async def test_stop_ends_a_run_that_waits_for_an_answer(build: Build) -> None:
    """An open dialog does not hold a run: it says that it waits no longer."""
    house = await _asking(build)
    said = await house.ada.say("remove it")
    choice = await house.see("Allow?", after=said)

    await house.ada.say("/stop")

    await house.see("⏹ Stopped", after=choice)
    await house.change(choice, lambda m: "No longer waiting" in m.text and not m.buttons)


async def test_the_agents_buttons_send_their_prompt_once(build: Build) -> None:
    """Never visible as text; a tap goes to the agent as if typed; a second tap says that it was used."""
    house = await build(script(rule("^fix", HIDDEN)))
    answer = await house.ask("fix the bug")
    assert answer.text == "Two ways." and answer.rows == [["Show risks"], ["Up", "Next page"], ["👍", "👎"]]
    assert answer.button("Show risks").style == "danger"

    await house.tap(answer, "Show risks")

    await house.see("fine", after=answer)
    assert house.prompts()[-1]["last_user"] == "List the main risks first."
    await house.change(answer, lambda m: m.rows[0] == ["✓ Show risks"])
    assert "used" in await house.tap(answer, "Show risks")
    await house.quiet()
    assert len(house.prompts()) == 2


async def test_an_agents_button_may_show_lessons_and_works_after_a_restart(build: Build) -> None:
    """One of our showing commands runs as the command."""
    house = await build(script(rule("^fix", HIDDEN)))
    answer = await house.ask("fix the bug")
    await house.quiet()
    await house.restart()

    await house.tap(answer, "Up")

    await house.see("No lessons here yet", after=answer)
    assert len(house.prompts()) == 1


async def test_a_sigterm_in_mid_run_ends_at_once_and_is_told_after(build: Build) -> None:
    """Exit under five seconds; at the next start the run is told as interrupted, with Retry (D16)."""
    house = await build(LONG_RUN)
    await house.ada.say("work")
    await house.see(lambda m: "echo begun" in m.text)
    begun = time.monotonic()

    code = await house.stop()

    assert code == 0 and time.monotonic() - begun < 5
    await house.start()
    assert (await house.see("interrupted")).buttons == ["🔁 Retry"]


async def test_an_idle_agent_process_ends_and_comes_back(build: Build) -> None:
    """After the idle time the next prompt still knows the conversation."""
    house = await build(idle_s="0.5")
    await house.ask("remember alpha")
    await asyncio.sleep(1.5)

    await house.ask("and now?")

    assert "alpha" in str(house.prompts()[-1]["body"])
