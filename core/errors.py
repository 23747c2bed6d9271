"""The errors of auto-improve, as one tree.

AutoImproveError            carries a text key and its values; `core.texts` says it in the person's language
├── Refused                 the request is understood and not allowed, or no longer true
│   ├── NotFound            no such lesson, proposal, run, session ...
│   ├── Stale               decided on something that has changed meanwhile
│   └── PeopleDecide        an agent reached for its own gate
├── Invalid                 the input itself is wrong: a rule too long, a malformed file
├── StoreError              the store cannot be used
│   ├── StoreFull           no space left: nothing was written
│   ├── StoreReadOnly       the file or its folder cannot be written
│   ├── StoreCorrupt        set aside, never silently started empty
│   ├── StoreNewer          written by a newer version of auto-improve
│   └── StoreUnsuitable     not ours, or on a file system that cannot lock
├── AgentError              the agent program
│   ├── AgentMissing        it (or node) is not there
│   ├── AgentTooOld         older than what we support
│   ├── AgentDied           its process ended in the middle
│   └── AgentRefused        it answered a command with an error
├── AnalysisError           the analyst gave no verdict
│   ├── AnalysisFailed      not started, provider error, time out
│   └── MalformedReply      it answered, but not as agreed
└── SettingsError           a setting is missing or wrong
"""

from collections.abc import Mapping


class AutoImproveError(Exception):
    """Base: `key` names the sentence in the catalogues, `values` fill its placeholders."""

    key: str
    exit_code = 1

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key, values)
        self.key = key
        self.values: Mapping[str, object] = values

    def __str__(self) -> str:
        """Give key and values for logs; people read `core.texts.say(error)`."""
        told = " ".join(f"{name}={value!r}" for name, value in self.values.items())
        return f"{self.key} {told}".strip()


class Refused(AutoImproveError):
    """The request is understood and not allowed, or no longer true."""


class NotFound(Refused):
    """No such lesson, proposal, run or session."""


class Stale(Refused):
    """The decision was about something that has changed meanwhile."""


class PeopleDecide(Refused):
    """An agent reached for its own gate (promise 3)."""


class Invalid(AutoImproveError):
    """The input itself is wrong."""

    exit_code = 2


class StoreError(AutoImproveError):
    """The store cannot be used."""


class StoreFull(StoreError):
    """No space left: nothing was written."""


class StoreReadOnly(StoreError):
    """The file or its folder cannot be written."""


class StoreCorrupt(StoreError):
    """The file is damaged, truncated or of length zero."""


class StoreNewer(StoreError):
    """The file was written by a newer version."""


class StoreUnsuitable(StoreError):
    """The file is not ours, or its file system cannot lock."""


class AgentError(AutoImproveError):
    """The agent program failed."""


class AgentMissing(AgentError):
    """The agent or its runtime is not there."""


class AgentTooOld(AgentError):
    """The agent is older than what we support."""


class AgentDied(AgentError):
    """The agent's process ended in the middle."""


class AgentRefused(AgentError):
    """The agent answered a command with an error."""


class AnalysisError(AutoImproveError):
    """The analyst gave no verdict."""


class AnalysisFailed(AnalysisError):
    """Not started, provider error or time out."""


class MalformedReply(AnalysisError):
    """The analyst answered, but not as agreed."""


class SettingsError(AutoImproveError):
    """A setting is missing or wrong."""

    exit_code = 2
