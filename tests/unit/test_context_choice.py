"""Choosing what the block has room for by sizes alone gives what rendering every lesson gives."""

from hypothesis import given, settings
from hypothesis import strategies as st

from core.model.lesson import Domain, Lesson, Scope
from core.rules import context as rules
from core.rules.context import Budgets
from core.services import context, lessons
from core.store.memory import MemoryTx
from tests.factories import ANN, NOW, PROJECT

words = st.lists(st.sampled_from(["run", "the", "tests", "before", "é", "日本"]), min_size=1, max_size=40)


@settings(deadline=None, max_examples=60)
@given(st.lists(words, max_size=25), st.integers(100, 900))
def test_the_choice_by_size_is_the_choice_of_the_renderer(rule_words: list[list[str]], chars: int) -> None:
    """Byte for byte, and with the same lessons waiting."""
    tx = MemoryTx()
    for number, each in enumerate(rule_words):
        scope = list(Scope)[number % 3]
        lessons.add(tx, f"{' '.join(each)} {number}", Domain.DEBUG, scope, PROJECT, ANN, "cli", NOW)
    active = tx.lessons.active(PROJECT)
    files = {each: f"/ctx/{context.file_name(each)}" for each in rules.on_demand(active)}
    budgets = Budgets(lessons_chars=chars)

    whole = rules.render(rules.told_to(active, PROJECT), domain_files=files, budgets=budgets)
    chosen = context.block(tx, PROJECT, "en", folder="/ctx", budgets=budgets)

    assert chosen == whole


def test_a_lesson_that_a_person_decided_last_comes_first_among_many() -> None:
    """The hundred newest fill the block, the others wait in id order."""
    tx = MemoryTx()
    made: list[Lesson] = [
        lessons.add(
            tx, f"Rule number {number:04d} " + "x" * 70, Domain.DEBUG, Scope.GLOBAL, None, ANN, "cli", NOW
        )
        for number in range(300)
    ]

    block = context.block(tx, None, "en")

    assert block.told_ids == tuple(each.id for each in made[-len(block.told_ids) :])
    assert block.waiting_ids == tuple(each.id for each in made[: -len(block.told_ids)])


sized = st.lists(st.integers(6, 320), max_size=300)


@given(sized, st.integers(100, 6_000))
def test_choosing_stops_early_and_chooses_the_same(sizes: list[int], chars: int) -> None:
    """Each id is taken where it fits whole, else it waits: what a loop over all of them finds."""
    known = [(f"l-{number:03d}", size) for number, size in enumerate(sizes, 1)]
    room = chars - len(f"{rules.ENGLISH.lessons}\n{rules.FIRST_LINE}\n")
    fitting = []
    for id, size in known:
        if size + len("- [] \n") <= room:
            fitting.append(id)
            room -= size + len("- [] \n")

    found = rules.choose(known, {}, chars=chars)

    assert found == (fitting, [id for id, _ in known if id not in fitting])
