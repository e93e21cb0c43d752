"""Publishes that are under way while another channel changes where they go: either order explains what is seen.

Of each change: what is lawful while nobody knows which came first, and what stays wrong where that is certain.
"""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful

__all__ = ["test_broken", "test_lawful"]

Q = "@queue q \n @queue r \n @confirming 1 \n @open 2 \n"
X = Q + "@exchange x q \n"
BOTH = Q + "@exchange x q r \n"
ONWARD = Q + "@exchange y q \n @exchange x \n 90 > bind-exchange y x \n 90 < bind-exchange-ok \n"
INSTEAD = Q + (
    "@exchange y r \n 90 > exchange x fanout alternate-exchange=y \n 90 < exchange-ok \n"
    "90 > bind q x \n 90 < bind-ok \n"
)
OWNED = (
    "@confirming 1 \n d:1 > open \n d:1 < open-ok \n d:1 > declare e exclusive \n d:1 < declare-ok e \n"
    "1 > publish e m1 mandatory \n"
)
ROOM = "@queue q classic x-max-length=1 x-overflow=reject-publish \n @confirming 1 \n @exchange x q \n"
SENT = "1 > publish any m1 exchange=x \n"
ASKED = "1 > publish any m1 exchange=x mandatory \n"
ACK, RETURN = "1 < ack 1 \n", "1 < return any m1 exchange=x \n"
UNBIND = "90 > unbind q x \n 90 < unbind-ok \n"
BIND = "90 > bind q x \n 90 < bind-ok \n"
DELETE = "90 > delete q \n 90 < delete-ok \n"
OFF = "90 > unbind-exchange y x \n 90 < unbind-exchange-ok \n"
ON = "90 > bind-exchange y x \n 90 < bind-exchange-ok \n"
NO_Y = "90 > unexchange y \n 90 < unexchange-ok \n"
NO_X = "90 > unexchange x \n 90 < unexchange-ok \n"
LATER = "@confirming 1 \n @queue q \n 90 > delete q \n 90 < delete-ok \n"
REMADE = "90 > declare q \n 90 < declare-ok q \n"
NOT_FOUND = "1 < closed 404 60 40 no exchange \n"
EMPTY = "@drain q \n - deadline drain q \n"
THERE = "@drain q m1 \n"
LAWFUL = [
    ("unbound before it was handled", X + SENT + UNBIND + ACK + EMPTY),
    ("unbound after it was handled", X + SENT + UNBIND + ACK + THERE),
    ("unbound by another connection", X + SENT + "d:1 > open \n d:1 < open-ok \n d:1 > unbind q x \n" + ACK + EMPTY),
    ("unbound, and returned", X + ASKED + UNBIND + RETURN + ACK + EMPTY),
    ("unbound, and not returned", X + ASKED + UNBIND + ACK + THERE),
    ("unbound, and no delivery", X + "@consume 2 q c1 \n" + SENT + UNBIND + ACK + "- deadline deliveries \n"),
    ("one of two unbound", BOTH + SENT + UNBIND + ACK + EMPTY + "@drain r m1"),
    (
        "unbound, and what comes next is the first",
        X + SENT + UNBIND + "1 > publish q m2 \n 1 < ack 2 multiple \n@drain q m2",
    ),
    (
        "unbound, so there is room",
        ROOM + "1 > publish q m0 \n 1 < ack 1 \n" + SENT + UNBIND + "1 < ack 2 \n@drain q m0",
    ),
    ("unbound, so there is room for the next", ROOM + SENT + "1 > publish q m2 \n" + UNBIND + "1 < ack 2 multiple"),
    (
        "unbound while a commit is under way",
        X + "@open 3 \n 3 > select \n 3 < select-ok \n"
        "3 > publish any m1 exchange=x \n 3 > commit \n" + UNBIND + "3 < commit-ok \n" + EMPTY,
    ),
    ("unbound without confirms", X + "@open 3 \n 3 > publish any m1 exchange=x \n" + UNBIND + "@barrier 3 \n" + EMPTY),
    ("the way to the alternate exchange", INSTEAD + SENT + UNBIND + ACK + EMPTY + "@drain r m1"),
    ("its queue is deleted, so it takes that way", INSTEAD + SENT + DELETE + ACK + "@drain r m1"),
    ("its queue is deleted", X + SENT + DELETE + ACK),
    ("its queue is deleted, and it is returned", X + ASKED + DELETE + RETURN + ACK),
    ("its queue is declared anew, and it is returned", X + ASKED + DELETE + REMADE + RETURN + ACK),
    ("the owner of its queue leaves", OWNED + "d:0 > bye \n d:0 < bye-ok \n 1 < return e m1 \n 1 < ack 1"),
    ("the owner of its queue is gone", OWNED + "- end d fin \n 1 < return e m1 \n 1 < ack 1"),
    ("its exchange is deleted", X + SENT + NO_X + NOT_FOUND + EMPTY),
    ("its exchange is deleted after it was handled", X + SENT + NO_X + ACK + THERE),
    ("an exchange on its way is unbound", ONWARD + SENT + OFF + ACK + EMPTY),
    ("an exchange on its way is unbound, and it is returned", ONWARD + ASKED + OFF + RETURN + ACK),
    ("an exchange on its way is deleted", ONWARD + SENT + NO_Y + ACK + EMPTY),
    ("an exchange on its way is deleted, and it is returned", ONWARD + ASKED + NO_Y + RETURN + ACK),
    ("bound before it was handled", Q + "@exchange x \n" + ASKED + BIND + ACK + THERE),
    ("bound after it was handled", Q + "@exchange x \n" + ASKED + BIND + RETURN + ACK + EMPTY),
    (
        "bound, and counted",
        Q + "@exchange x \n" + SENT + BIND + ACK + "2 > declare q passive \n2 < declare-ok q says=1",
    ),
    ("an exchange is bound", Q + "@exchange y q \n @exchange x \n" + ASKED + ON + ACK + THERE),
    ("its queue is declared before it is handled", LATER + "1 > publish q m1 mandatory \n" + REMADE + ACK + THERE),
    (
        "its queue is declared after it was handled",
        LATER + "1 > publish q m1 mandatory \n" + REMADE + "1 < return q m1 \n" + ACK + EMPTY,
    ),
    (
        "its queue is being declared",
        "@confirming 1 \n @open 2 \n 2 > declare q \n 1 > publish q m1 \n" + ACK + "2 < declare-ok q \n" + EMPTY,
    ),
    (
        "its exchange is declared before it is handled",
        Q + "@exchange x \n" + NO_X + SENT + "90 > exchange x \n 90 < exchange-ok \n" + ACK,
    ),
    (
        "its exchange is declared after it was handled",
        Q + "@exchange x \n" + NO_X + SENT + "90 > exchange x \n 90 < exchange-ok \n" + NOT_FOUND,
    ),
]
BROKEN = [
    ("RQ-011", X + SENT + ACK + UNBIND + EMPTY),
    ("RQ-011", X + SENT + "@barrier 1 \n" + UNBIND + ACK + EMPTY),
    ("RQ-011", X + SENT + "1 > unbind q x \n 1 < unbind-ok \n" + ACK + EMPTY),
    ("RQ-011", X + SENT + "90 > unbind r x \n 90 < unbind-ok \n" + ACK + EMPTY),
    ("ROUTE-010", ONWARD + SENT + ACK + OFF + EMPTY),
    ("ROUTE-010", ONWARD + SENT + ACK + NO_Y + EMPTY),
    ("RQ-011", X + SENT + ACK + NO_X + EMPTY),
    ("RQ-011", "@queue q \n @confirming 1 \n 1 > publish q m1 \n 90 > declare r \n 90 < declare-ok r \n" + ACK + EMPTY),
    ("CNF-010", BOTH + SENT + ACK + UNBIND + EMPTY),
    ("CNF-025", X + ASKED + "1 > unbind q x \n 1 < unbind-ok \n" + RETURN),
    ("CNF-025", X + ASKED + "90 > unbind r x \n 90 < unbind-ok \n" + RETURN),
    ("CNF-009", Q + "@exchange x \n" + ASKED + "1 > bind q x \n 1 < bind-ok \n" + ACK),
    ("CNF-009", Q + "@exchange x \n 90 > exchange z \n 90 < exchange-ok \n" + ASKED + "90 > bind q z \n" + ACK),
    ("CNF-008", Q + "@exchange x \n" + SENT + "1 > bind q x \n 1 < bind-ok \n 1 < nack 1"),
    ("CNF-011", ROOM + "1 > publish q m0 \n 1 < ack 1 \n" + SENT + "1 > unbind q x \n 1 < unbind-ok \n 1 < ack 2"),
    ("CNF-019", Q + "@exchange x \n" + NO_X + SENT + "1 > exchange x \n" + ACK),
    ("ROUTE-013", INSTEAD + SENT + ACK + DELETE + "@drain r m1"),
]
