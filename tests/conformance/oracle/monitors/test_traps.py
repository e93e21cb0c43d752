"""Traps: lawful histories that a naive oracle takes for violations. Each was an alarm on a real broker once.

Here: who may have a message, seen or unseen, and where it may have gone. What a client may say and hear out of order
is in `test_traps_of_speech`.
"""

from __future__ import annotations

import pytest

from tests.support.tables import test_no_finding

__all__ = ["test_no_finding"]

TEXT = "PRECONDITION_FAILED - unknown delivery tag"

TRAPS = {
    "a get-empty while another channel's get may have the message": """
        @queue q
        @open 1
        @open 2
        1 > publish q m1
        1 > publish q m2
        1 > get q
        1 > get q
        2 > get q
        1 < get-ok 1 m1 q
        1 < get-empty
        2 < get-ok 1 m2 q
    """,
    "a get-empty while a consumer on a closing channel took the returned message back": """
        @queue q
        @stock q m1
        @consume 1 q c1
        1 < deliver c1 1 m1 q
        1 > nack 1 requeue
        1 > get q
        1 > close
        1 < get-empty
        1 < close-ok
        @drain q m1
    """,
    "a get-empty while a consumer on a failing channel takes": f"""
        @queue q
        @open 2
        @open 1
        1 > consume q c1
        1 > nack 9 requeue
        2 > publish q m1
        2 > publish q m2
        2 > get q
        2 < get-empty
        1 < consume-ok c1
        1 < closed 406 60 120 {TEXT} 9
        1 > closed-ok
        2 > get q
        2 < get-ok 1 m1 q redelivered
    """,
    "a proof counts from its receipt, not from the sending of its request": """
        @queue q
        @open 3
        @open 1
        3 > publish q m1
        3 > publish q m2
        3 > get q
        1 > get q
        3 < get-ok 1 m1 q
        1 < get-empty
    """,
    "close-ok proves nothing about what a basic.get held": """
        @queue q
        @stock q m1
        @hold 2 q m1
        @close 2
        @open 1
        1 > get q
        1 < get-empty
        1 > get q
        1 < get-ok 1 m1 q redelivered
    """,
    "close-ok proves nothing about what a cancelled consumer held": """
        @queue q
        @stock q m1 m2
        @consume 2 q c1
        2 < deliver c1 1 m1 q
        2 > cancel c1
        2 < cancel-ok c1
        @close 2
        @open 1
        1 > get q
        1 < get-ok 1 m2 q
    """,
    "a cancelled consumer of a quorum queue was handed the message and returned it to the tail": """
        @queue q quorum
        @consume 1 q c1
        @open 2
        2 > confirm
        2 < confirm-ok
        2 > publish q m7
        2 > publish q m8
        1 > cancel c1
        1 < cancel-ok c1
        2 < ack 2 multiple
        @drain q m8 m7
    """,
    "a quorum queue hands a message to a consumer whose channel is closed already": """
        @queue q quorum
        @consume 2 q c1
        @close 2
        @stock q m4
        @open 3
        3 > get q
        3 < get-ok 1 m4 q redelivered
    """,
    "a delivery after the broker's close was never seen, and comes back as redelivered": f"""
        @queue q
        @open 3
        @open 1
        1 > consume q c1
        1 > ack 9
        3 > publish q m2
        1 < closed 406 60 80 {TEXT} 9
        1 < deliver c1 1 m2 q
        1 > closed-ok
        @open 1
        3 > get q
        3 < get-ok 1 m2 q redelivered
    """,
    "deliveries of a failed channel come until its number is open again": f"""
        @queue q
        @stock q m1 m2
        @open 1
        1 > consume q c1
        1 > ack 9
        1 < closed 406 60 80 {TEXT} 9
        1 < consume-ok c1
        1 > closed-ok
        1 > open
        1 < deliver c1 1 m1 q
        1 < open-ok
        1 > get q
        1 < get-ok 1 m1 q redelivered
    """,
    "a returned message is seen elsewhere before close-ok, and before its first delivery": """
        @queue q
        @stock q m1
        @consume 1 q c1
        @open 2
        1 > close
        2 > get q
        2 < get-ok 1 m1 q redelivered
        1 < deliver c1 1 m1 q
        1 < close-ok
        2 > ack 1
        @barrier 2
        @close 2
        @drain q
    """,
    "a delivery without acknowledgement to a closing channel is lost": """
        @queue q
        @consume 1 q c1 no_ack
        @open 2
        1 > close
        2 > publish q m1
        1 < close-ok
        @drain q
        - deadline drain q
    """,
    "a failing consumer without acknowledgement swallows what is published later": f"""
        @queue q
        @open 1
        @open 2
        2 > consume q c1 no_ack
        2 > nack 9 requeue
        1 > publish q m1
        1 > publish q m2
        2 < closed 406 60 120 {TEXT} 9
        2 > closed-ok
        @drain q
        - deadline drain q
    """,
    "unconfirmed publishes of a quorum queue vanish with an orderly close": """
        @queue q quorum
        @open 1
        1 > publish q m2
        1 > publish q m3
        1 > close
        1 < close-ok
        @drain q m2
        - deadline drain q
    """,
    "publish and get on one channel of a quorum queue": """
        @queue q quorum
        @open 1
        1 > publish q m1
        1 > get q
        1 < get-empty
    """,
    "a consumer timeout gives the message to somebody else": """
        @queue q quorum
        @stock q m1
        @consume 1 q c1
        1 < deliver c1 1 m1 q
        1 < cancel c1 no_wait
        @open 2
        2 > get q
        2 < get-ok 1 m1 q redelivered
        1 > ack 1
        @barrier 1
    """,
    "a delivery on a channel that may have failed comes after its message was seen elsewhere": f"""
        @queue q
        @stock q m1
        @open 1
        1 > get q
        1 > nack 1 multiple requeue
        @open 2
        2 > get q no_ack
        2 < get-ok 1 m1 q redelivered
        1 < get-ok 1 m1 q
        1 > ack 1
        1 < closed 406 60 80 {TEXT} 1
    """,
    "a queue with a length limit drops by itself": """
        @queue q classic x-max-length=1
        @stock q m1 m2
        @drain q m2
        - deadline drain q
    """,
    "a returned message expires": """
        @queue q classic x-message-ttl=1
        @stock q m1
        @hold 1 q m1
        1 > nack 1 requeue
        @barrier 1
        @drain q
        - deadline drain q
    """,
    "a message routed by an exchange is not known to be anywhere": """
        @queue q
        @open 1
        1 > publish q m1 exchange=logs
        @open 2
        2 > get q
        2 < get-ok 1 m1 q
    """,
    "a purge takes what is ready": """
        @queue q
        @stock q m1
        @open 1
        1 > purge q
        1 < purge-ok
        @drain q
        - deadline drain q
    """,
    "deliveries to the only consumer that a full window holds back": """
        @queue q
        @stock q m1 m2
        @open 1
        1 > qos 1
        1 < qos-ok
        @consume 1 q c1
        1 < deliver c1 1 m1 q
        - deadline replies
    """,
}


@pytest.mark.parametrize(
    "history",
    [
        # what the traps allow must not make the rules blind
        "@queue q \n @open 1 \n 1 > publish q m1 \n 1 > get q \n 1 < get-empty",
        "@queue q \n @stock q m1 \n @open 1 \n 1 > get q \n 1 < get-empty",
        "@queue q quorum \n @stock q m1 \n @open 1 \n 1 > get q \n 1 < get-empty",
    ],
)
def test_a_get_empty_that_lies(play, history: str) -> None:
    assert play(history).broken == ["RQ-011"]
