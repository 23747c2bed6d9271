"""Put our extension and skill where a person's Pi finds them, and take them out again (product.md 2).

Two files are ours, known by their first and last line; nothing else is ever touched. Folders made for them
are noted in the extension, so that taking it out leaves what was there before.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Final

from core.errors import Refused
from core.services.context import write_file

_BLANK: Final = "const INSTALLED: Installed | null = null;"
_FIRST: Final = (
    "// auto-improve {version}, by `auto-improve install pi`, which replaces this file: edit nothing here.\n"
)
_LAST: Final = "<!-- auto-improve {version} -->\n"
_IS_EXTENSION: Final = re.compile(r"\A// auto-improve (\S+), by `auto-improve install pi`")
_IS_SKILL: Final = re.compile(r"<!-- auto-improve (\S+) -->\n?\Z")
_MADE: Final = re.compile(r'\\"made\\": (\[[^\]]*\])')


class Change(StrEnum):
    """What became of a file."""

    WRITTEN = "written"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Step:
    """One file and what became of it; `was` is the version that stood there before."""

    path: Path
    change: Change
    was: str | None = None


@dataclass(frozen=True, slots=True)
class Filled:
    """What the copied extension has to know: our version, our folder, the command line's absolute path."""

    version: str
    home: Path
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """A file of ours, and by what it is known as ours."""

    path: Path
    mark: re.Pattern[str]

    def version(self) -> str | None:
        """Give the version that is there, None where there is nothing. Raises Refused (somebody else's)."""
        if self.path.is_symlink():
            raise Refused("cli.install.foreign", path=self.path)
        try:
            found = self.mark.search(self.path.read_text("utf-8", "replace"))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Refused("cli.install.failed", path=self.path, reason=error.strerror or error) from None
        if found is None:
            raise Refused("cli.install.foreign", path=self.path)
        return found[1]


def agent_dir(environ: Mapping[str, str]) -> Path:
    """Give the folder of this user's Pi."""
    return Path(environ.get("PI_CODING_AGENT_DIR") or "~/.pi/agent").expanduser().absolute()


def install(folder: Path, filled: Filled, *, is_dry: bool = False) -> list[Step]:
    """Write extension and skill where they differ. Raises Refused before anything is written."""
    extension, skill = _places(folder)
    versions = {each.path: each.version() for each in (extension, skill)}
    made = _noted(extension) or _missing(folder, (extension, skill))
    texts = {extension.path: _extension(filled, made), skill.path: _skill(filled)}
    return [_write(path, text, versions[path], is_dry) for path, text in texts.items()]


def uninstall(folder: Path, *, is_dry: bool = False) -> list[Step]:
    """Remove what is ours, and the folders made for it where they are empty. Raises Refused."""
    places = _places(folder)
    versions = [each.version() for each in places]
    made = _noted(places[0])
    steps = [
        _remove(each.path, was, is_dry) if was else Step(each.path, Change.ABSENT)
        for each, was in zip(places, versions, strict=True)
    ]
    if not is_dry:
        for name in (*made, "skills/auto-improve"):
            _remove_empty(folder / name)
    return steps


def _places(folder: Path) -> tuple[_Place, _Place]:
    return (
        _Place(folder / "extensions" / "auto-improve.ts", _IS_EXTENSION),
        _Place(folder / "skills" / "auto-improve" / "SKILL.md", _IS_SKILL),
    )


def _packaged(name: str) -> str:
    return (resources.files("core") / "agents" / "pi" / name).read_text("utf-8")


def _extension(filled: Filled, made: Sequence[str]) -> str:
    table = json.loads((resources.files("core.rules") / "secret_patterns.json").read_text("utf-8"))
    told = {
        "version": filled.version,
        "home": str(filled.home),
        "command": list(filled.command),
        "made": list(made),
        "table": table,
    }
    # A text is read far quicker than the same as an expression, each time Pi starts.
    values = f"JSON.parse({json.dumps(json.dumps(told))})"
    before, blank, after = _packaged("extension.ts").partition(_BLANK)
    if not blank:
        raise Refused("cli.install.failed", path="extension.ts", reason=_BLANK)
    first = _FIRST.format(version=filled.version)
    return f"{first}{before}const INSTALLED: Installed | null = {values};{after}"


def _skill(filled: Filled) -> str:
    text = _packaged("skill/SKILL.md").replace("{command}", " ".join(filled.command))
    return text.rstrip("\n") + "\n\n" + _LAST.format(version=filled.version)


def _missing(folder: Path, places: Sequence[_Place]) -> list[str]:
    """Give the folders that have to be made, deepest first, as seen from `folder`."""
    wanted = {parent for each in places for parent in each.path.parents if parent.is_relative_to(folder)}
    found = [each for each in wanted if not each.exists()]
    return [str(each.relative_to(folder)) for each in sorted(found, key=lambda path: -len(path.parts))]


def _noted(extension: _Place) -> list[str]:
    """Give the folders that the installed extension says were made for it."""
    try:
        found = _MADE.search(extension.path.read_text("utf-8", "replace"))
        names = json.loads(found[1].replace("\\", "")) if found else []
    except (OSError, ValueError):
        return []
    known = ("skills/auto-improve", "skills", "extensions", ".")
    return [name for name in names if name in known]


def _write(path: Path, text: str, was: str | None, is_dry: bool) -> Step:
    try:
        is_new = _differs(path, text) if is_dry else write_file(path, text)
    except OSError as error:
        raise Refused("cli.install.failed", path=path, reason=error.strerror or error) from None
    return Step(path, Change.WRITTEN if is_new else Change.UNCHANGED, was)


def _differs(path: Path, text: str) -> bool:
    return not path.exists() or path.read_bytes() != text.encode()


def _remove(path: Path, was: str, is_dry: bool) -> Step:
    try:
        if not is_dry:
            path.unlink()
    except OSError as error:
        raise Refused("cli.install.failed", path=path, reason=error.strerror or error) from None
    return Step(path, Change.REMOVED, was)


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # not empty, or gone: not ours to remove
        return
