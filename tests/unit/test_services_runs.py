"""Sessions, their queues and runs; what a restart leaves behind."""

import pytest

from core.errors import NotFound
from core.events import Ended, Outcome
from core.model.ids import SessionId
from core.model.run import Call, Prompt, PromptState, Run, RunState, Session
from core.rules.context import render
from core.services import context, runs
from tests.factories import ANN, PROJECT, World, a_lesson


@pytest.fixture
def world() -> World:
    """One lesson and one fresh session."""
    world = World()
    a_lesson(world.tx)
    opened(world)
    return world


def opened(world: World, lane: str = "chat") -> Session:
    return world.act(lambda tx: runs.open_session(tx, world.ids, lane, PROJECT, "pi", "fr", world.now))


def session(world: World) -> SessionId:
    current = world.tx.runs.current_session("chat")
    assert current is not None
    return current.id


def queued(world: World, text: str = "Fix it", hold_s: float = 0.0) -> Prompt:
    return world.act(
        lambda tx: runs.enqueue(tx, world.ids, session(world), text, ANN, world.now, "m-1", hold_s)
    )


def started(world: World, prompt: Prompt) -> Run:
    block = context.block(world.tx, PROJECT, "en")
    return world.act(lambda tx: runs.start(tx, world.ids, prompt, block, world.now))


def next_text(world: World) -> str | None:
    prompt = runs.next_prompt(world.tx, session(world), world.now)
    return prompt.text if prompt is not None else None


def ended(world: World, run: Run, outcome: Outcome = Outcome.DONE) -> Run:
    calls = (Call("bash", "npm test", True, "missing script"),)
    return world.act(lambda tx: runs.finish(tx, run.id, Ended(outcome, "Done."), calls, world.now))


def test_a_new_session_takes_the_place_of_the_lanes_old_one(world: World) -> None:
    """One current session a lane."""
    old = session(world)
    new = opened(world)
    assert (session(world), [each.id for each in world.tx.runs.sessions("chat")]) == (new.id, [new.id, old])


def test_lessons_off_is_kept_by_the_next_session_of_the_chat(world: World) -> None:
    """`/lessons off` runs this chat without any of it until `on`."""
    world.act(lambda tx: runs.switch_lessons(tx, session(world), is_off=True))
    assert opened(world).is_lessons_off


def test_prompts_run_in_order_and_one_at_a_time(world: World) -> None:
    """product.md 1.1.5."""
    first = queued(world, "one")
    queued(world, "two")
    assert next_text(world) == "one"
    run = started(world, first)
    assert next_text(world) is None
    ended(world, run)
    assert next_text(world) == "two"


def test_a_prompt_that_may_have_a_following_part_is_held(world: World) -> None:
    """A long paste arrives as several messages."""
    queued(world, "part", hold_s=1.5)
    assert next_text(world) is None
    world.now += 1.5
    assert next_text(world) == "part"


def test_a_run_records_what_it_was_told(world: World) -> None:
    """Issue 2.4: ids and the hash of the bytes."""
    run = started(world, queued(world))
    block = context.block(world.tx, PROJECT, "en")
    assert (run.told, run.told_sha256) == (("l-001",), block.sha256)


def test_a_run_that_is_told_nothing_has_the_hash_of_nothing(world: World) -> None:
    """`/lessons off`."""
    world.act(lambda tx: runs.switch_lessons(tx, session(world), is_off=True))
    prompt = queued(world)
    run = world.act(lambda tx: runs.start(tx, world.ids, prompt, None, world.now))
    assert (run.told, run.told_sha256, run.is_lessons_off) == ((), render(()).sha256, True)


def test_a_prompt_starts_once(world: World) -> None:
    """An agent run is never repeated by itself."""
    prompt = queued(world)
    started(world, prompt)
    assert isinstance(world.refused(lambda tx: runs.start(tx, world.ids, prompt, None, 0.0)), NotFound)


def test_prompt_and_answer_are_masked_and_the_raw_prompt_goes_with_the_run(world: World) -> None:
    """S6: raw until done, then blanked."""
    run = started(world, queued(world, "PASSWORD=hunter2hunter2 please"))
    assert "hunter2" not in run.prompt
    ended(world, run)
    assert [each.text for each in world.tx.runs.prompts(PromptState.DONE)] == [""]


def test_a_run_ends_once(world: World) -> None:
    """A late second end changes nothing."""
    run = started(world, queued(world))
    first = ended(world, run)
    assert (first.state, first.calls[0].command) == (RunState.DONE, "npm test")
    assert ended(world, run, Outcome.FAILED) == first


def test_a_restart_marks_what_ran_as_interrupted_and_runs_nothing_again(world: World) -> None:
    """reliability.md 1: tools have side effects."""
    run = started(world, queued(world, "Deploy"))
    cut = world.act(lambda tx: runs.interrupt_all(tx, world.now))
    assert [(each.id, each.state) for each in cut] == [(run.id, RunState.INTERRUPTED)]
    assert next_text(world) is None
    assert world.act(lambda tx: runs.interrupt_all(tx, world.now)) == []


def test_retry_queues_the_message_as_it_was_typed(world: World) -> None:
    """On the person's tap; a second tap has the masked text only."""
    run = started(world, queued(world, "PASSWORD=hunter2hunter2 please"))
    world.act(lambda tx: runs.interrupt_all(tx, world.now))
    again = world.act(lambda tx: runs.run_again(tx, world.ids, run.id, ANN, world.now))
    assert (again.text, again.message) == ("PASSWORD=hunter2hunter2 please", "m-1")


def test_a_stop_pauses_the_queue_until_run_next(world: World) -> None:
    """product.md 1.1.5."""
    queued(world, "two")
    assert [each.text for each in world.act(lambda tx: runs.pause(tx, session(world)))] == ["two"]
    assert next_text(world) is None
    world.act(lambda tx: runs.resume(tx, session(world)))
    assert next_text(world) == "two"


def test_a_stop_with_nothing_queued_pauses_nothing(world: World) -> None:
    """The next message runs at once."""
    world.act(lambda tx: runs.pause(tx, session(world)))
    queued(world, "next")
    assert next_text(world) == "next"


def test_clear_drops_what_waits_and_blanks_it(world: World) -> None:
    """product.md 1.1.5."""
    queued(world, "two")
    world.act(lambda tx: runs.clear(tx, session(world)))
    assert next_text(world) is None
    assert [each.text for each in world.tx.runs.prompts(PromptState.CLEARED)] == [""]


def test_the_last_run_is_the_newest_that_has_ended(world: World) -> None:
    """`/bad` while the next one runs is about the answer that is there."""
    done = ended(world, started(world, queued(world, "one")))
    started(world, queued(world, "two"))
    assert runs.last_run(world.tx, session(world)) == done


def test_the_first_prompt_stays_with_the_session(world: World) -> None:
    """It is evidence for every analysis."""
    ended(world, started(world, queued(world, "one")))
    started(world, queued(world, "two"))
    assert runs.need_session(world.tx, session(world)).first_prompt == "one"


def test_an_unknown_session_is_not_found(world: World) -> None:
    """A line that says so."""
    assert isinstance(world.refused(lambda tx: runs.need_session(tx, "s-9")), NotFound)


def test_the_language_is_that_of_the_person_who_wrote_last(world: World) -> None:
    """The analysis answers in it."""
    world.act(lambda tx: runs.speak(tx, session(world), "en"))
    assert runs.need_session(world.tx, session(world)).language == "en"
