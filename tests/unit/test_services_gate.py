"""Promise 3: the agent's own shell cannot vote, approve or change anything."""

from collections.abc import Iterator, Mapping

import pytest

from core.errors import PeopleDecide
from core.services import gate

PERSON = {"PATH": "/usr/bin", "HOME": "/home/ann"}


@pytest.mark.parametrize("name", ["PI_SESSION_ID", "CLAUDECODE", "AUTO_IMPROVE_AGENT_RUN"])
def test_an_agents_marker_refuses(name: str) -> None:
    """product.md 3."""
    with pytest.raises(PeopleDecide) as caught:
        gate.refuse_under_agent({**PERSON, name: "1"})
    assert caught.value.values["marker"] == name


@pytest.mark.parametrize("name", ["PI_SESSION_ID", "CLAUDECODE", "AUTO_IMPROVE_AGENT_RUN"])
def test_a_marker_above_refuses_too(name: str) -> None:
    """`env -u PI_SESSION_ID auto-improve …` hides nothing."""
    with pytest.raises(PeopleDecide):
        gate.refuse_under_agent(PERSON, [PERSON, {**PERSON, name: "1"}])


def test_a_person_passes() -> None:
    """Also one whose command runs in Pi: PI_CODING_AGENT is no marker."""
    gate.refuse_under_agent({**PERSON, "PI_CODING_AGENT": "true", "CLAUDECODE": ""}, [PERSON])


def test_ancestors_are_not_read_once_a_marker_is_found() -> None:
    """Reading /proc is left out where it decides nothing."""

    def unread() -> Iterator[Mapping[str, str]]:
        yield from ()
        raise AssertionError("read")

    assert gate.marker_of({"CLAUDECODE": "1"}, unread()) == "CLAUDECODE"
