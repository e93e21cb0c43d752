"""ROUTE: sound and broken histories, and the lawful ones in which nobody can tell where a message goes."""

from __future__ import annotations

import pytest

from tests.support.tables import Play, test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

Q = "@queue q \n @queue r \n @confirming 1 \n @open 2 \n"


def sent(key: str, message: str = "m1", number: int = 1, *more: str) -> str:
    """Published to x, and confirmed."""
    return f"1 > publish {key} {message} exchange=x {' '.join(more)} \n 1 < ack {number} \n"


def comes(queue: str, message: str = "m1", tag: int = 1) -> str:
    return f"2 > get {queue} no_ack \n 2 < get-ok {tag} {message} {queue} \n"


def route(kind: str, key: str, *more: str) -> str:
    """x, with q bound by this key."""
    return f"{Q} @route x {kind} {key} q {' '.join(more)} \n"


EMPTY = "@drain q \n"
LOST = "- deadline drain q \n"
ONWARD = f"{Q} @route y direct a q \n @exchange x \n 90 > bind-exchange y x \n 90 < bind-exchange-ok \n"
CIRCLE = f"{Q} @exchange x q \n 90 > bind-exchange x x \n 90 < bind-exchange-ok \n"
TWICE = f"{route('topic', 'a.#')} 90 > bind q x *.b \n 90 < bind-ok \n"
ALTERNATE = f"""{Q} @exchange y r
    90 > exchange x direct alternate-exchange=y
    90 < exchange-ok
    90 > bind q x a
    90 < bind-ok
"""
DOTTED = ALTERNATE.replace("direct", "topic").replace("bind q x a", "bind q x a.*")
REMOVED = f"{route('direct', 'a')} 90 > bind q x b \n 90 < bind-ok \n 90 > unbind q x a \n 90 < unbind-ok \n"
NAMELESS = f"{Q} 90 > exchange x direct \n 90 < exchange-ok \n 1 > declare q passive \n 1 < declare-ok q \n"
NAMELESS += "1 > bind - x \n 1 < bind-ok \n"
LOOSENED = f"{NAMELESS} 1 > unbind - x \n 1 < unbind-ok \n"
INK, TAG = "h.ink=red", "x-tag=a"
SOUND = {
    "ROUTE-001": route("direct", "a") + sent("a") + sent("b", "m2", 2) + comes("q") + EMPTY,
    "ROUTE-002": route("fanout", "a") + sent("b") + comes("q"),
    "ROUTE-003": route("topic", "a.b") + sent("a.b") + comes("q"),
    "ROUTE-004": route("topic", "a.*") + sent("a.b") + sent("a.b.c", "m2", 2) + comes("q") + EMPTY,
    "ROUTE-005": route("topic", "a.#") + sent("a") + comes("q"),
    "ROUTE-006": route("headers", "-", "ink=red") + sent("any", "m1", 1, INK, "h.more=1") + comes("q"),
    "ROUTE-007": route("headers", "-", "x-match=any", "ink=red", "size=3") + sent("any", "m1", 1, INK) + comes("q"),
    "ROUTE-008": route("headers", "-", "ink=red", "x-tag=a") + sent("any", "m1", 1, INK) + comes("q"),
    "ROUTE-009": TWICE + sent("a.b") + comes("q") + EMPTY,
    "ROUTE-010": ONWARD + sent("a") + sent("b", "m2", 2) + comes("q") + EMPTY,
    "ROUTE-011": CIRCLE + sent("a") + comes("q") + EMPTY,
    "ROUTE-012": ALTERNATE + sent("b") + comes("r"),
    "ROUTE-013": ALTERNATE + sent("a") + comes("q") + "@drain r",
    "ROUTE-014": REMOVED + sent("a") + sent("b", "m2", 2) + comes("q", "m2") + EMPTY,
    "ROUTE-015": route("direct", "a") + sent("r") + "@drain r",
    "ROUTE-016": route("topic", "a.*") + sent("a.") + comes("q"),
    "ROUTE-017": route("headers", "-", "x-match=any-with-x", TAG) + sent("any", "m1", 1, f"h.{TAG}") + comes("q"),
}
BROKEN = [
    ("ROUTE-001", route("direct", "a") + sent("A") + comes("q")),
    ("ROUTE-001", route("direct", "a") + sent("a") + LOST),
    ("ROUTE-001", NAMELESS + sent("q") + LOST),
    ("ROUTE-002", route("fanout", "a") + sent("b") + LOST),
    ("ROUTE-003", route("topic", "a.b") + sent("a.b.c") + comes("q")),
    ("ROUTE-003", route("topic", "a.b") + sent("a.b") + LOST),
    ("ROUTE-004", route("topic", "a.*") + sent("a.b.c") + comes("q")),
    ("ROUTE-004", route("topic", "a.*") + sent("a") + comes("q")),
    ("ROUTE-005", route("topic", "a.#") + sent("a") + LOST),
    ("ROUTE-005", route("topic", "#.b.#") + sent("a.c") + comes("q")),
    ("ROUTE-006", route("headers", "-", "ink=red", "size=3") + sent("any", "m1", 1, INK) + comes("q")),
    ("ROUTE-007", route("headers", "-", "x-match=any") + sent("any", "m1", 1, INK) + comes("q")),
    ("ROUTE-006", route("headers", "-", "size=3") + sent("any", "m1", 1, "h.size=three") + comes("q")),
    ("ROUTE-006", route("headers", "-", "ink=void") + sent("any", "m1", 1, INK) + LOST),
    ("ROUTE-007", route("headers", "-", "x-match=any", "ink=red", "size=3") + sent("any", "m1", 1, INK) + LOST),
    ("ROUTE-008", route("headers", "-", "ink=red", "x-tag=a") + sent("any", "m1", 1, INK) + LOST),
    ("ROUTE-009", TWICE + sent("a.b") + comes("q") + comes("q", "m1", 2)),
    ("ROUTE-010", ONWARD + sent("b") + comes("q")),
    ("ROUTE-010", ONWARD + sent("a") + LOST),
    ("ROUTE-011", CIRCLE + sent("a") + comes("q") + comes("q", "m1", 2)),
    ("ROUTE-012", ALTERNATE + sent("b") + "- deadline drain r"),
    ("ROUTE-013", ALTERNATE + sent("a") + comes("r")),
    ("ROUTE-014", REMOVED + sent("a") + comes("q")),
    ("ROUTE-014", REMOVED + sent("b") + LOST),
    ("ROUTE-015", route("direct", "a") + sent("r") + comes("r")),
    ("ROUTE-015", route("fanout", "a") + sent("b") + "90 > bind r x \n 90 < bind-ok \n" + comes("r")),
    ("ROUTE-016", route("topic", "a") + sent("a.") + comes("q")),
    ("ROUTE-016", DOTTED + sent("a.") + "- deadline drain q"),
    ("ROUTE-016", DOTTED + sent("a.") + comes("r")),
    ("ROUTE-016", DOTTED.replace("a.*", "a.") + sent("a") + "- deadline drain r"),
    ("ROUTE-012", DOTTED + sent("a") + "- deadline drain r"),
    ("ROUTE-013", DOTTED + sent("a.b") + comes("r")),
    (
        "ROUTE-017",
        route("headers", "-", "x-match=all-with-x", TAG) + sent("any", "m1", 1, "h.x-tag=b") + comes("q"),
    ),
]
MANY = 1100
FILLED = "".join(f"1 > publish q m{number} \n 1 < ack {number} \n" for number in range(2, MANY + 1))
TAKEN = "@consume 2 q c \n" + "".join(f"2 < deliver c {tag} m{tag} q \n" for tag in range(1, MANY + 1))
HEIR = "@queue r \n @queue q quorum x-dead-letter-exchange= x-dead-letter-routing-key=r \n"
LAWFUL = [
    (
        "dead letters, so many that not all are remembered",
        f"{HEIR} @route x direct a q \n @confirming 1 \n @open 2 \n @open 3 \n"
        + sent("a")
        + f"{FILLED} {TAKEN} 2 > nack {MANY} multiple \n 3 > get r no_ack \n 3 < get-ok 1 m1 r \n",
    ),
    ("bound without a name and a key", NAMELESS + sent("q") + comes("q") + EMPTY),
    ("unbound without a name and a key", LOOSENED + sent("q") + EMPTY),
    ("unbound without a key, which is another one", LOOSENED + sent("q") + comes("q")),
    ("bound while it is sent", f"{Q} @exchange x \n 90 > bind q x \n" + sent("a") + comes("q")),
    (
        "bound after it was sent, and perhaps before it was handled",
        route("fanout", "a") + "1 > publish any m1 exchange=x \n 90 > bind r x \n 90 < bind-ok \n" + comes("r"),
    ),
    ("bound on the same channel", f"{Q} @exchange x \n 1 > bind q x \n 1 < bind-ok \n" + sent("a") + comes("q")),
    ("unbound while it is sent", route("direct", "a") + "90 > unbind q x a \n" + sent("a") + comes("q")),
    ("an exchange that nobody declared", f"{Q}" + sent("a") + comes("q")),
    ("an exchange of a type of the broker's own", f"{Q} @route x x-random a q \n" + sent("b") + comes("q")),
    ("a binding with nothing to compare", route("headers", "-", "x-match=all") + sent("a") + comes("q")),
    (
        "dead letters",
        "@queue q classic x-dead-letter-exchange=x \n"
        + Q.replace("@queue q", "")
        + "@exchange x r \n"
        + sent("a")
        + comes("r"),
    ),
    (
        "a dead letter that comes again",
        "@queue s \n @queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=s \n"
        + "@confirming 1 \n @open 2 \n @exchange x q \n"
        + sent("a").replace("m1", "m1 h.x-death=q", 1)
        + "2 > get q \n 2 < get-ok 1 m1 q \n 2 > reject 1 \n"
        + "2 > get s \n 2 < get-ok 2 m1 s \n 2 > nack 2 requeue \n"
        + "2 > get s no_ack \n 2 < get-ok 3 m1 s redelivered \n",
    ),
    (
        "a message that comes again",
        route("topic", "a.#") + sent("a.b") + "2 > get q \n 2 < get-ok 1 m1 q \n"
        "2 > nack 1 requeue \n 2 > get q no_ack \n 2 < get-ok 2 m1 q redelivered \n",
    ),
    ("two messages of one id", route("direct", "a") + sent("b") + sent("a", "m1", 2) + comes("q")),
]


