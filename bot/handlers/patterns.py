"""Failures that recur, in the chat: `/patterns`, pi-evolver's commands typed, and their cards in the deck."""

import json
from collections.abc import Sequence
from dataclasses import replace

from bot import chats, delivery, people
from bot.callbacks import Kind, encode
from bot.deck import Source
from bot.dispatch import Command, Said, Tap
from bot.draft import Draft, clip
from bot.locales import say
from bot.outbox import Key, Keyboard, Message, edit, post
from bot.turn import Desk, Reply
from core.errors import AutoImproveError, NotFound, Stale
from core.model.ruling import Ruling
from core.rules.mining import State
from core.services import pattern_gate, pattern_skills, patterns
from core.services.changes import By
from core.services.patterns import SHOWN, Standing
from core.services.rulings import key_of
from core.tables import Tx
from core.texts import say_error

PAGE_SIZE = 8
MAX_CARDS = 2  # whole skills in a message
MAX_SKILLS = 20
_LINE_UNITS = 160
_BODY_UNITS = 1500
_TOLD = (State.ACCEPTED, State.RESOLVED, State.REGRESSION)

# -- what is seen ---------------------------------------------------------------------------------------


def _project(tx: Tx, desk: Desk, lane: str) -> str:
    session = tx.runs.current_session(lane)
    return session.project if session is not None else desk.project


def _listing(tx: Tx, desk: Desk, project: str, states: patterns.States = SHOWN) -> list[Standing]:
    now, limits = desk.clock.now(), patterns.thresholds_of(desk.settings)
    found = patterns.listing(tx, desk.sightings.seen, project, now, limits, states)
    return [each for each in found if each.key.project in (project, "") or each.ruling is not None]


def _find(tx: Tx, desk: Desk, id: str, project: str) -> list[Standing]:
    return patterns.find(tx, desk.sightings.seen, id, project, desk.clock.now())


def _counts(one: Standing, language: str) -> str:
    told = {"failures": one.pattern.failures, "calls": one.calls, "sessions": one.pattern.sessions}
    return say("pattern.counts", language, state=say(f"pattern.{one.state.value}", language), **told)


def _draft(one: Standing, language: str) -> Draft:
    """Write a pattern's card: what agents are or would be told, and the evidence."""
    draft = Draft().bold(one.id).line(_counts(one, language)).line()
    draft.line(say("pattern.told" if one.state in _TOLD else "pattern.would_tell", language)).line()
    draft.quote(one.line.removeprefix("- ")).line()
    if one.pattern.last_cmd:
        draft.plain(say("pattern.last", language)).code(clip(one.pattern.last_cmd, _LINE_UNITS)).line()
    if one.pattern.last_error:
        draft.pre(clip(one.pattern.last_error, 300)).line()
    if one.pattern.last_recovery:
        draft.plain(say("pattern.worked", language)).code(clip(one.pattern.last_recovery, _LINE_UNITS)).line()
    return draft


def _show_card(tx: Tx, desk: Desk, one: Standing, lane: str, now: float) -> None:
    language, ref = chats.language_in(tx, lane), f"pattern:{desk.ids.token()}"
    message, token = _card(tx, desk, one, lane, ref, language, now)
    post(tx, lane, message, now=now, ref=ref, tokens=(token,))


def _card(
    tx: Tx, desk: Desk, one: Standing, lane: str, ref: str, language: str, now: float
) -> tuple[Message, str]:
    facts = {"id": one.id, "project": one.key.project, "version": one.version}
    token = delivery.new_button(tx, desk.ids, Kind.PATTERN, lane, ref, now, facts)
    draft = _draft(one, language)
    if one.state not in (*_TOLD, State.REJECTED):
        draft.line().italic(say("pattern.note_hint", language))
    return draft.message(_keys(one, token, language)), token


