"""Time redaction of a 300-character trace against google-re2's set alone, in one run (reliability.md 4).

usage: python -m tests.bench.bench_redact
"""

import json
import time
from collections.abc import Callable
from importlib import resources

from core.rules.redact import Redactor

_TRACE = (
    "npm ERR! code E401\nnpm ERR! Unable to authenticate, your authentication token seems to be invalid.\n"
    "npm ERR! To correct this please trying logging in again with:\nnpm ERR!     npm login\n\n"
    "npm ERR! A complete log of this run can be found in: /home/u/.npm/_logs/2026-01-02T10_11_12_345Z.log "
    "at Object.<anonymous>"
)[:300]
_PLAIN = (
    "FAIL src/cart.test.ts\n  total\n    x adds the tax (4 ms)\n\n  Expected: 12.5\n  Received: 12\n\n"
    "      at Object.toBe (src/cart.test.ts:18:23)\n     at run (node_modules/jest/build/index.js:281:40)\n\n"
    "Tests: 1 failed, 11 passed, 12 total\nTime: 1.92 s, estimated 2 s\nRan all test suites.   "
)[:300]


def _best_us(work: Callable[[], object], rounds: int = 7, calls: int = 2000) -> float:
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        for _ in range(calls):
            work()
        best = min(best, (time.process_time() - begin) / calls)
    return best * 1e6


def _hint_set() -> object:
    import re2

    table = json.loads(resources.files("core.rules").joinpath("secret_patterns.json").read_text("utf-8"))
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 32 << 20
    hints = re2.Set.SearchSet(options)
    for rule in table["rules"]:
        hints.Add(((f"(?{rule['flags']})" if "flags" in rule else "") + rule["hint"]).encode())
    hints.Compile()
    return hints


def main() -> None:
    """Print microseconds a trace, for traces of three kinds, and for growing text."""
    begin = time.process_time()
    redactor = Redactor(["123456789:AAsyntheticsyntheticsyntheticsynth"])
    redactor.redact("")
    print(f"first use (import re2, compile the table): {(time.process_time() - begin) * 1e3:.1f} ms")
    hints = _hint_set()
    secret = (_PLAIN[:200] + "\nexport DEPLOY_TOKEN=q7Zp2LmX9vBt4KdR8sWn")[:300]
    for name, text in {"plain": _PLAIN, "speaks of tokens": _TRACE, "holds a secret": secret}.items():
        raw = text.encode()
        alone = _best_us(lambda raw=raw: hints.Match(raw))  # type: ignore[misc, attr-defined]
        whole = _best_us(lambda text=text: redactor.redact(text))  # type: ignore[misc]
        print(f"{name:17} {len(text)} chars: set alone {alone:5.1f} us, redact {whole:5.1f} us")
    for size in (1_000, 10_000, 100_000, 1_000_000):
        text = (_PLAIN * (size // 300 + 1))[:size]
        print(f"{size:>9} chars: {_best_us(lambda text=text: redactor.redact(text), 3, 1):9.0f} us")  # type: ignore[misc]


if __name__ == "__main__":
    main()
