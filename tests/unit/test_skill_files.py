"""Skills as files: found, written, and never outside their folder (reliability.md S10, S13)."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import AutoImproveError, Invalid, Refused
from core.model.agent import Assignment
from core.model.skill import Skill, SkillKind, SkillScope
from core.services import skill_store, skill_writing
from core.services.skill_store import Root
from core.settings import CoreSettings
from tests.factories import NOW

HEAD = "---\nname: {name}\ndescription: About {name}\n---\n\nBody of {name}.\n"
SKILL = Skill("npm-test", "How tests run here", "Use npm run test:unit.", origin="pattern bash:npm:test")


def put(folder: Path, name: str, text: str | bytes | None = None) -> Path:
    """Write a SKILL.md into a folder of that name."""
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    data = HEAD.format(name=name) if text is None else text
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def look(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Give the names that are listed, and the key of each refusal by file or folder name."""
    found = skill_store.listing((Root(folder, "pi"),))
    refused = {str(Path(each.path).relative_to(folder)): each.error.key for each in found.refused}
    return [each.name for each in found.skills], refused


def given(path: Path, name: str) -> Assignment:
    """Give what an agent has been given: the file as it is."""
    skill = skill_store.listing((Root(path.parent.parent, "pi"),)).get(name)
    assert skill is not None
    scope = SkillScope.GLOBAL
    return Assignment(
        "pi", name, "d", SkillKind.WORKFLOW, scope, None, "pi", skill.path, skill.sha256, "7", NOW
    )


def test_skills_are_found_in_the_usual_folders(tmp_path: Path) -> None:
    """Ours, Pi's own, the shared one, and the project's two."""
    home, user, project = tmp_path / "home", tmp_path / "user", tmp_path / "shop"
    folders = [home / "skills", tmp_path / "pi/skills", user / ".agents/skills"]
    folders += [project / ".pi/skills", project / ".agents/skills"]
    for number, folder in enumerate(folders):
        put(folder, f"skill-{number}")
    environ = {"HOME": str(user), "PI_CODING_AGENT_DIR": str(tmp_path / "pi")}

    roots = skill_store.roots(CoreSettings(home=home), str(project), environ)
    found = skill_store.listing(roots).skills

    assert [(each.name, each.origin, each.project) for each in found] == [
        ("skill-0", "auto-improve", None),
        ("skill-1", "pi", None),
        ("skill-2", "agents", None),
        ("skill-3", "project .pi", str(project)),
        ("skill-4", "project .agents", str(project)),
    ]


def test_nested_skills_and_single_files_are_found_as_pi_finds_them(tmp_path: Path) -> None:
    """A folder with a SKILL.md ends the search there; a note without a head is no skill."""
    put(tmp_path / "group", "deep")
    put(tmp_path / "group" / "deep" / "inner", "not-looked-at")
    (tmp_path / "single.md").write_text(HEAD.format(name="single"))
    (tmp_path / "README.md").write_text("# Notes")

    assert look(tmp_path) == (["deep", "single"], {})


def test_of_two_equal_names_the_first_counts(tmp_path: Path) -> None:
    """The second is refused, and told which one counts."""
    first = put(tmp_path / "a", "deploy")
    put(tmp_path / "b", "deploy")

    found = skill_store.listing((Root(tmp_path / "a", "pi"), Root(tmp_path / "b", "agents")))

    assert [each.path for each in found.skills] == [str(first)]
    assert [(each.error.key, each.error.values["path"]) for each in found.refused] == [
        ("skill.same_name", str(first))
    ]


def link_to_folder(root: Path, outside: Path) -> None:
    """A folder of the list is a link that leads out."""
    put(outside, "secret")
    (root / "bad").symlink_to(outside / "secret")


def link_to_file(root: Path, outside: Path) -> None:
    """A SKILL.md is a link that leads out."""
    (root / "bad").mkdir()
    (root / "bad" / "SKILL.md").symlink_to(put(outside, "bad"))


def a_pipe(root: Path, outside: Path) -> None:
    """A SKILL.md is a pipe: who opens it would wait for ever."""
    (root / "bad").mkdir()
    os.mkfifo(root / "bad" / "SKILL.md")


def ten_megabytes(root: Path, outside: Path) -> None:
    """A SKILL.md of 10 MB."""
    put(root, "bad", HEAD.format(name="bad") + "x" * 10_000_000)


def no_utf8(root: Path, outside: Path) -> None:
    """A SKILL.md of bytes that are no text."""
    put(root, "bad", b"---\nname: bad\ndescription: \xff\n---\n")


def look_alike(root: Path, outside: Path) -> None:
    """A name with a letter of another script."""
    put(root, "bad", HEAD.format(name="bаd"))


def upward(root: Path, outside: Path) -> None:
    """A name that leads upward."""
    put(root, "bad", HEAD.format(name="../../bad"))


def absolute(root: Path, outside: Path) -> None:
    """A name that is an absolute path."""
    put(root, "bad", HEAD.format(name="/etc/passwd"))


def a_folder_as_file(root: Path, outside: Path) -> None:
    """A SKILL.md that is a folder."""
    (root / "bad" / "SKILL.md").mkdir(parents=True)


HOSTILE: list[tuple[Callable[[Path, Path], None], str, str]] = [
    (link_to_folder, "bad", "skill.symlink"),
    (link_to_file, "bad/SKILL.md", "skill.symlink"),
    (a_pipe, "bad/SKILL.md", "skill.not_a_file"),
    (ten_megabytes, "bad/SKILL.md", "skill.file_large"),
    (no_utf8, "bad/SKILL.md", "skill.not_utf8"),
    (look_alike, "bad/SKILL.md", "skill.name_form"),
    (upward, "bad/SKILL.md", "skill.name_form"),
    (absolute, "bad/SKILL.md", "skill.name_form"),
    (a_folder_as_file, "bad/SKILL.md", "skill.not_a_file"),
]


