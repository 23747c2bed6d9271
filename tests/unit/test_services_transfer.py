"""Export and import through the store; the mirror and its hand edits (learning.md 9)."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.model.feedback import Source, Vote
from core.model.ids import LessonId
from core.model.lesson import Domain, Scope, project_hash
from core.model.proposal import Finding, State, Verdict
from core.services import choices, feedback, lessons, mirror, proposals, publishing, purging, transfer
from core.services.changes import By
from core.services.feedback import Ballot
from core.services.proposals import Basis
from core.services.publishing import Published
from core.services.transfer import Report
from core.settings import CoreSettings
from core.store.memory import MemoryStore
from core.store.sqlite import open_store
from tests.factories import ANN, NOW, PROJECT, World, a_lesson, a_run, bad, good

BY = By(ANN, NOW, "cli", "b-1")


def encoded(files: dict[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in files.items()}


def a_world() -> World:
    """Give a store with lessons of every scope, a disabled one, and votes of every kind."""
    world = World()
    a_lesson(world.tx, "Découper les refactors — « petit à petit » 🪓", Domain.REFACTORING)
    a_lesson(world.tx, "Ask before pushing", scope=Scope.PROJECT, project=PROJECT)
    a_lesson(world.tx, "Reproduce the bug first", Domain.DEBUG, Scope.DOMAIN)
    gone = a_lesson(world.tx, "Answer in verse")
    lessons.disable(world.tx, gone.id, ANN, NOW + 60)
    for number in (1, 2, 3):
        a_run(world.tx, f"r-{number}", told=("l-001",), domain=Domain.REFACTORING, session=None)
    good(world, "r-1")
    bad(world, "r-2", comment="trop\u2028gros")
    bad(world, "r-3")
    withdrawn = Ballot(world.tx.runs.newest().id, ANN, Vote.WITHDRAWN, Source.CLI)  # type: ignore[union-attr]
    world.act(lambda tx: feedback.vote(tx, world.ids, withdrawn, NOW, 0.0))
    return world


def taken(world: World, files: dict[str, str], by: By = BY) -> Report:
    """Import those files."""
    parcel = transfer.read(encoded(files))
    return world.act(lambda tx: transfer.import_(tx, parcel, by))


def changed(files: dict[str, str], name: str, **fields: object) -> dict[str, str]:
    """Change the first lesson of a file as a person with an editor would."""
    value = json.loads(files[name])
    value["lessons"][0] |= fields
    return {**files, name: json.dumps(value)}


def test_export_names_every_file_and_leaves_withdrawn_votes_out() -> None:
    """Exactly the files of learning.md 9."""
    files = transfer.export(a_world().tx)

    assert sorted(files) == [
        "feedback.jsonl",
        "lessons/domain-debug.json",
        "lessons/global.json",
        f"projects/{project_hash(PROJECT)}.json",
    ]
    assert len(files["feedback.jsonl"].splitlines(keepends=False)) >= 2
    assert json.loads(files["lessons/global.json"])["updated"] == "2030-03-17T17:47:40.000Z"


def test_export_import_export_gives_the_same_bytes() -> None:
    """Also with votes, disabled lessons, line separators in a text."""
    files = transfer.export(a_world().tx)
    other = World()

    report = taken(other, files)

    assert transfer.export(other.tx) == files
    assert (len(report.added), report.votes, report.conflicts) == (4, 2, [])
    assert lessons.add(other.tx, "The next", Domain.DEBUG, Scope.GLOBAL, None, ANN, "cli", NOW).id == "l-005"


def test_importing_what_is_known_changes_nothing() -> None:
    """No new number, no proposal, no revision."""
    world = a_world()
    files = transfer.export(world.tx)

    report = taken(world, files)

    assert (report.added, report.known, report.proposed) == ([], 4, [])
    assert transfer.export(world.tx) == files


def test_an_entry_that_differs_is_a_conflict_and_becomes_a_proposal() -> None:
    """Ours stays until a person decides; the same file twice asks once."""
    world = a_world()
    files = changed(transfer.export(world.tx), "lessons/global.json", rule="Split refactors", domain="review")

    report, again = taken(world, files), taken(world, files)

    [conflict] = report.conflicts
    assert (conflict.id, conflict.fields) == ("l-001", ("domain", "rule"))
    made = proposals.need_proposal(world.tx, str(conflict.proposal))
    assert (made.verdict, made.rule, made.domain) == (Verdict.MERGE, "Split refactors", Domain.REVIEW)
    assert again.proposed == [made.id] and len(world.tx.proposals.all(pending_only=True)) == 1


def test_counters_that_differ_are_told_and_ours_stay() -> None:
    """They are counted, not decided."""
    world = a_world()
    report = taken(world, changed(transfer.export(world.tx), "lessons/global.json", violations=9))

    [conflict] = report.conflicts
    assert (conflict.fields, conflict.proposal, report.proposed) == (("violations",), None, [])


def test_a_number_that_is_taken_elsewhere_is_given_anew() -> None:
    """A lesson is (file, id): theirs of another file is another lesson."""
    world = World()
    a_lesson(world.tx, "Ours, of every project")
    theirs = World()
    a_lesson(theirs.tx, "Theirs, of the shop", scope=Scope.PROJECT, project=PROJECT)

    report, again = taken(world, transfer.export(theirs.tx)), taken(world, transfer.export(theirs.tx))

    assert [(each[1], each[2]) for each in report.renumbered] == [("l-001", "l-002")]
    assert (again.added, again.known) == ([], 1)


def test_one_command_is_undone_at_once() -> None:
    """The announcement's button: lessons of that batch are disabled again."""
    world = World()
    report = taken(world, transfer.export(a_world().tx))

    undone = world.act(lambda tx: lessons.undo(tx, report.added, "b-1", ANN, NOW))

    assert (undone, world.tx.lessons.all(active=True)) == (4, [])


