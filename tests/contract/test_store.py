"""What every store keeps: one suite over memory and SQLite (see `core.ports.Store` and `core.tables`)."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.model.feedback import Credit, CreditKind, Feedback, Source, Vote
from core.model.ids import FeedbackId, LessonId, ProposalId, RunId, SessionId
from core.model.lesson import Choice, Domain, Lesson, Revision, Scope
from core.model.mail import Button, MailState, Outgoing, Receipt
from core.model.proposal import Analysis, AnalysisState, Origin, Proposal, State, Verdict
from core.model.run import Activity, Call, Prompt, PromptState, Run, RunState
from core.ports import Store
from core.rules.approval import folded
from core.services import analysis, feedback, proposals
from core.services.feedback import Ballot
from core.store.memory import MemoryStore
from core.store.sqlite import open_store
from core.tables import Tx
from tests import factories
from tests.factories import ANN, BOB, NOW, PROJECT


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store of each kind."""
    if request.param == "memory":
        yield MemoryStore()
        return
    async with open_store(tmp_path / "store.db") as opened:
        yield opened


def a_vote(id: str = "f-1", run: str | None = "r-1", user: str = ANN, project: str = PROJECT) -> Feedback:
    return Feedback(
        id=FeedbackId(id),
        timestamp="2026-01-02T03:04:05.000Z",
        type=Vote.NEGATIVE,
        source=Source.CLI,
        session=SessionId("s-1"),
        project=project,
        domain=Domain.DEBUG,
        context="Réparer le build",
        user_comment="",
        run=RunId(run) if run else None,
        user=user,
        reasons=("too_slow",),
    )


def a_lesson(number: int = 1, project: str | None = None, active: bool = True) -> Lesson:
    scope = Scope.PROJECT if project else Scope.GLOBAL
    return Lesson(
        id=LessonId(f"l-{number:03d}"),
        created="2026-01-02T03:04:05.000Z",
        domain=Domain.REVIEW,
        rule="Découper les refactors 🪓",
        rationale="",
        source_feedback=("f-1", "f-2"),
        active=active,
        scope=scope,
        project=project,
        decided=number,
    )


def a_proposal(number: int = 1, state: State = State.PENDING) -> Proposal:
    return Proposal(
        id=ProposalId(f"p-{number:03d}"),
        key=f"vote:f-{number}",
        state=state,
        version=1,
        verdict=Verdict.MERGE,
        rule="Découper",
        rationale="",
        domain=Domain.GENERAL,
        scope=Scope.GLOBAL,
        project=PROJECT,
        origin=Origin.TOOL_OUTPUT,
        created=NOW,
        flags=("secret", "order"),
        feedback=FeedbackId(f"f-{number}"),
        absorbs=("l-002", "l-003"),
    )


async def test_what_was_written_is_read(store: Store) -> None:
    """And the value of the function comes back."""

    def act(tx: Tx) -> str:
        tx.settings.put("digest", "09:00")
        return "done"

    assert await store.write(act) == "done"
    assert await store.read(lambda tx: tx.settings.get("digest")) == "09:00"


async def test_an_exception_undoes_all_of_its_transaction(store: Store) -> None:
    """All of it happens, or none; the exception is the caller's own."""

    def fail(tx: Tx) -> None:
        tx.settings.put("digest", "09:00")
        tx.lessons.put(a_lesson())
        tx.inbox.add(1, "chat", "{}", NOW)
        raise LookupError("half-way")

    with pytest.raises(LookupError, match="half-way"):
        await store.write(fail)
    assert await store.read(lambda tx: (tx.settings.get("digest"), tx.lessons.all(), tx.inbox.waiting())) == (
        None,
        [],
        [],
    )


async def test_a_read_changes_nothing(store: Store) -> None:
    """It works on one consistent view."""

    def try_to_write(tx: Tx) -> None:
        tx.settings.put("digest", "09:00")

    try:
        await store.read(try_to_write)
    except Exception as error:  # noqa: BLE001 -- either answer is right: refuse, or drop what was written
        assert "read" in str(error)
    assert await store.read(lambda tx: tx.settings.get("digest")) is None


