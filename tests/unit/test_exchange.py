"""The exchange files byte for byte, and 200 ways to spoil them (learning.md 9)."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import Invalid
from core.model.lesson import project_hash
from core.rules import exchange
from core.services import folders, transfer
from core.texts import say_error

PROJECT_FILE = f"projects/{project_hash('/srv/shop')}.json"


def a_lesson(number: int, **fields: object) -> dict[str, object]:
    """Build an entry."""
    entry: dict[str, object] = {
        "id": f"l-{number:03d}",
        "created": "2026-01-02T03:04:05.000Z",
        "domain": "debug",
        "rule": f"Reproduce bug {number} before fixing it — déjà",
        "rationale": "Sinon on devine",
        "source_feedback": ["0192-a"],
        "positive_examples": 2,
        "violations": 0,
        "active": number != 2,
    }
    return entry | fields


def a_file(project: str, *lessons: dict[str, object]) -> str:
    """Write a file as `export` does."""
    value = {"project": project, "updated": "2026-02-03T04:05:06.000Z", "lessons": list(lessons)}
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def a_vote(number: int, **fields: object) -> str:
    """Write a line of votes."""
    vote = {
        "id": f"0192-{number}",
        "timestamp": "2026-01-02T03:04:05.000Z",
        "type": "negative",
        "source": "cli",
        "session": None,
        "project": "/srv/shop",
        "domain": "general",
        "context": "Add a field",
        "user_comment": "trop gros, déjà dit",
    }
    return json.dumps(vote | fields, ensure_ascii=False) + "\n"


FILES = {
    "feedback.jsonl": "".join(a_vote(number) for number in range(4)),
    "lessons/global.json": a_file("global", *(a_lesson(number) for number in range(1, 5))),
    "lessons/domain-debug.json": a_file("debug", a_lesson(5)),
    PROJECT_FILE: a_file("/srv/shop", a_lesson(6), a_lesson(7)),
}


def refusal(files: dict[str, bytes]) -> Invalid | None:
    """Give what a parcel is refused for."""
    try:
        transfer.read(files)
    except Invalid as error:
        return error
    return None


def encoded(files: dict[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in files.items()}


def test_good_files_are_taken() -> None:
    """All of them."""
    parcel = transfer.read(encoded(FILES))

    assert (len(parcel.votes), len(parcel.entries), parcel.flagged) == (4, 7, ())


def _cut(source: random.Random, text: str) -> bytes:
    data = text.encode()
    return data[: source.randrange(len(data) - 2)]


def _wrong_type(source: random.Random, text: str) -> bytes:
    fields = "id created domain rule rationale source_feedback positive_examples violations active type"
    names = [f'"{each}": ' for each in [*fields.split(), "source", "context"]]
    name = source.choice([each for each in names if each in text])
    at = source.choice([place for place in range(len(text)) if text.startswith(name, place)]) + len(name)
    bad = source.choice(["{}", "12.5", "-1", '"\\ud800"', "[[]]", '{"a": 1}', "NaN", "1e999", "9" * 40])
    return (text[:at] + bad + ', "was": ' + text[at:]).encode()


def _encoding(source: random.Random, text: str) -> bytes:
    marked = b"\xff\xfe" + text.encode()
    return source.choice([text.encode("utf-16"), text.encode("latin-1", "replace"), marked])


def _twice(source: random.Random, text: str) -> bytes:
    if '"lessons"' not in text:
        line = source.choice(text.splitlines(keepends=True))
        return (text + line).encode()
    if source.random() < 0.5:
        return text.replace('"active"', '"active": true, "active"', 1).encode()
    value = json.loads(text)
    value["lessons"].append(dict(source.choice(value["lessons"])))
    return json.dumps(value, indent=1).encode()


def _deep(source: random.Random, text: str) -> bytes:
    depth = source.choice([40, 5_000, 100_000])
    nested = "[" * depth + "]" * depth
    name = '"created": ' if '"created"' in text else '"timestamp": '
    return text.replace(name, f'{name}{nested}, "x": ', 1).encode()


def _huge(source: random.Random, text: str) -> bytes:
    size = source.choice([301, 20_000, 300_000])
    key = '"rule": "' if '"rule"' in text else '"context": "'
    return text.replace(key, key + "x" * size, 1).encode()


def _path(source: random.Random, text: str) -> bytes:
    tricks = ["../../etc/passwd", "/srv/../shop", "/srv/shop/", "C:\\x", "/", "", "~", "/srv/\u202eshop"]
    if '"lessons"' not in text:
        return text.replace('"id": "', '"id": "../', 1).encode()
    old, trick = json.loads(text)["project"], source.choice(tricks)
    return text.replace(f'"project": {json.dumps(old)}', f'"project": {json.dumps(trick)}', 1).encode()


def _dropped(source: random.Random, text: str) -> bytes:
    lines = text.splitlines(keepends=True)
    if '"lessons"' not in text:
        return text.replace('"source": "cli", ', "", 1).encode()
    del lines[source.choice([number for number, line in enumerate(lines) if '": ' in line])]
    return "".join(lines).encode()


def _id(source: random.Random, text: str) -> bytes:
    bad = source.choice(["l-0001", "l-000", "l-99999999", "L-001", "l-٠٠١", "", "l-1", "../l-001"])
    if '"lessons"' in text:
        return text.replace(json.loads(text)["lessons"][0]["id"], bad, 1).encode()
    return text.replace('"0192-0"', json.dumps("a b\x00"), 1).encode()


MUTATIONS: list[Callable[[random.Random, str], bytes]] = [
    _cut,
    _wrong_type,
    _encoding,
    _twice,
    _deep,
    _huge,
    _path,
    _dropped,
    _id,
]


@pytest.mark.parametrize("seed", range(200))
def test_a_spoiled_file_is_refused_whole_with_file_and_line(seed: int) -> None:
    """Truncated, wrong types, twice, too deep, too large, wrong encoding, path tricks."""
    source = random.Random(seed)
    name = source.choice(sorted(FILES))
    spoiled = MUTATIONS[seed % len(MUTATIONS)](source, FILES[name])

    error = refusal({**encoded(FILES), name: spoiled})

    assert error is not None
    assert error.values["file"] == name
    assert 1 <= int(str(error.values["line"])) <= spoiled.count(b"\n") + 1
    for language in ("en", "fr"):
        assert f"{name}, li" in say_error(error, language)


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("violations", -1, 24),
        ("rule", "", 20),
        ("active", "yes", 25),
        ("domain", "cooking", 19),
        ("source_feedback", ["a", "a"], 22),
    ],
)
def test_the_line_is_that_of_the_wrong_value(field: str, value: object, line: int) -> None:
    """As an editor counts them."""
    spoiled = a_lesson(3, **{"source_feedback": [], field: value})
    text = a_file("global", a_lesson(1, source_feedback=[]), spoiled)

    error = refusal({"lessons/global.json": text.encode()})

    assert error is not None
    assert (error.values["field"], error.values["line"]) == (field, line)


def test_a_file_of_the_wrong_project_is_refused() -> None:
    """The name is the hash of the path inside (S10)."""
    error = refusal({"projects/00000000.json": FILES[PROJECT_FILE].encode()})

    assert error is not None and (error.key, error.values["line"]) == ("exchange.project", 2)


def test_a_lesson_of_another_domain_is_refused_in_a_domains_file() -> None:
    """It would move."""
    error = refusal({"lessons/domain-review.json": a_file("review", a_lesson(1)).encode()})

    assert error is not None and error.key == "exchange.domain"


def a_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folders.write(folder, FILES)
    return folder


def test_a_folder_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Other files in it are left alone, stale ones of ours are removed."""
    folder = a_folder(tmp_path)
    (folder / "README.md").write_text("mine")
    (folder / "projects" / "00000000.json").write_text("old")

    changed = folders.write(folder, FILES)

    assert changed == ["projects/00000000.json"]
    assert folders.read(folder) == encoded(FILES)
    assert (folder / "README.md").read_text() == "mine"


