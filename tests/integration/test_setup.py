"""`auto-improve setup` in a terminal: every question, every bad answer, and a bot that works afterwards."""

import os
import shlex
from pathlib import Path

import pytest
from dotenv import dotenv_values

from bot.local.person import LocalTelegram, Person
from bot.local.server import LocalServer
from tests.fakes.fake_pi import write_fake_pi
from tests.fakes.terminal import PATIENCE_S, Terminal, in_terminal
from tests.integration.shell import MARKERS

Env = dict[str, str]
pytestmark = pytest.mark.timeout(180)

CODE = r"\?start=([A-Za-z0-9_-]+)"
NAMES = ("AUTO_IMPROVE_", "ANTHROPIC_", "OPENAI_")


@pytest.fixture
def env(server: LocalServer, tmp_path: Path) -> Env:
    """The environment of somebody who has nothing yet but a key; `pi` is not on the PATH."""
    (tmp_path / "project").mkdir()
    kept = {
        n: v for n, v in os.environ.items() if n not in MARKERS and not n.endswith(("_API_KEY", "_TOKEN"))
    }
    return {
        **{name: value for name, value in kept.items() if not name.startswith(NAMES)},
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "LANG": "en_GB.UTF-8",
        "ANTHROPIC_API_KEY": "sk-of-nobody",
        "AUTO_IMPROVE_TELEGRAM_BASE_URL": server.base_url,
        "AUTO_IMPROVE_TELEGRAM_BASE_FILE_URL": server.base_file_url,
    }


def written(tmp_path: Path) -> dict[str, str | None]:
    """Give what setup wrote."""
    return dotenv_values(tmp_path / ".auto-improve" / ".env")


async def pair(terminal: Terminal, person: Person) -> None:
    """Follow the link that the terminal shows."""
    await person.say(f"/start {await terminal.find(CODE)}")
    await terminal.see("is the owner")


async def finish(terminal: Terminal, *, pi: str, project: str) -> None:
    """Answer everything after the owner."""
    await terminal.answer("Command that starts Pi", pi)
    await terminal.answer("Which? Numbers, all or none")
    await terminal.answer("Folder the agent works in", project)
    await terminal.answer("en or fr")
    if Path("/usr/bin/systemctl").exists():
        await terminal.answer("Write a user service", "n")
    await terminal.see("Done.")


async def test_from_nothing_to_a_bot_that_answers(
    env: Env, server: LocalServer, telegram: LocalTelegram, tmp_path: Path
) -> None:
    """Token, pairing by link, agent, key, project, language; then `run` and one message."""
    ada = await telegram.person("Ada")
    pi = shlex.join(write_fake_pi(tmp_path))
    async with in_terminal("setup", cwd=tmp_path, env=env) as terminal:
        await terminal.answer("Token", server.token)
        await pair(terminal, ada)
        await finish(terminal, pi=pi, project="project")
        assert await terminal.ended() == 0
        assert server.token not in terminal.text
    greeting = await ada.wait_for("This bot is yours now.", timeout_s=PATIENCE_S)

    found, file = written(tmp_path), tmp_path / ".auto-improve" / ".env"
    assert found["AUTO_IMPROVE_TELEGRAM_TOKEN"] == server.token
    assert found["AUTO_IMPROVE_ALLOWED_USERS"] == str(ada.id)
    assert found["AUTO_IMPROVE_PROJECT"] == str(tmp_path / "project")
    assert found["ANTHROPIC_API_KEY"] == "sk-of-nobody"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)

    bare = {name: value for name, value in env.items() if not name.startswith(NAMES)}
    async with in_terminal("run", cwd=tmp_path, env=bare) as terminal:
        await terminal.see("running")
        await ada.say("hello")
        answer = await ada.wait_for(lambda m: "👎" in m.buttons, after=greeting, timeout_s=PATIENCE_S)
        terminal.interrupt()
        assert await terminal.ended() == 0

    assert answer.text == "hello"


async def test_bad_answers_are_asked_again(
    env: Env, server: LocalServer, telegram: LocalTelegram, tmp_path: Path
) -> None:
    """One clear line each."""
    ada = await telegram.person("Ada")
    pi = shlex.join(write_fake_pi(tmp_path))
    async with in_terminal("setup", cwd=tmp_path, env=env) as terminal:
        await terminal.answer("Token", "my token")
        await terminal.see("✗ That is no token")
        await terminal.answer("Token", "1:unknown")
        await terminal.see("✗ Telegram does not know this token (Unauthorized)")
        await terminal.answer("Token", server.token)
        await pair(terminal, ada)
        for wrong, told in (("nopi", "nopi was not found"), ("/bin/true", "does not answer like the agent")):
            await terminal.answer("Command that starts Pi", wrong)
            await terminal.see(told)
        await terminal.answer("Command that starts Pi", pi)
        for wrong in ("7", "x"):
            await terminal.answer("Which?", wrong)
            await terminal.see("✗ Write numbers from 1 to 1")
        await terminal.answer("Which?", "none")
        await terminal.answer("Folder the agent works in", "nowhere")
        await terminal.see("is no folder")
        await terminal.answer("Folder the agent works in", "project")
        await terminal.answer("en or fr", "de")
        await terminal.see("✗ Choose one of: auto, en, fr.")
        await terminal.answer("en or fr", "fr")

        await terminal.find("(7. Always on)")

    assert written(tmp_path)["AUTO_IMPROVE_LANGUAGE"] == "fr"
    assert "ANTHROPIC_API_KEY" not in written(tmp_path)


