"""pi-evolver's commands, typed in the chat: the same use cases as the command line's (product.md 4)."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.dispatch import Said
from bot.handlers import patterns
from bot.settings import BotSettings
from bot.turn import Desk, Reply, Sightings
from core.clock import SystemClock, SystemIds
from core.errors import NotFound, Refused
from core.model.ruling import Decision
from core.services.pattern_gate import Gate
from tests.calls import ID, NOW, PROJECT, open_gate, story, take_in

LANE = "1"
KEY = "bash:npm:test"
SKILL = "npm-test-usage"


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Gate]:
    """Both stores, with a failure that recurs often enough for a skill."""
    async with open_gate(tmp_path) as opened:
        await take_in(opened, story(["s1", "s2", "s3", "s4", "s5"]))
        yield opened


class Chat:
    """One person's chat: what was typed goes in, what the bot says comes out."""

    def __init__(self, gate: Gate, language: str = "en", **settings: object) -> None:
        self.gate, self.language = gate, language
        self.settings = BotSettings(home=gate.settings.home, **{"allowed_users": (7,), **settings})  # type: ignore[arg-type]

    async def say(self, text: str, user: str = "7") -> tuple[str, Reply | None]:
        """Type `/evolver` and that; give the last message and what follows."""
        seen = await self.gate.seen(None)
        desk = Desk(self.settings, SystemClock(), SystemIds(), Path(PROJECT), PROJECT, "", Sightings(seen))
        said = Said(LANE, user, "Ada", self.language, text, "5", NOW)
        reply = await self.gate.store.write(lambda tx: patterns.evolver(tx, desk, said))
        rows = await self.gate.store.read(lambda tx: tx.outbox.waiting(LANE))
        return str(json.loads(rows[-1].body)["params"]["text"]), reply


async def test_promote_makes_a_skill_and_shows_it_whole(gate: Gate) -> None:
    """What an agent may read from now on stands in the chat; the file follows the commit."""
    said, reply = await Chat(gate).say(f"promote {ID}")
    written = await gate.publish()

    (ruling,) = await gate.store.read(lambda tx: tx.rulings.of())
    assert (ruling.decision, ruling.skill) == (Decision.ACCEPTED, SKILL)
    assert SKILL in said and "npm run test:unit" in said
    assert reply is not None and reply.gone_skills == ()
    assert [each.name for each in written] == [SKILL]


async def test_skills_lists_what_patterns_became(gate: Gate) -> None:
    """Before the first one it says how to make one."""
    chat = Chat(gate)
    empty, _ = await chat.say("skills")
    await chat.say(f"promote {KEY}")
    listed, _ = await chat.say("skills")

    assert "/evolver promote" in empty
    assert SKILL in listed and "/skills" in listed


@pytest.mark.parametrize("name", [SKILL, ID, KEY])
async def test_demote_takes_the_skill_and_leaves_the_pattern(gate: Gate, name: str) -> None:
    """By the skill's name or by the pattern's id, as on the command line."""
    chat = Chat(gate)
    await chat.say(f"promote {KEY}")
    _, reply = await chat.say(f"demote {name}")

    (ruling,) = await gate.store.read(lambda tx: tx.rulings.of())
    assert (ruling.decision, ruling.skill) == (Decision.ACCEPTED, "")
    assert reply is not None and reply.gone_skills == (SKILL,)


async def test_what_is_not_ripe_or_unknown_is_refused(gate: Gate) -> None:
    """With the reasons of the command line."""
    chat = Chat(gate, min_failures_for_skill=6)

    with pytest.raises(Refused):
        await chat.say(f"promote {ID}")
    with pytest.raises(NotFound):
        await chat.say("promote bash:nothing")
    with pytest.raises((Refused, NotFound)):
        await chat.say(f"demote {SKILL}")


@pytest.mark.parametrize("word", ["accept", "reject", "reopen", "promote", "demote"])
async def test_who_may_not_decide_changes_nothing(gate: Gate, word: str) -> None:
    """Approvers decide; others are told so."""
    chat = Chat(gate, allowed_users=(7, 8), approvers=(8,))
    _, reply = await chat.say(f"{word} {ID}")

    assert reply is None
    assert await gate.store.read(lambda tx: tx.rulings.of()) == []


@pytest.mark.parametrize(("language", "wanted"), [("en", "I understand"), ("fr", "Je comprends")])
@pytest.mark.parametrize("text", ["nonsense", "promote", "demote", "accept", "show"])
async def test_what_is_not_understood_lists_every_subcommand(
    gate: Gate, language: str, wanted: str, text: str
) -> None:
    """In the chat's language."""
    said, _ = await Chat(gate, language).say(text)

    assert wanted in said
    for word in ("status", "show", "accept", "reject", "promote", "skills", "demote"):
        assert f"/evolver {word}" in said


async def test_status_show_accept_and_reject_are_understood_as_typed(gate: Gate) -> None:
    """Capitals and further space do not matter; a note replaces the generic text."""
    chat = Chat(gate, "fr")
    status, _ = await chat.say(" Status ")
    shown, _ = await chat.say(f"show  {KEY}")
    accepted, _ = await chat.say(f"accept {ID}  Use npm run test:unit.")
    (ruling,) = await gate.store.read(lambda tx: tx.rulings.of())
    rejected, _ = await chat.say(f"reject {ID}")

    assert ID in status and ID in shown
    assert "Accepté." in accepted and ruling.note == "Use npm run test:unit."
    assert "Silence" in rejected
