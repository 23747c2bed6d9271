"""What is shipped beside the code is what the code says."""

import re
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from bot.settings import BotSettings
from core.settings import PREFIX, example

REPOSITORY = Path(__file__).parents[2]
PIN = re.compile(r"^[a-z0-9-]+==[0-9][0-9a-z.+!]*$")
MAX_BASE_PACKAGES = 36  # architecture.md 2


def needed(name: str, extra: str = "", seen: set[str] | None = None) -> Iterator[str]:
    """Give the distributions that one needs here, itself left out, by normalised name."""
    known = set() if seen is None else seen
    for line in distribution(name).requires or []:
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        found = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if found not in known:
            known.add(found)
            yield found
            yield from needed(found, "", known)
            for each in requirement.extras:
                yield from needed(found, each, known)


def pins() -> list[str]:
    """Give the lines of the constraints that are no comments."""
    lines = (REPOSITORY / "deploy" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_the_example_of_settings_is_current() -> None:
    """Mend with: python deploy/env_example.py --write."""
    assert (REPOSITORY / ".env.example").read_text(encoding="utf-8") == example(BotSettings)


def test_constraints_are_names_and_versions_only() -> None:
    """No address, no hash, no option."""
    assert [line for line in pins() if not PIN.match(line)] == []


@pytest.mark.parametrize("extra", ["", "dev"])
def test_every_package_that_is_needed_is_pinned(extra: str) -> None:
    """An install with the constraints is the one that was tested."""
    pinned = {line.partition("==")[0] for line in pins()}

    assert set(needed("auto-improve", extra)) - pinned == set()


def test_the_base_install_stays_small() -> None:
    """Heavy things are extras."""
    assert len(set(needed("auto-improve"))) < MAX_BASE_PACKAGES


def test_no_shipped_file_names_a_setting_that_does_not_exist() -> None:
    """Service unit, image and compose file set what the code reads."""
    known = {PREFIX + name.upper() for name in BotSettings.model_fields}
    folder = REPOSITORY / "deploy"
    shipped = [folder / "Dockerfile", folder / "compose.yaml", folder / "systemd" / "auto-improve.service"]

    named = {name for path in shipped for name in re.findall(rf"{PREFIX}[A-Z_]+", path.read_text("utf-8"))}

    assert named - known == set()