async def test_ctrl_c_loses_nothing(
    env: Env, server: LocalServer, telegram: LocalTelegram, tmp_path: Path
) -> None:
    """What was answered is there at the next start, as the default."""
    ada = await telegram.person("Ada")
    async with in_terminal("setup", cwd=tmp_path, env=env) as terminal:
        await terminal.answer("Token", server.token)
        await terminal.find(CODE)
        await terminal.break_off("run setup again to go on")
        assert await terminal.ended() == 1
    async with in_terminal("setup", cwd=tmp_path, env=env) as terminal:
        await terminal.answer("[keep 1234…en]")
        await pair(terminal, ada)
        await terminal.see("Command that starts Pi")
        await terminal.break_off("run setup again to go on")
        assert await terminal.ended() == 1
    async with in_terminal("setup", cwd=tmp_path, env=env) as terminal:
        await terminal.answer("[keep 1234…en]")
        seen = await terminal.see("Keep them?")

    assert f"Ada (id {ada.id})" in seen


async def test_what_is_in_the_file_already_stays(
    env: Env, server: LocalServer, telegram: LocalTelegram, tmp_path: Path
) -> None:
    """Comments, other settings, and the other people of the allow-list."""
    ada = await telegram.person("Ada")
    home = tmp_path / ".auto-improve"
    home.mkdir()
    (home / ".env").write_text("# mine\nAUTO_IMPROVE_ALLOWED_USERS=7,8\nAUTO_IMPROVE_IDLE_S=60")
    async with in_terminal("setup", cwd=tmp_path, env=env) as terminal:
        await terminal.answer("Token", server.token)
        await terminal.answer("Keep them?", "no")
        await pair(terminal, ada)
        await terminal.see("Command that starts Pi")

    lines = (home / ".env").read_text().splitlines()
    assert lines[:3] == ["# mine", f"AUTO_IMPROVE_ALLOWED_USERS={ada.id},7,8", "AUTO_IMPROVE_IDLE_S=60"]


async def test_the_owner_may_pair_again(
    env: Env, server: LocalServer, telegram: LocalTelegram, tmp_path: Path
) -> None:
    """Who is in already may follow the link too."""
    ada = await telegram.person("Ada")
    home = tmp_path / ".auto-improve"
    home.mkdir()
    (home / ".env").write_text(f"AUTO_IMPROVE_ALLOWED_USERS=7,{ada.id}\n")
    bot = {**env, "AUTO_IMPROVE_TELEGRAM_TOKEN": server.token}
    async with in_terminal("run", cwd=tmp_path, env={**bot, "AUTO_IMPROVE_AGENT": "scripted"}) as running:
        await running.see("running")
        async with in_terminal("setup", cwd=tmp_path, env=bot) as terminal:
            await terminal.answer("Token")
            await terminal.answer("Keep them?", "n")
            await pair(terminal, ada)
            await terminal.see("Command that starts Pi")

    assert written(tmp_path)["AUTO_IMPROVE_ALLOWED_USERS"] == f"{ada.id},7"


async def test_setup_speaks_french(env: Env, server: LocalServer, tmp_path: Path) -> None:
    """By LANG."""
    async with in_terminal("setup", cwd=tmp_path, env={**env, "LANG": "fr_FR.UTF-8"}) as terminal:
        await terminal.answer("Jeton", "x")
        await terminal.see("✗ Ce n'est pas un jeton")
        await terminal.answer("Jeton", server.token)
        await terminal.see("2. Le propriétaire")
        await terminal.see("Ouvrez-le sur votre téléphone")


async def test_a_running_bot_lets_the_owner_in(
    env: Env, server: LocalServer, telegram: LocalTelegram, tmp_path: Path
) -> None:
    """Setup never polls beside it."""
    ada = await telegram.person("Ada")
    both = {**env, "AUTO_IMPROVE_TELEGRAM_TOKEN": server.token, "AUTO_IMPROVE_AGENT": "scripted"}
    async with in_terminal("run", cwd=tmp_path, env=both) as running:
        await running.see("running")
        async with in_terminal("setup", cwd=tmp_path, env=both) as terminal:
            await terminal.answer("Token")
            await pair(terminal, ada)

        assert "another program" not in running.text + terminal.text


async def test_an_agent_may_not_set_us_up(env: Env, tmp_path: Path) -> None:
    """People decide who is allowed (promise 3)."""
    async with in_terminal("setup", cwd=tmp_path, env={**env, "PI_SESSION_ID": "s"}) as terminal:
        await terminal.see("People decide this")
        assert await terminal.ended() == 1
