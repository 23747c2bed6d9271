"""One agent's bounded surface as MCP tools on stdio (learning.md 8): what it has, and its way to the gate.

The identity is the server's, one process an agent; no tool takes one. There is no vote and no decision here,
no list of all skills, and no body of a skill that this agent was not given. Nothing is printed on stdout.
"""

import json
from dataclasses import dataclass
from typing import Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from core.analysis import reply
from core.errors import AutoImproveError, Invalid, MalformedReply
from core.model.evidence import Evidence
from core.model.lesson import Lesson
from core.ports import Clock, Store
from core.rules.context import one_line
from core.services import agents, capabilities, suggestions
from core.services.changes import By
from core.settings import CoreSettings
from core.store.sqlite import open_store
from core.tables import Tx
from core.texts import say_error

NAME = "auto-improve"
SURFACE = "mcp"
MAX_LESSONS = 200
INSTRUCTIONS = (
    "What this agent was given by its people. list_agents shows who can do what; skill_read gives the text "
    "of a skill of yours; lessons shows what the people approved; propose_lesson hands in a lesson, which a "
    "person then approves or rejects."
)

Scope = Literal["all", "global", "project", "domain"]
Domain = Literal["debug", "refactoring", "feature", "review", "general"]


@dataclass(frozen=True, slots=True)
class Surface:
    """What one agent may ask, in one project."""

    store: Store
    agent: str
    project: str | None
    clock: Clock

    async def list_agents(self) -> list[dict[str, object]]:
        """Give every agent with its capabilities; the raw references of its skills stand beside."""
        found = await self.store.read(lambda tx: capabilities.profiles(tx, self.project))
        return [capabilities.record(each) for each in found]

    async def skill_read(self, name: str) -> str:
        """Give the text of a skill that this agent has. Raises NotFound for everything else, all alike."""
        now = self.clock.now()
        skill = await self.store.write(lambda tx: capabilities.read(tx, self.agent, name, self.project, now))
        return skill.body

    async def lessons(self, scope: Scope) -> list[dict[str, object]]:
        """Give the lessons in force that reach this project, the newest decisions first."""
        active = await self.store.read(lambda tx: tx.lessons.active(self.project))
        chosen = [each for each in active if scope in ("all", each.scope.value)]
        chosen.sort(key=lambda each: each.decided, reverse=True)
        return [_lesson(each) for each in chosen[:MAX_LESSONS]]

    async def propose_lesson(self, given: dict[str, object]) -> dict[str, object]:
        """Hand in a proposal. Raises Invalid, Refused."""
        by = By(self.agent, self.clock.now(), SURFACE)

        def change(tx: Tx) -> dict[str, object]:
            active = tuple(tx.lessons.active(self.project))
            evidence = Evidence(None, told=active, in_scope=active)
            try:
                finding = reply.parse(json.dumps(given), evidence, self.project)
            except MalformedReply as error:
                raise Invalid("cli.proposals.malformed", reason=error.values["reason"]) from None
            made = suggestions.suggest(tx, finding, self.project, by)
            return {"proposal": made.id, "state": made.state.value, "rule": made.rule}

        return await self.store.write(change)


def _lesson(lesson: Lesson) -> dict[str, object]:
    return {
        "id": lesson.id,
        "scope": lesson.scope.value,
        "domain": lesson.domain.value,
        "rule": one_line(lesson.rule),
    }


def _told(error: AutoImproveError) -> ToolError:
    """Say an error so that the model can read it."""
    return ToolError(say_error(error, "en"))


_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_PROPOSES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


def build(surface: Surface) -> MCPServer:
    """Put the server together: four tools, each a thin border over `surface`."""
    server = MCPServer(NAME, instructions=INSTRUCTIONS, log_level="WARNING")

    @server.tool(annotations=_READS)
    async def list_agents() -> list[dict[str, object]]:
        """List the agents with their capabilities (name, description, kind of each skill)."""
        return await surface.list_agents()

    @server.tool(annotations=_READS)
    async def skill_read(name: str) -> str:
        """Read one skill that was given to you, by its name."""
        try:
            return await surface.skill_read(name)
        except AutoImproveError as error:
            raise _told(error) from None

    @server.tool(annotations=_READS)
    async def lessons(scope: Scope = "all") -> list[dict[str, object]]:
        """List the lessons people approved for this project: all, global, project or domain ones."""
        return await surface.lessons(scope)

    @server.tool(annotations=_PROPOSES)
    async def propose_lesson(
        rule: str,
        rationale: str = "",
        domain: Domain = "general",
        scope: Literal["global", "project", "domain"] = "project",
        lesson: str | None = None,
    ) -> dict[str, object]:
        """Propose a lesson (one or two imperative sentences, 300 characters at most); a person decides.

        Name the id of a lesson in `lesson` to propose a better wording of that one.
        """
        verdict = "merge" if lesson else "new"
        given: dict[str, object] = {"verdict": verdict, "rule": rule, "rationale": rationale}
        given |= {"domain": domain, "scope": scope, "lesson": lesson or None}
        try:
            return await surface.propose_lesson(given)
        except AutoImproveError as error:
            raise _told(error) from None

    return server


async def serve(settings: CoreSettings, agent: str, project: str | None, clock: Clock) -> None:
    """Serve one agent on stdio until its client is gone. Raises NotFound (no such agent), StoreError."""
    async with open_store(settings.store_path) as store:
        found = await store.read(lambda tx: agents.need(tx, agent))
        surface = Surface(store, found.id, found.project or project, clock)
        await build(surface).run_stdio_async()
