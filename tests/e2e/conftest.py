"""Houses for end-to-end tests; each ends with everything it sent checked against the Bot API."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.e2e.house import House, open_house
from tests.e2e.pi_install import PI_16, pi_command
from tests.e2e.scenes import Json, script
from tests.shared import SHARED, validator

Build = Callable[..., Awaitable[House]]
LONGEST_S = 180.0  # of one test: several waits on a busy machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give end-to-end tests the time that processes need, unless they say otherwise."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LONGEST_S))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for one house; afterwards the calls recorded in it have to be clean."""
    yield tmp_path
    calls = tmp_path / "calls.jsonl"
    if calls.exists() and SHARED.is_dir():
        assert violations(calls) == []


def violations(calls: Path) -> list[str]:
    """Give what the shared validator finds in recorded calls."""
    validate = validator()
    spec = validate.Spec.load()
    found = []
    for line in calls.read_text(encoding="utf-8").splitlines():
        call = json.loads(line)
        checked = validate.validate_call(
            spec, call["method"], call["params"], call["files"], call["encoding"]
        )
        found += [f"{call['method']}: {each}" for each in checked.violations]
    return found


@pytest.fixture
async def build(folder: Path) -> AsyncIterator[Build]:
    """Build a house with a running bot over a real Pi and a script of the model; settings by their name."""
    async with AsyncExitStack() as stack:

        async def build(
            played: Json | None = None, *, pi: str = PI_16, is_started: bool = True, **settings: str
        ) -> House:
            named = {f"AUTO_IMPROVE_{name.upper()}": value for name, value in settings.items()}
            command = pi_command(pi)
            house = await stack.enter_async_context(open_house(folder, command, played or script(), **named))
            if is_started:
                await house.start()
            return house

        yield build


@pytest.fixture
async def house(build: Build) -> House:
    """The usual house: one bug, one analysis with one lesson."""
    return await build()
