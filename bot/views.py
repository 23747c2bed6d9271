"""From what the store knows to what a person reads: pure, one function a card."""

from dataclasses import dataclass
from datetime import datetime

from bot.draft import Draft, clip
from bot.locales import say
from bot.outbox import Keyboard, Message
from core.model.lesson import Lesson, Scope
from core.model.proposal import Origin, Proposal, State, Verdict
from core.services.lessons import Card
from core.texts import say as say_core

PAGE_SIZE = 8
_EVIDENCE_UNITS = 600
_LINE_UNITS = 110


def clock_time(at: float) -> str:
    """Give hours and minutes on the machine's clock."""
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M")


def scope_name(scope: Scope, project: str | None, language: str) -> str:
    """Say a scope; a project by its folder's name."""
    if scope is Scope.PROJECT and project:
        return say("scope.project_named", language, name=project.rstrip("/").rsplit("/", 1)[-1] or project)
    return say(f"scope.{scope.value}", language)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a person should know of other lessons before deciding on a proposal.

    `conflicts` are those it may contradict, `pushed_out` those that its approval would push out of the block.
    """

    conflicts: tuple[Lesson, ...] = ()
    pushed_out: tuple[Lesson, ...] = ()


def proposal(item: Proposal, language: str, keyboard: Keyboard, facts: Facts, who: str = "") -> Message:
    """Show a proposal, exactly what agents would be told, and where it stands."""
    return proposal_draft(item, language, facts, who).message(keyboard)


def proposal_draft(item: Proposal, language: str, facts: Facts, who: str = "") -> Draft:
    """Write a proposal's card without its buttons."""
    draft = Draft()
    draft.bold(say(f"proposal.title_{item.verdict.value}", language, lesson=item.lesson or "", id=item.id))
    draft.line()
    if item.old_rule and item.verdict is not Verdict.NEW and item.old_rule != item.rule:
        draft.plain(say("proposal.old", language, lesson=item.lesson or "")).line().quote(
            item.old_rule
        ).line()
        draft.plain(say("proposal.new", language)).line()
    draft.quote(item.rule).line()
    if item.absorbs:
        draft.plain(say("proposal.absorbs", language, lessons=", ".join(item.absorbs))).line()
    if item.rationale:
        draft.plain(say("proposal.why", language)).plain(item.rationale).line()
    _placed(draft, item.scope, item.project, item.domain.value, language)
    if item.evidence:
        draft.plain(say("proposal.evidence", language)).italic(clip(item.evidence, _EVIDENCE_UNITS)).line()
    draft.plain(say(f"origin.{_origin_key(item.origin)}", language)).line()
    for warning in warnings(item, facts, language):
        draft.plain(f"⚠️ {warning}").line()
    _state(draft, item, language, who)
    return draft


def _placed(draft: Draft, scope: Scope, project: str | None, domain: str, language: str) -> None:
    where = scope_name(scope, project, language)
    draft.plain(say("lesson.placed", language, domain=domain, scope=where)).line()


def _origin_key(origin: Origin) -> str:
    return origin.value.replace(" ", "_")


def warnings(item: Proposal, facts: Facts, language: str) -> list[str]:
    """Say what a person should know before approving."""
    found = [say_core(f"flag.{flag}", language) for flag in item.flags]
    found += [_about("contradicts", each, language) for each in facts.conflicts]
    found += [_about("pushes_out", each, language) for each in facts.pushed_out]
    if item.origin is Origin.TOOL_OUTPUT:
        found.append(say("proposal.from_tool", language))
    if item.is_by_rules:
        found.append(say("proposal.by_rules", language))
    return found


def _about(key: str, lesson: Lesson, language: str) -> str:
    return say(f"proposal.{key}", language, lesson=lesson.id, rule=clip(lesson.rule, _LINE_UNITS))


def _state(draft: Draft, item: Proposal, language: str, who: str) -> None:
    at = clock_time(item.decided_at) if item.decided_at else ""
    match item.state:
        case State.PENDING if item.asks:
            draft.line().italic(say(f"proposal.asks_{item.asks}", language))
        case State.APPROVED:
            key = "proposal.approved_harmful" if item.verdict is Verdict.HARMFUL else "proposal.approved"
            draft.line().bold(say(key, language, who=who, at=at, lesson=item.result or ""))
        case State.REJECTED:
            key = "proposal.kept" if item.verdict is Verdict.HARMFUL else "proposal.rejected"
            draft.line().bold(say(key, language, who=who, at=at))
        case State.WITHDRAWN | State.EXPIRED:
            draft.line().bold(say(f"proposal.{item.state.value}", language))
        case _:
            pass


def lesson_line(number: int, lesson: Lesson, is_told: bool) -> str:
    """Give a lesson as one line of a list: ● is told, ○ waits for room in the block."""
    mark = ("●" if is_told else "○") if lesson.active else "✕"
    return f"{number}. {mark} {lesson.id} {clip(lesson.rule, _LINE_UNITS)}"


@dataclass(frozen=True, slots=True)
class Page:
    """A stretch of a list: the lessons on it, whether each is told, and which page of how many it is."""

    lessons: tuple[tuple[Lesson, bool], ...]
    number: int
    of: int
    total: int
    title: str


def lessons_page(page: Page, language: str, keyboard: Keyboard) -> Message:
    """Show lessons grouped by scope and domain."""
    draft = Draft().bold(page.title).line()
    if not page.lessons:
        return draft.line(say("lessons.none", language)).message(keyboard)
    heading = ""
    for index, (lesson, is_told) in enumerate(page.lessons, 1):
        here = f"{scope_name(lesson.scope, lesson.project, language)} · {lesson.domain.value}"
        if here != heading:
            draft.line().italic(here).line()
            heading = here
        draft.plain(lesson_line(index, lesson, is_told)).line()
    draft.line(say("lessons.legend", language, number=page.number + 1, of=page.of, total=page.total))
    return draft.message(keyboard)


def lesson_card(card: Card, language: str, keyboard: Keyboard, effect: str = "") -> Message:
    """Show one lesson with its counters, where it comes from and how it came to its wording."""
    lesson = card.lesson
    state = say("lesson.active" if lesson.active else "lesson.inactive", language)
    draft = Draft().bold(f"{lesson.id} · {state}").line().quote(lesson.rule).line()
    if lesson.rationale:
        draft.plain(say("proposal.why", language)).plain(lesson.rationale).line()
    _placed(draft, lesson.scope, lesson.project, lesson.domain.value, language)
    counters = {"positive": lesson.positive_examples, "violations": lesson.violations}
    draft.plain(say("lesson.counters", language, **counters)).line()
    if effect:
        draft.plain(effect).line()
    if lesson.merged_into:
        draft.plain(say("lesson.merged_into", language, lesson=lesson.merged_into)).line()
    for source in card.sources[-3:]:
        words = source.user_comment or ", ".join(source.reasons) or source.context
        taken_back = say("lesson.withdrawn", language) if source in card.withdrawn else ""
        draft.plain(f"👎 {source.timestamp[:10]} ").italic(clip(words, 200)).plain(taken_back).line()
    if len(card.history) > 1:
        draft.line(say("lesson.history", language)).line()
        for revision in card.history[-5:]:
            draft.plain(f"{revision.at[:10]} {revision.who}: {clip(revision.rule, _LINE_UNITS)}").line()
    return draft.message(keyboard)
