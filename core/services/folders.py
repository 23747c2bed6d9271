"""A folder of exchange files: read without following links, each file written at once (S10, S13)."""

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from core.errors import Invalid
from core.rules.exchange import FEEDBACK_FILE, is_name
from core.services.context import write_file

_FOLDERS: Final = ("lessons", "projects")
_MAX_FILES: Final = 20_000
MAX_BYTES: Final = {FEEDBACK_FILE: 256 * 2**20}
MAX_LESSONS_BYTES: Final = 64 * 2**20


def read(folder: Path) -> dict[str, bytes]:
    """Give the exchange files of a folder by name; what is not named like one is left alone.

    Raises Invalid: no such folder, nothing to read, a link, a JSON file of another name, too large.
    """
    if not folder.is_dir():
        raise Invalid("exchange.no_folder", file=folder)
    names = list(_names(folder))
    if not names:
        raise Invalid("exchange.nothing", file=folder)
    return {name: _read(folder, name) for name in names}


def _names(folder: Path) -> Iterator[str]:
    if _exists(folder / FEEDBACK_FILE):
        yield FEEDBACK_FILE
    for part in _FOLDERS:
        place = folder / part
        if not _exists(place):
            continue
        if place.is_symlink() or not place.is_dir():
            raise Invalid("exchange.link", file=part, line=1)
        found = sorted(place.iterdir())
        if len(found) > _MAX_FILES:
            raise Invalid("exchange.too_large", file=part, line=1)
        for each in found:
            name = f"{part}/{each.name}"
            if is_name(name):
                yield name
            elif each.suffix == ".json":
                raise Invalid("exchange.name", file=name, line=1)


def _exists(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _read(folder: Path, name: str) -> bytes:
    most = MAX_BYTES.get(name, MAX_LESSONS_BYTES)
    try:
        handle = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        key = "exchange.link" if (folder / name).is_symlink() else "exchange.unreadable"
        raise Invalid(key, file=name, line=1, reason=error.strerror) from None
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise Invalid("exchange.link", file=name, line=1)
        data = file.read(most + 1)
    if len(data) > most:
        raise Invalid("exchange.too_large", file=name, line=1)
    return data


def write(folder: Path, files: Mapping[str, str], kept: Collection[str] = ()) -> list[str]:
    """Bring a folder to hold exactly those exchange files, each put in place at once; give what changed.

    Files of ours that no longer belong there are removed; all others, and those `kept`, are left alone.
    Raises OSError, Invalid.
    """
    changed = []
    for part in _FOLDERS:
        if (folder / part).is_symlink():
            raise Invalid("exchange.link", file=part, line=1)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, text in files.items():
        if write_file(folder / name, text, is_empty_kept=True):
            changed.append(name)
    for name in _stale(folder, {*files, *kept}):
        (folder / name).unlink(missing_ok=True)
        changed.append(name)
    return changed


def _stale(folder: Path, files: Collection[str]) -> list[str]:
    return [
        name
        for part in _FOLDERS
        if (folder / part).is_dir()
        for each in (folder / part).iterdir()
        if is_name(name := f"{part}/{each.name}") and name not in files
    ]