def _keys(one: Standing, token: str, language: str) -> Keyboard:
    def key(name: str, **values: object) -> Key:
        return Key(say(f"button.{name}", language, **values), encode(Kind.PATTERN, token, name))

    match one.state:
        case State.REJECTED:
            return ((key("reopen"),),)
        case state if state in _TOLD:
            return ((key("take_out"), key("everywhere")),)
        case _:
            verb = one.key.whole.id.partition(":")[2] or one.key.tool
            return ((key("approve"),), (key("this_error"), key("everything", verb=verb)))


# -- decisions ------------------------------------------------------------------------------------------


def _by(user: str, now: float) -> By:
    return By(user, now)


def _decide(
    tx: Tx, desk: Desk, word: str, id: str, project: str, by: By, note: str = "", version: str | None = None
) -> tuple[list[Ruling], tuple[str, ...]]:
    """Decide in this transaction; give what was decided and the skills whose files go."""
    seen, settings = desk.sightings.seen, desk.settings

    def act(tx: Tx) -> list[Ruling]:
        match word:
            case "accept":
                return pattern_gate.accept(tx, seen, settings, id, project, by, note=note, version=version)
            case "reject":
                return patterns.reject(tx, seen, id, project, by)
            case "promote":
                return pattern_gate.promote(tx, seen, settings, id, project, by)
            case "demote":
                return pattern_gate.demote(tx, id, project, by)
            case "everywhere":
                return patterns.spread(tx, id, project, by, is_global=True)
            case _:
                return patterns.reopen(tx, id, project, by)

    decided, gone = pattern_gate.settle(tx, by, act)  # type: ignore[arg-type]  # our Tx is a CoreTx
    return decided, tuple(gone)


def tap_pattern(tx: Tx, desk: Desk, tap: Tap) -> Reply | None:
    """Open a card from a list, or decide on the pattern of a card."""
    if "ids" in tap.payload:
        ids: Sequence[str] = tap.payload["ids"]
        if tap.choice.isdigit() and int(tap.choice) < len(ids):
            project = _project(tx, desk, tap.lane)
            for one in _find(tx, desk, ids[int(tap.choice)], project):
                _show_card(tx, desk, one, tap.lane, tap.now)
        return None
    if not people.may_decide(tx, desk.settings, int(tap.user)):
        return Reply(toast=say("toast.not_approver", tap.language), is_alert=True)
    id, project = str(tap.payload["id"]), str(tap.payload["project"])
    words = {"approve": "accept", "this_error": "reject", "everything": "reject", "take_out": "reject"}
    word = words.get(tap.choice, tap.choice)
    target = id.partition("#")[0] if tap.choice == "everything" else id
    version = str(tap.payload["version"]) if word == "accept" else None
    try:
        _, gone = _decide(tx, desk, word, target, project, _by(tap.user, tap.now), version=version)
    except Stale as error:
        _refresh(tx, desk, tap, id, project)
        return Reply(toast=say_error(error, tap.language), is_alert=True)
    _refresh(tx, desk, tap, id, project)
    return Reply(toast=say(f"pattern.done_{word}", tap.language), gone_skills=gone)


def _refresh(tx: Tx, desk: Desk, tap: Tap, id: str, project: str) -> None:
    try:
        one = _find(tx, desk, id, project)[0]
    except NotFound:
        edit(tx, tap.lane, tap.button.ref, Message(id), now=tap.now)
        return
    message, _ = _card(tx, desk, one, tap.lane, tap.button.ref, tap.language, tap.now)
    edit(tx, tap.lane, tap.button.ref, message, now=tap.now)


