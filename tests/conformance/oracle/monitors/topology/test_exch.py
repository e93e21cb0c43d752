"""EXCH: sound and broken histories, and what the history leaves open."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

X = "@open 1 \n 1 > exchange x direct \n 1 < exchange-ok \n"
FIND, AGAIN = "1 > exchange x direct passive \n", "1 > exchange x direct \n"
GONE = X + "1 > unexchange x \n 1 < unexchange-ok \n"
NOT_FOUND, UNEQUAL = "1 < closed 404 40 10 NOT_FOUND \n", "1 < closed 406 40 10 PRECONDITION_FAILED \n"
REFUSED = "1 < closed 403 40 10 ACCESS_REFUSED \n"
USED = "@queue q \n" + X + "1 > bind q x key \n 1 < bind-ok \n"
AUTO = (
    "@queue q \n @open 1 \n 1 > exchange x direct auto_delete \n 1 < exchange-ok \n 1 > bind q x key \n 1 < bind-ok \n"
)
UNBOUND, WAIT = AUTO + "1 > unbind q x key \n 1 < unbind-ok \n", "- wait 2 \n"
INTERNAL = "@open 1 \n 1 > exchange x direct internal \n 1 < exchange-ok \n 1 > publish any m1 exchange=x \n"
ALTERNATE = "@open 1 \n 1 > exchange x direct alternate-exchange=a \n 1 < exchange-ok \n"
ODD = "@open 1 \n 1 > exchange x odd \n"
ABSENT = "@open 1 \n 1 > exchange x direct passive \n" + NOT_FOUND + "1 > closed-ok \n 1 > open \n 1 < open-ok \n"
MADE = ABSENT + "1 > exchange x odd \n 1 < closed 406 40 10 unknown type \n 1 > closed-ok \n 1 > open \n 1 < open-ok \n"
MADE += "1 > exchange x direct passive \n"
RESERVED = (
    ABSENT.replace(" x ", " amq.mine ")
    + "1 > exchange amq.mine \n"
    + REFUSED
    + "1 > closed-ok \n 1 > open \n 1 < open-ok \n"
)
SOUND = {
    "EXCH-001": GONE + FIND + NOT_FOUND,
    "EXCH-002": X + "1 > exchange x fanout \n" + UNEQUAL,
    "EXCH-003": X + "1 > exchange x direct internal \n" + UNEQUAL,
    "EXCH-004": ALTERNATE + "1 > exchange x direct \n" + UNEQUAL,
    "EXCH-005": X + AGAIN + "1 < exchange-ok",
    "EXCH-006": X + "1 > exchange x topic durable passive \n 1 < exchange-ok",
    "EXCH-007": "@open 1 \n 1 > exchange amq.fanout fanout passive \n 1 < exchange-ok",
    "EXCH-008": "@open 1 \n 1 > exchange amq.mine \n" + REFUSED,
    "EXCH-009": USED + "1 > unexchange x if_unused \n 1 < closed 406 40 20 in use",
    "EXCH-010": UNBOUND + WAIT + FIND + NOT_FOUND,
    "EXCH-011": "@open 1 \n 1 > unexchange \n 1 < closed 403 40 20 ACCESS_REFUSED",
    "EXCH-012": "@open 1 \n 1 > unexchange amq.topic \n 1 < closed 403 40 20 ACCESS_REFUSED",
    "EXCH-013": INTERNAL + "1 < closed 403 60 40 ACCESS_REFUSED",
    "EXCH-014": ODD + "0 < kicked 503 40 10 COMMAND_INVALID",
    "EXCH-015": GONE + "1 > unexchange x \n 1 < unexchange-ok",
    "EXCH-016": "@open 1 \n 1 > exchange amq.topic topic passive \n 1 < exchange-ok",
    "EXCH-017": "@open 1 \n 1 > exchange amq.match headers passive \n 1 < exchange-ok",
    "EXCH-018": USED + "1 > unexchange x \n 1 < unexchange-ok",
}
BROKEN = [
    ("EXCH-014", MADE + "1 < exchange-ok"),
    ("EXCH-001", RESERVED + "1 > exchange amq.mine direct passive \n 1 < exchange-ok"),
    ("EXCH-002", X + "1 > exchange x direct durable \n 0 < kicked 530 40 10 NOT_ALLOWED"),
    ("EXCH-002", X + "1 > exchange x fanout \n 0 < kicked 406 40 10 PRECONDITION_FAILED"),
    ("EXCH-014", ODD + "1 < exchange-ok"),
    ("EXCH-015", GONE + "1 > unexchange x \n 1 < closed 404 40 20 NOT_FOUND"),
    ("EXCH-016", "@open 1 \n 1 > exchange amq.topic topic passive \n" + NOT_FOUND),
    ("EXCH-017", "@open 1 \n 1 > exchange amq.match headers passive \n" + NOT_FOUND),
    ("EXCH-018", USED + "1 > unexchange x \n 1 < closed 406 40 20 in use"),
    ("EXCH-001", GONE + FIND + "1 < exchange-ok"),
    ("EXCH-001", GONE + FIND + "0 < kicked 404 40 10 NOT_FOUND"),
    ("EXCH-001", X + "1 > unexchange x if_unused \n 1 < unexchange-ok \n" + FIND + "1 < exchange-ok"),
    ("EXCH-002", X + "1 > exchange x fanout \n 1 < exchange-ok"),
    ("EXCH-002", X + "1 > exchange x direct durable \n 1 < exchange-ok"),
    ("EXCH-003", X + "1 > exchange x direct auto_delete \n 1 < exchange-ok"),
    ("EXCH-004", ALTERNATE + "1 > exchange x direct alternate-exchange=b \n 1 < exchange-ok"),
    ("EXCH-005", X + AGAIN + UNEQUAL),
    ("EXCH-005", "@open 1 \n 1 > exchange amq.direct direct durable \n" + REFUSED),
    ("EXCH-006", X + FIND + UNEQUAL),
    ("EXCH-006", X + "d:1 > open \n d:1 < open-ok \n d:1 > exchange x direct passive \n d:1 < closed 404 40 10 no"),
    ("EXCH-007", "@open 1 \n 1 > exchange amq.fanout fanout passive \n" + NOT_FOUND),
    ("EXCH-008", "@open 1 \n 1 > exchange amq.mine \n 1 < exchange-ok"),
    ("EXCH-009", USED + "1 > unexchange x if_unused \n 1 < unexchange-ok"),
    ("EXCH-010", UNBOUND + WAIT + FIND + "1 < exchange-ok"),
    ("EXCH-010", AUTO + "1 > delete q \n 1 < delete-ok \n" + WAIT + FIND + "1 < exchange-ok"),
    ("EXCH-011", "@open 1 \n 1 > exchange \n 1 < exchange-ok"),
    ("EXCH-012", "@open 1 \n 1 > unexchange amq.topic \n 1 < unexchange-ok"),
    ("EXCH-013", INTERNAL + "- deadline replies"),
]
LAWFUL = {
    "another type is not allowed, as the text has it": X + "1 > exchange x fanout \n 0 < kicked 530 40 10 NOT_ALLOWED",
    "another durability is refused by a code of the broker's own": X
    + "1 > exchange x direct durable \n 1 < closed 405 40 10 RESOURCE_LOCKED",
    "an auto-delete exchange that goes a moment later": UNBOUND + "- wait 1 \n" + FIND + "1 < exchange-ok",
    "a type that a broker may know": "@open 1 \n 1 > exchange x x-odd \n 1 < exchange-ok",
    "a type that costs the channel": ODD + "1 < closed 406 40 10 unknown exchange type",
    "somebody else deletes it meanwhile": X + "@open 2 \n 2 > unexchange x \n" + FIND + NOT_FOUND,
    "nobody has declared it here": "@open 1 \n" + FIND + "1 < exchange-ok",
    "a predeclared one is looked for as another type": "@open 1 \n 1 > exchange amq.topic direct passive \n" + UNEQUAL,
    "a predeclared one is refused by either code": "@open 1 \n 1 > exchange amq.direct fanout \n" + REFUSED,
    "one that is the end of a binding is in use for some": X
    + "1 > exchange y \n 1 < exchange-ok \n 1 > bind-exchange x y k \n 1 < bind-exchange-ok \n"
    "1 > unexchange x if_unused \n 1 < closed 406 40 20 in use",
    "an argument of which nothing is known": X + "1 > exchange x direct x-odd=1 \n" + UNEQUAL,
    "one of two bindings is left": AUTO
    + "1 > bind q x two \n 1 < bind-ok \n 1 > unbind q x key \n 1 < unbind-ok \n"
    + FIND
    + "1 < exchange-ok",
    "an auto-delete exchange that never had a binding": "@open 1 \n 1 > exchange x direct auto_delete \n"
    "1 < exchange-ok \n" + FIND + "1 < exchange-ok",
}


def test_a_close_may_be_about_what_was_sent_before_the_mistake(play) -> None:
    """Whether that is a mistake is not known: the queue may have expired."""
    before = "@queue q classic x-expires=60000 \n @exchange x q \n @open 1 \n"
    mistake = "1 > exchange x direct no_wait \n 1 < closed 406 50 10 other"
    assert play(before + "1 > declare q durable no_wait \n" + mistake).broken == []
    assert play(before + mistake).broken == ["ERR-015"]
