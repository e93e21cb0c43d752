"""NOWAIT: sound and broken histories, and what others may do meanwhile."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

OPEN = "@open 1 \n"
PASSIVE, FIND = "1 > declare q passive \n", "1 > exchange x direct passive \n"
QUEUE = OPEN + "1 > declare q no_wait \n" + PASSIVE
EXCHANGE = "1 > exchange x direct no_wait \n" + FIND
BOUND = "@queue q \n @exchange x \n @confirming 1 \n 1 > bind q x no_wait \n 1 > publish any m1 exchange=x mandatory \n"
PURGED = "@queue q \n @stock q m1 \n @open 1 \n 1 > purge q no_wait \n 1 > get q \n"
DELETED = "@queue q \n @open 1 \n 1 > delete q no_wait \n" + PASSIVE
LOST = "@exchange x \n @open 1 \n 1 > unexchange x no_wait \n" + FIND
STARTED = "@queue q \n @stock q m1 \n @open 1 \n 1 > consume q c1 no_wait \n"
GONE = "@queue q \n 90 > delete q \n 90 < delete-ok \n @open 1 \n 1 > purge q no_wait \n"
NOT_FOUND = "1 < closed 404 50 10 NOT_FOUND \n"
ALONE = "@queue q \n @consume 2 q c1 exclusive \n @open 1 \n"
BESIDE = ALONE + "1 > consume q c2 no_wait \n"
TAKEN = BESIDE.replace("no_wait", "no_wait exclusive")
SHARED = "@queue q \n @consume 2 q c1 \n @open 1 \n 1 > consume q c2 no_wait exclusive \n"
EXCLUDED = "1 < closed 403 60 20 ACCESS_REFUSED"
SOUND = {
    "NOWAIT-001": "@queue q \n @exchange x \n @open 1 \n 1 > bind q x no_wait \n 1 > exchange x no_wait \n"
    "1 > consume q c1 no_wait \n @barrier 1",
    "NOWAIT-002": QUEUE + "1 < declare-ok q \n" + EXCHANGE + "1 < exchange-ok",
    "NOWAIT-003": BOUND + "1 < ack 1",
    "NOWAIT-004": PURGED
    + "1 < get-empty \n 1 > delete q no_wait \n"
    + PASSIVE
    + NOT_FOUND
    + "1 > closed-ok \n"
    + LOST.replace("@open 1", "@open 1")
    + "1 < closed 404 40 10 NOT_FOUND",
    "NOWAIT-005": STARTED + "1 < deliver c1 1 m1 q",
    "NOWAIT-006": GONE + "1 < closed 404 50 30 NOT_FOUND",
}
BROKEN = [
    ("NOWAIT-001", "@queue q \n @exchange x \n @open 1 \n 1 > bind q x no_wait \n 1 < bind-ok"),
    ("NOWAIT-002", QUEUE + NOT_FOUND),
    ("NOWAIT-002", OPEN + EXCHANGE + "1 < closed 404 40 10 NOT_FOUND"),
    ("NOWAIT-003", BOUND + "1 < return any m1 exchange=x"),
    ("NOWAIT-004", PURGED + "1 < get-ok 1 m1 q"),
    ("NOWAIT-004", DELETED + "1 < declare-ok q"),
    ("NOWAIT-004", LOST + "1 < exchange-ok"),
    ("NOWAIT-005", STARTED + "- deadline replies"),
    ("NOWAIT-006", GONE + "- deadline replies"),
    ("NOWAIT-006", BESIDE + "- deadline replies"),
    ("NOWAIT-006", TAKEN + "- deadline replies"),
    ("NOWAIT-006", TAKEN + "1 < closed 406 60 20 PRECONDITION_FAILED"),
    ("NOWAIT-006", GONE + "0 < kicked 404 50 30 NOT_FOUND"),
]
LAWFUL = {
    "a consumer that must be alone is refused": TAKEN + EXCLUDED,
    "and so is one beside it": BESIDE + EXCLUDED,
    "one that is not exclusive leaves room, for all that is said here": SHARED + "@barrier 1 \n - deadline replies",
    "the one that was alone is about to end": ALONE + "2 > cancel c1 \n 1 > consume q c2 no_wait \n @barrier 1 \n"
    "2 < cancel-ok c1 \n - deadline replies",
    "it may be that the other comes later": "@queue q \n @open 1 \n @open 2 \n 2 > consume q c1 exclusive \n"
    "1 > consume q c2 no_wait \n @barrier 1 \n 2 < closed 403 60 20 ACCESS_REFUSED \n - deadline replies",
    "somebody else deletes it": OPEN + "@open 2 \n 1 > declare q no_wait \n 2 > delete q \n 2 < delete-ok \n"
    "1 > declare q passive \n" + NOT_FOUND,
    "it is deleted as the last one": OPEN + "1 > declare q no_wait \n 1 > delete \n 1 < delete-ok \n"
    "1 > declare q passive \n" + NOT_FOUND,
    "somebody else declares it": "@queue q \n @open 1 \n @open 2 \n 1 > delete q no_wait \n 2 > declare q \n"
    "2 < declare-ok q \n 1 > declare q passive \n 1 < declare-ok q",
    "another one is answered": "@queue q \n @exchange x \n @open 1 \n 1 > bind q x \n 1 > bind q x k no_wait \n"
    "1 < bind-ok \n @barrier 1",
    "what was held came back after the purge": "@queue q \n @stock q m1 \n @hold 1 q m1 \n 1 > purge q no_wait \n"
    "1 > nack 1 requeue \n 1 > get q \n 1 < get-ok 2 m1 q redelivered",
}
