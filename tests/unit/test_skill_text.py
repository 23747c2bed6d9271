"""SKILL.md: compiled, read back, and refused where it is hostile (learning.md 8, reliability.md S11, S13)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Invalid
from core.model.skill import Skill, SkillKind, SkillScope
from core.rules import skills

PLAIN = Skill("release-checklist", "Steps to publish a release.", "1. Tag.\n2. Push.")
LINES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Co", "Cn", "Zl", "Zp")), min_size=1)


def file(head: str, body: str = "Do it.") -> str:
    """Give a SKILL.md with that head."""
    return f"---\n{head}\n---\n\n{body}\n"


def refusal(text: str, folder: str | None = None) -> str:
    """Give the key of the refusal of a file."""
    with pytest.raises(Invalid) as caught:
        skills.parse(text, folder)
    return caught.value.key


def test_a_compiled_skill_reads_back_as_it_was() -> None:
    """What is written is what is read, every field."""
    skill = Skill(
        "npm-test", 'Runs "tests": how', "Use `npm run`.", SkillKind.REFERENCE, SkillScope.PROJECT, "/p", "x"
    )

    text = skills.compile_text(skill)

    assert skills.parse(text, "npm-test") == skill
    assert 'description: "Runs \\"tests\\": how"' in text


@given(LINES, LINES)
def test_any_line_survives_the_way_through_yaml(description: str, origin: str) -> None:
    """No text of a description or an origin breaks out of its quotes."""
    skill = Skill("x", "d" + description[:900], "b", origin=origin[:500])

    read = skills.parse(skills.compile_text(skill))

    assert read.description == " ".join(skill.description.replace("<|", "< |").split())
    assert read.kind is SkillKind.WORKFLOW


def test_control_and_line_separators_do_not_reach_the_head() -> None:
    """A description with line breaks is one line; it opens no key of its own."""
    text = skills.compile_text(Skill("x", "a\nkind: reference\u2028---\x1b[2J", "b"))

    read = skills.parse(text)

    assert read.kind is SkillKind.WORKFLOW
    assert "\n" not in read.description


def test_no_kind_means_a_workflow() -> None:
    """As learning.md 8 says."""
    read = skills.parse(file("name: a\ndescription: d"), "a")

    assert read.kind is SkillKind.WORKFLOW


def test_unknown_keys_are_ignored() -> None:
    """Skills of other tools carry keys of theirs, nested ones too."""
    read = skills.parse(
        file("description: d\nlicense: MIT\nallowed-tools: [a, b]\nmetadata: {x: {y: 1}}"), "a"
    )

    assert read.name == "a"


@pytest.mark.parametrize(
    "name",
    [
     "", "-a", "a-", "a--b", "A", "a_b", "a b", "../x", "/etc", "a/b", "a\\b", ".", "..", "a.md",
     "а", "ａ", "a\n", "a\x00", "é", "a\u200bb", "x" * 65, "con:1", "~", "%2e%2e"],
)  # fmt: skip
def test_names_outside_pis_rules_are_refused(name: str) -> None:
    """Paths, look-alikes and hidden characters are no names."""
    assert skills.name_fault(name) is not None


@pytest.mark.parametrize("name", ["a", "x" * 64, "npm-test", "0", "a-b-c-1"])
def test_names_by_pis_rules_are_taken(name: str) -> None:
    """1 to 64 of a-z, 0-9 and single dashes."""
    assert skills.name_fault(name) is None


@pytest.mark.parametrize(
    ("head", "key"),
    [
        ("name: a", "skill.description_missing"),
        ("name: a\ndescription:", "skill.description_missing"),
        ("name: a\ndescription: ' '", "skill.description_missing"),
        (f"name: a\ndescription: {'d' * 1025}", "skill.description_long"),
        ("name: a\ndescription: !!python/object/apply:os.system [id]", "skill.yaml_tricks"),
        ("name: a\ndescription: !!str d", "skill.yaml_tricks"),
        ("name: &x a\ndescription: *x", "skill.yaml_tricks"),
        ("name: a\ndescription: d\nname: b", "skill.yaml_twice"),
        ("name: a\ndescription: d\nx: {y: 1, y: 2}", "skill.yaml_twice"),
        ("name: a\ndescription: [d]", "skill.not_text"),
        ("name: a\ndescription: 2024-01-01", "skill.not_text"),
        ("name: a\ndescription: 2024-99-99T99:99:99Z", "skill.yaml"),
        ("name: a\ndescription: d\nkind: tool", "skill.not_one_of"),
        ("name: a\ndescription: d\nscope: project", "skill.no_project"),
        ("name: b\ndescription: d", "skill.name_folder"),
        ("name: ../a\ndescription: d", "skill.name_form"),
        ("name: а\ndescription: d", "skill.name_form"),
        ("- a\n- b", "skill.no_mapping"),
        ("just text", "skill.no_mapping"),
        ("name: [", "skill.yaml"),
        ("x: [" + "a," * 600 + "]", "skill.yaml_large"),
        ("x: " + "y" * 20_000, "skill.head_large"),
        ("name: a\x07\ndescription: d", "skill.no_text"),
    ],
)  # fmt: skip
def test_hostile_heads_are_refused_with_a_clear_line(head: str, key: str) -> None:
    """Tags, anchors, bombs, duplicates and missing parts each have their own line."""
    assert refusal(file(head), "a") == key


@pytest.mark.parametrize(
    "head", ['name: a\ndescription: "\\ud800"', "x: " + "[" * 2000, "x: " + "{a: " * 2000]
)
def test_half_characters_and_depth_are_refused_by_whichever_parser_is_there(head: str) -> None:
    """libyaml refuses some before we see them."""
    assert refusal(file(head), "a") in ("skill.yaml", "skill.yaml_large", "skill.no_text")


def test_a_file_of_ten_megabytes_is_refused_before_it_is_parsed() -> None:
    """Size comes first."""
    assert refusal(file("name: a\ndescription: d", "x" * 10_000_000), "a") == "skill.file_large"


@pytest.mark.parametrize("text", ["", "name: a", "---\nname: a\ndescription: d", "# Title\n---\n---"])
def test_a_file_without_head_is_refused(text: str) -> None:
    """A head stands between two lines of dashes, at the beginning."""
    assert refusal(text) == "skill.no_head"


def test_a_body_may_have_two_thousand_characters_and_no_more() -> None:
    """The cap of a compiled skill."""
    skills.compile_text(Skill("a", "d", "x" * 2000))

    with pytest.raises(Invalid, match="body_long"):
        skills.compile_text(Skill("a", "d", "x" * 2001))


@pytest.mark.parametrize("text", ["plain", "```\nx", "a ````` b", ""])
def test_a_fenced_text_cannot_close_its_fence(text: str) -> None:
    """The fence is longer than any run of backticks inside (S11)."""
    lines = skills.fenced(text).split("\n")

    assert lines[0] == lines[-1]
    assert lines[0] not in "\n".join(lines[1:-1])


@pytest.mark.parametrize(
    ("text", "name"),
    [("bash:npm:test", "bash-npm-test"), ("read#no-such-file", "read-no-such-file"), ("é…", "skill")],
)
def test_a_name_is_made_of_any_text(text: str, name: str) -> None:
    """Ids of patterns become names that Pi takes."""
    assert skills.slug(text) == name
    assert skills.name_fault(skills.slug(text * 40)) is None
