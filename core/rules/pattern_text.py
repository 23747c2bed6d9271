"""How a pattern is said: the command, the error, what worked (learning.md 6)."""

import re

from core.model.ruling import Ruling
from core.rules.context import Failure, one_line
from core.rules.error_classes import find_evidence
from core.rules.mining import Pattern, PatternKey
from core.rules.shell import parse

_SENTENCE = re.compile(r"[^\W\d_]{2,}\W+[^\W\d_]{2,}")
_FRAME = re.compile(r'^\s*(File "[^"\n]+", line \d+.*)', re.MULTILINE)
_ASSIGNMENTS = re.compile(r"\A(?:\w+=\S*\s+)+")


def command_of(pattern: Pattern) -> str:
    """Give the command as a person types it, without what stood around it; a tool's name where it is none."""
    if not pattern.last_cmd:
        return pattern.key.tool
    read = parse(pattern.last_cmd, pattern.last_error)
    meant = [one for one in read.segments if one.verb == pattern.key.verb]
    chosen = read.chosen if read.chosen in meant else (meant[-1] if meant else read.chosen)
    # A here-document is content, a cut one is not even that.
    text = _ASSIGNMENTS.sub("", chosen.text if chosen else pattern.last_cmd)
    return one_line(text.partition("<<")[0]) or pattern.key.key


def error_of(pattern: Pattern) -> str:
    """Give the one line of the newest output that says what went wrong; its class where none does."""
    text = pattern.last_error
    evidence = find_evidence(text)
    at = text.find(evidence.splitlines()[0]) if evidence else -1
    if at < 0:
        if frames := _FRAME.findall(
            text
        ):  # a traceback that was cut: where it was is more than the code there
            return one_line(frames[-1])
        lines = [line for line in text.splitlines() if line.strip()]
        spoken = [line for line in lines if _SENTENCE.search(line)] or lines[-1:]
        return one_line("".join(spoken[-1:])) or str(pattern.key.error_class or "")
    start = text.rfind("\n", 0, at) + 1
    line, _, after = text[start:].partition("\n")
    return one_line(f"{line} {_headed(after)}" if line.rstrip().endswith(":") else line)


def _headed(text: str) -> str:
    """Give what a line that only announces (`ERROR:`) is followed by."""
    return next((line for line in text.splitlines() if line.strip()), "")


def told(pattern: Pattern, note: str = "", decided: int = 0) -> Failure:
    """Give a pattern as it would be told if it were accepted now."""
    worked = one_line(pattern.last_recovery or "")
    return Failure(pattern.key.id, command_of(pattern), error_of(pattern), worked, note, decided)


def tried(pattern: Pattern) -> Failure:
    """Give a candidate as it is told: no text of an output (learning.md 6)."""
    error_class = str(pattern.key.error_class or "")
    worked = one_line(pattern.last_recovery or "")
    return Failure(pattern.key.id, command_of(pattern), error_class, worked, is_candidate=True)


def approved(ruling: Ruling, key: PatternKey) -> Failure:
    """Give an accepted pattern word for word as it was shown."""
    return Failure(key.id, ruling.command, ruling.error, ruling.worked, ruling.note, ruling.decided)
