"""`auto-improve doctor` against a local Telegram: each finding, its remedy, and the exit code."""

import asyncio
import json
import os
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.local.person import LocalTelegram
from bot.local.server import LocalServer
from core.store.sqlite import open_store
from tests.fakes.fake_pi import write_fake_pi
from tests.fakes.terminal import PATIENCE_S, REPOSITORY, in_terminal
from tests.integration.shell import MARKERS

pytestmark = pytest.mark.timeout(180)

NOT_POLLING = ("token", "groups", "people", "project", "agent")
NO_KEY = """
if "json" in sys.argv:
    print("No API key found for openrouter.", file=sys.stderr); sys.exit(1)
"""
KEYED = """
if "json" in sys.argv and not os.environ.get("OPENAI_API_KEY"):
    print("No API key found for openai.", file=sys.stderr); sys.exit(1)
"""
ANSWERS = """
if "json" in sys.argv:
    sys.stdin.read(); out(type="agent_start"); say("OK"); settle(); sys.exit(0)
"""


@dataclass
class Surgery:
    """A settled installation, to be examined."""

    folder: Path
    env: dict[str, str]
    code: int = 0
    err: str = ""
    found: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.folder / "auto-improve"

    async def run(self, *words: str, **more: str) -> str:
        """Run doctor; give what it printed."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bot",
            "doctor",
            *words,
            cwd=self.folder / "project",
            env={**self.env, "PYTHONPATH": str(REPOSITORY), **more},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        self.code, self.err = process.returncode or 0, err.decode()
        return out.decode()

    async def examine(self, *checks: str, **more: str) -> set[str]:
        """Run these checks for a script; give the names of what they found that is not ok."""
        ours = {f"AUTO_IMPROVE_{name}": value for name, value in more.items()}
        records = json.loads(await self.run(*checks, "--json", **ours))
        self.found = {each["finding"]: each for each in records}
        return {each["finding"] for each in records if each["level"] not in ("ok", "note")}


@pytest.fixture
async def surgery(server: LocalServer, tmp_path: Path) -> Surgery:
    """A bot with an owner, a store, and an agent that answers."""
    (tmp_path / "project").mkdir()
    home = tmp_path / "auto-improve"
    home.mkdir(mode=0o700)
    async with open_store(home / "store.db"):
        pass
    inherited = {n: v for n, v in os.environ.items() if n not in MARKERS and not n.endswith("_API_KEY")}
    ours = {
        "TELEGRAM_TOKEN": server.token,
        "TELEGRAM_BASE_URL": server.base_url,
        "ALLOWED_USERS": "1001",
        "HOME": str(home),
        "PROJECT": str(tmp_path / "project"),
        "PI_COMMAND": shlex.join(write_fake_pi(tmp_path, ANSWERS)),
    }
    env = {**inherited, "HOME": str(tmp_path), "LANG": "en_GB.UTF-8"}
    return Surgery(tmp_path, env | {f"AUTO_IMPROVE_{name}": value for name, value in ours.items()})


async def test_a_good_installation_is_well(surgery: Surgery) -> None:
    """Nothing to mend, exit code 0, nothing of it on stderr."""
    wrong = await surgery.examine()

    assert (wrong, surgery.code, surgery.err) == (set(), 0, "")
    assert {"token", "alone", "people", "store", "disk", "permissions", "versions", "pi", "agent"} <= set(
        surgery.found
    )
    assert "answered “OK”" in surgery.found["agent"]["text"]


async def test_a_person_reads_a_line_a_finding_with_its_remedy(surgery: Surgery) -> None:
    """A mark, the check, what was found; below it what to do."""
    surgery.home.chmod(0o755)

    shown = await surgery.run("token", "permissions")

    assert "✓ token: @auto_improve_bot (id 123456)" in shown
    assert f"! permissions: others may read {surgery.home}\n    → chmod 700 {surgery.home}" in shown


async def test_it_speaks_french(surgery: Surgery) -> None:
    """By LANG."""
    shown = await surgery.run("people", LANG="fr_FR.UTF-8")

    assert "✓ people: admis : 1, le propriétaire est 1001" in shown


async def test_nothing_set_up_is_said_and_created_by_nobody(surgery: Surgery, tmp_path: Path) -> None:
    """Examining leaves no trace."""
    bare = {name: value for name, value in surgery.env.items() if not name.startswith("AUTO_IMPROVE_")}
    surgery.env = {**bare, "AUTO_IMPROVE_HOME": str(tmp_path / "none"), "PATH": "/usr/bin:/bin"}

    wrong = await surgery.examine()

    assert (wrong, surgery.code) == ({"token_none", "no_owner", "pi_wrong", "agent_wrong"}, 1)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("values", "finding"),
    [
        ({"TELEGRAM_TOKEN": "123456:another"}, "token_wrong"),
        ({"TELEGRAM_BASE_URL": "http://127.0.0.1:9/bot"}, "unreachable"),
        ({"ALLOWED_USERS": "-100"}, "user_is_group"),
        ({"ALLOWED_USERS": ""}, "no_owner"),
        ({"APPROVERS": "1001,7"}, "approver_outside"),
        ({"ALLOWED_CHATS": "-5"}, "group_gone"),
        ({"ALLOWED_CHATS": "5"}, "group_is_user"),
        ({"AGENT": "other"}, "agent_unknown"),
        ({"PROJECT": "/nowhere/at/all"}, "project_none"),
        ({"IDLE_S": "soon"}, "settings_wrong"),
    ],
)
async def test_each_wrong_setting_has_a_finding_and_a_remedy(
    surgery: Surgery, values: dict[str, str], finding: str
) -> None:
    """By name, for a script; with words, for a person."""
    wrong = await surgery.examine(*NOT_POLLING, **values)

    assert finding in wrong
    assert surgery.found[finding]["text"] and surgery.found[finding]["remedy"]


async def test_no_finding_shows_the_token(surgery: Surgery, server: LocalServer) -> None:
    """Neither the right one nor a wrong one."""
    for more in ({}, {"TELEGRAM_TOKEN": "123456:another"}, {"TELEGRAM_BASE_URL": "http://127.0.0.1:9/bot"}):
        await surgery.examine("token", "agent", **more)
        told = json.dumps(surgery.found) + surgery.err

        assert server.token not in told
        assert "123456:another" not in told


@pytest.mark.parametrize(("behaviour", "named"), [(NO_KEY, "OPENROUTER_API_KEY"), (KEYED, "OPENAI_API_KEY")])
async def test_the_missing_key_is_named(surgery: Surgery, behaviour: str, named: str) -> None:
    """As the agent's provider calls it."""
    command = shlex.join(write_fake_pi(surgery.folder, behaviour))

    wrong = await surgery.examine("agent", PI_COMMAND=command)

    assert wrong == {"no_key"}
    assert named in surgery.found["no_key"]["text"]


