"""A visitor of the demo: the command as a person starts it, and a browser with a hand and eyes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e import pi_install
from tests.fakes.browser import Tab, open_tab

AXE = "4.12.1"
PATIENCE_S = 30.0


@dataclass(slots=True)
class Visit:
    """One browser on one demo."""

    tab: Tab
    link: str

    async def say(self, text: str) -> None:
        """Write a message as a person does: into the field, Enter."""
        await self.tab.js("document.getElementById('write').focus()")
        await self.tab.type(text)
        await self.tab.press("Enter")

    async def key(self, words: str) -> str:
        """Wait for the newest button with these words; a single emoji has to be all of it."""
        test = "key.textContent ===" if len(words) < 3 else "key.textContent.includes"
        button = f"[...document.querySelectorAll('.key')].findLast((key) => {test}({json.dumps(words)}))"
        await self.tab.wait(button, PATIENCE_S)
        return button

    async def tap(self, words: str) -> None:
        """Tap the newest button with these words, as soon as there is one."""
        await self.tab.js(f"{await self.key(words)}.click()")

    async def see(self, words: str, *, count: int = 1) -> None:
        """Wait until so many messages of the bot show these words."""
        messages = "[...document.querySelectorAll('.message.theirs .text')]"
        found = f"{messages}.filter((text) => text.textContent.includes({json.dumps(words)})).length"
        await self.tab.wait(f"{found} >= {count}", PATIENCE_S)

    async def reply(self, words: str, text: str) -> None:
        """Reply to the newest message of the bot with these words."""
        message = (
            "[...document.querySelectorAll('.message.theirs')]"
            f".findLast((each) => each.textContent.includes({json.dumps(words)}))"
        )
        await self.tab.js(f"{message}.querySelector('[data-key=reply]').click()")
        await self.say(text)

    async def step(self, name: str) -> None:
        """Wait until the guide is at that step, by its title."""
        now = "document.querySelector('.step.is-now h3')?.textContent ?? 'done'"
        await self.tab.wait(f"({now}).startsWith({json.dumps(name)})", PATIENCE_S)

    async def told(self) -> str:
        """Give what the page says that the agent is told."""
        return str(await self.tab.js("document.getElementById('told').textContent"))

    async def answers(self) -> list[str]:
        """Give the texts of the bot's messages, in the order they are shown."""
        texts = await self.tab.js(
            "[...document.querySelectorAll('.message.theirs .text')].map((text) => text.textContent)"
        )
        return [str(text) for text in texts]

    async def suite(self, name: str) -> str:
        """Give what the page says about one file of tests."""
        lines = "[...document.querySelectorAll('#checks li')].map((line) => line.textContent)"
        return next(str(line) for line in await self.tab.js(lines) if str(line).startswith(name))

    async def complain(self, prompt: str = "Please fix the discount in cart.py.") -> None:
        """Ask, tap 👎 under the answer, and give a reason."""
        await self.say(prompt)
        await self.tap("👎")
        await self.tap("Wrong result")


@asynccontextmanager
async def open_demo(*words: str, env: dict[str, str] | None = None) -> AsyncIterator[str]:
    """Run the command; give its link. Ctrl-C ends it, cleanly and without a word."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "demo", *words,
        env={**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"} if env is None else env,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            line = (await process.stdout.readline()).decode()
        yield next((word for word in line.split() if word.startswith("http")), line)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        async with asyncio.timeout(PATIENCE_S):
            out, err = await process.communicate()
    assert (process.returncode, out, err) == (0, b"", b""), f"{process.returncode} {out!r} {err!r}"


@asynccontextmanager
async def visit(folder: Path, link: str, language: str = "en", width: int = 1280) -> AsyncIterator[Visit]:
    """Open a link in a browser of that language and wait for the page."""
    async with open_tab(folder, language) as tab:
        await tab.size(width, 844 if width < 600 else 800)
        await tab.go(link)
        await tab.wait("document.querySelector('.step.is-now')")
        yield Visit(tab, link)


def axe() -> str:
    """Give the source of axe-core, which npm installs once."""
    folder = pi_install._install(f"axe-core-{AXE}", f"axe-core@{AXE}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