async def test_settings_are_replaced_and_dropped(store: Store) -> None:
    """Small named values."""

    def act(tx: Tx) -> list[str | None]:
        tx.settings.put("a", "1")
        tx.settings.put("a", "2")
        tx.settings.put("b", "3")
        tx.settings.drop("b")
        tx.settings.drop("never")
        return [tx.settings.get("a"), tx.settings.get("b")]

    assert await store.write(act) == ["2", None]


async def test_a_vote_comes_back_whole(store: Store) -> None:
    """Every field, tuples and accents included."""
    await store.write(lambda tx: tx.feedback.add(a_vote()))
    assert await store.read(lambda tx: tx.feedback.get(FeedbackId("f-1"))) == a_vote()


async def test_a_superseded_vote_is_kept_but_no_longer_current(store: Store) -> None:
    """Append-only."""
    second = replace(a_vote("f-2"), type=Vote.POSITIVE, supersedes=FeedbackId("f-1"))

    def act(tx: Tx) -> tuple[Feedback | None, Feedback | None]:
        tx.feedback.add(a_vote())
        tx.feedback.add(second)
        return tx.feedback.get(FeedbackId("f-1")), tx.feedback.current(RunId("r-1"), ANN)

    assert await store.write(act) == (replace(a_vote(), is_current=False), second)


async def test_votes_of_others_and_other_runs_are_not_current_here(store: Store) -> None:
    """One vote per run and person."""

    def act(tx: Tx) -> list[Feedback | None]:
        tx.feedback.add(a_vote())
        return [tx.feedback.current(RunId("r-1"), BOB), tx.feedback.current(RunId("r-2"), ANN)]

    assert await store.write(act) == [None, None]


async def test_newest_votes_come_first_without_withdrawn_ones(store: Store) -> None:
    """And of one project where asked."""
    taken = replace(a_vote("f-4", "r-4"), type=Vote.WITHDRAWN)

    def act(tx: Tx) -> list[list[str]]:
        for vote in (a_vote("f-1", "r-1"), a_vote("f-2", "r-2", project="/b"), a_vote("f-3", "r-3"), taken):
            tx.feedback.add(vote)
        found = [tx.feedback.newest(9), tx.feedback.newest(1), tx.feedback.newest(9, "/b")]
        return [[each.id for each in votes] for votes in found]

    assert await store.write(act) == [["f-3", "f-2", "f-1"], ["f-3"], ["f-2"]]


async def test_words_may_be_added_to_a_vote(store: Store) -> None:
    """Nothing else of the record changes."""

    def act(tx: Tx) -> Feedback | None:
        tx.feedback.add(a_vote())
        tx.feedback.amend(FeedbackId("f-1"), "trop lent…", ("too_slow", "ignored_me"))
        return tx.feedback.get(FeedbackId("f-1"))

    expected = replace(a_vote(), user_comment="trop lent…", reasons=("too_slow", "ignored_me"))
    assert await store.write(act) == expected


async def test_credits_count_once_follow_a_merge_and_come_back(store: Store) -> None:
    """What one vote counted for one lesson."""
    earned = Credit(FeedbackId("f-1"), "l-002", CreditKind.POSITIVE, "l-002")

    def act(tx: Tx) -> list[list[str]]:
        tx.feedback.credit([earned, earned])
        steps = [tx.feedback.credits(FeedbackId("f-1"))]
        tx.feedback.move_credits(LessonId("l-002"), LessonId("l-001"))
        steps.append(tx.feedback.credits(FeedbackId("f-1")))
        tx.feedback.return_credits(LessonId("l-002"))
        steps.append(tx.feedback.credits(FeedbackId("f-1")))
        tx.feedback.drop_credits(FeedbackId("f-1"))
        steps.append(tx.feedback.credits(FeedbackId("f-1")))
        return [[each.lesson for each in step] for step in steps]

    assert await store.write(act) == [["l-002"], ["l-001"], ["l-002"], []]


