"""The domain of a run, from the calls that were kept of it (learning.md 2)."""

from collections.abc import Iterable

from core.model.lesson import Domain
from core.model.run import Call
from core.rules import domains as rules
from core.rules.toolbox import Act, act_of


def of_run(calls: Iterable[Call], prompt: str = "") -> Domain:
    """Say what kind of work a run was; `general` where none is clear."""
    return rules.domain_of([_read(each) for each in calls if not each.is_aborted], prompt)


def _read(call: Call) -> rules.Call:
    """Read the one text that is kept of a call: a command line, a search's pattern, else a file."""
    is_file = act_of(call.tool, call.command) in (Act.READ, Act.EDIT, Act.WRITE)
    return rules.Call(
        tool=call.tool,
        file=call.command if is_file else None,
        cmd=None if is_file else call.command,
        is_error=call.is_error,
        output=call.error,
        exit_code=call.exit_code,
    )