@pytest.mark.parametrize(("make", "where", "key"), HOSTILE, ids=[each[0].__name__ for each in HOSTILE])
def test_a_hostile_file_is_refused_and_the_others_are_listed(
    tmp_path: Path, make: Callable[[Path, Path], None], where: str, key: str
) -> None:
    """One clear line each; a good skill beside it is there all the same."""
    root = tmp_path / "skills"
    put(root, "good")

    make(root, tmp_path / "outside")

    assert look(root) == (["good"], {where: key})


def test_more_skills_than_anybody_has_are_not_read(tmp_path: Path) -> None:
    """The rest is told, not read (S13)."""
    for number in range(skill_store.MAX_SKILLS + 5):
        put(tmp_path, f"s-{number}")

    names, refused = look(tmp_path)

    assert len(names) == skill_store.MAX_SKILLS
    assert refused == {".": "skill.too_many"}


def test_a_written_skill_is_found_again_with_its_origin(tmp_path: Path) -> None:
    """What was written is listed, from our own folder."""
    written = skill_writing.write(tmp_path / "skills", SKILL)

    found = skill_store.listing((Root(tmp_path / "skills", skill_store.OURS),))

    assert found.skills == (written,)
    assert written.origin == "pattern bash:npm:test"


def test_the_origin_a_foreign_file_claims_is_not_believed(tmp_path: Path) -> None:
    """Only our own folder's files say where they come from."""
    skill_writing.write(tmp_path, SKILL)

    found = skill_store.listing((Root(tmp_path, "pi"),))

    assert [each.origin for each in found.skills] == ["pi"]


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/b", "..", "", "x\x00"])
def test_nothing_is_written_or_removed_by_a_name_that_leads_out(tmp_path: Path, name: str) -> None:
    """The name is checked before anything is touched."""
    folder = tmp_path / "home" / "skills"

    with pytest.raises(Invalid):
        skill_writing.write(folder, replace(SKILL, name=name))
    with pytest.raises(Invalid):
        skill_writing.remove(folder, name)

    assert list(tmp_path.rglob("*")) == []


def test_a_link_in_place_of_a_skill_is_not_written_through(tmp_path: Path) -> None:
    """Neither the folder nor the file: what lies outside stays as it was."""
    outside, folder = tmp_path / "outside", tmp_path / "skills"
    outside.mkdir()
    folder.mkdir()
    (folder / "npm-test").symlink_to(outside)

    for attempt in (
        lambda: skill_writing.write(folder, SKILL),
        lambda: skill_writing.remove(folder, "npm-test"),
    ):
        with pytest.raises(Refused, match="outside"):
            attempt()

    assert list(outside.iterdir()) == []


def test_a_skill_of_another_origin_is_left_alone(tmp_path: Path) -> None:
    """A person's own file of that name is not replaced."""
    path = put(tmp_path, "npm-test")

    with pytest.raises(Refused, match="same_name"):
        skill_writing.write(tmp_path, SKILL)

    assert path.read_text() == HEAD.format(name="npm-test")


def test_the_same_skill_is_replaced_and_removed(tmp_path: Path) -> None:
    """A new note makes a new text; demoted, the folder is gone."""
    skill_writing.write(tmp_path, SKILL)

    written = skill_writing.write(tmp_path, replace(SKILL, body="Another way."))
    assert skill_store.text_of(written.path, written.sha256) is not None

    assert [skill_writing.remove(tmp_path, "npm-test") for _ in range(2)] == [True, False]
    assert list(tmp_path.iterdir()) == []


def test_a_text_is_given_only_while_it_is_what_was_approved(tmp_path: Path) -> None:
    """A changed file has no text any more."""
    written = skill_writing.write(tmp_path, SKILL)
    assert skill_store.text_of(written.path, written.sha256) is not None

    Path(written.path).write_text("---\nname: npm-test\ndescription: d\n---\nrm -rf /\n")

    assert skill_store.text_of(written.path, written.sha256) is None


def test_a_runtime_is_handed_exactly_what_was_given(tmp_path: Path) -> None:
    """New ones come, old ones go, what lies beside is linked; nothing to do is no change."""
    skills, handed = tmp_path / "skills", tmp_path / "handed"
    one, two = put(skills, "one"), put(skills, "two")
    (one.parent / "scripts").mkdir()

    assert skill_writing.hand_over(handed, [given(one, "one")])
    assert not skill_writing.hand_over(handed, [given(one, "one")])
    assert (handed / "one" / "scripts").resolve() == one.parent / "scripts"
    assert skill_writing.hand_over(handed, [given(two, "two")])

    assert [each.name for each in handed.iterdir()] == ["two"]
    assert one.is_file() and (one.parent / "scripts").is_dir()


def test_a_changed_file_is_not_handed_over(tmp_path: Path) -> None:
    """What an agent wrote into it meanwhile reaches nobody."""
    path = put(tmp_path / "skills", "one")
    approved = given(path, "one")
    path.write_text(HEAD.format(name="one") + "More.")

    skill_writing.hand_over(tmp_path / "handed", [approved])

    assert list((tmp_path / "handed").iterdir()) == []


def test_errors_of_files_have_a_line_in_both_languages(tmp_path: Path) -> None:
    """Every refusal above is a sentence."""
    from core.texts import say_error

    errors: list[AutoImproveError] = [Invalid("skill.symlink"), Refused("skill.outside", name="x")]

    assert all(say_error(each, "fr") != str(each) for each in errors)
