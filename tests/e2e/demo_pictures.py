"""Take the README's pictures anew from a real demo: `python -m tests.e2e.demo_pictures`, then pngquant."""

import asyncio
import tempfile
from pathlib import Path

from bot.demo.words import tell
from tests.e2e.demo_visit import Visit, open_demo, visit

FOLDER = Path(__file__).parents[2] / "deploy" / "pictures"
SETTLED_S = 7  # until toasts, typing and what marks a change are gone


async def main() -> None:
    """A desktop in light at the end of the loop, a phone in dark in front of the decision."""
    with tempfile.TemporaryDirectory() as profile:
        async with open_demo() as link, visit(Path(profile) / "desktop", link) as page:
            await page.tab.size(1280, 880)
            await page.complain(tell("prompt.cart", "en"))
            await page.tap("Approve")
            await page.step("Ask again")
            await page.say(tell("prompt.cart", "en"))
            await page.see("Fixed, and checked.")
            await _take(page, "demo-desktop.png")
        async with open_demo() as link, visit(Path(profile) / "phone", link, width=390) as page:
            await page.tab.scheme("dark")
            await page.complain(tell("prompt.cart", "en"))
            await page.see("New lesson?")
            await _take(page, "demo-phone.png")


async def _take(page: Visit, name: str) -> None:
    await page.tab.js("document.activeElement.blur()")
    await asyncio.sleep(SETTLED_S)
    await page.tab.shot(FOLDER / name)


if __name__ == "__main__":
    asyncio.run(main())
