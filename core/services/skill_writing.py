"""Write skills: into our own folder, and into the one an agent's runtime is given (reliability.md S10).

Every step goes through descriptors of folders: a link put in the way is refused, never followed.
"""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from core.errors import Invalid, Refused
from core.model.agent import Assignment
from core.model.skill import Skill
from core.rules import skills as rules
from core.services.skill_store import FILE, FOLDER_FLAGS, bytes_of, folder_of, parsed, text_of

_MAX_BESIDE: Final = 100


def write(folder: Path, skill: Skill, *, max_body: int = rules.MAX_BODY) -> Skill:
    """Write a skill into our folder at once, readers see the old file or the new; give it with its path.

    A skill of another origin under the same name is left alone. Raises Invalid, Refused, OSError.
    """
    data = rules.compile_text(skill, max_body=max_body).encode()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with folder_of(folder) as root:
        with suppress(FileExistsError):
            os.mkdir(skill.name, 0o700, dir_fd=root)
        with _own(root, skill.name) as inside:
            _refuse_other(inside, folder / skill.name / FILE, skill)
            _replace(inside, data)
    sha256 = hashlib.sha256(data).hexdigest()
    return replace(parsed(data, skill.name), path=str(folder / skill.name / FILE), sha256=sha256)


def remove(folder: Path, name: str) -> bool:
    """Take a skill out of our folder; say whether it was there. Files beside it stay.

    Raises Invalid, Refused.
    """
    rules.check_name(name)
    try:
        with folder_of(folder) as root:
            with _own(root, name) as inside:
                os.unlink(FILE, dir_fd=inside)
            with suppress(OSError):  # something else is in there
                os.rmdir(name, dir_fd=root)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _own(root: int, name: str) -> Iterator[int]:
    """Open a skill's folder in ours. Raises Refused where a link or a file stands in its place."""
    try:
        handle = os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=root)
    except (NotADirectoryError, OSError) as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Refused("skill.outside", name=name) from None
        raise
    try:
        yield handle
    finally:
        os.close(handle)


def _refuse_other(inside: int, path: Path, skill: Skill) -> None:
    if FILE not in os.listdir(inside):
        return
    try:
        held = parsed(bytes_of(FILE, inside), skill.name).origin
    except Invalid:
        held = ""
    if held != skill.origin:
        raise Refused("skill.same_name", path=path)


def _replace(inside: int, data: bytes) -> None:
    draft = f".{FILE}.{os.getpid()}"
    with suppress(FileNotFoundError):
        os.unlink(draft, dir_fd=inside)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(draft, flags, 0o600, dir_fd=inside), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(draft, FILE, src_dir_fd=inside, dst_dir_fd=inside)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=inside)
        raise


# ---- for a runtime that lists skills itself


def hand_over(folder: Path, given: Iterable[Assignment]) -> bool:
    """Let a folder hold exactly these skills, as they were given; say whether that changed anything.

    A skill whose file is no longer the one that was given is left out. Files beside a SKILL.md are linked, so
    that what it refers to is found. The folder is ours alone. Raises OSError.
    """
    wanted = {each.skill: (text, each) for each in given if (text := text_of(each.path, each.sha256))}
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    is_changed = False
    for entry in list(folder.iterdir()):
        if entry.name not in wanted or not entry.is_dir() or entry.is_symlink():
            _clear(entry)
            is_changed = True
    for name, (text, each) in wanted.items():
        is_changed |= _hand(folder / name, text, _beside(each))
    return is_changed


def _hand(folder: Path, text: str, beside: dict[str, Path]) -> bool:
    links = {each.name: each.readlink() for each in folder.glob("*") if each.is_symlink()}
    file = folder / FILE
    if links == beside and file.is_file() and file.read_bytes() == text.encode():
        return False
    _clear(folder)
    folder.mkdir(mode=0o700)
    for name, target in beside.items():
        (folder / name).symlink_to(target)
    file.write_bytes(text.encode())
    return True


def _beside(given: Assignment) -> dict[str, Path]:
    """Give what lies in the skill's own folder beside its file."""
    path = Path(given.path)
    if path.name != FILE:
        return {}
    names = sorted(each.name for each in path.parent.iterdir() if each.name != FILE)
    return {name: path.parent / name for name in names[:_MAX_BESIDE] if not name.startswith(".")}


def _clear(entry: Path) -> None:
    """Remove an entry of the folder, whatever it is; links are unlinked, not followed."""
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink(missing_ok=True)
