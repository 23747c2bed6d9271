"""A person's own Pi with our extension installed, driven over RPC, and the command line beside it."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.services import installing
from core.services.installing import Filled
from tests.fakes.pi_home import MODEL, make_pi_home
from tests.fakes.stub_provider import StubProvider

Json = dict[str, Any]
REPOSITORY = Path(__file__).parents[2]
PATIENCE_S = 90.0  # longest wait for anything: the machine may be busy with other tests
DIALOGS = ("select", "input", "confirm", "editor")
LIMIT_B = 64 * 2**20


@dataclass(slots=True)
class Dialogs:
    """Everything one command or prompt made Pi say; `asked` are its dialogs, `told` its notices."""

    events: list[Json] = field(default_factory=list)

    @property
    def asked(self) -> list[Json]:
        return [each for each in self.events if each.get("method") in DIALOGS]

    @property
    def told(self) -> list[str]:
        return [str(each["message"]) for each in self.events if each.get("method") == "notify"]

    def ended(self, kind: str) -> list[Json]:
        return [each for each in self.events if each.get("type") == kind]


class Rpc:
    """One Pi process in RPC mode."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def say(self, text: str, answers: Sequence[Json] = ()) -> Dialogs:
        """Type a prompt or command and follow it to its end; its dialogs get these answers in turn."""
        await self.begin(text)
        return await self.until(lambda each: _is_end(each, text.startswith("/")), answers)

    async def begin(self, text: str) -> None:
        """Type a prompt or command and do not follow it."""
        await self._send({"id": "said", "type": "prompt", "message": text})

    async def rest(self, answers: Sequence[Json] = ()) -> Dialogs:
        """Follow a command that was begun to its end."""
        return await self.until(lambda each: _is_end(each, is_command=True), answers)

    async def answer(self, dialog: Json, value: Json) -> None:
        """Answer a dialog."""
        await self._send({"type": "extension_ui_response", "id": dialog["id"], **value})

    async def until(self, is_last: Callable[[Json], bool], answers: Sequence[Json] = ()) -> Dialogs:
        """Follow what Pi says until that."""
        found, waiting = Dialogs(), list(answers)
        async with asyncio.timeout(PATIENCE_S):
            while True:
                event = await self._next()
                found.events.append(event)
                if event.get("method") in DIALOGS and waiting:
                    await self.answer(event, waiting.pop(0))
                if is_last(event):
                    return found

    async def commands(self) -> list[str]:
        """Give the names of the commands of extensions."""
        await self._send({"type": "get_commands"})
        found = await self.until(lambda each: each.get("command") == "get_commands")
        listed = found.events[-1]["data"]["commands"]
        return [each["name"] for each in listed if each["source"] == "extension"]

    async def renew(self) -> None:
        """Begin a new session."""
        await self._send({"type": "new_session"})
        await self.until(lambda each: each.get("command") == "new_session")

    def cpu_s(self) -> float:
        """Give the processor time the process itself has used so far."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    async def abort(self) -> None:
        """Press Escape."""
        await self._send({"type": "abort"})

    async def _send(self, record: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(record).encode() + b"\n")
        await self._process.stdin.drain()

    async def _next(self) -> Json:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        assert line, "Pi has ended"
        record: Json = json.loads(line)
        return record


def _is_end(event: Json, is_command: bool) -> bool:
    if is_command:
        return event.get("type") == "response" and event.get("command") == "prompt"
    return event.get("type") == "agent_settled"


@dataclass(slots=True)
class OwnPi:
    """A person's home, project, Pi and model."""

    folder: Path
    command: tuple[str, ...]
    stub: StubProvider
    env: dict[str, str]

    @property
    def home(self) -> Path:
        return self.folder / "auto-improve"

    @property
    def project(self) -> Path:
        return self.folder / "work"

    @property
    def agent(self) -> Path:
        return self.folder / "agent"

    @property
    def extension(self) -> Path:
        return self.agent / "extensions" / "auto-improve.ts"

    def spooled(self) -> list[Json]:
        """Give every line of the spool, session by session."""
        files = sorted((self.home / "spool").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]

    async def run(self, *argv: str, stdin: str = "", **env: str) -> str:
        """Run our command line as the person in the project; give what it printed."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "bot", *argv),
            cwd=self.project,
            env={**self.env, **env},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate(stdin.encode())
        return (out + err).decode()

    async def rows(self, *argv: str) -> list[Json]:
        """Run a command that lists."""
        found: list[Json] = json.loads(await self.run(*argv, "--json"))
        return found

    async def print(self, prompt: str, *options: str) -> str:
        """Run Pi in print mode; give the answer."""
        process = await asyncio.create_subprocess_exec(
            *(*self.command, "-p", "--model", MODEL, *options, prompt),
            cwd=self.project,
            env=self.env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return out.decode().strip()

    @asynccontextmanager
    async def rpc(self, *options: str) -> AsyncIterator[Rpc]:
        """Start Pi in RPC mode; it ends with the context."""
        with (self.folder / "pi.err").open("ab") as err:
            process = await asyncio.create_subprocess_exec(
                *(*self.command, "--mode", "rpc", "--model", MODEL, *options),
                cwd=self.project,
                env=self.env,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=err,
                limit=LIMIT_B,
            )
        try:
            yield Rpc(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                async with asyncio.timeout(5):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


def make_own_pi(folder: Path, command: tuple[str, ...], stub: StubProvider) -> OwnPi:
    """Furnish a clean home whose project is under git; nothing is installed yet."""
    (folder / "work" / ".git").mkdir(parents=True)
    ours = {
        "AUTO_IMPROVE_HOME": str(folder / "auto-improve"),
        "AUTO_IMPROVE_PI_COMMAND": " ".join(command),
        "PYTHONPATH": str(REPOSITORY),
        "LC_ALL": "C.UTF-8",
    }
    script = Path(sys.executable).parent
    env = make_pi_home(folder, stub.base_url)
    return OwnPi(folder, command, stub, {**env, **ours, "PATH": f"{script}{os.pathsep}{env['PATH']}"})


def installed_pi(folder: Path, command: tuple[str, ...], stub: StubProvider) -> OwnPi:
    """The same with our extension and skill put in, as `auto-improve install pi` does."""
    own = make_own_pi(folder, command, stub)
    installing.install(own.agent, Filled("0.0.0", own.home, (sys.executable, "-P", "-m", "bot")))
    return own


def bash(*commands: str) -> Json:
    """A model's reply that calls the shell, once for each command."""
    return {"tool_calls": [{"name": "bash", "arguments": {"command": each}} for each in commands]}


def script(**rules: list[Json]) -> Json:
    """A model that answers by the first word of the prompt, else "Hello"."""
    listed = [{"match": f"^{word}", "replies": replies} for word, replies in rules.items()]
    return {"rules": listed, "default": {"text": "Hello"}}