async def test_a_key_kept_in_the_home_is_used(surgery: Surgery) -> None:
    """The agent is asked in the bot's environment, not in the shell's."""
    command = shlex.join(write_fake_pi(surgery.folder, KEYED + ANSWERS))
    (surgery.home / ".env").write_text("OPENAI_API_KEY=kept\n")
    (surgery.home / ".env").chmod(0o600)

    assert await surgery.examine("agent", PI_COMMAND=command) == set()


async def test_a_readable_file_of_secrets_is_a_failure(surgery: Surgery) -> None:
    """Others on the machine could take the bot."""
    (surgery.home / ".env").write_text("A=1\n")
    (surgery.home / ".env").chmod(0o644)

    assert (await surgery.examine("permissions"), surgery.code) == ({"open"}, 1)
    assert surgery.found["open"]["remedy"] == f"chmod 600 {surgery.home / '.env'}"


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000])
async def test_a_damaged_store_is_found_and_left_alone(surgery: Surgery, content: bytes) -> None:
    """Examining repairs nothing."""
    store = surgery.home / "store.db"
    store.write_bytes(content)

    assert await surgery.examine("store", "people", "project") == {"store_wrong"}
    assert store.read_bytes() == content


async def test_dead_letters_are_counted(surgery: Surgery) -> None:
    """What was given up is no secret."""
    async with open_store(surgery.home / "store.db") as store:
        await store.write(lambda tx: tx.inbox.add(7, "1", "{}", 4e9))
        await store.write(lambda tx: tx.inbox.fail(7, "KeyError: 'x'", is_dead=True))

    assert (await surgery.examine("store"), surgery.code) == ({"dead"}, 0)
    assert "1 updates" in surgery.found["dead"]["text"] and "KeyError" in surgery.found["dead"]["text"]


