"""The small project the agent works in, and what its tests say when we run them ourselves."""

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CHECK_S = 20.0

_CART = '''\
"""What the books in a cart cost."""


def total(items, discount=0):
    """Give the price of (price, quantity) pairs; the discount is in per cent."""
    amount = 0
    for price, quantity in items:
        amount += price
    return amount - discount
'''
_TEST_CART = """\
import unittest

from cart import total


class CartTest(unittest.TestCase):
    def test_one_book(self):
        self.assertEqual(total([(10, 1)]), 10)

    def test_three_books(self):
        self.assertEqual(total([(10, 3)]), 30)

    def test_three_books_with_a_discount(self):
        self.assertEqual(total([(10, 3)], discount=10), 27)
"""
_SHIPPING = '''\
"""What sending the books costs."""


def shipping(amount):
    """Give the cost of sending: free from 50 on, nothing for an empty cart."""
    return 0 if amount > 50 else 5
'''
_TEST_SHIPPING = """\
import unittest

from shipping import shipping


class ShippingTest(unittest.TestCase):
    def test_small_orders_pay(self):
        self.assertEqual(shipping(49), 5)

    def test_free_from_50_on(self):
        self.assertEqual(shipping(50), 0)

    def test_an_empty_cart_pays_nothing(self):
        self.assertEqual(shipping(0), 0)
"""

FILES: Mapping[str, str] = {
    "cart.py": _CART,
    "test_cart.py": _TEST_CART,
    "shipping.py": _SHIPPING,
    "test_shipping.py": _TEST_SHIPPING,
    # Git's own least: without it, a project inside another repository would count as part of that one.
    ".git/HEAD": "ref: refs/heads/main\n",
}
SUITES = ("test_cart", "test_shipping")


def create(folder: Path) -> None:
    """Write the project where it is not there yet; what the agent changed in it stays."""
    if (folder / "cart.py").exists():
        return
    for inside in (".git/objects", ".git/refs"):
        (folder / inside).mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """Give an environment whose `python` is ours and whose shell finds its tools, whatever PATH was."""
    ours = str(Path(sys.executable).parent)
    path = os.pathsep.join(filter(None, (ours, base.get("PATH"), os.defpath)))
    # Sources change within a second here: a cached .pyc of the same size and time would be taken for them.
    return {**base, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True, slots=True)
class Suite:
    """What one file of tests says: how many of its tests fail (-1: it could not be run)."""

    name: str
    total: int
    failed: int


class Checks:
    """The tests of the project, run again when a file changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: object = None
        self.suites: tuple[Suite, ...] = ()

    async def look(self) -> bool:
        """Run the tests if the project changed; say whether they say something else now."""
        seen = await asyncio.to_thread(self._fingerprint)
        if seen == self._seen:
            return False
        self._seen = seen
        before = self.suites
        self.suites = tuple(await asyncio.gather(*(self._run(name) for name in SUITES)))
        return self.suites != before

    def _fingerprint(self) -> object:
        stats = [(path.name, path.stat()) for path in sorted(self._folder.glob("*.py"))]
        return [(name, stat.st_mtime_ns, stat.st_size) for name, stat in stats]

    async def _run(self, name: str) -> Suite:
        """Run one file of tests apart from the bot: its own process, isolated, at most CHECK_S seconds."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-B", "-c", _COUNT, name),
            cwd=self._folder,
            env=environment({}),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(CHECK_S):
                output, _ = await process.communicate()
        except TimeoutError:
            return Suite(name, 0, -1)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        numbers = output.split()[-2:]
        if process.returncode != 0 or len(numbers) != 2:
            return Suite(name, 0, -1)
        return Suite(name, int(numbers[0]), int(numbers[1]))


_COUNT = """
import io, sys, unittest
sys.path.insert(0, "")
suite = unittest.defaultTestLoader.loadTestsFromName(sys.argv[1])
result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
print(result.testsRun, len(result.failures) + len(result.errors))
"""
