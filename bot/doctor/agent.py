"""Checks of the agent: one prompt in exactly the bot's environment, and the project's own settings."""

import time

from bot import chats
from bot.doctor.case import Case, look
from bot.doctor.finding import Finding, Level
from core.agents.pi.providers import missing_keys
from core.errors import AgentError
from core.rules.redact import Redactor
from core.rules.terminal import strip
from core.settings import project_of

PROMPT = "This is a test of the connection. Answer with the single word OK."
ANSWER_S = 60.0
_SHOWN = 200


async def check_agent(case: Case) -> list[Finding]:
    """Does the agent answer?"""
    agent = case.settings.agent
    if case.runner is None:
        return [Finding("agent", Level.FAILURE, "agent_unknown", {"agent": agent})]
    begun = time.monotonic()
    try:
        answer = await case.runner.ask(case.spec, PROMPT, ANSWER_S)
    except TimeoutError:
        return [Finding("agent", Level.FAILURE, "agent_slow", {"seconds": int(ANSWER_S)})]
    except AgentError as error:
        return [_complaint(case, error)]
    told = {
        "agent": agent,
        "answer": _shown(case, answer) or "∅",
        "seconds": f"{time.monotonic() - begun:.1f}",
    }
    found = [Finding("agent", Level.OK, "agent", told)]
    if case.missing:
        found.append(Finding("agent", Level.NOTE, "agent_fewer", {"names": ", ".join(case.missing)}))
    return found


def _complaint(case: Case, error: AgentError) -> Finding:
    """Name the missing variable where a key is what it lacks."""
    keys = missing_keys(str(error.values.get("error", "")), case.spec.env, case.spec.model)
    if keys:
        here = [key for key in keys if key in case.missing]
        told = {"keys": " / ".join(here or keys), "folder": case.settings.home}
        return Finding("agent", Level.FAILURE, "no_key_in_bot" if here else "no_key", told)
    reason = {**error.values, "error": _shown(case, str(error.values.get("error", "")))}
    return Finding("agent", Level.FAILURE, "agent_wrong", {"reason": type(error)(error.key, **reason)})


def _shown(case: Case, text: str) -> str:
    return Redactor((case.token or "",)).redact(" ".join(strip(text).split()))[:_SHOWN]


async def check_trust(case: Case) -> list[Finding]:
    """Does the project bring settings of its own for Pi, and was that decided?"""
    settings = case.settings
    if not case.spec.cwd.is_dir():
        return [Finding("project", Level.FAILURE, "project_none", {"project": case.spec.cwd})]
    project = project_of(case.spec.cwd)
    if not chats.brings_own(project):
        return [Finding("project", Level.OK, "project", {"project": project})]
    if settings.trust_project == "ask":
        answer = await look(settings, lambda tx: tx.settings.get(chats.trust_key(project)))
    else:
        answer = "yes" if settings.trust_project == "on" else "no"
    key = {"yes": "trusted", "no": "untrusted"}.get(answer or "", "trust_open")
    level = Level.NOTE if key == "trust_open" else Level.OK
    return [Finding("project", level, key, {"project": project})]
