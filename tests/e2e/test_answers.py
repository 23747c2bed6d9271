"""Answers that other bridges lose: delivered, valid, nothing lost (telegram.md 2)."""

import re

import pytest

from bot.local.wire import MessageView
from tests.e2e.conftest import Build
from tests.e2e.house import House
from tests.e2e.scenes import rule, script

pytestmark = pytest.mark.pi
TABLE = "| name | type |\n| --- | --- |\n| items | `Vec<String>` |\n| cost | $5 to $10 |\n"
FENCE = "Look:\n\n```python\nprint('never closed')\n\nfor each in items:\n    run(each)\n"


async def _answered(build: Build, markdown: str) -> tuple[House, list[MessageView]]:
    """Let the agent answer with that; give all that the chat shows of it."""
    house = await build(script(rule("^show", {"text": markdown, "chunk_size": 400})))
    said = await house.ada.say("show")
    await house.see(lambda m: "👎" in m.buttons, after=said)
    await house.quiet()
    return house, [m for m in await house.ada.answers() if m.id > said.id]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _is_lone(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


async def test_three_thousand_emoji_arrive(build: Build) -> None:
    """6,000 units: two messages, none with half an emoji, buttons on the last."""
    _, parts = await _answered(build, "🙂" * 3000)

    assert "".join(part.text for part in parts).count("🙂") == 3000
    assert len(parts) == 2 and all(_units(part.text) <= 4096 and not _is_lone(part.text) for part in parts)
    assert [part.buttons for part in parts] == [[], ["👍", "👎"]]


async def test_families_of_emoji_are_not_torn(build: Build) -> None:
    """Joined emoji at every possible cut stay whole."""
    family = "👩‍👩‍👧‍👦"

    _, parts = await _answered(build, family * 900)

    assert sum(part.text.count(family) for part in parts) == 900
    assert all(part.text.strip().startswith("👩") and part.text.strip().endswith("👦") for part in parts)


@pytest.mark.parametrize(
    "markdown",
    [
        "Use `Vec<String>` or Vec<String>, and $HOME costs $5.",
        "<details><summary>More</summary>inside</details>",
        "a < b && c > d, 2 * 3 * 4, snake_case_name, [x] and ~tilde~",
        "<!-- never closed, so it stays\nand the rest of it too",
    ],
)
async def test_nothing_the_agent_wrote_vanishes(build: Build, markdown: str) -> None:
    """Generics, dollars, unknown HTML, stray marks: each word of it is in the chat."""
    _, (part,) = await _answered(build, markdown)

    for word in re.findall(r"[\w$<>&]+", markdown.replace("`", "")):
        assert word in part.text


async def test_a_table_is_a_grid(build: Build) -> None:
    """Preformatted, every cell in it."""
    _, (part,) = await _answered(build, TABLE)

    assert any(each["type"] == "pre" for each in part.entities)
    for cell in ("name", "type", "items", "Vec<String>", "$5 to $10"):
        assert cell in part.text


async def test_a_fence_that_is_never_closed_is_code(build: Build) -> None:
    """Its code is preformatted with its language, to the end."""
    _, (part,) = await _answered(build, FENCE)

    (code,) = [each for each in part.entities if each["type"] == "pre"]
    assert code["language"] == "python" and "run(each)" in part.text and "```" not in part.text


async def test_a_long_code_block_is_reopened_in_the_next_message(build: Build) -> None:
    """Cut between lines; each part is code of that language."""
    lines = [f"line_{number} = {number}" for number in range(400)]

    _, parts = await _answered(build, "```python\n" + "\n".join(lines) + "\n```")

    assert len(parts) > 1
    assert all(
        part.entities[0]["type"] == "pre" and part.entities[0]["language"] == "python" for part in parts
    )
    assert "\n".join(part.text.strip("\n") for part in parts) == "\n".join(lines)


async def test_links_to_files_do_not_cost_the_message(build: Build) -> None:
    """Telegram refuses them: they become code with their target; a web link stays a link."""
    links = "[app](src/app.py) [here](http://localhost:3000/x) [abs](/etc/hosts) [web](https://example.org/a)"

    _, (part,) = await _answered(build, links)

    for words in ("app", "src/app.py", "localhost:3000/x", "/etc/hosts", "web"):
        assert words in part.text
    urls = [each["url"] for each in part.entities if each["type"] == "text_link"]
    assert urls == ["https://example.org/a"]


async def test_nine_thousand_characters_without_a_space_arrive(build: Build) -> None:
    """Nothing to cut at: cut anyway, nothing lost."""
    text = "".join(f"{number:05d}x" for number in range(1500))

    _, parts = await _answered(build, text)

    assert "".join(part.text for part in parts) == text and len(parts) == 3


async def test_a_very_long_answer_is_its_first_part_and_a_file(build: Build) -> None:
    """More than five messages: the file holds every word, the vote row stands under the text."""
    text = "\n\n".join(f"Paragraph {number} " + "word " * 60 for number in range(100))

    house, shown = await _answered(build, text)

    (file,) = [m for m in shown if m.file is not None]
    (first,) = [m for m in shown if m.file is None]
    assert first.buttons == ["👍", "👎"] and "Paragraph 0 " in first.text
    assert file.file is not None and file.file.name.endswith(".md")
    assert (await house.ada.download(file.file)).decode().strip() == text.strip()


async def test_an_answer_of_buttons_only_has_a_visible_line(build: Build) -> None:
    """The buttons stand under a short line."""
    _, (part,) = await _answered(build, '<!-- telegram_button label="Go on" prompt="go on" -->')

    assert part.text.strip() and part.buttons == ["Go on", "👍", "👎"]


async def test_an_answer_that_only_looks_empty_has_a_visible_mark(build: Build) -> None:
    """Zero-width characters are no text to Telegram: a mark stands there."""
    _, (part,) = await _answered(build, "\u200b\u200b")

    assert part.text.strip("\u200b \n")


async def test_many_entities_do_not_cost_the_message(build: Build) -> None:
    """More than a hundred: every word arrives, no part has more than a hundred."""
    text = " ".join(f"**b{number}** `c{number}`" for number in range(150))

    _, parts = await _answered(build, text)

    joined = " ".join(part.text for part in parts)
    assert all(f"b{number}" in joined and f"c{number}" in joined for number in range(150))
    assert all(len(part.entities) <= 100 for part in parts)


async def test_a_vote_on_any_part_counts_for_the_run(build: Build) -> None:
    """/bad as a reply to the first part of a split answer votes on the run, shown under the last."""
    house, parts = await _answered(build, "word " * 1500)

    await house.ada.say("/bad too long", reply_to=parts[0])

    await house.change(parts[-1], lambda m: "👎•" in m.buttons)


async def test_what_telegram_refuses_is_sent_plainer(build: Build) -> None:
    """A 400 on the answer: the same words without formatting, once, and the buttons still there."""
    house = await build(script(rule("^show", "**Bold** words")))
    await house.ask("warm up")
    await house.telegram.fault(
        code=400, method="sendMessage", description="Bad Request: can't parse entities: x"
    )

    said = await house.ada.say("show")

    part = await house.see("Bold words", after=said)
    await house.quiet()
    shown = [m for m in await house.ada.answers() if m.id > said.id]
    assert [m.text for m in shown] == ["Bold words"] and part.buttons == ["👍", "👎"]