async def test_lessons_come_in_order_of_their_number(store: Store) -> None:
    """l-1000 after l-999, active ones apart."""

    def act(tx: Tx) -> list[list[str]]:
        for number in (1000, 2, 999):
            tx.lessons.put(a_lesson(number, active=number != 2))
        found = [tx.lessons.all(), tx.lessons.all(active=True), tx.lessons.all(active=False)]
        return [[each.id for each in lessons] for lessons in found]

    assert await store.write(act) == [["l-002", "l-999", "l-1000"], ["l-999", "l-1000"], ["l-002"]]


async def test_active_lessons_never_come_from_another_project(store: Store) -> None:
    """Scope is strict."""

    def act(tx: Tx) -> list[list[str]]:
        for lesson in (a_lesson(1), a_lesson(2, "/a"), a_lesson(3, "/b"), a_lesson(4, active=False)):
            tx.lessons.put(lesson)
        return [[each.id for each in tx.lessons.active(project)] for project in (None, "/a", "/c")]

    assert await store.write(act) == [["l-001"], ["l-001", "l-002"], ["l-001"]]


async def test_a_lesson_is_replaced_and_its_history_stays(store: Store) -> None:
    """Every wording, oldest first."""
    lesson = a_lesson()
    revisions = [
        Revision(
            lesson.id, number, f"Wording {number}", "", Domain.DEBUG, Scope.GLOBAL, None, True, ANN, "", "",
            number, ("f-1",),
        )
        for number in (1, 2)
    ]  # fmt: skip

    def act(tx: Tx) -> tuple[Lesson | None, list[Revision]]:
        tx.lessons.put(lesson)
        tx.lessons.put(replace(lesson, rule="Autre", revision=2))
        for revision in revisions:
            tx.lessons.record(revision)
        return tx.lessons.get(lesson.id), tx.lessons.history(lesson.id)

    assert await store.write(act) == (replace(lesson, rule="Autre", revision=2), revisions)


async def test_the_nearest_lessons_come_best_first_and_never_from_another_project(store: Store) -> None:
    """Shared words count, rare ones most; a disabled lesson is not found, a reworded one by its new words."""

    def fill(tx: Tx) -> None:
        tx.lessons.put(replace(a_lesson(1), rule="Run the unit tests before you commit"))
        tx.lessons.put(replace(a_lesson(2), rule="Never commit generated files"))
        tx.lessons.put(replace(a_lesson(3, project=PROJECT), rule="Commit unit tests of the shop"))
        tx.lessons.put(replace(a_lesson(4, active=False), rule="Commit unit tests daily"))
        tx.lessons.put(replace(a_lesson(5), rule="Commit unit tests"))
        tx.lessons.put(replace(a_lesson(5), rule="Écrire des messages courts"))

    await store.write(fill)
    everywhere = await store.read(lambda tx: tx.lessons.nearest("commit the unit tests", None, 5))
    inside = await store.read(lambda tx: tx.lessons.nearest("commit the unit tests", PROJECT, 2))

    assert [each.id for each, _ in everywhere] == ["l-001", "l-002"]
    assert everywhere[0][1] > everywhere[1][1] > 0
    assert [each.id for each, _ in inside] == ["l-001", "l-003"]
    assert await store.read(lambda tx: tx.lessons.nearest('"* OR -', None, 5)) == []


async def test_lessons_are_found_by_what_they_say(store: Store) -> None:
    """By the folded wording, active ones only."""

    def fill(tx: Tx) -> None:
        tx.lessons.put(replace(a_lesson(1), rule="Découper  les Étapes."))
        tx.lessons.put(replace(a_lesson(2, active=False), rule="decouper les etapes"))

    await store.write(fill)
    found = await store.read(lambda tx: tx.lessons.saying(folded("DECOUPER LES ETAPES")))

    assert [each.id for each in found] == ["l-001"]


