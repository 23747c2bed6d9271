"""The command `auto-improve doctor`."""

import asyncio
import sys
from collections.abc import Collection
from dataclasses import replace

import click

from bot.doctor.case import Case, env_of_bot, look, spec_here
from bot.doctor.examination import NAMES, examine
from bot.doctor.finding import MARKS, Finding, Level
from bot.lock import is_running
from bot.logs import configure
from bot.settings import BotSettings
from core.app import shipped_agents
from core.cli import show
from core.cli.speech import language, tell
from core.cli.spoken import SpokenCommand
from core.errors import SettingsError
from core.settings import load


@click.command("doctor", cls=SpokenCommand, help=tell("help.doctor"))
@click.argument("checks", nargs=-1, type=click.Choice(NAMES), metavar="[CHECK]...")
@show.json_option
def doctor(checks: tuple[str, ...], is_json: bool) -> None:
    """Examine everything, or what is named; exit with 1 where something has failed."""
    findings = asyncio.run(_examine(checks or NAMES, is_json))
    if is_json:
        show.as_json([each.record(language()) for each in findings])
    if any(each.level is Level.FAILURE for each in findings):
        sys.exit(1)


async def _examine(checks: Collection[str], is_json: bool) -> list[Finding]:
    tell_now = (lambda _finding: None) if is_json else _print
    try:
        settings = load(BotSettings)
    except SettingsError as error:
        wrong = Finding("settings", Level.FAILURE, "settings_wrong", {"reason": error})
        tell_now(wrong)
        return [wrong]
    case = await make_case(settings)
    configure("error", (case.token or "",))
    return await examine(case, tell_now, checks)


def _print(finding: Finding) -> None:
    show.line(f"{MARKS[finding.level]} {finding.check}: {finding.text(language())}")
    if remedy := finding.remedy(language()):
        click.echo(f"    → {remedy}")


async def make_case(settings: BotSettings) -> Case:
    """Gather what is to be examined; a bot that runs here is examined as it is."""
    try:
        token: str | None = settings.token()
    except SettingsError:
        token = None
    runs = token is not None and is_running(settings.home, token)
    spec = spec_here(settings)
    missing: tuple[str, ...] = ()
    if runs:
        noted = await look(settings, lambda tx: env_of_bot(tx, spec.env))
        if noted is not None:
            env, missing = noted
            spec = replace(spec, env=env)
    runner = shipped_agents().get(settings.agent)
    return Case(settings, token, runner, spec, is_bot=False, is_running=runs, missing=missing)