PAIRS = [
    ("direct", "a", "a", "", "ROUTE-001"),
    ("topic", "a.b", "a.b", "", "ROUTE-003"),
    ("topic", "a.*", "a.b", "", "ROUTE-004"),
    ("topic", "a.#", "a.b", "", "ROUTE-005"),
    ("headers", "- ink=red", "any", INK, "ROUTE-006"),
    ("headers", "- ink=red x-match=any", "any", INK, "ROUTE-007"),
]


def matched(kind: str, binding: str) -> str:
    """x, with q and r bound alike."""
    key, *arguments = binding.split()
    return f"{Q} @route x {kind} {key} q {' '.join(arguments)} \n 90 > bind r x {binding} \n 90 < bind-ok \n"


@pytest.mark.parametrize(("kind", "binding", "key", "header", "rule"), PAIRS)
@pytest.mark.parametrize("gone", ["2 > get r no_ack \n 2 < get-empty \n", "- deadline drain r \n"])
def test_what_may_not_have_matched_was_not_lost(play, kind, binding, key, header, rule, gone) -> None:
    """CNF-010: nothing like it has come to r, so it is the match that was wrong."""
    assert play(matched(kind, binding) + sent(key, "m1", 1, header) + gone).broken == [rule]


@pytest.mark.parametrize(("kind", "binding", "key", "header", "rule"), PAIRS)
def test_what_certainly_matched_was_lost(play, kind, binding, key, header, rule) -> None:
    """CNF-010: another one of the kind came to r before."""
    before = matched(kind, binding) + sent(key, "m1", 1, header) + comes("r") + sent(key, "m2", 2, header)
    assert play(before + "2 > get r no_ack \n 2 < get-empty").broken == ["CNF-010"]
    assert "CNF-010" in play(before + "- deadline drain r").broken


