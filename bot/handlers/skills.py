"""`/skills` and `/agents`: what there is, who has what, giving and taking it by buttons (learning.md 8)."""

import os
from collections.abc import Sequence

from bot import chats, delivery, people, views
from bot.callbacks import Kind, encode
from bot.dispatch import Command, Said, Tap
from bot.draft import Draft, clip
from bot.locales import say
from bot.outbox import Key, Keyboard, Message, edit, post
from bot.turn import Desk, Reply
from core.model.lesson import Scope
from core.services import agents, capabilities, shelf
from core.services.capabilities import Profile
from core.services.changes import By
from core.services.shelf import Entry, Shelf
from core.tables import Tx
from core.texts import say_error

PAGE_SIZE = 8
MAX_AGENTS = 12
_LINE_UNITS = 110
_BODY_UNITS = 2400
_SURFACE = "telegram"


def _project(tx: Tx, desk: Desk, lane: str) -> str:
    session = tx.runs.current_session(lane)
    return session.project if session is not None else desk.project


def _look(tx: Tx, desk: Desk, lane: str) -> Shelf:
    return shelf.look(tx, desk.settings, _project(tx, desk, lane), os.environ)


# -- the list ----------------------------------------------------------------------------------------------


def show(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """`/skills [NAME]`: every skill and who has it, or the card of one."""
    chats.session_of(tx, desk, said.lane, said.language, said.now)
    if said.text:
        _show_card(tx, desk, said.text.split()[0], said.lane, said.language, said.now)
        return None
    ref = f"skills:{desk.ids.token()}"
    message, token = _page(tx, desk, said.lane, ref, 0, said.language, said.now)
    post(tx, said.lane, message, now=said.now, ref=ref, tokens=(token,))
    return None


def _page(
    tx: Tx, desk: Desk, lane: str, ref: str, number: int, language: str, now: float
) -> tuple[Message, str]:
    """Give one page of the list and the token of its buttons."""
    found = _look(tx, desk, lane)
    pages = max(1, -(-len(found.entries) // PAGE_SIZE))
    number = min(max(number, 0), pages - 1)
    shown = found.entries[number * PAGE_SIZE : (number + 1) * PAGE_SIZE]
    draft = Draft().bold(say("skills.title", language, count=len(found.entries))).line()
    if not shown:
        draft.line(say("skills.none", language))
    for index, entry in enumerate(shown, 1):
        draft.line(_line(index, entry, language))
    if pages > 1:
        draft.line().line(say("skills.page", language, number=number + 1, of=pages))
    for refusal in found.refused[:3]:
        reason = say_error(refusal.error, language)
        draft.line(f"⚠️ {clip(refusal.path, _LINE_UNITS)}: {clip(reason, 2 * _LINE_UNITS)}")
    facts = {"page": number, "names": [each.skill.name for each in shown]}
    token = delivery.new_button(tx, desk.ids, Kind.SKILLS, lane, ref, now, facts)
    return draft.message(_page_keys(token, len(shown), number, pages)), token


def _line(number: int, entry: Entry, language: str) -> str:
    holders = ", ".join(each.agent for each in entry.holders) or say("skills.nobody", language)
    skill = entry.skill
    return f"{number}. {skill.name} ({skill.kind}) · {holders} · {clip(skill.description, _LINE_UNITS)}"


def _page_keys(token: str, count: int, number: int, pages: int) -> Keyboard:
    keys = [Key(str(i + 1), encode(Kind.SKILLS, token, str(i))) for i in range(count)]
    turns = [Key("◀", encode(Kind.SKILLS, token, "prev"))] if number > 0 else []
    turns += [Key("▶", encode(Kind.SKILLS, token, "next"))] if number < pages - 1 else []
    return tuple(row for row in (tuple(keys[:4]), tuple(keys[4:]), tuple(turns)) if row)


# -- one skill ---------------------------------------------------------------------------------------------


def _card(
    tx: Tx, desk: Desk, entry: Entry, lane: str, ref: str, language: str, now: float
) -> tuple[Message, str]:
    """Give a skill with its body, and a button for each agent that has it or may."""
    names = [each.id for each in agents.listing(tx)][:MAX_AGENTS]
    facts = {"skill": entry.skill.name, "sha256": entry.skill.sha256, "agents": names}
    token = delivery.new_button(tx, desk.ids, Kind.SKILLS, lane, ref, now, facts)
    keys = [_toggle(entry, name, index, token, language) for index, name in enumerate(names)]
    keyboard = tuple(tuple(keys[i : i + 2]) for i in range(0, len(keys), 2))
    return _draft(entry, language).message(keyboard), token


def _draft(entry: Entry, language: str) -> Draft:
    skill = entry.skill
    draft = Draft().bold(f"{skill.name} ({skill.kind})").line().plain(skill.description).line()
    where = views.scope_name(Scope(skill.scope.value), skill.project, language)
    draft.line(say("skills.origin", language, origin=skill.origin, scope=where))
    holders = ", ".join(each.agent for each in entry.holders) or say("skills.nobody", language)
    draft.line(say("skills.assigned", language, agents=holders, reads=entry.reads))
    if entry.changed:
        draft.line(say("skills.changed", language, agents=", ".join(entry.changed)))
    if not entry.is_there:
        return draft.line(say("skills.gone", language))
    return draft.line().pre(clip(skill.body, _BODY_UNITS))


def _toggle(entry: Entry, agent: str, index: int, token: str, language: str) -> Key:
    is_held = any(each.agent == agent for each in entry.holders)
    if agent in entry.changed and entry.is_there:
        choice, label = "on", say("skills.again", language, agent=agent)
    elif is_held:
        choice, label = "off", say("skills.unassign", language, agent=agent)
    else:
        choice, label = "on", say("skills.assign", language, agent=agent)
    return Key(label, encode(Kind.SKILLS, token, f"{choice}_{index}"))


def _show_card(tx: Tx, desk: Desk, name: str, lane: str, language: str, now: float) -> None:
    ref = f"skill:{desk.ids.token()}"
    message, token = _card(tx, desk, _look(tx, desk, lane).need(name), lane, ref, language, now)
    post(tx, lane, message, now=now, ref=ref, tokens=(token,))


def tap_skills(tx: Tx, desk: Desk, tap: Tap) -> Reply | None:
    """Turn a page, open a card, or give or take the skill on a card."""
    if "skill" in tap.payload:
        return _tap_card(tx, desk, tap)
    names: list[str] = tap.payload["names"]
    if tap.choice.isdigit() and int(tap.choice) < len(names):
        _show_card(tx, desk, names[int(tap.choice)], tap.lane, tap.language, tap.now)
        return None
    number = int(tap.payload["page"]) + {"prev": -1, "next": 1}.get(tap.choice, 0)
    message, _ = _page(tx, desk, tap.lane, tap.button.ref, number, tap.language, tap.now)
    edit(tx, tap.lane, tap.button.ref, message, now=tap.now)
    return None


def _tap_card(tx: Tx, desk: Desk, tap: Tap) -> Reply | None:
    if not people.may_decide(tx, desk.settings, int(tap.user)):
        return Reply(toast=say("toast.not_approver", tap.language), is_alert=True)
    found, name = _look(tx, desk, tap.lane), str(tap.payload["skill"])
    shown, entry = str(tap.payload["sha256"]), found.need(name)
    word, _, index = tap.choice.partition("_")
    agent = str(tap.payload["agents"][int(index)])
    by = By(tap.user, tap.now, _SURFACE)
    toast = say("toast.changed", tap.language)
    if word == "off":
        if tx.agents.assignment(agent, name) is not None:
            capabilities.unassign(tx, agent, name, by)
        toast = say("skills.unassigned", tap.language, name=name, agent=agent)
    elif entry.is_there and entry.skill.sha256 == shown:
        shelf.assign(tx, found, name, agent, by, shown)
        toast = say("skills.given", tap.language, name=name, agent=agent)
    after = next((each for each in _look(tx, desk, tap.lane).entries if each.skill.name == name), None)
    if after is None:  # it was only shown because somebody had it
        edit(tx, tap.lane, tap.button.ref, Message(toast), now=tap.now)
        return Reply(toast=toast)
    message, _ = _card(tx, desk, after, tap.lane, tap.button.ref, tap.language, tap.now)
    edit(tx, tap.lane, tap.button.ref, message, now=tap.now)
    return Reply(toast=toast)


# -- agents ------------------------------------------------------------------------------------------------


def show_agents(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """`/agents`: who there is, and what each can do; a number opens a skill."""
    chats.session_of(tx, desk, said.lane, said.language, said.now)
    found = capabilities.profiles(tx, _project(tx, desk, said.lane))
    names = list(dict.fromkeys(each.name for profile in found for each in profile.capabilities))[:PAGE_SIZE]
    draft = Draft().bold(say("agents.title", said.language)).line()
    for profile in found:
        _tell(draft, profile, names, said.language)
    ref = f"agents:{desk.ids.token()}"
    facts = {"page": 0, "names": names}
    token = delivery.new_button(tx, desk.ids, Kind.SKILLS, said.lane, ref, said.now, facts)
    keyboard = _page_keys(token, len(names), 0, 1)
    post(tx, said.lane, draft.message(keyboard), now=said.now, ref=ref, tokens=(token,))
    return None


def _tell(draft: Draft, profile: Profile, names: Sequence[str], language: str) -> None:
    agent = profile.agent
    draft.line().bold(agent.name).plain(f" · {agent.id} · {agent.kind}")
    if not profile.capabilities:
        draft.line(say("agents.nothing", language))
    for each in profile.capabilities:
        number = f"{names.index(each.name) + 1}. " if each.name in names else "– "
        draft.line(f"{number}{each.name} ({each.kind}): {each.description}")
    draft.line()


COMMANDS = (
    Command("skills", "learning", show),
    Command("agents", "learning", show_agents),
)
TAPS = {Kind.SKILLS: tap_skills}
