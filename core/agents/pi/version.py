"""Is Pi there, and new enough? Asked once per command."""

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePath

from core.agents.process import AgentProcess, spawn
from core.agents.reaping import new_marker
from core.errors import AgentDied, AgentMissing, AgentTooOld

Version = tuple[int, int, int]

OLDEST: Version = (0, 84, 0)
OLDEST_NODE: Version = (22, 19, 0)
ANSWER_S = 30.0
KEPT_OUTPUT = 300

_VERSION = re.compile(r"(?<![\d.])(\d{1,6})\.(\d{1,6})\.(\d{1,6})")
_JAVASCRIPT = re.compile(r"SyntaxError|node:")
_NO_NODE = re.compile(r"env: .{0,3}node.{0,3}: No such file")


async def check_version(command: tuple[str, ...], cwd: Path, env: Mapping[str, str]) -> Version:
    """Give Pi's version. Raises AgentMissing (Pi or node), AgentTooOld (Pi or node), AgentDied (silent)."""
    code, told = await _run((*command, "--version"), cwd, env)
    found = _read(told)
    if code == 0 and found is not None:
        if found < OLDEST:
            raise AgentTooOld("agent.too_old", found=spell(found), needed=spell(OLDEST))
        return found
    if _NO_NODE.search(told):
        raise AgentMissing("agent.node_missing", needed=spell(OLDEST_NODE))
    if code and _JAVASCRIPT.search(told):
        await _check_node(command, cwd, env)
    raise AgentMissing("agent.unknown", command=" ".join(command), found=told.strip()[-KEPT_OUTPUT:])


async def _check_node(command: tuple[str, ...], cwd: Path, env: Mapping[str, str]) -> None:
    """Blame node when it is too old: Pi then dies of a syntax error before it can say so itself."""
    found = await node_version(command, cwd, env)
    if found is not None and found < OLDEST_NODE:
        raise AgentTooOld("agent.node_too_old", found=spell(found), needed=spell(OLDEST_NODE))


async def node_version(command: tuple[str, ...], cwd: Path, env: Mapping[str, str]) -> Version | None:
    """Give the version of the node that runs that command, None where there is none. Raises AgentDied."""
    node = command[0] if PurePath(command[0]).name == "node" else "node"
    with suppress(AgentMissing):
        _, told = await _run((node, "--version"), cwd, env)
        return _read(told.replace("v", " "))
    return None


async def _run(command: tuple[str, ...], cwd: Path, env: Mapping[str, str]) -> tuple[int | None, str]:
    """Run to the end with nothing on stdin; give exit code and both outputs (0.73 answers on stderr)."""
    output = bytearray()
    closed = asyncio.Event()
    process: AgentProcess = await spawn(
        command, cwd=cwd, env=env, marker=new_marker(), on_output=output.extend, on_close=closed.set
    )
    try:
        process.close_stdin()
        async with asyncio.timeout(ANSWER_S):
            await closed.wait()
    except TimeoutError:
        raise AgentDied(
            "agent.not_ready", seconds=ANSWER_S, error=process.stderr_tail[-KEPT_OUTPUT:]
        ) from None
    finally:
        await process.end(0.0)
    return process.returncode, f"{output.decode(errors='replace')}\n{process.stderr_tail}"


def _read(told: str) -> Version | None:
    found = _VERSION.search(told)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def spell(version: Version) -> str:
    """Write a version as people do."""
    return ".".join(map(str, version))
