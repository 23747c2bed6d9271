"""The file HOME/.env: changed one setting at a time, whole or not at all, readable by nobody else."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from dotenv import dotenv_values
from dotenv.parser import parse_stream

_MODE, _FOLDER_MODE = 0o600, 0o700


def read(file: Path) -> dict[str, str]:
    """Give what is set in the file; nothing where there is none. Raises OSError, UnicodeDecodeError."""
    if not file.exists():
        return {}
    return {name: value for name, value in dotenv_values(file).items() if value is not None}


def is_writable(value: str) -> bool:
    """Say whether a value survives the file as it is: no line breaks, and nothing that would be filled in."""
    return value.isprintable() and "${" not in value


def change(file: Path, values: Mapping[str, str]) -> None:
    """Set these values and leave every other line as it is. Raises OSError, UnicodeDecodeError.

    A crash leaves the old file or the new one.
    """
    file.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
    kept, missing = [], dict(values)
    if file.exists():
        with file.open(encoding="utf-8") as stream:
            for binding in parse_stream(stream):
                if binding.key is not None and binding.key in values:
                    line = missing.pop(binding.key, None)  # a second line of the same name goes
                    kept.append(_blank(binding.original.string))
                    kept += [] if line is None else [_line(binding.key, line)]
                else:
                    kept.append(binding.original.string)
    text = "".join(kept)
    end = "\n" if text and not text.endswith("\n") else ""
    _replace(file, text + end + "".join(_line(name, value) for name, value in missing.items()))


def _blank(text: str) -> str:
    """Give the empty lines that the parser counts to what follows them."""
    return text[: len(text) - len(text.lstrip())]


def _line(name: str, value: str) -> str:
    is_plain = value and all(char.isalnum() or char in "_-:/.,@+=" for char in value)
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"{name}={value}\n" if is_plain else f"{name}='{escaped}'\n"


def _replace(file: Path, text: str) -> None:
    target = file.resolve()  # a link stays a link
    with NamedTemporaryFile("w", encoding="utf-8", dir=target.parent, prefix=".env-", delete=False) as aside:
        try:
            os.fchmod(aside.fileno(), _MODE)
            aside.write(text)
            aside.flush()
            os.fsync(aside.fileno())
            Path(aside.name).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(aside.name).unlink()
            raise
