"""Take terminal escapes and control characters out of a text (reliability.md S12)."""

import re
from typing import Final

# Possessive repeats keep every branch linear: a sequence that does not end is given up at once.
_SEQUENCE: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # CSI: colours, cursor, bracketed paste
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)"  # OSC: titles, clipboard, links
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*+(?:\x1b\\|\x9c)"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]++[0-~]|\x1b[0-Z\\-~]"  # charsets and the other short ones
)
_LINE_BREAK: Final = re.compile(r"\r\n|[\r\x0b\x0c\x85]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_ANY: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def strip(text: str) -> str:
    """Return the text without escapes and controls; tabs stay, every line break becomes a newline."""
    if not _ANY.search(text):
        return text
    return _CONTROL.sub("", _LINE_BREAK.sub("\n", _SEQUENCE.sub("", text)))
