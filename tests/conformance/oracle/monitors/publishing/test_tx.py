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
RETURNING = "@queue q \n @stock q m1 \n @hold 1 q m1 \n @open 2 \n 1 > select \n 1 < select-ok \n 1 > nack 1 requeue \n"
TWO = "@queue q \n @queue r \n @open 1 \n 1 > select \n 1 < select-ok \n 1 > publish q m1 \n 1 > publish r m2 \n"
BOTH = TWO + "1 > publish q m3 \n 1 > commit \n"
MISSING = EMPTY + "1 > unexchange x \n 1 < unexchange-ok \n "
MANDATORY = "@exchange x \n @open 1 \n 1 > select \n 1 < select-ok \n 1 > publish any m1 exchange=x mandatory \n"
BESIDE = EMPTY + "@open 2 \n 2 > select \n 2 < select-ok \n 1 > publish q m1 \n 2 > commit \n 2 < commit-ok \n"
AFAR = EMPTY + "b:{0} > open \n b:{0} < open-ok \n b:{0} > select \n b:{0} < select-ok \n 1 > publish q m1 \n "
AFAR += "b:{0} > commit \n b:{0} < commit-ok \n"
OUT = "@queue q \n @stock q m1 m2 \n @hold 1 q m1 m2 \n 1 > select \n 1 < select-ok \n 1 > ack 1 \n 1 > rollback \n"
UNSETTLED = OUT + "1 < rollback-ok \n"
MADE = "@open 1 \n @open 2 \n 1 > select \n 1 < select-ok \n 1 > declare d \n 1 < declare-ok d \n"
HALF = "@queue r \n @open 2 \n" + EMPTY + "1 > publish r m1 \n 1 > publish q m2 \n"
GONE = HALF + "@barrier 1 \n 2 > delete r \n 2 < delete-ok \n 1 > commit \n"
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
    "TX-009": RETURNING + "@barrier 1 \n 2 > get q \n 2 < get-empty",
    "TX-010": BOTH + "1 < commit-ok \n @drain q m1 m3 \n @drain r m2",
    "TX-011": BOTH + "1 < commit-ok \n @drain q m1 m3",
    "TX-012": MANDATORY + "@barrier 1 \n 1 > commit \n 1 < return any m1 exchange=x \n 1 < commit-ok",
    "TX-013": BESIDE + "@drain q",
    "TX-014": MADE + "1 > rollback \n 1 < rollback-ok \n 2 > declare d passive \n 2 < declare-ok d",
    "TX-015": MISSING + "1 > publish any m1 exchange=x \n 1 < closed 404 60 40 NOT_FOUND - no exchange 'x'",
    "TX-016": UNSETTLED + "1 > ack 2 \n @barrier 1",
    "TX-017": GONE + "1 < commit-ok \n @drain q m2",
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
    ("TX-009", RETURNING + "2 > get q \n 2 < get-ok 1 m1 q redelivered"),
    ("TX-010", BOTH + "1 < commit-ok \n @drain q m1 m3 \n @drain r"),
    ("TX-010", BOTH + "1 < commit-ok \n @drain q m1"),
    ("TX-011", BOTH + "1 < commit-ok \n @drain q m3 m1"),
    ("TX-012", MANDATORY + "1 < return any m1 exchange=x"),
    ("TX-012", MANDATORY + "@barrier 1 \n 1 > commit \n 1 < closed 404 90 20 NOT_FOUND - no route"),
    ("TX-012", MANDATORY + "@barrier 1 \n 1 > commit \n 0 < kicked 541 90 20 INTERNAL_ERROR"),
    ("TX-012", MANDATORY + "1 > rollback \n 1 < return any m1 exchange=x \n 1 < rollback-ok"),
    (
        "TX-012",
        MANDATORY
        + "1 > rollback \n 1 < rollback-ok \n 1 > publish m2 any exchange=x mandatory \n 1 > commit \n"
        + "1 < return any m1 exchange=x \n 1 < return any m2 exchange=x \n 1 < commit-ok",
    ),
    ("TX-013", BESIDE + "@drain q m1"),
    ("TX-013", AFAR.format("1") + "@drain q m1"),
    (
        "TX-014",
        MADE + "1 > rollback \n 1 < rollback-ok \n 2 > declare d passive \n 2 < closed 404 50 10 NOT_FOUND - no queue",
    ),
    (
        "TX-015",
        MISSING
        + "1 > publish any m1 exchange=x \n @barrier 1 \n 1 > commit \n 1 < closed 404 90 20 NOT_FOUND - no exchange",
    ),
    ("TX-015", MISSING + "1 > publish any m1 exchange=x \n - deadline replies"),
    ("TX-016", UNSETTLED + "@open 2 \n 2 > get q \n 2 < get-ok 1 m2 q redelivered"),
    ("TX-016", UNSETTLED + "1 > ack 2 \n 1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 2"),
    ("TX-017", GONE + "0 < kicked 506 90 20 RESOURCE_ERROR - failed to deliver message"),
    ("TX-017", GONE + "1 < closed 406 90 20 PRECONDITION_FAILED - partial tx completion"),
    ("TX-017", GONE + "1 < closed 404 90 20 NOT_FOUND - no queue 'r'"),
    ("TX-004", "@open 1 \n 1 > rollback \n - deadline replies"),
    ("TX-004", "@open 1 \n 1 > commit \n 0 < kicked 406 90 20 channel is not transactional"),
]
LAWFUL = {
    "a second select may end a transaction, or let it go on": EMPTY
    + "1 > publish q m1 \n 1 > select \n 1 < select-ok \n @drain q m1",
    "after a second select a rollback may have nothing to undo": EMPTY
    + "1 > publish q m1 \n 1 > select \n 1 < select-ok \n 1 > rollback \n 1 < rollback-ok \n @drain q",
    "a commit that has no answer may have settled nothing, for all that was accepted before": BEGUN
    + "1 > ack 1 \n @barrier 1 \n 1 > commit \n 0 < kicked 506 90 20 RESOURCE_ERROR \n d:1 > open \n d:1 < open-ok \n"
    "d:1 > get q \n d:1 < get-ok 1 m1 q redelivered",
    "what is committed may be seen before commit-ok": BOTH
    + "@open 2 \n 2 > get q no_ack \n 2 < get-ok 1 m1 q \n 1 < commit-ok",
    "a commit that is not answered has brought nothing yet": BOTH + "@open 2 \n 2 > get r \n 2 < get-empty",
    "a return that is committed": RETURNING
    + "1 > commit \n 2 > get q \n 2 < get-ok 1 m1 q redelivered \n 1 < commit-ok",
    "the end of its channel brings it back": RETURNING + "1 > close \n 2 > get q \n 2 < get-ok 1 m1 q redelivered",
    "another consumer has the first": BOTH
    + "1 < commit-ok \n @consume 3 q c3 \n @open 2 \n 2 > get q \n 2 < get-ok 1 m3 q \n 3 < deliver c3 1 m1 q",
    "what is rolled back is published again": MANDATORY
    + "1 > rollback \n 1 < rollback-ok \n 1 > publish any m1 exchange=x mandatory \n 1 > commit \n"
    "1 < return any m1 exchange=x \n 1 < commit-ok",
    "an operator ends the connection": GONE + "0 < kicked 320 90 20 CONNECTION_FORCED - by hand",
    "a commit that meets the deletion": HALF
    + "2 > delete r \n 1 > commit \n 2 < delete-ok \n 1 < closed 406 90 20 PRECONDITION_FAILED - partial tx completion",
    "both channels are committed": BESIDE + "1 > commit \n 1 < commit-ok \n @drain q m1",
    "a queue that is deleted after the rollback": MADE
    + "1 > rollback \n 1 < rollback-ok \n 1 > delete d \n 1 < delete-ok \n 2 > declare d passive \n"
    "2 < closed 404 50 10 NOT_FOUND - no queue",
    "a queue that is declared after the rollback": MADE.replace(
        "1 > declare", "1 > rollback \n 1 < rollback-ok \n 1 > declare"
    )
    + "2 > declare d passive \n 2 < declare-ok d",
    "who holds it has closed the channel after the rollback": UNSETTLED
    + "1 > close \n @open 2 \n 2 > get q \n 2 < get-ok 1 m1 q redelivered",
    "recovered after the rollback": UNSETTLED
    + "1 > recover requeue \n 1 < recover-ok \n @open 2 \n 2 > get q \n 2 < get-ok 1 m1 q redelivered",
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


def test_a_commit_may_be_refused_where_a_queue_is_full(play) -> None:
    """TX-012: not the return is missing then. Where nothing goes anywhere no queue can have refused it."""
    refused = "@barrier 1 \n 1 > commit \n 1 < closed 406 90 20 PRECONDITION_FAILED - partial tx completion"
    assert play(MANDATORY + "1 > publish q m2 \n" + refused).broken == []
    assert play(MANDATORY + refused).broken == ["TX-012"]
