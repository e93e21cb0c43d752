"""TX: sound and broken histories, and what a transaction leaves open."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

BEGUN = "@queue q \n @stock q m1 m2 \n @hold 1 q m1 \n 1 > select \n 1 < select-ok \n"
ROLLED_BACK = BEGUN + "1 > ack 1 \n 1 > rollback \n 1 < rollback-ok \n"
TEXT = "PRECONDITION_FAILED - unknown delivery tag 1"
NOT_TRANSACTIONAL = "PRECONDITION_FAILED - channel is not transactional"
EMPTY = "@queue q \n @exchange x \n @open 1 \n 1 > select \n 1 < select-ok \n"
UNDONE = EMPTY + "1 > publish q m1 \n 1 > rollback \n 1 < rollback-ok \n"
NEXT = EMPTY + "1 > commit \n 1 < commit-ok \n 1 > publish q m1 \n @barrier 1 \n"
SOUND = {
    "TX-001": BEGUN + f"1 > ack 1 \n 1 > ack 1 \n 1 < closed 406 60 80 {TEXT}",
    "TX-002": ROLLED_BACK + "1 > ack 1 \n 1 > commit \n 1 < commit-ok",
    "TX-003": EMPTY + "1 > publish q m1 \n 1 > publish any m2 exchange=x mandatory \n @barrier 1 \n @drain q \n"
    "1 > commit \n 1 < return any m2 exchange=x \n 1 < commit-ok \n @drain q m1",
    "TX-004": "@open 1 \n 1 > commit \n 1 < closed 406 90 20 channel is not transactional",
    "TX-005": UNDONE + "@drain q",
    "TX-006": NEXT + "@drain q \n 1 > commit \n 1 < commit-ok \n @drain q m1",
    "TX-007": EMPTY + "1 > select \n 1 < select-ok",
    "TX-008": EMPTY + "1 > publish q m1 \n @close 1 \n @drain q",
}
BROKEN = [
    ("TX-001", BEGUN + "1 > ack 1 \n 1 > ack 1 \n - deadline replies"),
    ("TX-001", BEGUN + f"1 > ack 9 \n 1 > commit \n 1 < commit-ok \n 1 < closed 404 60 80 {TEXT}"),
    ("TX-002", ROLLED_BACK + "@open 2 \n 2 > get q \n 2 < get-ok 1 m1 q redelivered"),
    ("TX-002", ROLLED_BACK + f"1 > ack 1 \n 1 < closed 406 60 80 {TEXT}"),
    ("TX-002", ROLLED_BACK + "@hold 1 q m2 \n @close 1 \n @drain q m2 \n - deadline drain q"),
    ("TX-003", EMPTY + "1 > publish q m1 \n @drain q m1"),
    ("TX-003", EMPTY + "1 > publish q m1 \n 1 > rollback \n 1 < rollback-ok \n @drain q m1"),
    ("TX-003", EMPTY + "1 > publish any m2 exchange=x mandatory \n 1 > commit \n 1 < commit-ok"),
    ("TX-004", "@open 1 \n 1 > commit \n 1 < commit-ok"),
    ("TX-005", UNDONE + "@drain q m1"),
    ("TX-005", UNDONE + "1 > commit \n 1 < commit-ok \n @drain q m1"),
    ("TX-006", NEXT + "@drain q m1"),
    ("TX-006", UNDONE + "1 > rollback \n 1 < closed 406 90 30 " + NOT_TRANSACTIONAL),
    ("TX-007", EMPTY + "1 > select \n 1 < closed 406 90 10 PRECONDITION_FAILED"),
    ("TX-007", EMPTY + "1 > select \n 0 < kicked 503 90 10 COMMAND_INVALID"),
    ("TX-008", EMPTY + "1 > publish q m1 \n @close 1 \n @drain q m1"),
    ("TX-008", EMPTY + f"1 > publish q m1 \n 1 > ack 9 \n 1 < closed 406 60 80 {TEXT} \n @drain q m1"),
    ("TX-004", "@open 1 \n 1 > rollback \n 1 < rollback-ok"),
    ("TX-004", "@open 1 \n 1 > rollback \n - deadline replies"),
    ("TX-004", "@open 1 \n 1 > commit \n 1 < kicked 406 90 20 channel is not transactional"),
]
LAWFUL = {
    "a second transaction that is committed in part": """
        @queue q classic x-max-length=1 x-overflow=reject-publish
        @open 1
        1 > select
        1 < select-ok
        1 > commit
        1 < commit-ok
        1 > publish q m2
        1 > publish q m3
        1 > commit
        1 < closed 406 90 20 PRECONDITION_FAILED - partial tx completion
    """,
    "a route that changes before the commit": EMPTY
    + "1 > publish any m2 exchange=x mandatory \n 1 > bind q x \n 1 < bind-ok \n 1 > commit \n 1 < commit-ok",
    "what was acknowledged but not committed comes back with the close": BEGUN
    + "1 > ack 1 \n @close 1 \n @drain q m1 m2",
    "an acknowledgement frees its slot with the commit": """
        @queue q
        @stock q m1 m2
        @open 1
        1 > qos 1
        1 < qos-ok
        @consume 1 q c1
        1 < deliver c1 1 m1 q
        1 > select
        1 < select-ok
        1 > ack 1
        - deadline replies
        1 > commit
        1 < commit-ok
        1 < deliver c1 2 m2 q
    """,
    "what comes before commit-ok may cost the connection": EMPTY
    + "@consume 1 q c1 \n 1 > publish q m1 \n 1 > commit \n 1 > cancel c1 \n"
    "0 < kicked 504 60 30 CHANNEL_ERROR - unexpected command while processing 'tx.commit'",
    "what comes before commit-ok may cost what other channels hold": EMPTY
    + "@stock q m1 \n @consume 2 q c2 \n @consume 3 q c3 \n 1 > publish q m2 \n 1 > commit \n 1 > flow \n"
    "2 < deliver c2 1 m1 q \n 3 < deliver c3 1 m1 q redelivered \n"
    "0 < kicked 504 20 20 CHANNEL_ERROR - unexpected command while processing 'tx.commit'",
    "a commit that a full queue refuses in part costs the channel, and what came to it meanwhile comes again": """
        @queue q classic x-max-length=1 x-overflow=reject-publish
        @queue r
        @stock r m1
        @open 1
        1 > select
        1 < select-ok
        @consume 1 r c1
        1 > publish q m2
        1 > publish q m3
        1 > commit
        1 < deliver c1 1 m1 r
        1 < closed 406 90 20 PRECONDITION_FAILED - partial tx completion
        1 > closed-ok
        @drain r m1
    """,
    "or nothing": EMPTY + "@consume 1 q c1 \n 1 > publish q m1 \n 1 > commit \n 1 > cancel c1 \n 1 < commit-ok \n"
    "1 < cancel-ok c1 \n @drain q m1",
    "a get that was sent before the commit of a return does not find it": BEGUN
    + "1 > nack 1 requeue \n 1 > get q no_ack \n 1 > get q no_ack \n 1 > commit \n 1 < get-ok 2 m2 q \n"
    "1 < get-empty \n 1 < commit-ok \n @drain q m1",
}
