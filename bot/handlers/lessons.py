"""`/lessons` and what belongs to it: pages, cards, add, remove, what a run was told and the next will be."""

from bot import chats, delivery, people, views
from bot.callbacks import Kind, encode
from bot.dispatch import Command, Said, Tap
from bot.draft import Draft
from bot.locales import say
from bot.outbox import Attachment, Key, Keyboard, Message, attach, edit, post
from bot.turn import Desk, Reply
from bot.views import PAGE_SIZE, Page
from core.model.ids import LessonId
from core.model.lesson import Domain, Lesson, Scope
from core.rules import approval
from core.services import lessons, runs
from core.services.lessons import Filters
from core.tables import Tx

MAX_SHOWN_UNITS = 3500
_TOLD_PER_CARD = 12

# -- lists -----------------------------------------------------------------------------------------------


def show(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """`/lessons [global|project|domain NAME|inactive|search WORDS|off|on]`."""
    session = chats.session_of(tx, desk, said.lane, said.language, said.now)
    word, _, rest = said.text.partition(" ")
    if word in ("off", "on"):
        runs.switch_lessons(tx, session.id, is_off=word == "off")
        post(tx, said.lane, Message(say(f"lessons.{word}", said.language)), now=said.now)
        return None
    if word and _filters(said.text, session.project) is None:
        post(tx, said.lane, Message(say("lessons.usage", said.language)), now=said.now)
        return None
    del rest
    ref = f"lessons:{desk.ids.token()}"
    message, token = _page(tx, desk, said.lane, ref, said.text, 0, said.language, said.now)
    post(tx, said.lane, message, now=said.now, ref=ref, tokens=(token,))
    return None


def _filters(text: str, project: str) -> Filters | None:
    """Read what a list is to show; None where it is not understood."""
    word, _, rest = text.strip().partition(" ")
    match word.lower():
        case "":
            return Filters(project)
        case "global" | "project":
            return Filters(project, scope=Scope(word.lower()))
        case "inactive":
            return Filters(project, is_active=False)
        case "search" if rest.strip():
            return Filters(project, words=rest)
        case "domain" if rest.strip().lower() in list(Domain):
            return Filters(project, domain=Domain(rest.strip().lower()))
        case name if name in list(Domain):
            return Filters(project, domain=Domain(name))
        case _:
            return None


def _page(
    tx: Tx, desk: Desk, lane: str, ref: str, text: str, number: int, language: str, now: float
) -> tuple[Message, str]:
    """Give one page of a list and the token of its buttons."""
    session = tx.runs.current_session(lane)
    project = session.project if session is not None else desk.project
    filters = _filters(text, project) or Filters(project)
    found = lessons.listing(tx, filters)
    pages = max(1, -(-len(found) // PAGE_SIZE))
    number = min(max(number, 0), pages - 1)
    shown = found[number * PAGE_SIZE : (number + 1) * PAGE_SIZE]
    told = set(chats.block_for(tx, desk.settings, session).told_ids) if session is not None else set()
    title = say("lessons.title", language, filter=f" · {text.strip()}" if text.strip() else "")
    page = Page(tuple((each, each.id in told) for each in shown), number, pages, len(found), title)
    facts = {"list": text, "page": number, "ids": [each.id for each in shown]}
    token = delivery.new_button(tx, desk.ids, Kind.LESSONS, lane, ref, now, facts)
    return views.lessons_page(page, language, _page_keys(token, len(shown), number, pages)), token


def _page_keys(token: str, count: int, number: int, pages: int) -> Keyboard:
    keys = [Key(str(i + 1), encode(Kind.LESSONS, token, str(i))) for i in range(count)]
    rows = [tuple(keys[:4]), tuple(keys[4:])]
    turns = []
    if number > 0:
        turns.append(Key("◀", encode(Kind.LESSONS, token, "prev")))
    if number < pages - 1:
        turns.append(Key("▶", encode(Kind.LESSONS, token, "next")))
    return tuple(row for row in (*rows, tuple(turns)) if row)


# -- cards -----------------------------------------------------------------------------------------------


def _card(tx: Tx, desk: Desk, id: str, lane: str, ref: str, language: str, now: float) -> tuple[Message, str]:
    card = lessons.card(tx, id)
    lesson = card.lesson
    token = delivery.new_button(
        tx, desk.ids, Kind.LESSONS, lane, ref, now, {"lesson": lesson.id}, lesson.revision
    )

    def key(name: str, choice: str) -> Key:
        return Key(say(f"button.{name}", language), encode(Kind.LESSONS, token, choice))

    toggle = key("disable", "toggle") if lesson.active else key("enable", "toggle")
    keyboard = ((key("edit", "edit"), toggle), (key(f"scope_{lesson.scope.value}", "scope"),))
    return views.lesson_card(card, language, keyboard, _effect(tx, lesson, language)), token


def _effect(tx: Tx, lesson: Lesson, language: str) -> str:
    """Say what votes tell about a lesson: shares of 👎 with their intervals, nothing without votes."""
    from core.services import effect  # noqa: PLC0415 -- an idle bot does not pay for it

    found = effect.of_lesson(tx, lesson)
    if not found.told.runs:
        return ""
    told, untold = found.told_share, found.untold_share
    shares = {
        "with_it": say("share", language, low=round(100 * told.low), high=round(100 * told.high)),
        "without": say("share", language, low=round(100 * untold.low), high=round(100 * untold.high)),
    }
    return say("stats.effect", language, **shares, told=found.told.runs, untold=found.untold.runs)


def tap_lessons(tx: Tx, desk: Desk, tap: Tap) -> Reply | None:
    """Turn a page, open a card, or change the lesson on a card."""
    if "lesson" in tap.payload:
        return _tap_card(tx, desk, tap)
    ids: list[str] = tap.payload["ids"]
    if tap.choice.isdigit() and int(tap.choice) < len(ids):
        _show_card(tx, desk, ids[int(tap.choice)], tap.lane, tap.language, tap.now)
        return None
    step = {"prev": -1, "next": 1}.get(tap.choice, 0)
    number = int(tap.payload["page"]) + step
    text, ref = str(tap.payload["list"]), tap.button.ref
    message, _ = _page(tx, desk, tap.lane, ref, text, number, tap.language, tap.now)
    edit(tx, tap.lane, ref, message, now=tap.now)
    return None


def _show_card(tx: Tx, desk: Desk, id: str, lane: str, language: str, now: float) -> None:
    ref = f"lesson:{id}:{desk.ids.token()}"
    message, token = _card(tx, desk, id, lane, ref, language, now)
    post(tx, lane, message, now=now, ref=ref, tokens=(token,))


def _tap_card(tx: Tx, desk: Desk, tap: Tap) -> Reply | None:
    if not people.may_decide(tx, desk.settings, int(tap.user)):
        return Reply(toast=say("toast.not_approver", tap.language), is_alert=True)
    lesson, toast = lessons.card(tx, str(tap.payload["lesson"])).lesson, ""
    if lesson.revision != tap.button.version and tap.choice != "edit":
        toast = say("toast.changed", tap.language)
    else:
        toast = _change(tx, tap, lesson)
    if tap.choice == "edit":
        message = Message(say("lesson.ask_rule", tap.language, lesson=lesson.id), asks_reply=True)
        post(tx, tap.lane, message, now=tap.now, ref=f"rule:{lesson.id}", reply_to=tap.message)
        return None
    message, _ = _card(tx, desk, lesson.id, tap.lane, tap.button.ref, tap.language, tap.now)
    edit(tx, tap.lane, tap.button.ref, message, now=tap.now)
    return Reply(toast=toast)


def _change(tx: Tx, tap: Tap, lesson: Lesson) -> str:
    """Do what a button of a lesson's card says; give the toast."""
    match tap.choice:
        case "toggle" if lesson.active:
            lessons.disable(tx, lesson.id, tap.user, tap.now)
            return say("toast.disabled", tap.language, lesson=lesson.id)
        case "toggle":
            lessons.enable(tx, lesson.id, tap.user, tap.now)
            return say("toast.enabled", tap.language, lesson=lesson.id)
        case "scope":
            session = tx.runs.current_session(tap.lane)
            project = lesson.project or (session.project if session is not None else None)
            wanted = approval.next_scope(lesson.scope, project)
            where = project if wanted is Scope.PROJECT else None
            lessons.set_scope(tx, lesson.id, wanted, where, tap.user, tap.now)
            return views.scope_name(wanted, where, tap.language)
        case _:
            return ""


def reply_rule(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Take the new wording of a lesson that its card asked for."""
    if not people.may_decide(tx, desk.settings, int(said.user)):
        post(tx, said.lane, Message(say("toast.not_approver", said.language)), now=said.now)
        return None
    changed = lessons.edit(tx, said.about.partition(":")[2], said.text, said.user, said.now)
    _show_card(tx, desk, changed.id, said.lane, said.language, said.now)
    return None


# -- by command ------------------------------------------------------------------------------------------


def add(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """`/lesson_add [domain] [project] rule`."""
    if not people.may_decide(tx, desk.settings, int(said.user)):
        post(tx, said.lane, Message(say("toast.not_approver", said.language)), now=said.now)
        return None
    session = chats.session_of(tx, desk, said.lane, said.language, said.now)
    domain, scope, rule = _placed(said.text)
    if not rule:
        post(tx, said.lane, Message(say("lesson.add_usage", said.language)), now=said.now)
        return None
    project = session.project if scope is Scope.PROJECT else None
    made = lessons.add(tx, rule, domain, scope, project, said.user, "telegram", said.now)
    _show_card(tx, desk, made.id, said.lane, said.language, said.now)
    return None


def _placed(text: str) -> tuple[Domain, Scope, str]:
    """Take a leading domain and a leading "project" off a typed rule."""
    domain, scope, words = Domain.GENERAL, Scope.GLOBAL, text.split()
    for _ in range(2):
        first = words[0].lower() if words else ""
        if first in list(Domain):
            domain, words = Domain(first), words[1:]
        elif first == "project":
            scope, words = Scope.PROJECT, words[1:]
    return domain, scope, " ".join(words)


def remove(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """`/lesson_remove id`: disables it; nothing is deleted."""
    if not people.may_decide(tx, desk.settings, int(said.user)):
        text = say("toast.not_approver", said.language)
    elif not said.text:
        text = say("lesson.remove_usage", said.language)
    else:
        gone = lessons.disable(tx, said.text.split()[0].lower(), said.user, said.now)
        text = say("toast.disabled", said.language, lesson=gone.id)
    post(tx, said.lane, Message(text), now=said.now)
    return None


def why(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """`/why`: the lessons that an answer's run was told, each with its card."""
    kind, _, name = said.about.partition(":")
    session = tx.runs.current_session(said.lane)
    run = runs.need_run(tx, name) if kind == "run" else None
    if run is None and session is not None:
        run = runs.last_run(tx, session.id)
    if run is None:
        post(tx, said.lane, Message(say("vote.no_run", said.language)), now=said.now)
        return None
    told = [lesson for id in run.told if (lesson := tx.lessons.get(LessonId(id))) is not None]
    draft = Draft().bold(say("why.title" if told else "why.nothing", said.language)).line()
    for index, lesson in enumerate(told[:_TOLD_PER_CARD], 1):
        draft.line(views.lesson_line(index, lesson, is_told=True))
    ref, ids = f"why:{desk.ids.token()}", [lesson.id for lesson in told[:_TOLD_PER_CARD]]
    token = delivery.new_button(
        tx, desk.ids, Kind.LESSONS, said.lane, ref, said.now, {"list": "", "page": 0, "ids": ids}
    )
    keys = [Key(str(i + 1), encode(Kind.LESSONS, token, str(i))) for i in range(len(ids))]
    keyboard = tuple(tuple(keys[i : i + 6]) for i in range(0, len(keys), 6))
    post(tx, said.lane, draft.message(keyboard), now=said.now, ref=ref, tokens=(token,))
    return None


def context(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """`/context`: what the next run will be told, byte for byte."""
    session = chats.session_of(tx, desk, said.lane, said.language, said.now)
    block = chats.block_for(tx, desk.settings, session)
    if not block.text:
        key = "context.off" if session.is_lessons_off else "context.nothing"
        post(tx, said.lane, Message(say(key, said.language)), now=said.now)
    elif len(block.text.encode("utf-16-le")) // 2 > MAX_SHOWN_UNITS:
        file = Attachment("context.md", block.text)
        attach(tx, said.lane, file, now=said.now, ref=None, reply_to=said.message or None)
    else:
        post(tx, said.lane, Draft().pre(block.text).message(), now=said.now)
    return None


COMMANDS = (
    Command("lessons", "daily", show, is_in_menu=True),
    Command("why", "daily", why, is_in_menu=True),
    Command("lesson_add", "lessons", add),
    Command("lesson_remove", "lessons", remove),
    Command("context", "lessons", context),
    Command("evolver_lessons", "hidden", context),  # as pi-evolver calls it (product.md 4)
)
TAPS = {Kind.LESSONS: tap_lessons}
REPLIES = {"rule": reply_rule}
