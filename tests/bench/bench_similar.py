"""Measure `similar`: who is found, who is warned, and how long it takes as the store grows.

Run with `python -m tests.bench.bench_similar`; needs the shared folder. The index is the one the store has:
FTS5 over `consolidation.terms`, asked with `consolidation.query`, ranked by bm25.
"""

import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.rules.consolidation import query, terms
from core.rules.polarity import contradiction
from tests.shared import DATA

LESSONS = DATA / "lessons"
FIRST = 5


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rules with the label a person gave them."""

    lang: str
    label: str
    a: str
    b: str


def pairs() -> list[Pair]:
    """Read the labelled pairs."""
    records = map(json.loads, (LESSONS / "pairs.jsonl").read_text(encoding="utf-8").splitlines())
    return [Pair(each["lang"], each["label"], each["a"], each["b"]) for each in records]


def rules() -> list[str]:
    """Read the store of realistic size."""
    return (LESSONS / "rules_en.txt").read_text(encoding="utf-8").splitlines()


class Index:
    """Rules in an FTS5 table in memory."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Index each text once."""
        self.texts = list(dict.fromkeys(texts))
        self.database = sqlite3.connect(":memory:")
        self.database.execute(
            "CREATE VIRTUAL TABLE rules"
            " USING fts5(terms, content='', tokenize='unicode61 remove_diacritics 0')"
        )
        self.database.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(rules, 'row')")
        rows = ((number, " ".join(terms(text))) for number, text in enumerate(self.texts))
        self.database.executemany("INSERT INTO rules (rowid, terms) VALUES (?, ?)", rows)

    def frequency(self, term: str) -> int:
        """Count the rules with a term."""
        found = self.database.execute("SELECT doc FROM vocabulary WHERE term = ?", (term,)).fetchone()
        return int(found[0]) if found else 0

    def nearest(self, text: str, limit: int = FIRST) -> list[str]:
        """Return the nearest other rules, best first."""
        asked = query(text, self.frequency)
        if not asked:
            return []
        found = self.database.execute(
            "SELECT rowid FROM rules WHERE rules MATCH ? ORDER BY bm25(rules), rowid LIMIT ?",
            (asked, limit + 1),
        )
        return [each for (number,) in found if (each := self.texts[number]) != text][:limit]

    def close(self) -> None:
        """Free the table."""
        self.database.close()


@dataclass(slots=True)
class Tally:
    """What became of the pairs of one language and label."""

    pairs: int = 0
    found: int = 0
    warned: int = 0
    found_and_warned: int = 0


def measure(index: Index, some: Sequence[Pair]) -> dict[tuple[str, str], Tally]:
    """Ask for the first rule of each pair and look for its partner."""
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for pair in some:
        tally = tallies[pair.lang, pair.label]
        is_found, is_warned = pair.b in index.nearest(pair.a), contradiction(pair.a, pair.b)
        tally.pairs += 1
        tally.found += is_found
        tally.warned += is_warned
        tally.found_and_warned += is_found and is_warned
    return tallies


def _print_found(title: str, texts: Iterable[str]) -> None:
    index = Index(texts)
    print(f"\n{title}: {len(index.texts)} rules")
    for (lang, label), tally in sorted(measure(index, pairs()).items()):
        print(
            f"  {lang:<3}{label:<11} partner in the first {FIRST}: {tally.found:>2} of {tally.pairs:<3}"
            f" warned: {tally.warned:>2}   found without warning: {tally.found - tally.found_and_warned}"
        )
    index.close()


def _print_time(size: int) -> None:
    base = rules()
    texts = [
        base[number % len(base)] + (f" {number}" if number >= len(base) else "") for number in range(size)
    ]
    started = time.perf_counter()
    index = Index(texts)
    built_s = time.perf_counter() - started
    asked = base[::40]
    times_ms = []
    for text in asked:
        started = time.perf_counter()
        for near in index.nearest(text):
            contradiction(text, near)
        times_ms.append(1000 * (time.perf_counter() - started))
    times_ms.sort()
    middle, late = times_ms[len(times_ms) // 2], times_ms[int(len(times_ms) * 0.95)]
    print(f"  {size:>7}   {middle:7.1f} ms   {late:7.1f} ms   {built_s:6.1f} s")
    index.close()


def main() -> None:
    """Print the tables."""
    both = [each for pair in pairs() for each in (pair.a, pair.b)]
    _print_found("Store: rules and second halves", [*rules(), *(pair.b for pair in pairs())])
    _print_found("Store: rules and both halves", [*rules(), *both])
    print("\nTime of `similar` with its warnings\n    rules       median       95th %   building the index")
    for size in (100, 1_000, 10_000, 100_000):
        _print_time(size)


if __name__ == "__main__":
    main()
