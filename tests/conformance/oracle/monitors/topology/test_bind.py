"""BIND: sound and broken histories, and what races allow."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

THERE = "@queue q \n @exchange x \n @open 1 \n"
NO_QUEUE = THERE + "90 > delete q \n 90 < delete-ok \n 1 > bind q x key \n"
NO_EXCHANGE = THERE + "90 > unexchange x \n 90 < unexchange-ok \n 1 > bind q x key \n"
NO_END = THERE + "@exchange y \n 90 > unexchange x \n 90 < unexchange-ok \n 1 > bind-exchange y x key \n"
NOT_FOUND = "1 < closed 404 50 20 NOT_FOUND"
BOUND = THERE + "1 > bind q x key \n 1 < bind-ok \n"
ANEW = "@confirming 1 \n @queue q \n @exchange x q \n 90 > delete q \n 90 < delete-ok \n 90 > declare q \n"
FORMER = ANEW + "90 < declare-ok q \n 1 > publish any m1 exchange=x \n 1 < ack 1 \n @open 2 \n 2 > get q \n"
DELETED = "90 > unexchange x \n 90 < unexchange-ok \n 90 > exchange x \n 90 < exchange-ok \n"
OLD = "@confirming 1 \n @queue q \n @exchange x q \n" + DELETED + "1 > publish any m1 exchange=x \n 1 < ack 1 \n"
OTHER_END = OLD + "@open 2 \n 2 > get q \n"
LED = "@confirming 1 \n @queue q \n @exchange y \n @exchange x q \n 90 > bind-exchange x y \n 90 < bind-exchange-ok \n"
LED += (
    DELETED + "90 > bind q x \n 90 < bind-ok \n 1 > publish any m1 exchange=y \n 1 < ack 1 \n @open 2 \n 2 > get q \n"
)
IDLE = "@confirming 1 \n @open 2 \n @open 3 \n 2 > declare q auto_delete \n 2 < declare-ok q \n @exchange x q \n"
IDLE += "2 > consume q c1 \n 2 < consume-ok c1 \n {} 3 > declare q passive \n {}"
CANCELLED, CLOSED = "2 > cancel c1 \n 2 < cancel-ok c1 \n", "2 > close \n 2 < close-ok \n"
MISTAKEN = "2 > ack 9 \n 2 < closed 406 60 80 unknown delivery tag 9 \n 2 > closed-ok \n"
NOT_THERE, STILL = "3 < closed 404 50 10 NOT_FOUND \n 3 > closed-ok \n", "3 < declare-ok q \n"
NEXT = "90 > declare q \n 90 < declare-ok q \n 1 > publish any m1 exchange=x \n 1 < ack 1 \n @open 4 \n 4 > get q \n"
THREE = THERE + "".join(f"1 > bind q x {key} \n 1 < bind-ok \n" for key in "abc") + "1 > bind q x d \n"
HASHES = "@queue q \n @open 1 \n 1 > exchange x topic \n 1 < exchange-ok \n 1 > bind q x {} \n 1 < closed 406 50 20 no"
SOUND = {
    "BIND-001": NO_QUEUE + NOT_FOUND,
    "BIND-002": NO_EXCHANGE + NOT_FOUND,
    "BIND-003": NO_END + "1 < closed 404 40 30 NOT_FOUND",
    "BIND-004": BOUND + "1 > bind q x key \n 1 < bind-ok",
    "BIND-005": THERE + "1 > unbind q x key \n 1 < unbind-ok",
    "BIND-006": THERE + "1 > bind q \n 1 < closed 403 50 20 ACCESS_REFUSED",
    "BIND-007": FORMER + "2 < get-empty",
    "BIND-008": BOUND,
    "BIND-009": THREE + "1 < bind-ok",
    "BIND-017": HASHES.format("#.a.#").replace("closed 406 50 20 no", "bind-ok"),
}
BROKEN = [
    ("BIND-001", NO_QUEUE + "1 < bind-ok"),
    ("BIND-001", NO_QUEUE + "0 < kicked 404 50 20 NOT_FOUND"),
    ("BIND-001", NO_QUEUE + "- end c fin"),
    ("BIND-002", NO_EXCHANGE + "1 < bind-ok"),
    ("BIND-003", NO_END + "1 < bind-exchange-ok"),
    ("BIND-004", BOUND + "1 > bind q x key \n 1 < closed 406 50 20 there already"),
    ("BIND-005", THERE + "1 > unbind q x key \n 1 < closed 404 50 50 NOT_FOUND"),
    ("BIND-005", THERE + "1 > unbind q x key \n - end c reset"),
    ("BIND-006", THERE + "1 > bind q \n 1 < bind-ok"),
    ("BIND-007", FORMER + "2 < get-ok 1 m1 q"),
    ("BIND-007", OTHER_END + "2 < get-ok 1 m1 q"),
    ("BIND-007", LED + "2 < get-ok 1 m1 q"),
    *(
        ("BIND-007", IDLE.format(ends, NOT_THERE) + NEXT + "4 < get-ok 1 m1 q")
        for ends in (CANCELLED, CLOSED, MISTAKEN)
    ),
    ("BIND-017", HASHES.format("#.a.#.b.#")),
    ("BIND-008", THERE + "1 > bind q x key \n 1 < closed 406 50 20 transient"),
    ("BIND-009", THREE + "1 < closed 406 50 20 too many bindings"),
]
LAWFUL = {
    "an idle queue may be there still": IDLE.format(MISTAKEN, STILL) + NEXT + "4 < get-ok 1 m1 q",
    "nobody has looked for an idle queue": IDLE.format(MISTAKEN, "").replace("3 > declare q passive \n", "")
    + NEXT
    + "4 < get-ok 1 m1 q",
    "an idle queue is looked for twice at once": IDLE.format(MISTAKEN, "3 > declare r passive \n" + NOT_THERE)
    + NEXT
    + "4 < get-ok 1 m1 q",
    "the queue is deleted meanwhile": THERE + "@open 2 \n 2 > delete q \n 1 > bind q x key \n 1 < bind-ok",
    "nobody has declared the queue here": "@exchange x \n @open 1 \n 1 > bind q x key \n 1 < bind-ok",
    "an exchange that may be missing was published to before": NO_EXCHANGE.replace(
        " 1 > bind", " 1 > publish any m1 exchange=z \n 1 > bind"
    )
    + "1 < closed 404 60 40 NOT_FOUND",
    "a form of comparison that it does not know": "@queue q \n @open 1 \n 1 > exchange x headers \n 1 < exchange-ok \n"
    "1 > bind q x key x-match=all-with-x \n 1 < closed 406 50 20 Invalid x-match",
    "an exchange of which not all is known": "@queue q \n @open 1 \n 1 > unbind q amq.direct key \n"
    "1 < closed 404 50 50 no binding",
}
