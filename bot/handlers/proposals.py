"""The human gate in the chat: decide by button or by reply (product.md 1.4)."""

from collections.abc import Callable

from bot import cards, delivery, keyboards, offers, people, views
from bot.callbacks import Kind, encode
from bot.deck import Source
from bot.dispatch import OnSaid, Said, Tap
from bot.draft import Draft
from bot.locales import say
from bot.offers import Taken
from bot.outbox import Key, Message, edit, post
from bot.turn import Desk, Reply
from bot.typed import word_of
from core.errors import AutoImproveError, Refused, Stale
from core.model.proposal import Proposal, Verdict
from core.rules import approval
from core.services import analysis, lessons, proposals, runs
from core.tables import Tx
from core.texts import say_error

# -- by button -------------------------------------------------------------------------------------------


def tap_proposal(tx: Tx, desk: Desk, tap: Tap) -> Reply | None:
    """Decide on, or change, the version of the proposal that the button stood under."""
    item = proposals.need_proposal(tx, str(tap.payload["proposal"]))
    if not people.may_decide(tx, desk.settings, int(tap.user)):
        return Reply(toast=say("toast.not_approver", tap.language), is_alert=True)
    try:
        return _tapped(tx, desk, tap, item)
    except Stale as error:
        current = proposals.need_proposal(tx, item.id)
        cards.refresh(tx, desk, current, tap.now)
        return Reply(toast=say_error(error, tap.language), is_alert=True)


def _tapped(tx: Tx, desk: Desk, tap: Tap, item: Proposal) -> Reply | None:
    version, now = tap.button.version, tap.now
    match tap.choice:
        case "approve" | "reject":
            return _decide(tx, desk, item, version, tap.choice, tap.user, tap.language, now)
        case "wait":
            return _decide(tx, desk, item, version, "approve", tap.user, tap.language, now)
        case "replace" | "both" | "merge":
            return offers.take(tx, desk, item, Taken(tap.choice, "", version), tap)
        case _ if tap.choice.startswith(keyboards.MAKE_ROOM):
            return offers.take(tx, desk, item, Taken("disable", keyboards.room_of(tap.choice), version), tap)
        case "edit":
            return _ask_wording(tx, desk, tap, item, version)
        case "scope":
            wanted = approval.next_scope(item.scope, item.project)
            changed = proposals.set_scope(tx, item.id, version, wanted, tap.user, now)
        case "domain":
            wanted_domain = approval.next_domain(item.domain)
            changed = proposals.set_domain(tx, item.id, version, wanted_domain, tap.user, now)
        case "separate":
            changed = proposals.keep_separate(tx, item.id, version, tap.user, now)
        case _:
            return _tapped_later(tx, desk, tap, item)
    cards.refresh(tx, desk, changed, now)
    return None


def _tapped_later(tx: Tx, desk: Desk, tap: Tap, item: Proposal) -> Reply | None:
    """Do what a remark or a decided card offers."""
    match tap.choice:
        case "remark":
            return _reword(tx, desk, item, item.remark, tap.language, tap.now)
        case "undo":
            decision = proposals.undo(tx, item.id, tap.user, tap.now)
            cards.refresh(tx, desk, decision.proposal, tap.now)
            return Reply(toast=say("toast.undone", tap.language))
        case "off" if item.result is not None:
            lessons.disable(tx, item.result, tap.user, tap.now)
            return Reply(toast=say("toast.disabled", tap.language, lesson=item.result))
        case "again" if item.run is not None:
            runs.run_again(tx, desk.ids, item.run, tap.user, tap.now)
            return Reply(toast=say("toast.again", tap.language))
        case _:
            return Reply(toast=say("toast.old_button", tap.language), is_alert=True)


def _decide(
    tx: Tx, desk: Desk, item: Proposal, version: int, word: str, user: str, language: str, now: float
) -> Reply:
    decide = proposals.approve if word == "approve" else proposals.reject
    decision = decide(tx, item.id, version, user, now)
    cards.refresh(tx, desk, decision.proposal, now)
    if decision.lesson is None:
        return Reply(toast=say("toast.rejected", language))
    key = "toast.disabled" if item.verdict is Verdict.HARMFUL else "toast.approved"
    return Reply(toast=say(key, language, lesson=decision.lesson.id))


