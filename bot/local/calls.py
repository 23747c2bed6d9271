"""One call of the Bot API: its parameters as they came, and the record of all calls."""

import json
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from aiohttp import BodyPartReader, web

from bot.local.records import Json
from bot.local.texts import bad_request

Encoding = Literal["form", "json"]


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with a call."""

    name: str
    content: bytes
    mime_type: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it came: with "form" the values are texts that may hold JSON."""

    method: str
    params: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, Upload] = field(default_factory=dict)
    encoding: Encoding = "json"

    def text(self, name: str) -> str:
        """Give a text; absent is empty."""
        value = self.params.get(name)
        return "" if value is None else str(value)

    def integer(self, name: str) -> int | None:
        """Give a whole number; None when it is absent or none."""
        value = self.params.get(name)
        try:
            return int(value) if isinstance(value, int | str) else None
        except ValueError:
            return None

    def flag(self, name: str) -> bool:
        """Give a truth value; absent is False."""
        return str(self.params.get(name, "")).lower() in {"true", "yes", "1"}

    def structure(self, name: str) -> object:
        """Give an object or array; raise 400 when its JSON is broken."""
        value = self.params.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except ValueError:
            raise bad_request(f"can't parse {name.replace('_', ' ')} JSON object") from None


async def read_call(method: str, request: web.Request) -> Call:
    """Read parameters from the query and a JSON, form or multipart body; raise 400 when it is none."""
    params: Json = dict(request.query)
    if request.content_type == "application/json":
        try:
            body = await request.json() if request.can_read_body else {}
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise bad_request("can't parse parameters: expected a JSON object")
        return Call(method, params | body)
    if request.content_type == "multipart/form-data":
        files = await _read_parts(request, params)
        return Call(method, params, files, "form")
    return Call(method, params | dict(await request.post()), {}, "form")


async def _read_parts(request: web.Request, params: Json) -> dict[str, Upload]:
    files: dict[str, Upload] = {}
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader) or part.name is None:
            continue
        content = bytes(await part.read(decode=True))
        if part.filename is None:
            params[part.name] = content.decode()
        else:
            files[part.name] = Upload(part.filename, content, part.headers.get("Content-Type"))
    return files


@dataclass(slots=True)
class Recorded:
    """A call with its answer; `status` 0 means that no answer was sent (yet). Times in epoch seconds."""

    call: Call
    started_at: float
    ended_at: float | None = None
    status: int = 0
    answer: Json = field(default_factory=dict)
    fault: str | None = None

    def line(self) -> Json:
        """Give the object that botapi/validate.py reads, and more."""
        return {
            "method": self.call.method,
            "params": dict(self.call.params),
            "files": list(self.call.files),
            "encoding": self.call.encoding,
            "time": self.started_at,
            "duration_s": None if self.ended_at is None else self.ended_at - self.started_at,
            "status": self.status,
            "answer": self.answer,
            "fault": self.fault,
        }


class Recorder:
    """Keeps the newest calls in memory and, with a path, appends every ended call to a file of JSON lines."""

    def __init__(self, path: Path | None = None, kept: int = 100_000) -> None:
        self.calls: deque[Recorded] = deque(maxlen=kept)
        self.total = 0
        # Line-buffered: what was answered is in the file, whatever happens to the process.
        self._file = path.open("a", buffering=1, encoding="utf-8") if path else None

    def begin(self, call: Call) -> Recorded:
        """Record that a call came in, without the bytes of its files."""
        files = {name: replace(upload, content=b"") for name, upload in call.files.items()}
        recorded = Recorded(replace(call, files=files), time.time())
        self.calls.append(recorded)
        self.total += 1
        return recorded

    def end(self, recorded: Recorded, status: int, answer: Json) -> None:
        """Record its answer; status 0 when the connection was dropped instead."""
        recorded.ended_at = time.time()
        recorded.status, recorded.answer = status, answer
        if self._file and not self._file.closed:  # a poll may outlive the server by a moment
            self._file.write(json.dumps(recorded.line(), ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()
