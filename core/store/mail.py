"""The inbox, the outbox and the buttons, in SQL (see `core.tables` for what each promises)."""

import sqlite3

from core.model.mail import Button, Incoming, MailState, Outgoing, Receipt
from core.store.rows import Rows, encode, queries, run, scalar


class SqlInbox:
    """Nothing in is lost."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows = Rows(connection, "inbox", Incoming)

    def add(self, id: int, lane: str, raw: str, at: float) -> bool:
        return run(self._connection, "inbox_add", id=id, lane=lane, raw=raw, at=at) == 1

    def waiting(self) -> list[Incoming]:
        return self._rows.many("inbox_waiting")

    def finish(self, id: int) -> None:
        run(self._connection, "inbox_finish", id=id)

    def fail(self, id: int, error: str, *, is_dead: bool) -> None:
        state = MailState.DEAD if is_dead else MailState.WAITING
        run(self._connection, "inbox_fail", id=id, error=error, state=state.value)

    def dead(self) -> list[Incoming]:
        return self._rows.many("inbox_dead")

    def prune(self, before: float) -> int:
        return run(self._connection, "inbox_prune", before=before)


class SqlOutbox:
    """Nothing out is lost."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows = Rows(connection, "outbox", Outgoing)
        self._receipts = Rows(connection, "receipt", Receipt)

    def put(self, outgoing: Outgoing) -> int:
        if outgoing.key is not None:
            run(self._connection, "outbox_replace", key=outgoing.key)
        return self._rows.add(outgoing, without=("seq",))

    def waiting(self, lane: str | None = None) -> list[Outgoing]:
        return self._rows.many("outbox_waiting", lane=lane)

    def lanes(self) -> list[str]:
        return [str(row[0]) for row in self._connection.execute(queries()["outbox_lanes"])]

    def start(self, seq: int, body: str) -> None:
        run(self._connection, "outbox_start", seq=seq, body=body)

    def delay(self, seq: int, body: str, not_before: float, error: str) -> None:
        run(self._connection, "outbox_delay", seq=seq, body=body, not_before=not_before, error=error)

    def finish(self, seq: int, receipt: Receipt | None = None) -> None:
        run(self._connection, "outbox_finish", seq=seq)
        if receipt is not None:
            self.bind(receipt)

    def fail(self, seq: int, error: str) -> None:
        run(self._connection, "outbox_fail", seq=seq, error=error)

    def move(self, lane: str, target: str) -> None:
        run(self._connection, "outbox_move", lane=lane, target=target)
        run(self._connection, "receipt_move", lane=lane, target=target)

    def drop(self, lane: str) -> None:
        run(self._connection, "outbox_drop", lane=lane)

    def dead(self) -> list[Outgoing]:
        return self._rows.many("outbox_dead")

    def receipts(self, ref: str) -> list[Receipt]:
        return self._receipts.many("receipt_of", ref=ref)

    def newest(self, lane: str) -> Receipt | None:
        return self._receipts.one("receipt_newest", lane=lane)

    def ref_of(self, lane: str, external: str) -> str | None:
        ref: str | None = scalar(self._connection, "receipt_ref", lane=lane, external=external)
        return ref

    def bind(self, receipt: Receipt) -> None:
        seq = receipt.seq or scalar(self._connection, "next_in_sequence", name="receipt")
        run(self._connection, "receipt_put", **{**encode(receipt), "seq": seq})

    def prune(self, before: float) -> int:
        return run(self._connection, "outbox_prune", before=before)


class SqlButtons:
    """What stands behind inline buttons."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows = Rows(connection, "button", Button)

    def put(self, button: Button) -> None:
        self._rows.put(button)

    def get(self, id: str) -> Button | None:
        return self._rows.one("button_get", id=id)

    def of(self, ref: str, kind: str) -> Button | None:
        return self._rows.one("button_of", ref=ref, kind=kind)

    def prune(self, before: float) -> int:
        return run(self._connection, "button_prune", before=before)
