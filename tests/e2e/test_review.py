"""`/review` and the digest: what waits for a decision as one deck (product.md 1.5)."""

import json
from pathlib import Path

from tests.e2e.house import open_house

IDLE = ("true",)


def _proposal(rule: str) -> str:
    return json.dumps({"verdict": "new", "rule": rule, "rationale": "Seen twice.", "domain": "general"})


async def test_the_deck_deals_one_card_at_a_time(tmp_path: Path) -> None:
    """Yes approves as shown, No rejects, Later leaves it; the last card says what was decided."""
    async with open_house(tmp_path, IDLE, {}, AUTO_IMPROVE_DIGEST="off") as house:
        for rule in ("Run the tests first.", "Never force-push.", "Ask before deleting."):
            await house.cli("proposals", "propose", stdin=_proposal(rule))
        await house.start()

        await house.ada.say("/review")
        card = await house.ada.wait_for("1 of 3")
        for button, seen in (("Yes", "2 of 3"), ("No", "3 of 3"), ("Later", "2 decided")):
            await house.ada.tap(card, button)
            card = await house.ada.wait_for(seen)

        _, out, _ = await house.cli("proposals", "list", "--all", "--json")
        assert [each["state"] for each in json.loads(out)] == ["approved", "rejected", "pending"]


async def test_an_empty_deck_says_so(tmp_path: Path) -> None:
    """Nothing waits: one line."""
    async with open_house(tmp_path, IDLE, {}, AUTO_IMPROVE_DIGEST="off") as house:
        await house.start()

        await house.ada.say("/review")

        await house.ada.wait_for("Nothing waits")


async def test_the_digest_comes_once_a_day_with_three_cards(tmp_path: Path) -> None:
    """At its time or after it, to the owner, only if something waits; a restart brings no second one."""
    async with open_house(tmp_path, IDLE, {}, AUTO_IMPROVE_DIGEST="00:00") as house:
        for number in range(4):
            await house.cli("proposals", "propose", stdin=_proposal(f"Keep rule number {number} in mind."))
        await house.start()

        await house.ada.wait_for("1 of 3", timeout_s=20)
        await house.stop()
        await house.start()
        await house.ada.nothing_comes(within_s=7)
