"""Install pinned versions of the real Pi, once, for every test that needs them."""

import fcntl
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PI_16 = "1.6.0"
PI_084 = "0.84.2"
NODE = "22"
ENTRIES = {PI_16: "dist/bundle/cli.js", PI_084: "dist/cli.js"}
INSTALL_S = 300

_REPOSITORY = Path(__file__).parents[2]


def pi_command(version: str = PI_16) -> tuple[str, ...]:
    """Give argv of that Pi, installing it first if need be; skip (in CI: fail) where there is no npm."""
    folder = _install(version, f"@earendil-works/pi-coding-agent@{version}")
    return (node(), str(folder / "node_modules/@earendil-works/pi-coding-agent" / ENTRIES[version]))


def node() -> str:
    """Give the path of the node that Pi runs on, installing it first if need be."""
    machine = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    package = f"node-{sys.platform}-{machine}"
    return str(_install(f"node-{NODE}", f"{package}@{NODE}") / "node_modules" / package / "bin" / "node")


def _install(name: str, package: str) -> Path:
    """Install a package into a folder of its own; processes that want the same one wait for each other."""
    cache = Path(os.environ.get("AUTO_IMPROVE_TEST_PI_CACHE") or _REPOSITORY / ".pi-cache")
    folder = cache / name
    done = folder / "installed"
    if done.exists():
        return folder
    npm = _npm()
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f"{name}.lock"):
        if not done.exists():
            _run_npm(npm, folder, package)
            done.write_text(package)
    return folder


def _npm() -> str:
    npm = shutil.which("npm")
    if npm is None and os.environ.get("CI"):
        pytest.fail("npm is missing, and CI must run the real Pi")
    if npm is None:
        pytest.skip("npm is missing, so the real Pi cannot be installed")
    return npm


def _run_npm(npm: str, folder: Path, package: str) -> None:
    (folder / "package.json").write_text("{}")
    options = ("--no-audit", "--no-fund", "--no-save", "--loglevel=error")
    subprocess.run((npm, "install", *options, package), cwd=folder, check=True, timeout=INSTALL_S)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":  # CI installs before the clock of any test runs
    for wanted in ENTRIES:
        pi_command(wanted)
