"""The third step: Pi and node by their absolute paths, and the keys they need."""

import asyncio
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

import click

from bot.setup.answers import Answers
from bot.setup.dotfile import is_writable
from bot.setup.words import heading, show, tell
from core.agents.environment import OUTER_AGENT, PROVIDERS, allowed_env
from core.agents.pi.version import check_version, node_version, spell
from core.cli.speech import language
from core.errors import AgentError
from core.settings import PREFIX, split
from core.texts import say_error

_SCRIPTS = (".js", ".mjs", ".cjs")
_LOOKS_LIKE_A_KEY = re.compile(r"_(API_KEY|AUTH_TOKEN|ACCESS_TOKEN|OAUTH_TOKEN)$")
LATER = "-"


def ask_command(answers: Answers) -> None:
    """Find Pi, or ask for it until it answers with a version."""
    heading("agent.heading")
    default = answers.get("PI_COMMAND") or "pi"
    command = absolute(default)
    if _is_good(command):
        answers.keep({"PI_COMMAND": shlex.join(command)})
        return
    show("agent.how")
    while True:
        given: str = click.prompt(tell("agent.ask"), default=LATER)
        if given.strip() == LATER:
            show("agent.later")
            return
        command = absolute(given)
        if command and _is_good(command):
            answers.keep({"PI_COMMAND": shlex.join(command)})
            return


def absolute(command: str) -> tuple[str, ...]:
    """Write a command line with full paths, node before a script of its own; as it is where unknown."""
    try:
        words = shlex.split(os.path.expandvars(command))
    except ValueError:
        return ()
    if not words:
        return ()
    found = [
        _found(words[0]),
        *(str(Path(word).absolute()) if Path(word).is_file() else word for word in words[1:]),
    ]
    node = shutil.which("node")
    is_bare_script = len(words) == 1 and node is not None and _is_node_script(Path(found[0]))
    return (str(Path(node).absolute()), *found) if is_bare_script and node else tuple(found)


def _found(program: str) -> str:
    path = shutil.which(str(Path(program).expanduser()) if program.startswith("~") else program)
    return str(Path(path).absolute()) if path else program


def _is_node_script(file: Path) -> bool:
    try:
        real = file.resolve(strict=True)
        with real.open("rb") as stream:
            first = stream.readline(200)
    except OSError:
        return False
    return real.suffix in _SCRIPTS or (first.startswith(b"#!") and b"node" in first)


def _is_good(command: tuple[str, ...]) -> bool:
    """Ask the program for its version and show it, or say what is wrong."""
    try:
        pi, node = asyncio.run(_versions(command))
    except AgentError as error:
        show("wrong", text=say_error(error, language()))
        return False
    show("agent.good", pi=pi, node=node, command=shlex.join(command))
    return True


async def _versions(command: tuple[str, ...]) -> tuple[str, str]:
    env = allowed_env(os.environ)
    pi = await check_version(command, Path.home(), env)
    is_node = PurePath(command[0]).name == "node" or _is_node_script(Path(command[0]))
    node = await node_version(command, Path.home(), env) if is_node else None
    return spell(pi), spell(node) if node else "?"


def ask_keys(answers: Answers, environment: Mapping[str, str]) -> None:
    """List the keys that are here, and keep the chosen ones for the agent, wherever the bot is started."""
    heading("keys.heading")
    names = candidates(environment)
    if not names:
        show("keys.none" if not any(answers.stored(name) for name in _known(answers)) else "keys.kept")
        return
    show("keys.how", file=answers.file)
    for number, name in enumerate(names, 1):
        mark = " ✓" if answers.stored(name) == environment[name] else ""
        click.echo(f"  {number}. {name}{mark}")
    default = ",".join(str(names.index(name) + 1) for name in names if is_provider(name)) or tell("keys.no")
    chosen = None
    while chosen is None:
        chosen = choose(names, click.prompt(tell("keys.ask"), default=default))
        if chosen is None:
            show("keys.wrong", most=len(names))
    _keep(answers, {name: environment[name] for name in chosen})


def _known(answers: Answers) -> list[str]:
    return [name for name in PROVIDERS if answers.stored(name)]


def candidates(environment: Mapping[str, str]) -> list[str]:
    """Give the variables that may be keys of a model provider: the known ones first."""
    able = [name for name in sorted(environment) if environment[name] and not name.startswith(PREFIX)]
    known = [name for name in able if is_provider(name)]
    others = [name for name in able if _LOOKS_LIKE_A_KEY.search(name) and name not in OUTER_AGENT]
    return [*known, *(name for name in others if name not in known)]


def is_provider(name: str) -> bool:
    """Say whether Pi itself reads that variable to reach a model."""
    return any(fnmatchcase(name, pattern) for pattern in PROVIDERS)


def choose(names: list[str], text: str) -> list[str] | None:
    """Read numbers, or the word for all or none; None where it is neither."""
    word = text.strip().lower()
    if word in (tell("keys.all"), "all"):
        return names
    if word in (tell("keys.no"), "none"):
        return []
    numbers = word.replace(",", " ").split()
    if not numbers or not all(n.isascii() and n.isdigit() and 1 <= int(n) <= len(names) for n in numbers):
        return None
    return [names[int(number) - 1] for number in dict.fromkeys(numbers)]


def _keep(answers: Answers, chosen: Mapping[str, str]) -> None:
    kept = {name: value for name, value in chosen.items() if is_writable(value)}
    for name in chosen.keys() - kept.keys():
        show("keys.odd", name=name)
    answers.write(kept)
    others = [name for name in kept if not is_provider(name)]
    if others:
        known = list(split(answers.get("AGENT_ENV")))
        answers.keep({"AGENT_ENV": ",".join(dict.fromkeys([*known, *others]))})
    show("keys.done", names=", ".join(kept) or tell("keys.no"))