async def test_pages_come_by_scope_domain_and_number(store: Store) -> None:
    """A page is a slice of the whole; another project's lessons are in none."""

    def fill(tx: Tx) -> None:
        for number in range(1, 5):
            tx.lessons.put(replace(a_lesson(number), domain=Domain.DEBUG if number == 4 else Domain.GENERAL))
        tx.lessons.put(a_lesson(5, project=PROJECT))
        tx.lessons.put(a_lesson(6, project="/srv/other"))
        tx.lessons.put(replace(a_lesson(7), scope=Scope.DOMAIN))

    await store.write(fill)
    choice = Choice(project=PROJECT)
    pages = [
        await store.read(lambda tx, at=at: tx.lessons.page(choice, 4, at))  # type: ignore[misc]
        for at in (0, 4)
    ]

    assert [each.id for page in pages for each in page] == [
        "l-004",
        "l-001",
        "l-002",
        "l-003",
        "l-005",
        "l-007",
    ]
    assert await store.read(lambda tx: tx.lessons.count(choice)) == 6
    assert await store.read(lambda tx: tx.lessons.count(Choice(domain=Domain.DEBUG))) == 1
    assert await store.read(lambda tx: tx.lessons.count(Choice(is_everywhere=True, scope=Scope.PROJECT))) == 2


async def test_what_the_block_may_hold_comes_newest_decision_first(store: Store) -> None:
    """With its characters; lessons of scope domain are read on demand."""

    def fill(tx: Tx) -> None:
        for number in (1, 2, 3):
            tx.lessons.put(a_lesson(number))
        tx.lessons.put(replace(a_lesson(1), decided=9, rule="Short"))
        tx.lessons.put(a_lesson(4, project="/srv/other"))
        tx.lessons.put(replace(a_lesson(5), scope=Scope.DOMAIN))

    await store.write(fill)
    sizes = await store.read(lambda tx: tx.lessons.told_sizes(None))
    apart = await store.read(lambda tx: tx.lessons.on_demand())

    assert sizes == [("l-001", len("reviewShort")), ("l-003", 30), ("l-002", 30)]
    assert [each.id for each in apart] == ["l-005"]


async def test_a_lesson_is_erased_with_its_history_and_its_number_stays_taken(store: Store) -> None:
    """A purge leaves no wording."""

    def fill(tx: Tx) -> None:
        tx.lessons.reserve(7)
        tx.lessons.put(replace(a_lesson(7), merged_into=LessonId("l-002")))
        tx.lessons.erase(LessonId("l-007"))

    await store.write(fill)
    found = await store.read(
        lambda tx: (
            tx.lessons.all(),
            tx.lessons.history(LessonId("l-007")),
            tx.lessons.nearest("refactors", None, 3),
        )
    )

    assert found == ([], [], [])
    assert await store.write(lambda tx: tx.lessons.next_id()) == "l-008"


async def test_voted_runs_are_negative_where_one_vote_is(store: Store) -> None:
    """Votes taken back, and votes about no run, count for nothing."""

    def fill(tx: Tx) -> None:
        for number in (1, 2, 3):
            factories.a_run(tx, f"r-{number}", told=("l-001",))
        tx.feedback.add(replace(a_vote("f-1", "r-1", ANN), type=Vote.POSITIVE))
        tx.feedback.add(a_vote("f-2", "r-1", BOB))
        tx.feedback.add(replace(a_vote("f-3", "r-2"), type=Vote.POSITIVE))
        tx.feedback.add(replace(a_vote("f-4", "r-3"), type=Vote.WITHDRAWN))
        tx.feedback.add(a_vote("f-5", None))

    await store.write(fill)
    found = await store.read(lambda tx: tx.feedback.voted())

    assert [(each.run, each.is_negative, each.told) for each in found] == [
        ("r-1", True, ("l-001",)),
        ("r-2", False, ("l-001",)),
    ]


