"""The inbox, the outbox and the buttons in memory (see `core.tables` for what each promises)."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Self

from core.model.mail import Button, Incoming, MailState, Outgoing, Receipt

_UNSENT = (MailState.WAITING, MailState.SENDING)


class Table:
    """A table whose containers hold immutable records, so that a shallow copy of each is a snapshot."""

    def copy(self) -> Self:
        """Give a table whose changes are its own."""
        twin = copy(self)
        for name, container in vars(self).items():
            setattr(twin, name, copy(container))
        return twin


@dataclass(frozen=True, slots=True)
class _Stored:
    incoming: Incoming
    state: MailState = MailState.WAITING


class MemoryInbox(Table):
    """Nothing in is lost."""

    def __init__(self) -> None:
        self._rows: dict[int, _Stored] = {}

    def add(self, id: int, lane: str, raw: str, at: float) -> bool:
        if id in self._rows:
            return False
        self._rows[id] = _Stored(Incoming(id, lane, raw, 0, at))
        return True

    def waiting(self) -> list[Incoming]:
        return self._in(MailState.WAITING)

    def finish(self, id: int) -> None:
        if id in self._rows:
            self._rows[id] = _Stored(replace(self._rows[id].incoming, raw=""), MailState.DONE)

    def fail(self, id: int, error: str, *, is_dead: bool) -> None:  # noqa: ARG002 -- kept by the SQL twin only
        if id in self._rows:
            failed = self._rows[id].incoming
            state = MailState.DEAD if is_dead else MailState.WAITING
            self._rows[id] = _Stored(replace(failed, attempts=failed.attempts + 1), state)

    def dead(self) -> list[Incoming]:
        return self._in(MailState.DEAD)

    def prune(self, before: float) -> int:
        rows = self._rows.items()
        gone = [key for key, row in rows if row.state is MailState.DONE and row.incoming.received < before]
        for key in gone:
            del self._rows[key]
        return len(gone)

    def _in(self, state: MailState) -> list[Incoming]:
        return [row.incoming for row in self._rows.values() if row.state is state]


class MemoryOutbox(Table):
    """Nothing out is lost."""

    def __init__(self) -> None:
        self._rows: dict[int, Outgoing] = {}
        self._receipts: dict[tuple[str, str], Receipt] = {}
        self._last_row = self._last_receipt = 0

    def put(self, outgoing: Outgoing) -> int:
        if outgoing.key is not None:
            self._forget(lambda row: row.key == outgoing.key and row.state is MailState.WAITING)
        self._last_row += 1
        self._rows[self._last_row] = replace(outgoing, seq=self._last_row)
        return self._last_row

    def waiting(self, lane: str | None = None) -> list[Outgoing]:
        found = [row for row in self._rows.values() if row.state in _UNSENT and lane in (None, row.lane)]
        return sorted(found, key=lambda row: (row.rank, row.seq))

    def lanes(self) -> list[str]:
        return list(dict.fromkeys(row.lane for row in self._rows.values() if row.state in _UNSENT))

    def start(self, seq: int, body: str) -> None:
        row = self._rows[seq]
        self._rows[seq] = replace(row, state=MailState.SENDING, attempts=row.attempts + 1, body=body)

    def delay(self, seq: int, body: str, not_before: float, error: str) -> None:
        row = self._rows[seq]
        self._rows[seq] = replace(row, state=MailState.WAITING, not_before=not_before, error=error, body=body)

    def finish(self, seq: int, receipt: Receipt | None = None) -> None:
        self._rows[seq] = replace(self._rows[seq], state=MailState.DONE, body="")
        if receipt is not None:
            self.bind(receipt)

    def fail(self, seq: int, error: str) -> None:
        self._rows[seq] = replace(self._rows[seq], state=MailState.DEAD, body="", error=error)

    def move(self, lane: str, target: str) -> None:
        for row in self.waiting(lane):
            self._rows[row.seq] = replace(row, lane=target)
        for (held, external), receipt in list(self._receipts.items()):
            if held == lane:
                del self._receipts[held, external]
                self._receipts[target, external] = replace(receipt, lane=target)

    def drop(self, lane: str) -> None:
        for row in self.waiting(lane):
            self.fail(row.seq, "the chat is gone")

    def dead(self) -> list[Outgoing]:
        return [row for row in self._rows.values() if row.state is MailState.DEAD]

    def receipts(self, ref: str) -> list[Receipt]:
        found = [receipt for receipt in self._receipts.values() if receipt.ref == ref]
        return sorted(found, key=lambda receipt: receipt.seq)

    def newest(self, lane: str) -> Receipt | None:
        here = [receipt for receipt in self._receipts.values() if receipt.lane == lane]
        return max(here, key=lambda receipt: receipt.seq, default=None)

    def ref_of(self, lane: str, external: str) -> str | None:
        receipt = self._receipts.get((lane, external))
        return receipt.ref if receipt is not None else None

    def bind(self, receipt: Receipt) -> None:
        if not receipt.seq:
            self._last_receipt += 1
        numbered = replace(receipt, seq=receipt.seq or self._last_receipt)
        self._receipts[receipt.lane, receipt.external] = numbered

    def prune(self, before: float) -> int:
        return self._forget(lambda row: row.state not in _UNSENT and row.created < before)

    def _forget(self, chosen: Callable[[Outgoing], bool]) -> int:
        gone = [seq for seq, row in self._rows.items() if chosen(row)]
        for seq in gone:
            del self._rows[seq]
        return len(gone)


class MemoryButtons(Table):
    """What stands behind inline buttons."""

    def __init__(self) -> None:
        self._buttons: dict[str, Button] = {}

    def put(self, button: Button) -> None:
        self._buttons[button.id] = button

    def of(self, ref: str, kind: str) -> Button | None:
        found = [button for button in self._buttons.values() if (button.ref, button.kind) == (ref, kind)]
        return max(found, key=lambda each: (each.created, each.version, each.id), default=None)

    def get(self, id: str) -> Button | None:
        return self._buttons.get(id)

    def prune(self, before: float) -> int:
        gone = [key for key, button in self._buttons.items() if button.expires < before]
        for key in gone:
            del self._buttons[key]
        return len(gone)