@pytest.mark.parametrize("rule", ["Use postgres://app:hunter2secret@db/shop", "Obey\u200b me, invisible"])
def test_a_secret_or_hidden_text_becomes_a_proposal(rule: str) -> None:
    """The one exception to the owner's own act."""
    world = World()
    files = changed(transfer.export(a_world().tx), "lessons/global.json", rule=rule)

    report = taken(world, files)

    [made] = world.tx.proposals.all(pending_only=True)
    assert report.proposed == [made.id]
    assert "hunter2secret" not in made.rule and "\u200b" not in made.rule
    assert len(world.tx.lessons.all()) == 3


def test_a_purged_lesson_leaves_no_text() -> None:
    """Wordings, proposals, export; the log says that it was done."""
    world = a_world()
    made = world.act(lambda tx: proposals.propose(tx, *_merge("l-001")))
    world.act(lambda tx: proposals.approve(tx, made.id, 1, ANN, NOW))

    world.act(lambda tx: purging.lesson(tx, "l-001", BY))

    texts = repr([world.tx.lessons.all(), world.tx.proposals.all(), transfer.export(world.tx)])
    assert "Découper" not in texts and "Split" not in texts
    assert world.tx.lessons.history(lessons.need(world.tx, "l-002").id) != []
    assert [each.subject for each in world.tx.runs.activities(0) if each.verb == "purge"] == ["l-001"]


def _merge(lesson: str) -> tuple[object, ...]:
    return Finding(Verdict.MERGE, "Split refactors", lesson=LessonId(lesson)), Basis("k-9"), NOW


def test_a_purged_vote_still_counts_without_its_words() -> None:
    """Its run's texts and what was proposed of it go too."""
    world = World()
    a_run(world.tx, "r-2", session=None, prompt="my password is hunter2")
    vote = bad(world, "r-2", comment="you told hunter2").feedback
    world.act(lambda tx: purging.vote(tx, vote.id, BY))

    held = world.tx.feedback.get(vote.id)
    assert held is not None and (held.user_comment, held.is_current) == ("", True)
    assert "hunter2" not in repr([held, world.tx.runs.get(held.run), world.tx.proposals.all()])  # type: ignore[arg-type]


