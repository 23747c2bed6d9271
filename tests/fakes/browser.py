"""A headless Chromium driven over its DevTools protocol, without further packages."""

import asyncio
import base64
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest

PATIENCE_S = 20.0
_OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update",
    "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-port=0",
)  # fmt: skip


def chromium() -> str:
    """Give the browser's program; skip where there is none (in CI: fail)."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None and os.environ.get("CI"):
        pytest.fail("chromium is missing, and CI must see the page: apt-get install -y chromium")
    if found is None:
        pytest.skip("chromium is missing (apt-get install chromium)")
    return found


class Tab:
    """One page of the browser; what it logs and which errors it throws is kept."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._numbers = socket, count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._session = ""
        self.faults: list[str] = []

    async def open(self) -> None:
        """Attach to a fresh page."""
        target = (await self.send("Target.createTarget", url="about:blank"))["targetId"]
        attached = await self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            await self.send(f"{domain}.enable")

    async def listen(self) -> None:
        """Read what the browser says until it ends."""
        async for message in self._socket:
            said = json.loads(message.data)
            if said.get("id") in self._waiting:
                self._waiting.pop(said["id"]).set_result(said)
            elif said.get("method") == "Runtime.exceptionThrown":
                self.faults.append(str(said["params"]["exceptionDetails"]))
            elif said.get("method") == "Log.entryAdded" and said["params"]["entry"]["level"] == "error":
                self.faults.append(said["params"]["entry"]["text"])

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Give one command and its result."""
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        session = {"sessionId": self._session} if self._session else {}
        await self._socket.send_json({"id": number, "method": method, "params": params, **session})
        async with asyncio.timeout(PATIENCE_S):
            answer = await self._waiting[number]
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    async def go(self, url: str) -> None:
        """Open an address."""
        await self.send("Page.navigate", url=url)
        await self.wait("document.readyState === 'complete'")

    async def js(self, expression: str) -> Any:
        """Give the value of an expression; promises are awaited."""
        result = await self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    async def wait(self, expression: str, timeout_s: float = PATIENCE_S) -> None:
        """Wait until an expression is true; say what the page shows if it does not become so."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while loop.time() < deadline:
            with suppress(RuntimeError):  # a page that is just being left
                if await self.js(f"Boolean({expression})"):
                    return
            await asyncio.sleep(0.05)
        raise AssertionError(f"never true: {expression}\n{await self.js('document.body.innerText')}")

    async def size(self, width: int, height: int) -> None:
        """Give the window this size; narrow ones are phones."""
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=2 if width < 600 else 1, mobile=width < 600,
        )  # fmt: skip

    async def scheme(self, name: str) -> None:
        """Prefer light or dark."""
        await self.send(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}]
        )

    async def type(self, text: str) -> None:
        """Type into whatever has the focus."""
        await self.send("Input.insertText", text=text)

    async def press(self, key: str) -> None:
        """Press and release a key: Enter, Tab, Escape, Space."""
        code, text = {"Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, ""), "Space": (32, " ")}[key]
        name = " " if key == "Space" else key
        known = {"key": name, "code": key, "windowsVirtualKeyCode": code}
        await self.send(
            "Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **known
        )
        await self.send("Input.dispatchKeyEvent", type="keyUp", **known)

    async def shot(self, file: Path) -> None:
        """Take a picture of what is seen."""
        file.write_bytes(base64.b64decode((await self.send("Page.captureScreenshot", format="png"))["data"]))


@asynccontextmanager
async def open_tab(folder: Path, language: str = "en") -> AsyncIterator[Tab]:
    """Start a browser with a profile of its own in that folder; give its one tab."""
    options = (
        *_OPTIONS,
        f"--user-data-dir={folder / 'profile'}",
        f"--lang={language}",
        f"--accept-lang={language}",
    )
    env = {**os.environ, "HOME": str(folder), "LANGUAGE": language}
    process = await asyncio.create_subprocess_exec(
        chromium(), *options, env=env, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        async with (
            aiohttp.ClientSession() as client,
            client.ws_connect(await _address(process), max_msg_size=0) as socket,
        ):
            tab = Tab(socket)
            listening = asyncio.create_task(tab.listen())
            await tab.open()
            yield tab
            listening.cancel()
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async with asyncio.timeout(2 * PATIENCE_S):
        async for line in process.stderr:
            if (words := line.decode(errors="replace")).startswith("DevTools listening on "):
                return words.split()[-1]
    raise AssertionError("the browser ended before it listened")
