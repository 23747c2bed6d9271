"""Skills as files, found in the usual folders (learning.md 8, reliability.md S10, S13).

No symbolic link is followed below a folder of skills, and nothing outside of it is read. A hostile file is
refused with a line of its own; the others are listed.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from core.errors import AutoImproveError, Invalid
from core.model.skill import Skill, SkillScope
from core.rules import skills as rules
from core.settings import CoreSettings

FILE: Final = "SKILL.md"
OURS: Final = "auto-improve"
MAX_SKILLS: Final = 500
_MAX_DEPTH: Final = 4
FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KEPT: Final = 1000
_parsed: dict[tuple[str, str], Skill | Invalid] = {}


@dataclass(frozen=True, slots=True)
class Root:
    """A folder of skills: `origin` is how people know it, `project` whose it is (None: everybody's)."""

    folder: Path
    origin: str
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that is no skill we list, and why."""

    path: str
    error: AutoImproveError


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All skills there are, by name, and what was refused."""

    skills: tuple[Skill, ...] = ()
    refused: tuple[Refusal, ...] = ()

    def get(self, name: str) -> Skill | None:
        """Give the skill of that name."""
        return next((each for each in self.skills if each.name == name), None)


def home(settings: CoreSettings) -> Path:
    """Give our own folder of skills."""
    return settings.home / settings.skills_subdir


def roots(settings: CoreSettings, project: str | None, environ: Mapping[str, str]) -> tuple[Root, ...]:
    """Give the usual folders: ours, then Pi's in the order in which it looks."""
    user = Path(environ.get("HOME") or Path.home())
    pi = Path(environ.get("PI_CODING_AGENT_DIR") or user / ".pi" / "agent").expanduser()
    found = [
        Root(home(settings), OURS),
        Root(pi / "skills", "pi"),
        Root(user / ".agents" / "skills", "agents"),
    ]
    if project is not None:
        found += [
            Root(Path(project, name, "skills"), f"project {name}", project) for name in (".pi", ".agents")
        ]
    return tuple(found)


def listing(roots: tuple[Root, ...]) -> Catalogue:
    """Read every skill in those folders; of two equal names the first counts."""
    skills: dict[str, Skill] = {}
    refused: list[Refusal] = []
    for root in roots:
        for found in _in(root):
            if isinstance(found, Refusal):
                refused.append(found)
            elif found.name in skills:
                first = skills[found.name].path
                refused.append(Refusal(found.path, Invalid("skill.same_name", path=first)))
            else:
                skills[found.name] = found
    return Catalogue(tuple(skills[name] for name in sorted(skills)), tuple(refused))


def _in(root: Root) -> Iterator[Skill | Refusal]:
    """Give what one folder holds; a folder that is not there holds nothing."""
    with suppress(FileNotFoundError, NotADirectoryError):
        try:
            with folder_of(root.folder) as fd:
                for count, found in enumerate(_visit(fd, root.folder, root, 0)):
                    if count == MAX_SKILLS:
                        error = Invalid("skill.too_many", most=MAX_SKILLS, path=root.folder)
                        yield Refusal(str(root.folder), error)
                        return
                    yield found
        except PermissionError as error:
            yield Refusal(str(root.folder), Invalid("skill.unreadable", reason=error.strerror))


def _visit(fd: int, shown: Path, root: Root, depth: int) -> Iterator[Skill | Refusal]:
    """Walk one folder by its descriptor: a skill's folder is not looked into any further."""
    names = sorted(os.listdir(fd))
    if FILE in names and depth:
        yield _load(fd, FILE, shown / FILE, shown.name, root)
        return
    for name in names:
        if name.startswith(".") or name == "node_modules":
            continue
        mode = _mode(fd, name)
        if stat.S_ISLNK(mode):
            yield Refusal(str(shown / name), Invalid("skill.symlink"))
        elif stat.S_ISDIR(mode) and depth < _MAX_DEPTH:
            yield from _deeper(fd, name, shown / name, root, depth + 1)
        elif name.endswith(".md") and not depth:
            yield from _single(fd, name, shown / name, root)


def _deeper(fd: int, name: str, shown: Path, root: Root, depth: int) -> Iterator[Skill | Refusal]:
    try:
        child = os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=fd)
    except OSError as error:  # not ours to read, or swapped meanwhile
        yield Refusal(str(shown), Invalid("skill.unreadable", reason=error.strerror))
        return
    try:
        yield from _visit(child, shown, root, depth)
    finally:
        os.close(child)


def _single(fd: int, name: str, path: Path, root: Root) -> Iterator[Skill | Refusal]:
    """Take a file that lies directly in a folder of skills; one without a head is a note, no skill."""
    found = _load(fd, name, path, name.removesuffix(".md"), root)
    if not (isinstance(found, Refusal) and found.error.key in ("skill.no_head", "skill.not_a_file")):
        yield found


def _mode(fd: int, name: str) -> int:
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
    except OSError:
        return 0


def _load(fd: int, name: str, path: Path, folder: str, root: Root) -> Skill | Refusal:
    try:
        data = bytes_of(name, fd)
        skill = parsed(data, folder)
    except Invalid as error:
        return Refusal(str(path), error)
    placed = replace(skill, path=str(path), origin=_origin(skill, root))
    if root.project is None:
        return placed
    return replace(placed, scope=SkillScope.PROJECT, project=root.project)


def _origin(skill: Skill, root: Root) -> str:
    """Give where it comes from: only our own folder's skills are believed about it."""
    return skill.origin if skill.origin and root.origin == OURS else root.origin


def bytes_of(name: str | Path, fd: int | None = None) -> bytes:
    """Read an ordinary file of a bearable size. Raises Invalid."""
    try:
        handle = os.open(name, _FILE, dir_fd=fd)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Invalid("skill.symlink") from None
        raise Invalid("skill.unreadable", reason=error.strerror) from None
    known = os.fstat(handle)
    if not stat.S_ISREG(known.st_mode):
        os.close(handle)
        raise Invalid("skill.not_a_file")
    with os.fdopen(handle, "rb") as file:
        data = file.read(rules.MAX_FILE_BYTES + 1)
    if len(data) > rules.MAX_FILE_BYTES:
        raise Invalid("skill.file_large", most=rules.MAX_FILE_BYTES // 1024)
    return data


def parsed(data: bytes, folder: str) -> Skill:
    """Parse once what did not change: a list of hundreds is shown at every tap. Raises Invalid."""
    key = (hashlib.sha256(data).hexdigest(), folder)
    if key not in _parsed:
        if len(_parsed) >= _KEPT:
            _parsed.clear()
        try:
            _parsed[key] = replace(rules.parse(data.decode(), folder), sha256=key[0])
        except UnicodeDecodeError:
            _parsed[key] = Invalid("skill.not_utf8")
        except Invalid as error:
            _parsed[key] = error
    found = _parsed[key]
    if isinstance(found, Invalid):
        raise Invalid(found.key, **found.values)
    return found


def text_of(path: str, sha256: str) -> str | None:
    """Give the whole text of a file while it is still the one with that hash, else None."""
    try:
        data = bytes_of(Path(path))
    except Invalid:
        return None
    return data.decode() if hashlib.sha256(data).hexdigest() == sha256 else None


@contextmanager
def folder_of(path: Path) -> Iterator[int]:
    """Open a folder of skills; the person may have put a link there."""
    handle = os.open(path, FOLDER_FLAGS)
    try:
        yield handle
    finally:
        os.close(handle)
