"""The bot, killed by SIGKILL at the n-th pass of a named step.

usage: KILL_AT=send.after:2 python -m tests.fakes.killable_bot
"""

import os
import signal
import sys
from collections import Counter
from pathlib import Path

from bot.serve import serve
from bot.settings import BotSettings
from core.settings import load


def main() -> None:
    """Run the bot; die at the step that KILL_AT names, say every step where STEPS names a file."""
    wanted, _, number = os.environ.pop("KILL_AT", "none:0").partition(":")
    log = os.environ.pop("STEPS", "")
    passed: Counter[str] = Counter()

    def probe(step: str) -> None:
        passed[step] += 1
        if log:
            with Path(log).open("a", encoding="utf-8") as file:
                file.write(f"{step}\n")
        if step == wanted and passed[step] == int(number):
            os.kill(os.getpid(), signal.SIGKILL)

    serve(load(BotSettings), probe)


if __name__ == "__main__":
    sys.exit(main())
