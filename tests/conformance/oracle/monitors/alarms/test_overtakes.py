"""Methods that are under way while another channel changes what they are about: either order explains what is seen.

Of each change: what is lawful while nobody knows which came first, and what stays wrong where that is certain.
"""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful

__all__ = ["test_broken", "test_lawful"]

Q = "@queue q \n @open 1 \n @open 2 \n"
GONE = Q + "90 > delete q \n 90 < delete-ok \n"
X = Q + "@exchange x \n"
BOUND = Q + "@exchange x q \n"
NO_X = "90 > unexchange x \n 90 < unexchange-ok \n"
OWNED = "@open 1 \n d:1 > open \n d:1 < open-ok \n d:1 > declare q exclusive \n d:1 < declare-ok q \n"
FIND = "1 > declare q passive \n"
DELETE, REMADE = "90 > delete q \n 90 < delete-ok \n", "90 > declare q \n 90 < declare-ok q \n"
NOBODY = "1 < declare-ok q 0 consumers=0 \n"
FOUND, NOT_FOUND = "1 < declare-ok q \n", "1 < closed 404 50 10 NOT_FOUND \n"
USED = "@queue q \n @consume 2 q c1 \n @open 1 \n 1 > delete q if_unused \n"
FULL = "@queue q \n @stock q m1 \n @open 1 \n @open 2 \n 1 > delete q if_empty \n"
DELETED = "1 < delete-ok \n"
UNUSED = "1 > unexchange x if_unused \n"
PUBLISHED = "@confirming 3 \n 3 > publish q m1 \n 3 < ack 1 \n"
MEANWHILE, X_BOUND = Q + "1 > declare q \n" + DELETE + FOUND, "2 > bind q x \n 2 < bind-ok"
LAWFUL = [
    ("declared again while it is deleted", MEANWHILE + "2 > get q \n 2 < get-empty \n"),
    ("declared again before it is deleted", MEANWHILE + "2 > get q \n 2 < closed 404 60 70 NOT_FOUND \n"),
    ("declared again while it is deleted, and used", MEANWHILE + PUBLISHED + "2 > get q \n 2 < get-ok 1 m1 q"),
    (
        "the exchange is declared again while it is deleted",
        X + "1 > exchange x \n" + NO_X + "1 < exchange-ok \n" + X_BOUND,
    ),
    ("deleted before it is looked for", Q + FIND + DELETE + NOT_FOUND),
    ("deleted after it was looked for", Q + FIND + DELETE + FOUND),
    ("declared before it is looked for", GONE + FIND + REMADE + FOUND),
    ("declared after it was looked for", GONE + FIND + REMADE + NOT_FOUND),
    ("declared before a get", GONE + "1 > get q \n" + REMADE + "1 < get-empty \n"),
    ("declared before a get that finds something", GONE + "1 > get q \n" + REMADE + PUBLISHED + "1 < get-ok 1 m1 q"),
    (
        "declared before a consumer comes",
        GONE
        + "1 > consume q c1 \n"
        + REMADE
        + "1 < consume-ok c1 \n"
        + PUBLISHED
        + "1 < deliver c1 1 m1 q \n 1 > ack 1 \n @barrier 1",
    ),
    ("deleted before it is declared otherwise", Q + "1 > declare q durable \n" + DELETE + FOUND),
    (
        "and then it is as it was declared last",
        Q + "1 > declare q durable \n" + DELETE + FOUND + PUBLISHED + "@drain q m1",
    ),
    ("its owner leaves before it is looked for", OWNED + FIND + "d:0 > bye \n d:0 < bye-ok \n" + NOT_FOUND),
    ("its owner is gone before it is looked for", OWNED + FIND + "- end d fin \n" + NOT_FOUND),
    ("the exchange is deleted before it is bound to", X + "1 > bind q x \n" + NO_X + "1 < closed 404 50 20 NOT_FOUND"),
    (
        "the exchange is declared before it is bound to",
        X + NO_X + "1 > bind q x \n 90 > exchange x \n 90 < exchange-ok \n1 < bind-ok",
    ),
    (
        "the exchange is unbound before it is deleted",
        BOUND + UNUSED + "90 > unbind q x \n 90 < unbind-ok \n1 < unexchange-ok",
    ),
    (
        "the queue is unbound before it is deleted, as its exchange is not",
        BOUND + UNUSED + DELETE + "1 < unexchange-ok",
    ),
    ("the consumer is cancelled before the queue is deleted", USED + "2 > cancel c1 \n 2 < cancel-ok c1 \n" + DELETED),
    ("the consumer leaves unheard", USED + "2 > cancel c1 no_wait \n" + DELETED),
    ("the consumer's channel is closed", USED + "2 > close \n 2 < close-ok \n" + DELETED),
    ("the message is taken before the queue is deleted", FULL + "2 > get q no_ack \n 2 < get-ok 1 m1 q \n" + DELETED),
    ("the queue is emptied before it is deleted", FULL + "2 > purge q \n 2 < purge-ok 1 \n" + DELETED),
    ("a consumer without consume-ok comes after it is looked for", Q + "2 > consume q c1 no_wait \n" + FIND + NOBODY),
    (
        "a consumer without consume-ok comes too late",
        Q + "2 > consume q c1 no_wait \n 1 > delete q if_unused\n" + DELETED,
    ),
]
BROKEN = [
    ("GET-001", Q + "1 > declare q \n" + FOUND + DELETE + "2 > get q \n 2 < get-empty \n"),
    ("BIND-002", X + "1 > exchange x \n 1 < exchange-ok \n" + NO_X + X_BOUND),
    ("BIND-005", X + "1 > unbind q x k \n 90 > bind q x \n 90 < bind-ok \n 1 < closed 404 50 50 NOT_FOUND"),
    ("QUEUE-002", Q + "@exchange r \n" + FIND + "90 > unexchange r \n 90 < unexchange-ok \n" + NOT_FOUND),
    ("QUEUE-001", GONE + FIND + "90 > declare r \n 90 < declare-ok r \n" + FOUND),
    ("QUEUE-001", GONE + FIND + FOUND + REMADE),
    ("QUEUE-004", Q + "1 > declare q durable \n" + FOUND + DELETE),
    ("GET-001", GONE + "1 > get q \n 1 < get-empty \n" + REMADE),
    ("QUEUE-007", OWNED + FIND + NOT_FOUND + "d:0 > bye \n d:0 < bye-ok \n"),
    ("BIND-002", X + NO_X + "1 > bind q x \n 90 > exchange y \n 90 < exchange-ok \n 1 < bind-ok"),
    ("EXCH-009", BOUND + UNUSED + "1 < unexchange-ok \n 90 > unbind q x \n"),
    ("QUEUE-012", USED + DELETED + "2 > cancel c1 \n"),
    ("QUEUE-013", FULL + DELETED + "2 > get q no_ack \n"),
    ("QUEUE-020", Q + "1 > consume q c1 no_wait \n" + FIND + NOBODY),
    ("QUEUE-012", Q + "1 > consume q c1 no_wait \n 1 > delete q if_unused \n" + DELETED),
]
