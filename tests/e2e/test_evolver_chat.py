"""`/evolver …` typed in the chat, over HTTP: every subcommand, with the files that follow (product.md 4)."""

import asyncio
import json
from pathlib import Path

from tests.e2e.house import PATIENCE_S, House, open_house

ID = "bash:npm:test#usage"
MISSING = 'npm ERR! Missing script: "test"'
SKILL = "npm-test-usage"


async def take_in_failures(house: House) -> None:
    """Import five sessions in which `npm test` fails for want of a script."""
    lines = []
    for number in range(5):
        where = {"project": str(house.project), "session": f"s{number}"}
        event = {**where, "ts": 1_800_000_000 + number, "tool": "bash"}
        missing = {"cmd": "npm test", "is_error": True, "exit_code": 1, "snippet": MISSING}
        works = {"cmd": "npm run test:unit", "is_error": False, "exit_code": 0}
        lines += [json.dumps({**event, "turn": turn, **told}) for turn, told in ((1, missing), (2, works))]
    path = house.folder / "events.jsonl"
    path.write_text("\n".join(lines) + "\n")
    code, _, errors = await house.cli("traces", "import", str(path), "--format", "events")
    assert code == 0, errors


async def test_every_subcommand_works_typed(tmp_path: Path) -> None:
    """From the list to the skill's file and back; what is told is the block's own bytes."""
    async with open_house(tmp_path, ("true",), {}, AUTO_IMPROVE_DIGEST="off") as house:
        await take_in_failures(house)
        await house.start()

        assert ID in (await house.tell("/evolver status")).text
        assert "npm run test:unit" in (await house.tell("/evolver show bash:npm:test")).text
        assert "/evolver promote" in (await house.tell("/evolver skills")).text
        promoted = await house.tell("/evolver promote bash:npm:test")
        assert SKILL in promoted.text and "npm run test:unit" in promoted.text
        assert SKILL in (await house.tell("/evolver skills")).text
        file = house.home / "skills" / SKILL / "SKILL.md"
        assert "npm test" in (await written(file))

        assert ID in (await house.tell(f"/evolver demote {SKILL}")).text
        assert SKILL not in (await house.tell("/evolver skills")).text
        assert "npm test" in (await house.tell("/evolver-lessons")).text
        assert "Silent" in (await house.tell("/evolver reject bash:npm:test")).text
        assert "npm test" not in (await house.tell("/evolver-lessons")).text
        await house.tell(f"/evolver reopen {ID}")
        await house.tell(f"/evolver accept {ID} Use npm run test:unit.")
        assert "npm test: Use npm run test:unit." in (await house.tell("/evolver-lessons")).text


async def written(file: Path) -> str:
    """Wait for a file that follows a decision."""
    async with asyncio.timeout(PATIENCE_S):
        while not file.exists():
            await asyncio.sleep(0.05)
    return file.read_text()
