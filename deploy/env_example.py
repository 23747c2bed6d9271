"""Write `.env.example` from the settings: `python deploy/env_example.py --write`; without it, print."""

import sys
from pathlib import Path

from bot.settings import BotSettings
from core.settings import example

FILE = Path(__file__).parents[1] / ".env.example"


def main(argv: list[str]) -> int:
    """Print or write the example."""
    text = example(BotSettings)
    if "--write" in argv:
        FILE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
