"""Small programs that behave like Pi behind its back: hanging, flooding, dying, leaving children."""

import sys
from pathlib import Path

_COMMON = """
import json, os, signal, subprocess, sys, time
if "--version" in sys.argv:
    print("1.6.0"); sys.exit(0)
def out(**record):
    sys.stdout.buffer.write(json.dumps(record).encode() + b"\\n"); sys.stdout.buffer.flush()
def ok(command, **data):
    out(id=command.get("id"), type="response", command=command["type"], success=True, data=data)
def say(text):
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": "stop"}
    out(type="message_end", message=message)
def settle():
    out(type="agent_settled", aborted=False)
def begin(command):
    ok(command, disposition="started"); out(type="agent_start")
def on_prompt(command):
    begin(command); say("hello"); settle()
def on_abort(command):
    out(type="agent_settled", aborted=True); ok(command)
def on_eof():
    sys.exit(0)
"""
_LOOP = """
for line in sys.stdin.buffer:
    command = json.loads(line)
    if command["type"] == "get_state":
        ok(command)
    elif command["type"] == "prompt":
        on_prompt(command)
    elif command["type"] == "abort":
        on_abort(command)
on_eof()
"""


def write_fake_pi(folder: Path, behaviour: str = "") -> tuple[str, ...]:
    """Write a fake Pi that differs from a good one by `behaviour` (Python); give its command."""
    file = folder / "fake_pi.py"
    file.write_text(_COMMON + behaviour + _LOOP)
    return (sys.executable, "-S", str(file))