async def test_the_words_of_a_vote_are_erased_and_it_still_counts(store: Store) -> None:
    """A purge."""
    await store.write(lambda tx: tx.feedback.add(replace(a_vote(), user_comment="my password")))
    await store.write(lambda tx: tx.feedback.erase(FeedbackId("f-1")))

    found = await store.read(lambda tx: tx.feedback.newest(5))

    assert [(each.user_comment, each.context, each.type) for each in found] == [("", "", Vote.NEGATIVE)]


async def test_numbers_are_given_once_and_not_by_what_was_undone(store: Store) -> None:
    """Ids and decisions count up over transactions."""

    def fail(tx: Tx) -> None:
        tx.lessons.next_id()
        raise LookupError

    first = await store.write(lambda tx: (tx.lessons.next_id(), tx.lessons.next_decision()))
    with pytest.raises(LookupError):
        await store.write(fail)
    second = await store.write(lambda tx: (tx.lessons.next_id(), tx.lessons.next_decision()))
    assert (first, second) == (("l-001", 1), ("l-002", 2))
    assert await store.write(lambda tx: tx.proposals.next_id()) == "p-001"


async def test_a_proposal_comes_back_whole_by_id_key_and_vote(store: Store) -> None:
    """Every field."""
    proposal = a_proposal()

    def act(tx: Tx) -> list[object]:
        tx.proposals.put(proposal)
        found = [tx.proposals.get(proposal.id), tx.proposals.by_key("vote:f-1")]
        return [*found, *tx.proposals.by_feedback(FeedbackId("f-1")), tx.proposals.by_key("none")]

    assert await store.write(act) == [proposal, proposal, proposal, None]


async def test_a_swap_needs_the_pending_version(store: Store) -> None:
    """S2: decided once, as shown."""
    shown = a_proposal()
    done = replace(shown, state=State.APPROVED)

    def act(tx: Tx) -> list[bool]:
        tx.proposals.put(shown)
        return [
            tx.proposals.swap(replace(done, id=ProposalId("p-9"), key="x"), 1),
            tx.proposals.swap(done, 2),
            tx.proposals.swap(done, 1),
            tx.proposals.swap(done, 1),
        ]

    assert await store.write(act) == [False, False, True, False]
    assert await store.read(lambda tx: tx.proposals.get(shown.id)) == done


async def test_pending_proposals_can_be_listed_apart(store: Store) -> None:
    """In id order."""

    def act(tx: Tx) -> list[list[str]]:
        for proposal in (a_proposal(2), a_proposal(1), a_proposal(3, State.REJECTED)):
            tx.proposals.put(proposal)
        found = [tx.proposals.all(), tx.proposals.all(pending_only=True)]
        return [[each.id for each in proposals] for proposals in found]

    assert await store.write(act) == [["p-001", "p-002", "p-003"], ["p-001", "p-002"]]


async def test_analyses_come_by_state_earliest_due_first(store: Store) -> None:
    """What the worker claims from."""
    late = Analysis("a", FeedbackId("f-1"), RunId("r-1"), AnalysisState.OPEN, NOW + 20)
    soon = Analysis(
        "b", FeedbackId("f-2"), None, AnalysisState.READY, NOW, note="why", sharpen=LessonId("l-1")
    )
    done = Analysis("c", FeedbackId("f-2"), None, AnalysisState.DONE, 0.0)

    def act(tx: Tx) -> list[list[Analysis]]:
        for each in (late, soon, done):
            tx.proposals.put_analysis(each)
        found = tx.proposals.analyses([AnalysisState.OPEN.value, AnalysisState.READY.value])
        return [found, tx.proposals.analyses_of(FeedbackId("f-2"))]

    assert await store.write(act) == [[soon, late], [soon, done]]