def reply_note(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Take a reply to a card as the person's own text for it: it accepts, and replaces the generic line."""
    if not people.may_decide(tx, desk.settings, int(said.user)):
        post(tx, said.lane, Message(say("toast.not_approver", said.language)), now=said.now)
        return None
    button = tx.buttons.of(said.about, Kind.PATTERN)
    if button is None:
        post(tx, said.lane, Message(say("toast.expired", said.language)), now=said.now)
        return None
    facts: dict[str, str] = json.loads(button.payload)
    by = _by(said.user, said.now)
    _, gone = _decide(tx, desk, "accept", facts["id"], facts["project"], by, note=said.text)
    for one in _find(tx, desk, facts["id"], facts["project"]):
        _show_card(tx, desk, one, said.lane, said.now)
    return Reply(gone_skills=gone)


# -- commands -------------------------------------------------------------------------------------------


def show(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """`/patterns [all]`: what recurs in this chat's project, best first."""
    project = _project(tx, desk, said.lane)
    states = tuple(State) if said.text.strip().lower() == "all" else SHOWN
    found = _listing(tx, desk, project, states)[:PAGE_SIZE]
    if not found:
        post(tx, said.lane, Message(say("pattern.none", said.language)), now=said.now)
        return None
    draft = Draft().bold(say("pattern.title", said.language)).line()
    for number, one in enumerate(found, 1):
        draft.line(f"{number}. ").bold(one.id).line(_counts(one, said.language))
        draft.line(clip(one.line.removeprefix("- "), _LINE_UNITS)).line()
    ref, ids = f"patterns:{desk.ids.token()}", [one.id for one in found]
    token = delivery.new_button(tx, desk.ids, Kind.PATTERN, said.lane, ref, said.now, {"ids": ids})
    keys = [Key(str(i + 1), encode(Kind.PATTERN, token, str(i))) for i in range(len(ids))]
    keyboard = tuple(tuple(keys[i : i + 4]) for i in range(0, len(keys), 4))
    post(tx, said.lane, draft.message(keyboard), now=said.now, ref=ref, tokens=(token,))
    return None


def evolver(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Take pi-evolver's commands as typed there (product.md 4), `reopen` beside them."""
    word, id, note = _typed_words(said.text)
    match word:
        case "" | "status":
            return show(tx, desk, replace(said, text=""))
        case "skills":
            _show_skills(tx, desk, said)
            return None
        case "show" if id:
            for one in _find(tx, desk, id, _project(tx, desk, said.lane)):
                _show_card(tx, desk, one, said.lane, said.now)
            return None
        case "accept" | "reject" | "reopen" | "promote" | "demote" if id:
            return _typed(tx, desk, said, word, id, note)
        case _:
            post(tx, said.lane, Message(say("pattern.evolver_usage", said.language)), now=said.now)
            return None


def _typed_words(text: str) -> tuple[str, str, str]:
    """Give the subcommand, what it is about, and the rest."""
    word, id, note = (*text.split(maxsplit=2), "", "", "")[:3]
    return word.lower(), id, note


def _show_skills(tx: Tx, desk: Desk, said: Said) -> None:
    """List the skills that patterns became; `/skills` shows all, and who has which."""
    held = [each for each in tx.rulings.of() if each.skill]
    if not held:
        post(tx, said.lane, Message(say("pattern.no_skills", said.language)), now=said.now)
        return
    draft = Draft().bold(say("pattern.skills", said.language)).line()
    for each in held[:MAX_SKILLS]:
        skill = pattern_skills.compiled(tx, each, desk.settings)
        draft.line(f"– {skill.name} · {clip(skill.description, _LINE_UNITS)}")
    draft.line().line(say("pattern.skills_hint", said.language))
    post(tx, said.lane, draft.message(), now=said.now)


def _typed(tx: Tx, desk: Desk, said: Said, word: str, id: str, note: str) -> Reply | None:
    if not people.may_decide(tx, desk.settings, int(said.user)):
        post(tx, said.lane, Message(say("toast.not_approver", said.language)), now=said.now)
        return None
    project = _project(tx, desk, said.lane)
    decided, gone = _decide(tx, desk, word, id, project, _by(said.user, said.now), note=note)
    names = ", ".join(key_of(each).id for each in decided)
    draft = Draft().line(f"{say(f'pattern.done_{word}', said.language)} {names}")
    if word in ("accept", "promote"):
        _tell_skills(tx, desk, draft, decided, said.language)
    post(tx, said.lane, draft.message(), now=said.now)
    return Reply(gone_skills=gone)


def _tell_skills(tx: Tx, desk: Desk, draft: Draft, decided: Sequence[Ruling], language: str) -> None:
    """Show the skills that came of a decision, whole: their agent may read them from now on."""
    for each in decided[:MAX_CARDS]:
        if each.skill:
            skill = pattern_skills.compiled(tx, each, desk.settings)
            draft.line().bold(say("pattern.done_skill", language, skill=skill.name)).line()
            draft.line(skill.description).pre(clip(skill.body, _BODY_UNITS)).line()


# -- in the deck of /review -----------------------------------------------------------------------------


def _waiting(tx: Tx, desk: Desk, now: float) -> list[str]:
    del now
    found = _everywhere(tx, desk, (State.CANDIDATE, State.REGRESSION))
    return [_name(one) for one in found if one.state is State.CANDIDATE]


def _everywhere(tx: Tx, desk: Desk, states: patterns.States) -> list[Standing]:
    now, limits = desk.clock.now(), patterns.thresholds_of(desk.settings)
    return patterns.listing(tx, desk.sightings.seen, None, now, limits, states)


def _name(one: Standing) -> str:
    return json.dumps([one.key.project, one.id])


def _named(tx: Tx, desk: Desk, name: str) -> Standing:
    project, id = json.loads(name)
    return _find(tx, desk, id, project)[0]


def _stamp(tx: Tx, desk: Desk, name: str) -> str:
    try:
        one = _named(tx, desk, name)
    except AutoImproveError:
        return "gone"
    return f"{one.state}:{one.version}"


def _card_draft(tx: Tx, desk: Desk, name: str, language: str) -> Draft:
    return _draft(_named(tx, desk, name), language)


def _decided(
    tx: Tx, desk: Desk, name: str, is_yes: bool, user: str, language: str, now: float
) -> tuple[str, tuple[str, ...]]:
    project, id = json.loads(name)
    word = "accept" if is_yes else "reject"
    _, gone = _decide(tx, desk, word, id, project, _by(user, now))
    return say(f"pattern.done_{word}", language), gone


def _detail(tx: Tx, desk: Desk, name: str, lane: str, now: float) -> None:
    _show_card(tx, desk, _named(tx, desk, name), lane, now)


def _offered(tx: Tx, desk: Desk, now: float) -> list[str]:
    del now
    return [_name(one) for one in pattern_skills.offers(_everywhere(tx, desk, _TOLD), desk.settings)]


def _offer_draft(tx: Tx, desk: Desk, name: str, language: str) -> Draft:
    one = _named(tx, desk, name)
    if one.ruling is None:
        return _draft(one, language)
    skill = pattern_skills.compiled(tx, one.ruling, desk.settings)
    draft = Draft().bold(say("pattern.offer", language, skill=skill.name, id=one.id)).line()
    return draft.line(skill.description).line().pre(clip(skill.body, _BODY_UNITS))


def _offer_decided(
    tx: Tx, desk: Desk, name: str, is_yes: bool, user: str, language: str, now: float
) -> tuple[str, tuple[str, ...]]:
    one = _named(tx, desk, name)
    if not is_yes or one.ruling is None:
        return say("pattern.done_later", language), ()
    kept = pattern_skills.record(tx, one.ruling, desk.settings, _by(user, now))
    return say("pattern.done_skill", language, skill=kept.skill), ()


COMMANDS = (Command("patterns", "learning", show), Command("evolver", "learning", evolver))
TAPS = {Kind.PATTERN: tap_pattern}
REPLIES = {"pattern": reply_note}
SOURCE = Source("pattern", _waiting, _stamp, _card_draft, _decided, _detail)
OFFERS = Source("skill", _offered, _stamp, _offer_draft, _offer_decided, _detail)
