"""From a token and an installed Pi to a lesson the agent is told: setup, run as a service would, the loop."""

import os
from pathlib import Path

import pytest

from core.settings import PREFIX
from tests.e2e.conftest import Build
from tests.e2e.pi_install import node, pi_command
from tests.e2e.scenes import RULE
from tests.fakes.terminal import in_terminal
from tests.integration.shell import MARKERS

pytestmark = [pytest.mark.pi, pytest.mark.timeout(180)]


def install(folder: Path) -> str:
    """Put node and a link to Pi's script into a folder, as npm does; give a PATH with it."""
    folder.mkdir()
    (folder / "node").symlink_to(node())
    (folder / "pi").symlink_to(pi_command()[1])
    return f"{folder}:/usr/bin:/bin"


async def test_setup_finds_pi_and_the_bot_then_learns(build: Build, tmp_path: Path) -> None:
    """Pi and node are kept by full path: the bot is started with neither on its PATH."""
    house = await build(is_started=False)
    server = {name: house.env[name] for name in house.env if "BASE" in name}
    newcomer = {name: value for name, value in house.env.items() if not name.startswith(PREFIX)}
    newcomer |= server | {"LANG": "en_GB.UTF-8", "PATH": install(tmp_path / "bin")}
    async with in_terminal("setup", cwd=house.project, env=newcomer) as terminal:
        await terminal.answer("Token", house.env[f"{PREFIX}TELEGRAM_TOKEN"])
        await house.ada.say(f"/start {await terminal.find(r'start=([A-Za-z0-9_-]+)')}")
        await terminal.see("is the owner")
        seen = await terminal.see("4. Keys")
        await terminal.answer("Folder the agent works in")
        await terminal.answer("en or fr")
        await terminal.see("7. Always on")
    assert "✓ Pi 1.6.0, node 22" in seen
    assert f"{tmp_path / 'bin' / 'node'} {tmp_path / 'bin' / 'pi'}" in seen

    kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ and name not in MARKERS}
    house.env = {**kept, **newcomer, "PATH": "/usr/bin:/bin", f"{PREFIX}ANALYSIS_DELAY_S": "0.2"}
    del house.env[f"{PREFIX}TELEGRAM_BASE_URL"]
    await house.start()
    card = await house.propose()
    await house.ada.say("ok", reply_to=card)
    await house.card("Approved")
    await house.ask("and now?")

    assert RULE in house.told()