async def test_runs_come_newest_first_with_their_calls(store: Store) -> None:
    """Order is that of coming in, not of the clock."""
    calls = (Call("bash", "npm test", True, "missing script: test", 1), Call("read", "a.py", False))

    def act(tx: Tx) -> tuple[list[str], Run | None, list[str]]:
        first = factories.a_run(tx, "r-1", told=("l-001",), calls=calls)
        factories.a_run(tx, "r-3")
        factories.a_run(tx, "r-2", project="/b")
        tx.runs.put(replace(first, state=RunState.RUNNING))
        newest = [tx.runs.newest(), tx.runs.newest(PROJECT), tx.runs.newest("/c")]
        running = tx.runs.running()
        assert running == [replace(first, state=RunState.RUNNING)]
        ids = [str(each.id) for each in tx.runs.of_session(SessionId("s-1"), 2)]
        return ids, tx.runs.get(RunId("r-9")), [str(each.id) if each else "" for each in newest]

    assert await store.write(act) == (["r-2", "r-3"], None, ["r-2", "r-3", ""])


async def test_a_lane_has_one_current_session(store: Store) -> None:
    """The newest that is current."""

    def act(tx: Tx) -> tuple[str, list[str], object]:
        old = factories.a_session(tx, "s-1")
        tx.runs.put_session(replace(old, is_current=False, model="m"))
        tx.runs.put_session(replace(old, id=SessionId("s-2"), created=NOW + 1))
        factories.a_session(tx, "s-3", lane="other")
        current = tx.runs.current_session("chat")
        assert current is not None
        return current.id, [each.id for each in tx.runs.sessions("chat")], tx.runs.current_session("none")

    assert await store.write(act) == ("s-2", ["s-2", "s-1"], None)


async def test_prompts_queue_in_order_of_coming(store: Store) -> None:
    """A change of state does not change the order."""

    def act(tx: Tx) -> list[list[str]]:
        session = factories.a_session(tx)
        for name in ("m-3", "m-1", "m-2"):
            tx.runs.put_prompt(factories.a_prompt(session, name))
        first: Prompt | None = tx.runs.prompt("m-3")
        assert first is not None
        tx.runs.put_prompt(replace(first, text="edited"))
        steps = [tx.runs.queued(session.id)]
        tx.runs.put_prompt(replace(first, state=PromptState.RUNNING))
        steps += [tx.runs.queued(session.id), tx.runs.prompts(PromptState.RUNNING.value)]
        return [[each.id for each in step] for step in steps]

    assert await store.write(act) == [["m-3", "m-1", "m-2"], ["m-1", "m-2"], ["m-3"]]


async def test_the_audit_log_numbers_its_lines(store: Store) -> None:
    """Readers go on after the last they saw."""
    for verb in ("add", "edit", "undo"):
        await store.write(lambda tx, verb=verb: tx.runs.log(Activity(NOW, ANN, "cli", verb, "l-001")))  # type: ignore[misc]
    lines = await store.read(lambda tx: tx.runs.activities(1))
    assert [(each.seq, each.verb) for each in lines] == [(2, "edit"), (3, "undo")]
    assert len(await store.read(lambda tx: tx.runs.activities(0, 2))) == 2


async def test_an_update_is_stored_once_and_blanked_when_done(store: Store) -> None:
    """Nothing in is lost or done twice; ids are not in order."""

    def act(tx: Tx) -> list[object]:
        added = [tx.inbox.add(id, "chat", f"raw {id}", NOW) for id in (7, 3, 7)]
        waiting = [each.id for each in tx.inbox.waiting()]
        tx.inbox.finish(7)
        return [added, waiting, [each.raw for each in tx.inbox.waiting()], tx.inbox.add(7, "chat", "", NOW)]

    assert await store.write(act) == [[True, True, False], [7, 3], ["raw 3"], False]