async def test_another_poller_is_found(surgery: Surgery, telegram: LocalTelegram) -> None:
    """It comes back while we listen, and ends our call."""
    conflict = "Conflict: terminated by other getUpdates request"
    await telegram.fault(method="getUpdates", code=409, description=conflict)

    assert await surgery.examine("pollers") == {"conflict"}


async def test_a_group_where_the_bot_is_no_administrator_is_told(
    surgery: Surgery, telegram: LocalTelegram
) -> None:
    """Reactions do not arrive there."""
    ada = await telegram.person("Ada")
    plain = await telegram.group("Team", [ada])
    good = await telegram.group("Ops", [ada], is_bot_admin=True)

    wrong = await surgery.examine("groups", ALLOWED_CHATS=f"{plain.id},{good.id}")

    assert wrong == {"group_member"}
    assert str(good.id) in surgery.found["group"]["text"]


async def test_a_project_with_settings_of_its_own_is_told(surgery: Surgery) -> None:
    """Pi ignores them until somebody decides."""
    (surgery.folder / "project" / ".pi").mkdir()

    await surgery.examine("project")
    assert "trust_open" in surgery.found
    await surgery.examine("project", TRUST_PROJECT="on")
    assert "trusted" in surgery.found


async def test_a_running_bot_is_examined_as_it_is(surgery: Surgery) -> None:
    """Its agent gets what the bot was started with, not what this shell has; nobody polls beside it."""
    command = shlex.join(write_fake_pi(surgery.folder, KEYED + ANSWERS))
    bot = {**surgery.env, "AUTO_IMPROVE_PI_COMMAND": command}
    surgery.env["OPENAI_API_KEY"] = "only here"
    async with in_terminal("run", cwd=surgery.folder / "project", env=bot) as terminal:
        await terminal.see("running")
        await asyncio.sleep(0.5)
        wrong = await surgery.examine(PI_COMMAND=command)
        assert "another program" not in terminal.text

    assert wrong == {"no_key_in_bot"}
    assert "OPENAI_API_KEY" in surgery.found["no_key_in_bot"]["text"]
    assert "running" in surgery.found


async def test_the_owner_examines_the_bot_from_the_chat(surgery: Surgery, telegram: LocalTelegram) -> None:
    """`/doctor` answers at once, then with the findings; nobody else may ask."""
    ada, bob = await telegram.person("Ada"), await telegram.person("Bob")
    env = {**surgery.env, "AUTO_IMPROVE_ALLOWED_USERS": f"{ada.id},{bob.id}"}
    async with in_terminal("run", cwd=surgery.folder / "project", env=env) as terminal:
        await terminal.see("running")
        await bob.say("/doctor")
        await ada.say("/doctor")
        refused = await bob.wait_for("Only the owner", timeout_s=PATIENCE_S)
        told = await ada.wait_for("✓ agent", timeout_s=PATIENCE_S)

    assert refused.text
    assert "✓ pollers: updates arrive" in told.text
    assert "answered “OK”" in told.text
