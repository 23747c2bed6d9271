"""Agents cannot vote, approve or change what they are told (promise 3, product.md 3)."""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

from core.errors import PeopleDecide

MARKERS: Final = ("AUTO_IMPROVE_AGENT_RUN", "PI_SESSION_ID", "CLAUDECODE")


def marker_of(environ: Mapping[str, str], ancestors: Iterable[Mapping[str, str]] = ()) -> str | None:
    """Give the variable by which an agent is known as the caller, None for a person.

    `ancestors` are the environments of the processes above: unsetting a variable does not hide the agent.
    They are looked at only while nothing was found.
    """
    environs = chain((environ,), ancestors)
    return next((found for each in environs if (found := _marker_in(each)) is not None), None)


def _marker_in(environ: Mapping[str, str]) -> str | None:
    return next((name for name in MARKERS if environ.get(name)), None)


def refuse_under_agent(environ: Mapping[str, str], ancestors: Iterable[Mapping[str, str]] = ()) -> None:
    """Refuse a vote or a change that an agent's shell asks for. Raises PeopleDecide."""
    marker = marker_of(environ, ancestors)
    if marker is not None:
        raise PeopleDecide("gate.people_decide", marker=marker)