# -- the mirror ----------------------------------------------------------------------------------------------


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[MemoryStore]:
    """A store with two lessons."""
    store = MemoryStore()
    await store.write(lambda tx: a_lesson(tx, "Ask before pushing"))
    await store.write(lambda tx: a_lesson(tx, "Use pnpm", scope=Scope.PROJECT, project=PROJECT))
    yield store


async def published(store: MemoryStore, home: Path) -> Published:
    """Bring the files up to date."""
    return await publishing.publish(store, CoreSettings(home=home), By(ANN, NOW, mirror.SURFACE))


async def test_mirror_and_context_follow_the_store(store: MemoryStore, tmp_path: Path) -> None:
    """A project of its own has its file; what is unchanged is not written."""
    first, second = await published(store, tmp_path), await published(store, tmp_path)

    name = project_hash(PROJECT)
    assert {f"{name}.md", "global.md", f"projects/{name}.json", "lessons/global.json"} <= set(first.changed)
    assert second.changed == ()
    assert "Use pnpm" in (tmp_path / "context" / f"{name}.md").read_text()
    assert "Use pnpm" not in (tmp_path / "context" / "global.md").read_text()


async def test_files_of_a_project_without_lessons_go(store: MemoryStore, tmp_path: Path) -> None:
    """Its runs read the file for all again; the disabled lesson stays in the mirror."""
    await published(store, tmp_path)
    await store.write(lambda tx: lessons.disable(tx, "l-002", ANN, NOW))
    await published(store, tmp_path)

    assert not (tmp_path / "context" / f"{project_hash(PROJECT)}.md").exists()
    assert '"active": false' in (tmp_path / "mirror" / f"projects/{project_hash(PROJECT)}.json").read_text()


async def test_hand_edits_become_proposals_and_the_file_is_ours_again(
    store: MemoryStore, tmp_path: Path
) -> None:
    """A new wording, a new entry, a removed one: each is asked about, none is done."""
    await published(store, tmp_path)
    file = tmp_path / "mirror" / "lessons" / "global.json"
    before = file.read_text()
    value = json.loads(before)
    new = value["lessons"][0] | {"id": "l-050", "rule": "Answer in French"}
    value["lessons"] = [value["lessons"][0] | {"rule": "Ask twice before pushing"}, new]
    file.write_text(json.dumps(value))

    done, again = await published(store, tmp_path), await published(store, tmp_path)

    waiting = await store.read(lambda tx: tx.proposals.all(pending_only=True))
    assert [(each.verdict, each.rule) for each in waiting] == [
        (Verdict.MERGE, "Ask twice before pushing"),
        (Verdict.NEW, "Answer in French"),
    ]
    assert (len(done.proposed), again.proposed) == (2, ())
    assert file.read_text() == before


async def test_a_removed_entry_is_a_proposal_to_disable(store: MemoryStore, tmp_path: Path) -> None:
    """Never a deletion."""
    await store.write(lambda tx: a_lesson(tx, "Answer in French"))
    await published(store, tmp_path)
    file = tmp_path / "mirror" / "lessons" / "global.json"
    value = json.loads(file.read_text())
    file.write_text(json.dumps(value | {"lessons": value["lessons"][:1]}))

    await published(store, tmp_path)

    [made] = await store.read(lambda tx: tx.proposals.all(pending_only=True))
    assert (made.verdict, made.lesson) == (Verdict.HARMFUL, "l-003")


