"""The ticket by which a person's command in Pi is told from the agent's shell (promise 3).

Both are children of the same process, so neither environment nor parent tells them apart. Pi's extension
listens as that process and hands each of its commands a ticket that is good once: the socket's owner must be
the outermost Pi above us, and has to know the ticket.
"""

import os
import socket
import struct
from functools import cache
from typing import Final

NAME: Final = "AUTO_IMPROVE_TICKET"
_WAIT_S: Final = 10.0  # the machine may be busy; a ticket that is late would refuse a person
_CREDENTIALS: Final = struct.Struct("iII")  # SO_PEERCRED: pid, uid, gid


def is_person(pi: int | None) -> bool:
    """Say whether a person called us: outside of any Pi, or with that Pi's ticket."""
    return pi is None or _is_good(os.environ.get(NAME, ""), pi)


@cache  # a ticket is good once, and one command may ask twice
def _is_good(told: str, pi: int) -> bool:
    ticket, _, path = told.partition(":")
    if not ticket or not path or not hasattr(socket, "SO_PEERCRED"):
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(_WAIT_S)
            line.connect(path)
            owner = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            if _CREDENTIALS.unpack(owner)[0] != pi:
                return False
            line.sendall(f"{ticket}\n".encode())
            return line.recv(16).strip() == b"yes"
    except OSError:
        return False
