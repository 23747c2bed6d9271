"""The words of doctor: every finding has a text, and what is wrong has a remedy."""

import re
from pathlib import Path

import pytest

import bot.doctor
from bot.checkup import report
from bot.doctor.finding import FOLDER, Finding, Level
from core.errors import AgentMissing
from core.texts import LANGUAGES, catalogue

SOURCES = [path.read_text("utf-8") for path in Path(str(bot.doctor.__file__)).parent.glob("*.py")]
KEYS = {key for key in catalogue("en", FOLDER) if not key.endswith("_do")}


def test_every_text_is_used() -> None:
    """A finding that nobody makes any more goes from the catalogue."""
    assert [key for key in sorted(KEYS) if not any(f'"{key}"' in source for source in SOURCES)] == []


def test_every_finding_has_a_text() -> None:
    """By the keys the checks name."""
    named = {key for source in SOURCES for key in re.findall(r'Level\.\w+, "(\w+)"', source)}

    assert named - KEYS == set()


def test_every_failure_and_warning_has_a_remedy() -> None:
    """Nobody is told what is wrong without what to do."""
    bad = {key for source in SOURCES for key in re.findall(r'Level\.(?:FAILURE|WARNING), "(\w+)"', source)}

    assert [key for key in sorted(bad) if f"{key}_do" not in catalogue("en", FOLDER)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_error_in_a_finding_is_said_in_its_language(language: str) -> None:
    """On one line."""
    wrong = Finding(
        "agent", Level.FAILURE, "agent_wrong", {"reason": AgentMissing("agent.missing", command="pi")}
    )

    text = wrong.text(language)

    assert ("introuvable" in text) is (language == "fr")
    assert "\n" not in text


def test_a_script_gets_the_name_of_the_finding() -> None:
    """Stable, beside the words."""
    record = Finding("disk", Level.WARNING, "disk_low", {"free": "0.5", "folder": "/srv"}).record("en")

    assert (record["check"], record["level"], record["finding"]) == ("disk", "warning", "disk_low")
    assert record["remedy"].startswith("Make room")


def test_a_long_report_fits_into_a_message() -> None:
    """Telegram takes 4,096 units."""
    findings = [Finding("people", Level.WARNING, "approver_outside", {"id": id}) for id in range(90)]

    message = report(findings, "en")

    assert len(message.text.encode("utf-16-le")) // 2 <= 4096
    assert message.text.endswith("…")
