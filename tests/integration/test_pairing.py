"""The owner pairs by a link in the terminal, colleagues come in by /invite: the real bot on loopback."""

import os
import re
import sys
from pathlib import Path

import pytest

from bot.local.person import LocalTelegram, NothingCame, Person
from bot.local.server import LocalServer
from tests.fakes.terminal import PATIENCE_S, REPOSITORY, Terminal, in_terminal
from tests.integration.shell import MARKERS

Env = dict[str, str]
pytestmark = pytest.mark.timeout(180)

CODE = r"\?start=([A-Za-z0-9_-]+)"


@pytest.fixture
def env(server: LocalServer, tmp_path: Path) -> Env:
    """The environment of a bot without people, whose agent is a script."""
    (tmp_path / "project").mkdir()
    inherited = {name: value for name, value in os.environ.items() if name not in MARKERS}
    return {
        **inherited,
        "HOME": str(tmp_path),
        "LANG": "en_GB.UTF-8",
        "AUTO_IMPROVE_TELEGRAM_TOKEN": server.token,
        "AUTO_IMPROVE_TELEGRAM_BASE_URL": server.base_url,
        "AUTO_IMPROVE_TELEGRAM_BASE_FILE_URL": server.base_file_url,
        "AUTO_IMPROVE_HOME": str(tmp_path / "auto-improve"),
        "AUTO_IMPROVE_AGENT": "scripted",
    }


async def link_of(terminal: Terminal) -> str:
    """Give the code of the link that the terminal shows."""
    return await terminal.find(CODE)


async def hears(person: Person, words: str) -> str:
    """Wait until the bot says that to somebody."""
    return (await person.wait_for(words, timeout_s=PATIENCE_S)).text


async def is_silent(person: Person) -> bool:
    """Say whether nothing comes while the bot answers somebody else."""
    try:
        await person.wait_for(lambda m: True, timeout_s=1.0)
    except NothingCame:
        return True
    return False


async def test_who_follows_the_link_owns_the_bot(env: Env, telegram: LocalTelegram, tmp_path: Path) -> None:
    """The terminal says who it was, the chat says the first words, and the bot works at once."""
    ada = await telegram.person("Ada")
    async with in_terminal("run", cwd=tmp_path / "project", env=env) as terminal:
        await ada.say(f"/start {await link_of(terminal)}")
        shown = await terminal.see("is the owner")
        words = await hears(ada, "This bot is yours now.")
        await ada.say("hello")
        answer = await ada.wait_for(lambda m: "👎" in m.buttons, timeout_s=PATIENCE_S)

    assert f"Ada (id {ada.id})" in shown
    assert "Every answer carries 👍 and 👎" in words
    assert answer.text


async def test_strangers_get_no_answer(env: Env, telegram: LocalTelegram, tmp_path: Path) -> None:
    """Neither to a message, nor to a wrong code, nor to a used one."""
    ada, eve = await telegram.person("Ada"), await telegram.person("Eve")
    async with in_terminal("run", cwd=tmp_path / "project", env=env) as terminal:
        code = await link_of(terminal)
        await eve.say("/start AAAAAAAAAAAAAAAAAAAAAA")
        await ada.say(f"/start {code}")
        await hears(ada, "yours now")
        for text in ("hello", "/start", f"/start {code}"):
            await eve.say(text)

        assert await is_silent(eve)


async def test_a_stranger_who_guesses_is_not_even_heard(
    env: Env, telegram: LocalTelegram, tmp_path: Path
) -> None:
    """After five tries the right code is refused too, for an hour."""
    eve = await telegram.person("Eve")
    async with in_terminal("run", cwd=tmp_path / "project", env=env) as terminal:
        code = await link_of(terminal)
        for number in range(5):
            await eve.say(f"/start {'B' * 20}{number}")
        await eve.say(f"/start {code}")

        assert await is_silent(eve)


async def test_a_colleague_comes_in_by_invitation_and_goes(
    env: Env, telegram: LocalTelegram, tmp_path: Path
) -> None:
    """Without a restart; the owner is told, and may show them out."""
    ada, bob = await telegram.person("Ada"), await telegram.person("Bob")
    async with in_terminal("run", cwd=tmp_path / "project", env=env) as terminal:
        await ada.say(f"/start {await link_of(terminal)}")
        await hears(ada, "yours now")
        await ada.say("/invite")
        found = re.search(CODE, await hears(ada, "Hand this on"))
        assert found is not None
        await bob.say(f"/start {found[1]}")
        await hears(bob, "Welcome")
        await hears(ada, "Bob came in by a link")
        await bob.say("/invite")
        await hears(bob, "Only the owner")
        await ada.say(f"/invite remove {bob.id}")
        await hears(ada, "Bob is out.")
        said = await bob.say("hello?")

        with pytest.raises(NothingCame):
            await bob.wait_for(lambda m: True, after=said, timeout_s=1.0)


async def test_a_pairing_outlives_the_bot(env: Env, telegram: LocalTelegram, tmp_path: Path) -> None:
    """The next start asks for nobody."""
    ada = await telegram.person("Ada")
    async with in_terminal("run", cwd=tmp_path / "project", env=env) as terminal:
        await ada.say(f"/start {await link_of(terminal)}")
        await terminal.see("is the owner")
        terminal.interrupt()
        assert await terminal.ended() == 0
    async with in_terminal("run", cwd=tmp_path / "project", env=env) as terminal:
        await terminal.see("running")
        await ada.say("/help")
        await hears(ada, "What I understand")

        assert "start=" not in terminal.text


async def test_without_a_terminal_nobody_can_pair(env: Env, tmp_path: Path) -> None:
    """A service says which setting is missing and does not start again and again."""
    import asyncio

    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        "run",
        cwd=tmp_path / "project",
        env={**env, "PYTHONPATH": str(REPOSITORY)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, told = await process.communicate()

    assert (process.returncode, "AUTO_IMPROVE_ALLOWED_USERS is not set" in told.decode()) == (2, True)
