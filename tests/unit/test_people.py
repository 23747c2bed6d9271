"""Who is allowed, who decides, who owns: settings and one-time links."""

import json

import pytest

from bot import people
from bot.settings import BotSettings
from tests.factories import NOW, World

ADA, BOB, EVE = 1001, 1002, 1003
DAY_S = 86_400.0


def settings(*allowed: int, approvers: tuple[int, ...] = ()) -> BotSettings:
    """Give settings with these people."""
    return BotSettings(allowed_users=allowed, approvers=approvers)  # type: ignore[call-arg]


def invited(world: World, *, is_for_owner: bool = False) -> str:
    """Make a link; give its code."""
    return world.act(lambda tx: people.invite(tx, world.ids, str(ADA), NOW, is_for_owner=is_for_owner))


def use(
    world: World, code: str, user: int = BOB, *, after_s: float = 0.0, own: BotSettings | None = None
) -> bool:
    """Follow a link; say whether it let somebody in."""
    there = own or settings(ADA)
    return world.act(lambda tx: people.redeem(tx, there, code, user, "Bob", NOW + after_s)) is not None


def test_a_link_lets_one_person_in() -> None:
    """Who followed it is allowed from then on."""
    world = World()

    was_let_in = use(world, invited(world))

    assert was_let_in
    assert people.is_allowed(world.tx, settings(ADA), BOB)


def test_a_link_works_once() -> None:
    """The second person stays outside."""
    world = World()
    code = invited(world)
    use(world, code)

    assert not use(world, code, EVE)
    assert not people.is_allowed(world.tx, settings(ADA), EVE)


@pytest.mark.parametrize(("after_s", "is_good"), [(DAY_S - 1, True), (DAY_S, False)])
def test_a_link_ends_after_a_day(after_s: float, is_good: bool) -> None:
    """Not a second longer."""
    world = World()

    assert use(world, invited(world), after_s=after_s) is is_good


@pytest.mark.parametrize("code", ["", "x", "A" * 64, "token-id-000001"])
def test_a_wrong_code_has_no_effect(code: str) -> None:
    """Nothing is stored, the real one still works."""
    world = World()
    right = invited(world)

    assert (use(world, code), people.joined(world.tx)) == (False, [])
    assert use(world, right)


def test_who_is_in_already_does_not_use_a_link_up() -> None:
    """It is still there for the colleague."""
    world = World()
    code = invited(world)

    assert not use(world, code, ADA)
    assert use(world, code, BOB)


def test_the_store_keeps_no_code() -> None:
    """Who reads the file cannot come in."""
    world = World()
    code = invited(world)

    assert code not in json.dumps([world.tx.settings.get(name) for name in ("invitations", "people")])


def test_the_terminal_pairs_the_owner() -> None:
    """Where no setting names one."""
    world = World()
    own = settings()

    use(world, invited(world, is_for_owner=True), own=own)

    assert people.owner(world.tx, own) == BOB
    use(world, invited(world), EVE, own=own)
    assert people.owner(world.tx, own) == BOB


def test_a_new_link_for_the_owner_ends_the_one_before() -> None:
    """A link left in an old terminal is worth nothing."""
    world = World()
    old, new = invited(world, is_for_owner=True), invited(world, is_for_owner=True)

    assert not use(world, old, EVE, own=settings())
    assert use(world, new, own=settings())


def test_another_owner_takes_the_place_of_the_first() -> None:
    """There is one; who was it before stays allowed."""
    world = World()
    own = settings()
    use(world, invited(world, is_for_owner=True), BOB, own=own)
    use(world, invited(world, is_for_owner=True), EVE, own=own)

    assert (people.owner(world.tx, own), people.is_allowed(world.tx, own, BOB)) == (EVE, True)


def test_the_first_of_the_settings_owns_the_bot() -> None:
    """A setting is stronger than what is stored."""
    world = World()
    use(world, invited(world, is_for_owner=True), own=settings())

    assert people.owner(world.tx, settings(ADA)) == ADA


@pytest.mark.parametrize(
    ("approvers", "deciders"), [((), {ADA, BOB}), ((ADA,), {ADA}), ((BOB,), {BOB}), ((ADA, EVE), {ADA})]
)
def test_approvers_decide_and_by_default_all_allowed(approvers: tuple[int, ...], deciders: set[int]) -> None:
    """Somebody who is not allowed never decides."""
    world = World()
    use(world, invited(world))
    there = settings(ADA, approvers=approvers)

    assert {user for user in (ADA, BOB, EVE) if people.may_decide(world.tx, there, user)} == deciders


def test_who_came_in_by_a_link_can_be_shown_out() -> None:
    """From then on they are a stranger."""
    world = World()
    use(world, invited(world))

    gone = world.act(lambda tx: people.remove(tx, BOB, str(ADA), NOW))

    assert gone is not None and gone.name == "Bob"
    assert not people.is_allowed(world.tx, settings(ADA), BOB)


def test_the_owner_is_not_shown_out() -> None:
    """A bot always has one."""
    world = World()
    use(world, invited(world, is_for_owner=True), own=settings())

    assert world.act(lambda tx: people.remove(tx, BOB, str(BOB), NOW)) is None
    assert people.owner(world.tx, settings()) == BOB


def test_open_links_are_bounded() -> None:
    """The oldest gives way."""
    world = World()
    codes = [invited(world) for _ in range(people.MAX_OPEN + 1)]

    assert not use(world, codes[0])
    assert use(world, codes[-1])


def test_who_came_and_went_is_in_the_audit_log() -> None:
    """Also who invited them."""
    world = World()
    use(world, invited(world))
    world.act(lambda tx: people.remove(tx, BOB, str(ADA), NOW))

    assert [(each.verb, each.subject) for each in world.tx.runs.activities(0)] == [
        ("join", str(BOB)),
        ("leave", str(BOB)),
    ]


def test_a_link_names_the_bot_and_the_code() -> None:
    """Telegram hands the code back as /start CODE, which takes 64 characters of this alphabet."""
    assert people.link("house_bot", "a-B_9") == "https://t.me/house_bot?start=a-B_9"