def test_a_match_is_not_in_doubt_where_nothing_is_to_match(play) -> None:
    """CNF-010 and RQ-011: a fanout exchange leads to every queue that is bound."""
    both = Q + "@exchange x q r \n" + sent("any")
    assert play(both + "2 > get r no_ack \n 2 < get-empty").broken == ["CNF-010"]
    assert "RQ-011" in play(route("fanout", "a") + sent("a") + LOST).broken


@pytest.mark.parametrize(("kind", "explained"), [("topic", ("ROUTE-016",)), ("direct", ())])
def test_who_passes_over_empty_words_sends_a_message_elsewhere(play, kind: str, explained: tuple[str, ...]) -> None:
    """RQ-011: LavinMQ finds `a` in `a.`, so there what goes to the alternate on others does not. One like it has come
    there before, so it is not the match that is in doubt."""
    history = ALTERNATE.replace("direct", kind) + sent("a.") + comes("r") + sent("a.", "m2", 2)
    book = play(history + "@drain r \n - deadline drain r")
    assert {one.unless for one in book.judge.judgement.findings if one.rule == "RQ-011"} == {explained}


def test_a_copy_for_each_binding_may_be_out_beside_another(play: Play) -> None:
    """As on MetalMQ: ROUTE-009, and not MODE-001 beside it."""
    twice = TWICE + sent("a.b") + "2 > get q \n 2 < get-ok 1 m1 q \n 2 > get q \n 2 < get-ok 2 m1 q \n"
    found = [(one.rule, "ROUTE-009" in one.unless) for one in play(twice).judge.judgement.findings]
    assert found == [("ROUTE-009", False), ("MODE-001", True)]