def _ask_wording(tx: Tx, desk: Desk, tap: Tap, item: Proposal, version: int) -> Reply | None:
    asking = proposals.await_text(tx, item.id, version, "wording")
    cards.refresh(tx, desk, asking, tap.now)
    message = Message(say("proposal.ask_wording", tap.language, id=item.id), asks_reply=True)
    post(tx, tap.lane, message, now=tap.now, ref=f"wording:{item.id}:{version}", reply_to=tap.message)
    return None


def _reword(tx: Tx, desk: Desk, item: Proposal, remark: str, language: str, now: float) -> Reply:
    started = analysis.reword(tx, item.id, remark, now)
    cards.refresh(tx, desk, proposals.need_proposal(tx, item.id), now)
    del started
    return Reply(toast=say("toast.analysing", language))


# -- by reply --------------------------------------------------------------------------------------------


def reply_proposal(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Take a reply to a card: a decision, the wording it waits for, or something to ask about."""
    item = proposals.need_proposal(tx, said.about.partition(":")[2])
    return _replied(tx, desk, said, item, _take_reply)


def _replied(
    tx: Tx,
    desk: Desk,
    said: Said,
    item: Proposal,
    take: Callable[[Tx, Desk, Said, Proposal], Reply | None],
) -> Reply | None:
    if not people.may_decide(tx, desk.settings, int(said.user)):
        raise Refused("proposal.not_approver")
    try:
        return take(tx, desk, said, item)
    except Stale as error:
        cards.show(tx, desk, proposals.need_proposal(tx, item.id), said.lane, said.now)
        _say(tx, said, say_error(error, said.language))
        return None


def _take_reply(tx: Tx, desk: Desk, said: Said, item: Proposal) -> Reply | None:
    word = word_of(said.text)
    if word is not None:
        reply = _decide(tx, desk, item, item.version, word, said.user, said.language, said.now)
        _say(tx, said, reply.toast)
        return reply
    approval.require(item, item.version)
    if item.asks == "wording":
        return _take_wording(tx, desk, said, item, item.version)
    taken = offers.named(tx, desk, item, said.text)
    if taken is not None:
        _say(tx, said, _take(tx, desk, said, item, taken).toast)
        return None
    _ask_meaning(tx, desk, said, item)
    return None


def _take(tx: Tx, desk: Desk, said: Said, item: Proposal, taken: Taken) -> Reply:
    if taken.what == "wait":
        return _decide(tx, desk, item, taken.version, "approve", said.user, said.language, said.now)
    return offers.take(tx, desk, item, taken, said)


def _take_wording(tx: Tx, desk: Desk, said: Said, item: Proposal, version: int) -> Reply | None:
    changed = proposals.edit(tx, item.id, version, said.text, said.user, said.now)
    cards.show(tx, desk, changed, said.lane, said.now)
    return None


def _ask_meaning(tx: Tx, desk: Desk, said: Said, item: Proposal) -> None:
    """Ask whether a reply is the wording itself or a remark on it."""
    ref = f"meaning:{item.id}"
    facts = {"proposal": item.id, "text": said.text}
    token = delivery.new_button(tx, desk.ids, Kind.REMARK, said.lane, ref, said.now, facts, item.version)

    def key(name: str) -> Key:
        return Key(say(f"button.{name}", said.language), encode(Kind.REMARK, token, name))

    keyboard = ((key("as_wording"),), (key("as_remark"),))
    message = Message(say("proposal.which", said.language), keyboard=keyboard)
    post(tx, said.lane, message, now=said.now, ref=ref, reply_to=said.message, tokens=(token,))


def tap_meaning(tx: Tx, desk: Desk, tap: Tap) -> Reply | None:
    """Take the reply as the wording, or reword the proposal with it."""
    item = proposals.need_proposal(tx, str(tap.payload["proposal"]))
    if not people.may_decide(tx, desk.settings, int(tap.user)):
        return Reply(toast=say("toast.not_approver", tap.language), is_alert=True)
    text = str(tap.payload["text"])
    try:
        approval.require(item, tap.button.version)
        if tap.choice == "as_remark":
            reply = _reword(tx, desk, item, text, tap.language, tap.now)
        else:
            changed = proposals.edit(tx, item.id, tap.button.version, text, tap.user, tap.now)
            cards.show(tx, desk, changed, tap.lane, tap.now)
            reply = Reply()
    except AutoImproveError as error:
        return Reply(toast=say_error(error, tap.language), is_alert=True)
    edit(tx, tap.lane, tap.button.ref, Message(say("proposal.taken", tap.language)), now=tap.now)
    return reply


def reply_wording(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Take the wording that `Edit` asked for."""
    _, id, version = said.about.split(":")
    item = proposals.need_proposal(tx, id)
    return _replied(
        tx, desk, said, item, lambda tx, desk, said, item: _take_wording(tx, desk, said, item, int(version))
    )


def bare_word(otherwise: OnSaid) -> OnSaid:
    """Make the taker of messages that reply to nothing: a bare yes or no right under a card decides on it."""

    def take(tx: Tx, desk: Desk, said: Said) -> Reply | None:
        item = cards.newest_of(tx, said.lane) if word_of(said.text) is not None else None
        if item is None or not people.may_decide(tx, desk.settings, int(said.user)):
            return otherwise(tx, desk, said)
        return _replied(tx, desk, said, item, _take_reply)

    return take


# -- an analysis without a proposal ----------------------------------------------------------------------


def tap_analysis(tx: Tx, desk: Desk, tap: Tap) -> Reply | None:
    """Do what a failed or fruitless analysis offers."""
    id = str(tap.payload["analysis"])
    match tap.choice:
        case "retry":
            analysis.retry(tx, id, tap.now)
            cards.close_choices(tx, id, tap.lane, say("toast.analysing", tap.language), tap.now)
            return Reply(toast=say("toast.analysing", tap.language))
        case "sharpen":
            vote = analysis.need_analysis(tx, id).feedback
            analysis.sharpen(tx, str(tap.payload["lesson"]), vote, tap.now)
            return Reply(toast=say("toast.analysing", tap.language))
        case "words":
            made = analysis.use_my_words(tx, id, tap.now)
            cards.close_choices(tx, id, tap.lane, say("analysis.own_words", tap.language), tap.now)
            cards.show_or_refresh(tx, desk, made, tap.lane, tap.now)
            return None
        case _:
            message = Message(say("analysis.ask_rule", tap.language), asks_reply=True)
            post(tx, tap.lane, message, now=tap.now, ref=f"write:{id}", reply_to=tap.message)
            return None


def reply_write(tx: Tx, desk: Desk, said: Said) -> Reply | None:
    """Take the rule that `Write it myself` asked for; it is a proposal until it is approved."""
    id = said.about.partition(":")[2]
    made = analysis.write_myself(tx, id, said.text, said.now)
    cards.close_choices(tx, id, said.lane, say("analysis.own_words", said.language), said.now)
    cards.show_or_refresh(tx, desk, made, said.lane, said.now)
    return None


def _say(tx: Tx, said: Said, text: str) -> None:
    post(tx, said.lane, Message(text), now=said.now, reply_to=said.message or None)


TAPS = {Kind.PROPOSAL: tap_proposal, Kind.REMARK: tap_meaning, Kind.ANALYSIS: tap_analysis}
REPLIES = {"proposal": reply_proposal, "wording": reply_wording, "write": reply_write}


# -- in the deck of /review ----------------------------------------------------------------------------


def _waiting(tx: Tx, desk: Desk, now: float) -> list[str]:
    del desk, now
    return [item.id for item in tx.proposals.all(pending_only=True)]


def _stamp(tx: Tx, desk: Desk, id: str) -> str:
    del desk
    item = proposals.need_proposal(tx, id)
    return f"{item.state}:{item.version}"


def _draft(tx: Tx, desk: Desk, id: str, language: str) -> Draft:
    item = proposals.need_proposal(tx, id)
    return views.proposal_draft(item, language, cards.facts_of(tx, desk, item))


def _decided(
    tx: Tx, desk: Desk, id: str, is_yes: bool, user: str, language: str, now: float
) -> tuple[str, tuple[str, ...]]:
    item, word = proposals.need_proposal(tx, id), "approve" if is_yes else "reject"
    return _decide(tx, desk, item, item.version, word, user, language, now).toast, ()


def _detail(tx: Tx, desk: Desk, id: str, lane: str, now: float) -> None:
    cards.show(tx, desk, proposals.need_proposal(tx, id), lane, now)


SOURCE = Source("proposal", _waiting, _stamp, _draft, _decided, _detail)
