"""Time completing, counting and pairing events on one core, beside `json.loads` alone in the same run.

Processor time of the process, so that what else runs on the machine does not count.

Uses the recorded shell calls where the shared folder is there, else lines of its own.
usage: python -m tests.bench.bench_mining [EVENTS=50000]
"""

import gzip
import json
import sys
import time

from core.model.trace import Trace
from core.rules.failures import excerpt
from core.rules.mining import Tally
from core.rules.recovery import find_recoveries
from core.rules.shell import parse
from tests.calls import complete
from tests.shared import DATA

CALLS = DATA / "traces" / "shell_calls.jsonl.gz"
_OWN = [
    "cd web && npm run build | tail -{n}",
    "git -C d{n} commit -m 'x; y'",
    "cat > f{n} <<EOF\nx\nEOF\npytest t{n}",
]


def load(count: int) -> list[str]:
    """Give `count` distinct event lines."""
    if CALLS.exists():
        recorded = gzip.decompress(CALLS.read_bytes()).decode().splitlines()
    else:
        recorded = [
            json.dumps({"ts": n, "session": f"s{n // 50}", "turn": n, "tool": "bash", "isError": n % 9 == 0,
                        "returncode": n % 9 == 0, "cmd": _OWN[n % 3].format(n=n), "out": "boom"})
            for n in range(5_000)
        ]  # fmt: skip
    lines = []
    for number in range(count):
        row = json.loads(recorded[number % len(recorded)])
        again = number // len(recorded)
        cmd = f"{row['cmd']} #{again}" if again else row["cmd"]  # no line is answered from the cache
        lines.append(json.dumps(row | {"cmd": cmd, "session": f"{row['session']}{again}"}))
    return lines


def read(line: str) -> Trace:
    """Make a completed trace of a line."""
    row = json.loads(line)
    output = row["out"]
    trace = Trace(
        row["ts"], row["session"], row["session"], row["turn"], row["session"].rpartition("-")[0], "mini",
        row["tool"], row["isError"], row["returncode"], cmd=row["cmd"],
        snippet=excerpt(output) if row["isError"] else output,
    )  # fmt: skip
    return complete(trace, output)


def mine(lines: list[str]) -> Tally:
    """Do the whole of the pure work."""
    tally, session = Tally(), list[Trace]()
    for line in lines:
        trace = read(line)
        if session and session[-1].session != trace.session:
            for recovery in find_recoveries(session):
                tally.recover(recovery)
            session = []
        session.append(trace)
        tally.add(trace)
    return tally


def main() -> None:
    """Print events a second."""
    lines = load(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
    parse("true")  # the grammar is loaded once
    begin = time.process_time()
    for line in lines:
        json.loads(line)
    alone = time.process_time() - begin
    begin = time.process_time()
    mine(lines)
    whole = time.process_time() - begin
    print(f"json.loads alone   {len(lines) / alone:10,.0f} events/s  {1e6 * alone / len(lines):6.1f} us")
    print(f"rules and grammar  {len(lines) / whole:10,.0f} events/s  {1e6 * whole / len(lines):6.1f} us")


if __name__ == "__main__":
    main()
