"""What ends, what stays and what begins anew: sound and broken histories, and what races allow."""

from __future__ import annotations

from tests.support.tables import Play, test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

FIND = "1 > declare q passive \n"
NOT_FOUND, FOUND = "1 < closed 404 50 10 NOT_FOUND \n", "1 < declare-ok q \n"
D = "d:1 > open \n d:1 < open-ok \n"
LEAVES = "d:0 > bye \n d:0 < bye-ok \n"
AUTO = "@open 1 \n 1 > declare q auto_delete \n 1 < declare-ok q \n @open 2 \n 2 > consume q c1 \n 2 < consume-ok c1 \n"
WAIT = "- wait 2 \n"
CANCELLED, CLOSED = AUTO + "2 > cancel c1 \n 2 < cancel-ok c1 \n", AUTO + "2 > close \n 2 < close-ok \n"
SECOND = AUTO + D + "d:1 > consume q c2 \n d:1 < consume-ok c2 \n 2 > cancel c1 \n 2 < cancel-ok c1 \n" + FIND
OWNED = D + "d:1 > declare q exclusive \n d:1 < declare-ok q \n"
HEIR = OWNED + LEAVES + "@open 1 \n 1 > declare q exclusive \n 1 < declare-ok q \n" + FIND
ANEW = "@queue q \n @stock q m1 \n 90 > delete q \n 90 < delete-ok \n 90 > declare q durable \n"
HELD = "@queue q \n @stock q m1 \n @hold 3 q m1 \n 90 > delete q \n 90 < delete-ok \n"
HELD += "90 > declare q durable \n 90 < declare-ok q \n 3 > reject 1 requeue \n @barrier 3 \n @open 2 \n 2 > get q \n"
RISEN = "2 < get-ok 1 m1 q redelivered"
SHARED = D + "d:1 > declare q durable \n d:1 < declare-ok q \n"
EXCHANGE = D + "d:1 > exchange x \n d:1 < exchange-ok \n"
FIND_EXCHANGE = "@open 1 \n 1 > exchange x passive \n"
NO_EXCHANGE = "1 < closed 404 40 10 NOT_FOUND"
THERE = "@confirming 1 \n @queue q \n 90 > exchange x direct \n 90 < exchange-ok \n"
BIND = "90 > bind q x key \n 90 < bind-ok \n"
AGAIN = THERE + BIND + "90 > exchange x direct \n 90 < exchange-ok \n"
BOUND_BY_D = THERE + D + "d:1 > bind q x key \n d:1 < bind-ok \n" + LEAVES
DEALT = THERE + "@open 3 \n 3 > select \n 3 < select-ok \n 3 > bind q x key \n 3 < bind-ok \n"
ROLLED_BACK = DEALT + "3 > rollback \n 3 < rollback-ok \n"
RETURNED = "1 > publish key m1 exchange=x mandatory \n 1 < return key m1 exchange=x \n 1 < ack 1"
SENT = "1 > publish key m1 exchange=x \n 1 < ack 1 \n"
EMPTY = "@drain q \n - deadline drain q"
INK = "90 > exchange h headers \n 90 < exchange-ok \n 90 > bind q h key ink=red \n 90 < bind-ok \n"
APART = "@confirming 1 \n @queue q \n" + INK + "90 > bind q h key paper=red \n 90 < bind-ok \n"
APART += "90 > unbind q h key ink=red \n 90 < unbind-ok \n"
WET, DRY = (
    "1 > publish key m1 exchange=h h.ink=red \n 1 < ack 1 \n",
    "1 > publish key m1 exchange=h h.paper=red \n 1 < ack 1 \n",
)
ONWARD = THERE + "@exchange y q \n 90 > bind-exchange y x key \n 90 < bind-exchange-ok \n"
UNTIED = ONWARD + "90 > unbind-exchange y x key \n 90 < unbind-exchange-ok \n"
GONE = THERE + "90 > delete q \n 90 < delete-ok \n 90 > unbind q x key \n"
DELETED = "@queue q \n 90 > delete q \n 90 < delete-ok \n"
TAKEN = "@open 2 \n 2 > get q no_ack \n 2 < get-ok 1 m1 q"
FAILED = "2 > ack 9 \n 2 < closed 406 60 80 unknown delivery tag 9 \n"
SOUND = {
    "QUEUE-024": CANCELLED + WAIT + FIND + NOT_FOUND,
    "QUEUE-025": HEIR + FOUND,
    "QUEUE-031": ANEW + "90 < declare-ok q",
    "QUEUE-032": SHARED + LEAVES + "@open 1 \n" + FIND + FOUND,
    "EXCH-021": EXCHANGE + LEAVES + FIND_EXCHANGE + "1 < exchange-ok",
    "EXCH-024": AGAIN + SENT + TAKEN,
    "BIND-011": GONE + "90 < unbind-ok",
    "BIND-012": APART + DRY + TAKEN,
    "BIND-013": UNTIED + SENT + "@open 2 \n 2 > get q \n 2 < get-empty",
    "BIND-014": BOUND_BY_D + SENT + TAKEN,
}
BROKEN = [
    ("QUEUE-024", CANCELLED + WAIT + FIND + FOUND),
    ("QUEUE-024", CLOSED + WAIT + FIND + FOUND),
    ("QUEUE-024", AUTO + FAILED + WAIT + FIND + FOUND),
    ("QUEUE-024", SECOND + NOT_FOUND),
    ("QUEUE-024", SECOND.removesuffix(FIND) + "d:1 < cancel c2 no_wait"),
    ("QUEUE-025", HEIR + NOT_FOUND),
    ("QUEUE-031", ANEW + "90 < declare-ok q 1"),
    ("QUEUE-031", HELD + RISEN),
    ("QUEUE-032", SHARED + LEAVES + "@open 1 \n" + FIND + NOT_FOUND),
    ("EXCH-021", EXCHANGE + LEAVES + FIND_EXCHANGE + NO_EXCHANGE),
    ("EXCH-024", AGAIN + SENT + EMPTY),
    ("BIND-011", GONE + "90 < closed 404 50 50 NOT_FOUND"),
    ("BIND-012", APART + DRY + EMPTY),
    ("BIND-012", APART + WET + TAKEN),
    ("BIND-013", UNTIED + SENT + TAKEN),
    ("BIND-014", BOUND_BY_D + SENT + EMPTY),
    ("TX-014", ROLLED_BACK + SENT + EMPTY),
    ("TX-014", ROLLED_BACK + RETURNED),
]
LAWFUL = {
    "what a deleted queue had given out is gone": HELD + "2 < get-empty",
    "a message of one name is published once more": HELD.replace("@open 2", "@stock q m1 \n @open 2")
    + RISEN.replace(" redelivered", ""),
    "a dead letter of a third queue, of one name": "@queue d x-dead-letter-exchange= \n" + HELD + RISEN,
    "a queue that goes a moment after its last consumer": CANCELLED + "- wait 1 \n" + FIND + FOUND,
    "the same, where the channel was closed": CLOSED + "- wait 1 \n" + FIND + FOUND,
    "a consumer whose channel has just failed": AUTO + FAILED + "- wait 1 \n" + FIND + FOUND,
    "a consumer whose connection is lost": AUTO.replace("@open 2", D).replace("2 >", "d:1 >").replace("2 <", "d:1 <")
    + "- end d reset \n"
    + FIND
    + FOUND,
    "a cancel that is not answered yet": AUTO + "2 > cancel c1 \n" + FIND + FOUND,
    "another consumer comes meanwhile": AUTO
    + "2 > cancel c1 \n 2 < cancel-ok c1 \n @open 3 \n 3 > consume q c2 \n"
    + FIND
    + FOUND,
    "the former owner has not left yet": OWNED
    + "d:0 > bye \n @open 1 \n 1 > declare q exclusive \n 1 < closed 405 50 10 RESOURCE_LOCKED",
    "a message is on its way to the new queue": DELETED
    + "@open 2 \n 2 > publish q m1 \n 90 > declare q durable \n 90 < declare-ok q 1",
    "the answer to another declaration comes first": DELETED
    + "@queue p \n @stock p m7 \n @open 1 \n 1 > declare p \n 1 > declare q durable \n"
    "1 < declare-ok p 1 \n 1 < declare-ok q",
    "a message comes while it is made": DELETED
    + "90 > declare q durable \n @open 2 \n 2 > publish q m1 \n 90 < declare-ok q 1",
}


def test_a_return_is_laid_to_the_rollback_before_it(play: Play) -> None:
    """TX-014, CNF-025: where none came before, it is one of what is routed."""
    assert play(ROLLED_BACK + RETURNED).broken == ["TX-014"]
    assert play(DEALT + RETURNED).broken == ["CNF-025"]
    assert play(ROLLED_BACK + SENT + TAKEN).broken == []