async def test_a_failed_update_waits_again_until_it_is_given_up(store: Store) -> None:
    """P2: retry with limit, then dead letter; only done ones are forgotten."""

    def act(tx: Tx) -> list[object]:
        tx.inbox.add(1, "chat", "{}", NOW)
        tx.inbox.add(2, "chat", "{}", NOW)
        tx.inbox.fail(1, "boom", is_dead=False)
        attempts = [each.attempts for each in tx.inbox.waiting()]
        tx.inbox.fail(1, "boom", is_dead=True)
        tx.inbox.finish(2)
        return [
            attempts,
            [each.id for each in tx.inbox.dead()],
            tx.inbox.prune(NOW + 1),
            tx.inbox.prune(NOW + 1),
        ]

    assert await store.write(act) == [[1, 0], [1], 1, 0]


async def test_calls_wait_by_rank_then_in_order_and_newer_ones_replace_the_same(store: Store) -> None:
    """Of two edits of one message only the newer is sent."""

    def act(tx: Tx) -> list[list[str]]:
        tx.outbox.put(Outgoing("chat", "edit 1", key="k"))
        tx.outbox.put(Outgoing("chat", "text"))
        tx.outbox.put(Outgoing("chat", "edit 2", key="k"))
        tx.outbox.put(Outgoing("chat", "tap", rank=0))
        tx.outbox.put(Outgoing("other", "hello"))
        found = [tx.outbox.waiting("chat"), tx.outbox.waiting("none")]
        return [[each.body for each in calls] for calls in found] + [sorted(tx.outbox.lanes())]

    assert await store.write(act) == [["tap", "text", "edit 2"], [], ["chat", "other"]]


async def test_a_call_that_is_being_sent_is_not_replaced(store: Store) -> None:
    """Its outcome is unknown until it is done."""

    def act(tx: Tx) -> list[tuple[str, MailState, int]]:
        seq = tx.outbox.put(Outgoing("chat", "edit 1", key="k"))
        tx.outbox.start(seq, "edit 1")
        tx.outbox.put(Outgoing("chat", "edit 2", key="k"))
        return [(each.body, each.state, each.attempts) for each in tx.outbox.waiting()]

    expected = [("edit 1", MailState.SENDING, 1), ("edit 2", MailState.WAITING, 0)]
    assert await store.write(act) == expected


async def test_a_delayed_call_waits_for_its_time(store: Store) -> None:
    """A 429 is waited out."""

    def act(tx: Tx) -> Outgoing:
        seq = tx.outbox.put(Outgoing("chat", "text", created=NOW))
        tx.outbox.start(seq, "text")
        tx.outbox.delay(seq, "text, again", NOW + 3, "429")
        return tx.outbox.waiting()[0]

    held = await store.write(act)
    assert (held.state, held.not_before, held.error, held.body) == (
        MailState.WAITING,
        NOW + 3,
        "429",
        "text, again",
    )


async def test_what_was_sent_is_known_by_its_ref_and_blanked(store: Store) -> None:
    """A reply or a tap finds what its message is about."""

    def act(tx: Tx) -> list[object]:
        for external in ("11", "12"):
            seq = tx.outbox.put(Outgoing("chat", "text", ref="run:1", created=NOW))
            tx.outbox.finish(seq, Receipt("chat", external, "run:1"))
        receipts = [each.external for each in tx.outbox.receipts("run:1")]
        newest = tx.outbox.newest("chat")
        known = [tx.outbox.ref_of("chat", "12"), tx.outbox.ref_of("other", "12")]
        return [receipts, newest.external if newest else None, known, tx.outbox.prune(NOW + 1)]

    assert await store.write(act) == [["11", "12"], "12", ["run:1", None], 2]


async def test_a_lane_that_moved_takes_its_calls_and_messages_with_it(store: Store) -> None:
    """A group that became a supergroup."""

    def act(tx: Tx) -> list[object]:
        tx.outbox.put(Outgoing("old", "text"))
        tx.outbox.bind(Receipt("old", "11", "run:1"))
        tx.outbox.move("old", "new")
        return [[each.lane for each in tx.outbox.waiting()], tx.outbox.ref_of("new", "11")]

    assert await store.write(act) == [["new"], "run:1"]