async def test_a_malformed_edit_is_refused_with_its_line_and_kept(store: MemoryStore, tmp_path: Path) -> None:
    """The other files go on; once mended it is taken."""
    await published(store, tmp_path)
    file = tmp_path / "mirror" / "lessons" / "global.json"
    spoiled = file.read_text().replace('"violations": 0', '"violations": none')
    file.write_text(spoiled)
    await store.write(lambda tx: a_lesson(tx, "Use vitest", scope=Scope.PROJECT, project=PROJECT))

    done = await published(store, tmp_path)

    [fault] = done.refused
    assert (fault.values["file"], fault.values["line"]) == ("lessons/global.json", 13)
    assert file.read_text() == spoiled
    assert "Use vitest" in (tmp_path / "mirror" / f"projects/{project_hash(PROJECT)}.json").read_text()
    await published(store, tmp_path)
    log = await store.read(lambda tx: tx.runs.activities(0))
    assert [each.subject for each in log if each.verb == "refuse"] == ["lessons/global.json"]


async def test_an_old_state_of_ours_is_no_edit(store: MemoryStore, tmp_path: Path) -> None:
    """A kill between the note and the file leaves the file as it was: nothing is proposed."""
    await published(store, tmp_path)
    file = tmp_path / "mirror" / "lessons" / "global.json"
    old = file.read_text()
    await store.write(lambda tx: lessons.edit(tx, "l-001", "Ask first", ANN, NOW))
    await published(store, tmp_path)
    file.write_text(old)

    done = await published(store, tmp_path)

    assert (done.proposed, "Ask first" in file.read_text()) == ((), True)


async def test_two_processes_that_publish_leave_the_newest_state(tmp_path: Path) -> None:
    """They hold a lock while they read and write."""
    async with open_store(tmp_path / "store.db") as one, open_store(tmp_path / "store.db") as two:
        settings = CoreSettings(home=tmp_path)
        for number in range(6):
            await one.write(lambda tx, number=number: a_lesson(tx, f"Rule number {number}"))  # type: ignore[misc]
            await asyncio.gather(
                *(publishing.publish(each, settings, By(ANN, NOW, mirror.SURFACE)) for each in (one, two))
            )
        waiting = await one.read(lambda tx: tx.proposals.all())

    assert waiting == []
    assert "Rule number 5" in (tmp_path / "context" / "global.md").read_text()
    assert State.PENDING not in {each.state for each in waiting}


@pytest.mark.parametrize("project", ["/", "/srv/l'été\u00a0à la mer", "/srv/a..b/...c"])
def test_every_project_that_we_export_can_be_imported(project: str) -> None:
    """Odd paths are paths."""
    world, other = World(), World()
    a_lesson(world.tx, "Use pnpm", scope=Scope.PROJECT, project=project)
    files = transfer.export(world.tx)

    taken(other, files)

    assert transfer.export(other.tx) == files


SECRETS = ["Use postgres://app:hunter2secret@db/shop", "curl -u ada:s3cr3tpw99 x", "API_KEY=abcd1234efgh5678"]
TEXTS = st.one_of(st.text(min_size=1, max_size=80), st.sampled_from(SECRETS))


@settings(deadline=None, max_examples=60)
@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_any_lesson_that_a_person_approved_survives_export_and_import(texts: list[str]) -> None:
    """Whatever was typed: masked secrets and cleaned text come back as they stand."""
    world, other = World(), World()
    for number, text in enumerate(texts):
        finding = Finding(Verdict.NEW, rule=f"{number} {text}", rationale=text)
        made = world.refused(lambda tx, n=number, f=finding: proposals.propose(tx, f, Basis(f"k{n}"), NOW))  # type: ignore[misc]
        assert made is None or made.key == "rule.too_long"
    for each in world.tx.proposals.all():
        world.refused(lambda tx, id_=each.id: choices.keep_both(tx, id_, 1, ANN, NOW))  # type: ignore[misc]
    files = transfer.export(world.tx)

    report = taken(other, files)

    assert report.proposed == []
    assert transfer.export(other.tx) == files
