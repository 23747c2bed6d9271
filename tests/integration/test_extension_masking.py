"""The extension masks as Python does: one table, two readers of it (reliability.md S6, S7)."""

import gzip
import json
import random
import subprocess
from pathlib import Path

import pytest

from core.agents.pi.runner import EXTENSION
from core.rules.redact import Redactor
from tests.e2e.pi_install import node
from tests.shared import DATA, needs_shared
from tests.unit.test_redact import HARMLESS, HOSTILE, SECRETS

pytestmark = pytest.mark.pi

READER = """
import { readFileSync } from "node:fs";
const [extension, table, isWhole] = process.argv.slice(2);
const { Redactor } = await import(extension);
const redactor = new Redactor(JSON.parse(readFileSync(table, "utf8")));
const made = JSON.parse(readFileSync(0, "utf8")).map((text) => {
  const began = performance.now();
  const told = [isWhole === "whole" ? redactor.redact(text) : "", redactor.snippet(text)];
  return [...told, performance.now() - began];
});
process.stdout.write(JSON.stringify(made));
"""
TABLE = Path(EXTENSION).parents[2] / "rules" / "secret_patterns.json"
Masked = tuple[str, str, float]


def masked_by_the_extension(texts: list[str], folder: Path, kind: str = "whole") -> list[Masked]:
    """Give each text redacted, as a snippet, and the milliseconds it took, by the extension's own code."""
    reader = folder / "reader.mjs"
    reader.write_text(READER)
    done = subprocess.run(
        (node(), "--experimental-strip-types", "--no-warnings", reader, EXTENSION, TABLE, kind),
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )
    return [(whole, short, took_ms) for whole, short, took_ms in json.loads(done.stdout)]


def assert_alike(texts: list[str], folder: Path) -> None:
    """Both give the same text and the same snippet."""
    redactor = Redactor()
    expected = [(redactor.redact(each), redactor.snippet(each)) for each in texts]
    found = [(whole, short) for whole, short, _ in masked_by_the_extension(texts, folder)]
    differing = [pair for pair in zip(texts, expected, found, strict=True) if pair[1] != pair[2]]
    assert differing == []


def test_the_extension_masks_every_form_of_a_secret_and_leaves_the_harmless(tmp_path: Path) -> None:
    """Colours, line ends, hidden spaces, base64, names before values: as in Python."""
    single = [text for text, _ in SECRETS.values()] + HARMLESS
    chance = random.Random(6)
    mixed = ["\n".join(chance.choices(single, k=chance.randint(2, 40))) for _ in range(200)]
    odd = ["", "é🙂" * 3000, "🙂" * 1025, "\x1b[31mred\x1b[0m\r\nnext\x0bline", "x" * 5000]

    assert_alike([*single, *mixed, *odd], tmp_path)


@needs_shared
def test_the_extension_agrees_with_python_on_the_whole_corpus(tmp_path: Path) -> None:
    """Hundreds of real secrets and look-alikes."""
    texts: list[str] = []
    for file in sorted((DATA / "security").glob("corpus_*.json.gz")):
        with gzip.open(file) as opened:
            texts += [each["text"] for each in json.load(opened).get("items", [])]

    assert len(texts) > 400
    assert_alike(texts, tmp_path)


def test_no_text_holds_the_extension_up(tmp_path: Path) -> None:
    """S7: what is looked at is capped, so that even hostile repetition of any size ends soon."""
    texts = [(seed * 60_000)[:60_000] for seed in HOSTILE]

    found = masked_by_the_extension(texts, tmp_path, "snippets")

    assert max(took_ms for _, _, took_ms in found) < 500