async def test_what_waits_for_a_chat_that_is_gone_is_given_up(store: Store) -> None:
    """403: visible in `doctor`, blanked."""

    def act(tx: Tx) -> list[object]:
        tx.outbox.put(Outgoing("chat", "text"))
        failed = tx.outbox.put(Outgoing("other", "text"))
        tx.outbox.drop("chat")
        tx.outbox.fail(failed, "400")
        return [tx.outbox.waiting(), [(each.lane, each.body) for each in tx.outbox.dead()]]

    assert await store.write(act) == [[], [("chat", ""), ("other", "")]]


async def test_buttons_keep_what_they_stand_for_until_they_expire(store: Store) -> None:
    """S2: everything but the id stays here."""
    button = Button("b-1", "approve", "chat", '{"id": "p-001"}', NOW, NOW + 60, ref="p-001", version=2)

    def act(tx: Tx) -> list[object]:
        tx.buttons.put(button)
        tx.buttons.put(replace(button, id="b-2", created=NOW + 1, expires=NOW + 99))
        newest = tx.buttons.of("p-001", "approve")
        found = [tx.buttons.get("b-1"), newest.id if newest else None, tx.buttons.of("p-001", "reject")]
        return [*found, tx.buttons.prune(NOW + 61), tx.buttons.get("b-1")]

    assert await store.write(act) == [button, "b-2", None, 1, None]


def the_whole_loop(ids: factories.CountingIds) -> list[Callable[[Tx], object]]:
    """Two votes, a merge, an undo, a change of mind: one transaction a step."""

    def vote(run: str, user: str, type: Vote) -> Callable[[Tx], object]:
        ballot = Ballot(RunId(run), user, type, Source.TELEGRAM, "no tests ran")
        return lambda tx: feedback.vote(tx, ids, ballot, NOW, 0.0)

    def analyse(tx: Tx) -> object:
        claimed = analysis.claim(tx, NOW)
        assert claimed is not None
        lesson = tx.lessons.all()[0]
        finding = factories.a_finding("Run all tests, always", Verdict.MERGE, lesson)
        return analysis.conclude(tx, claimed.id, finding, NOW, analysis.evidence(tx, claimed))

    def prepare(tx: Tx) -> object:
        factories.a_session(tx)
        told = [factories.a_lesson(tx, rule).id for rule in ("Run tests", "Small steps")]
        return factories.a_run(tx, told=told)

    return [
        prepare,
        vote("r-1", BOB, Vote.POSITIVE),
        vote("r-1", ANN, Vote.NEGATIVE),
        analyse,
        lambda tx: proposals.approve(tx, "p-001", 1, ANN, NOW),
        lambda tx: proposals.undo(tx, "p-001", ANN, NOW + 5),
        lambda tx: proposals.set_scope(tx, "p-001", 3, None, ANN, NOW),
        vote("r-1", ANN, Vote.POSITIVE),
    ]


def everything(tx: Tx) -> list[object]:
    lessons = tx.lessons.all()
    votes = tx.feedback.newest(99)
    return [
        lessons,
        [tx.lessons.history(each.id) for each in lessons],
        tx.proposals.all(),
        tx.proposals.analyses([each.value for each in AnalysisState]),
        votes,
        [tx.feedback.credits(each.id) for each in votes],
        tx.runs.activities(0),
    ]


async def test_both_stores_end_alike_after_the_whole_loop(tmp_path: Path) -> None:
    """The twin is one: same steps, same records, to the last field."""
    memory, ends = MemoryStore(), []
    async with open_store(tmp_path / "store.db") as sqlite:
        for store in (memory, sqlite):
            for step in the_whole_loop(factories.CountingIds()):
                await store.write(step)
            ends.append(await store.read(everything))
    assert ends[0] == ends[1]
    assert [each.positive_examples for each in ends[0][0]] == [2, 2]  # type: ignore[attr-defined]