@pytest.mark.parametrize("name", ["lessons/global.json", "feedback.jsonl", "lessons", PROJECT_FILE])
def test_links_are_not_followed(tmp_path: Path, name: str) -> None:
    """A link may point anywhere."""
    folder = a_folder(tmp_path)
    (folder / name).rename(tmp_path / "moved")
    (folder / name).symlink_to(tmp_path / "moved")

    with pytest.raises(Invalid) as caught:
        folders.read(folder)

    assert (caught.value.key, caught.value.values["file"]) == ("exchange.link", name)


def test_a_json_file_of_another_name_is_refused(tmp_path: Path) -> None:
    """It would be thought to be taken in."""
    folder = a_folder(tmp_path)
    (folder / "lessons" / "domain-cooking.json").write_text("{}")

    with pytest.raises(Invalid) as caught:
        folders.read(folder)

    assert caught.value.key == "exchange.name"


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """Reading it would wait for ever."""
    folder = a_folder(tmp_path)
    (folder / "feedback.jsonl").unlink()
    os.mkfifo(folder / "feedback.jsonl")

    with pytest.raises(Invalid) as caught:
        folders.read(folder)

    assert caught.value.key == "exchange.link"


def test_times_without_a_zone_are_utc() -> None:
    """So that any two can be compared."""
    assert exchange.instant("2026-01-01T00:00:00") == exchange.instant("2026-01-01T00:00:00Z")
