"""The console script `auto-improve`: core's command line and what the bot adds, imported when called."""

import sys

from core.cli import border
from core.cli.group import root

COMMANDS = {
    "demo": "bot.demo.command:demo",
    "doctor": "bot.doctor.command:doctor",
    "run": "bot.serve:run",
    "setup": "bot.setup.command:setup",
}
FILTERS = {"reply": "bot.cli:reply"}


def main() -> int:
    """Run the command line; give the exit code."""
    return border.run(root(COMMANDS, FILTERS), sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
