"""Write the systemd unit from the code: `python deploy/systemd_unit.py --write`; without it, print."""

import sys
from pathlib import Path

from bot.setup.unit import NAME, usual

FILE = Path(__file__).parent / "systemd" / NAME


def main(argv: list[str]) -> int:
    """Print or write the unit."""
    if "--write" in argv:
        FILE.write_text(usual(), encoding="utf-8")
    else:
        sys.stdout.write(usual())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
