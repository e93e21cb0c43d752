"""TTL: histories of messages and queues that live for a while, in and out of their time."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

PLAIN = "@queue q \n @confirming 1 \n @open 2 \n"
TIMED = "@queue q classic x-message-ttl=1000 \n @confirming 1 \n @open 2 \n"
OWN = "1 > publish q m1 expiration=1000 \n 1 < ack 1 \n"
LONG = "1 > publish q m1 expiration=60000 \n 1 < ack 1 \n"
NONE = "1 > publish q m1 expiration=0 \n 1 < ack 1 \n"
BARE = "1 > publish q m1 \n 1 < ack 1 \n"
BEHIND = PLAIN + LONG + "1 > publish q m2 expiration=1000 \n 1 < ack 2 \n"
ASK, EMPTY, GOT = "2 > get q \n", "2 < get-empty \n", "2 < get-ok 1 m1 q"
LATE, HALF = "- wait 1.2 \n", "- wait 0.6 \n"
GIVEN_BACK = PLAIN + OWN + ASK + f"{GOT} \n" + LATE + "2 > nack 1 requeue \n @barrier 2 \n" + ASK
AGAIN = "2 < get-ok 2 m1 q redelivered"
WAITED = "@queue q \n @confirming 1 \n @consume 2 q c1 no_ack \n" + NONE
NEXT = "1 > publish q m2 \n 1 < ack 2 \n"
HEIRS = "@queue r \n @queue d classic x-dead-letter-exchange= x-dead-letter-routing-key={} \n"
"""Dead letters come into one queue."""
ANYWHERE = "@queue d classic x-dead-letter-exchange=x \n"
COUNT = TIMED + BARE + "- wait 2.5 \n 90 > declare q passive \n"
LONG_COUNT = COUNT.replace("wait 2.5", "wait 12")
LEASE = "@queue q classic x-expires=1000 \n @open 2 \n"
ELSEWHERE = "d:1 > open \n d:1 < open-ok \n d:1 > consume q c1 \n d:1 < consume-ok c1 \n"
ZERO = "@queue q classic x-message-ttl=0 \n @confirming 1 \n @consume 2 q c1 no_ack \n" + BARE
IN_TX = "@queue q \n @open 2 \n @open 3 \n 3 > select \n 3 < select-ok \n 3 > publish q m1 expiration=1000 \n"
COMMITTED = IN_TX + LATE + "3 > commit \n 3 < commit-ok \n"
WORD = "@queue q \n @open 1 \n 1 > publish q m1 expiration=soon \n"
TEXT = "PRECONDITION_FAILED - invalid expiration"
FULL = PLAIN + "2 > qos 1 \n 2 < qos-ok \n @consume 2 q c1 \n 1 > publish q m0 \n 1 < ack 1 \n 2 < deliver c1 1 m0 q \n"
FULL += OWN.replace("ack 1", "ack 2")
ROOM, NOW = "2 > ack 1 \n", "2 < deliver c1 2 m1 q"
PASSIVE, GONE = "2 > declare q passive \n", "2 < closed 404 50 10 NOT_FOUND \n"
COPIED = '1 > publish nowhere m1 with={"expiration":"1000","headers":{"CC":["A",[["S","q"]]]}} \n 1 < ack 1 \n'
"""Only its CC leads somewhere."""
SOUND = {
    "TTL-001": PLAIN + OWN + LATE + ASK + EMPTY,
    "TTL-002": TIMED + BARE + LATE + ASK + EMPTY,
    "TTL-003": TIMED + LONG + LATE + ASK + EMPTY,
    "TTL-004": PLAIN + OWN + HALF + ASK + GOT,
    "TTL-005": COUNT + "90 < declare-ok q says=0",
    "TTL-006": BEHIND + LATE + ASK + f"{GOT} \n" + ASK + EMPTY,
    "TTL-007": GIVEN_BACK + EMPTY,
    "TTL-008": WAITED + "2 < deliver c1 1 m1 q \n @queue r \n 1 > publish r m2 expiration=0 \n 1 < ack 2 \n"
    "- wait 0.2 \n @open 3 \n 3 > get r \n 3 < get-empty",
    "TTL-009": WORD + f"1 < closed 406 60 40 {TEXT}",
    "TTL-010": LEASE + "- wait 4 \n" + PASSIVE + GONE,
    "TTL-011": LEASE + HALF + ASK + EMPTY + HALF + PASSIVE + "2 < declare-ok q",
    "TTL-012": LEASE + "@consume 3 q c1 \n" + LATE + "90 > declare q passive \n 90 < declare-ok q consumers=1",
}
BROKEN = [
    ("TTL-001", PLAIN + OWN + LATE + ASK + GOT),
    ("TTL-001", PLAIN.replace("classic", "classic x-max-priority=5") + OWN + LATE + ASK + GOT),
    ("TTL-001", PLAIN.replace("classic", "classic x-max-length=5") + OWN + LATE + ASK + GOT),
    ("TTL-001", PLAIN.replace("classic", "classic x-single-active-consumer=true") + OWN + LATE + ASK + GOT),
    ("TTL-001", PLAIN + OWN + LATE + "@consume 2 q c1 \n 2 < deliver c1 1 m1 q"),
    ("TTL-001", FULL + LATE + ROOM + NOW),
    ("TTL-001", PLAIN + COPIED + LATE + ASK + "2 < get-ok 1 m1 nowhere"),
    ("TTL-001", FULL + LATE + ROOM.replace("ack 1", "reject 1 requeue") + NOW),
    (
        "TTL-002",
        FULL.replace("queue q", "queue q classic x-message-ttl=1000").replace(" expiration=1000", "")
        + LATE
        + ROOM
        + NOW,
    ),
    ("TTL-002", TIMED + BARE + LATE + ASK + GOT),
    ("TTL-003", TIMED + LONG + LATE + ASK + GOT),
    ("TTL-003", TIMED + "1 > publish q m1 expiration=10 \n 1 < ack 1 \n" + HALF + ASK + GOT),
    ("TTL-004", PLAIN + OWN + HALF + ASK + EMPTY),
    ("TTL-004", TIMED + BARE + HALF + ASK + EMPTY),
    ("TTL-005", LONG_COUNT + "90 < declare-ok q says=1"),
    ("TTL-005", HEIRS.format("r") + LONG_COUNT + "90 < declare-ok q says=1"),
    ("TTL-006", BEHIND + LATE + ASK + f"{GOT} \n" + ASK + "2 < get-ok 2 m2 q"),
    ("TTL-007", GIVEN_BACK + AGAIN),
    ("TTL-008", PLAIN + NONE + "- wait 0.2 \n" + ASK + GOT),
    ("TTL-008", WAITED + NEXT + "2 < deliver c1 1 m2 q"),
    ("TTL-009", WORD + "@close 1"),
    ("TTL-009", WORD + "- deadline replies"),
    ("TTL-009", WORD + f"1 < closed 404 60 40 {TEXT}"),
    ("TTL-010", LEASE + "- wait 62 \n" + PASSIVE + "2 < declare-ok q"),
    ("TTL-010", LEASE + "@consume 3 q c1 \n @close 3 \n - wait 62 \n" + PASSIVE + "2 < declare-ok q"),
    ("TTL-010", LEASE + ELSEWHERE + "d:0 > bye \n d:0 < bye-ok \n - wait 62 \n" + PASSIVE + "2 < declare-ok q"),
    ("TTL-012", LEASE + ELSEWHERE + LATE + PASSIVE + GONE),
    ("TTL-008", ZERO + "- wait 11 \n @open 3 \n 3 > get q \n 3 < get-empty"),
    ("TTL-004", COMMITTED + HALF + ASK + EMPTY),
    ("TTL-001", COMMITTED + LATE + ASK + GOT),
    ("TTL-011", LEASE + HALF + ASK + EMPTY + HALF + PASSIVE + GONE),
    ("TTL-011", LEASE + "@consume 3 q c1 \n" + LATE + "@close 3 \n" + HALF + PASSIVE + GONE),
    ("TTL-011", LEASE + "@consume 2 q c1 \n" + HALF + "2 > cancel c1 \n 2 < cancel-ok c1 \n" + HALF + PASSIVE + GONE),
    (
        "TTL-012",
        "0 < start notify \n 0 > start-ok notify \n" + LEASE + "@consume 3 q c1 \n" + LATE + "3 < cancel c1 no_wait",
    ),
    ("TTL-012", LEASE + "@consume 3 q c1 \n" + LATE + PASSIVE + GONE),
]
OLD_RECORD = 'with={"expiration":"60000","headers":{"x-death":["S","old"]}}'
ANEW = "d:1 > open \n d:1 < open-ok \n d:1 > declare q passive \n"
NOBODY = "d:1 < closed 404 50 10 NOT_FOUND"
LAWFUL = {
    "the broker was killed, and is another one since": LEASE + "- killed \n - end c fin \n" + ANEW + NOBODY,
    "its only user came when its time was over": LEASE
    + "@open 3 \n 3 > consume q c1 \n - wait 2 \n 3 < consume-ok c1 \n"
    + PASSIVE
    + GONE,
    "its last use was answered when its time was over": LEASE
    + "- wait 0.5 \n 2 > get q \n - wait 0.6 \n 2 < get-empty \n"
    + PASSIVE
    + GONE,
    "its consumer is cancelled before its time is over": "0 < start notify \n 0 > start-ok notify \n"
    + LEASE.replace("classic", "quorum")
    + "@consume 3 q c1 \n 3 < cancel c1 no_wait",
    "who asks for two queues at once uses both": LEASE.replace("1000", "60000")
    + "@queue r classic x-expires=60000 \n - wait 59 \n 2 > get q \n 2 > get r \n 2 < get-empty \n 2 < get-empty \n"
    + "- wait 63 \n"
    + PASSIVE
    + "2 < declare-ok q",
    "it may be on its way to who waits": ZERO + "- wait 5 \n @open 3 \n 3 > get q \n 3 < get-empty",
    "who waited has left": ZERO + "@close 2 \n - wait 11 \n @open 3 \n 3 > get q \n 3 < get-empty",
    "its consumer is elsewhere, and is lost": LEASE + ELSEWHERE + "- end d aborted \n - wait 62 \n" + PASSIVE + GONE,
    "its consumer elsewhere was lost and not missed": LEASE
    + ELSEWHERE
    + "- end d aborted \n - wait 62 \n"
    + PASSIVE
    + "2 < declare-ok q",
    "it is not committed": IN_TX + HALF + ASK + EMPTY,
    "it was undone": IN_TX + "3 > rollback \n 3 < rollback-ok \n 3 > commit \n 3 < commit-ok \n" + ASK + EMPTY,
    "it is of the next transaction": IN_TX.replace("3 > publish", "3 > commit \n 3 > publish")
    + "3 < commit-ok \n"
    + ASK
    + EMPTY,
    "a commit takes its time": IN_TX + "3 > commit \n" + LATE + "3 < commit-ok \n" + ASK + GOT,
    "its CC leads there, and it is gone": PLAIN + COPIED + LATE + ASK + EMPTY,
    "its CC leads there, and it comes in time": PLAIN + COPIED + HALF + ASK + "2 < get-ok 1 m1 nowhere",
    "its consumer had room, and the delivery is read late": FULL + ROOM + LATE + NOW,
    "its consumer had room for two": FULL.replace("qos 1", "qos 2") + LATE + ROOM + NOW,
    "its consumer has no limit": FULL.replace("2 > qos 1 \n 2 < qos-ok \n", "") + LATE + ROOM + NOW,
    "its consumer has a limit that came too late": FULL.replace(
        "2 > qos 1 \n 2 < qos-ok \n @consume 2 q c1 \n", "@consume 2 q c1 \n 2 > qos 1 \n 2 < qos-ok \n"
    )
    + LATE
    + ROOM
    + NOW,
    "it was asked for in time": PLAIN + OWN + HALF + ASK + LATE + GOT,
    "it was confirmed late": PLAIN + OWN.replace("1 <", f"{LATE} 1 <") + ASK + GOT,
    "it is not confirmed": PLAIN + OWN.replace("1 < ack 1 \n", "") + LATE + ASK + GOT,
    "the consumer waited, and the delivery is read late": WAITED.replace("=0", "=100") + LATE + "2 < deliver c1 1 m1 q",
    "it expired while the answer was under way": PLAIN + OWN + ASK + LATE + EMPTY,
    "somebody else has taken it": PLAIN + "@consume 3 q c1 no_ack \n" + OWN + ASK + EMPTY,
    "its publisher has given it a header that is called like the record of deaths": PLAIN
    + f"1 > publish q m1 {OLD_RECORD} \n 1 < ack 1 \n {ASK} 2 < get-ok 1 m1 q {OLD_RECORD} \n 2 > reject 1 \n"
    + ASK
    + EMPTY,
    "the queue was purged": PLAIN + OWN + "2 > purge q \n 2 < purge-ok \n" + ASK + EMPTY,
    "it was given back in time": GIVEN_BACK.replace(LATE, HALF) + AGAIN,
    "what waits is not confirmed": WAITED.replace("1 < ack 1 \n", "")
    + NEXT.replace("k 2", "k 2 multiple")
    + "2 < deliver c1 1 m2 q",
    "who waits may have no room": WAITED.replace(" no_ack", "") + NEXT + "2 < deliver c1 1 m2 q",
    "an exchange brings more": COUNT.replace(BARE, BARE + "@exchange x q \n") + "90 < declare-ok q says=1",
    "dead letters come into it": HEIRS.format("q") + LONG_COUNT + "90 < declare-ok q says=1",
    "dead letters come into it from a queue that is new": LONG_COUNT.replace(BARE, BARE + HEIRS.format("q"))
    + "90 < declare-ok q says=1",
    "dead letters go where bindings say": ANYWHERE + LONG_COUNT + "90 < declare-ok q says=1",
    "dead letters keep their keys": ANYWHERE.replace("=x", "=") + LONG_COUNT + "90 < declare-ok q says=1",
    "a second is not over": COUNT.replace("2.5", "1.5") + "90 < declare-ok q says=1",
    "the lease is over": LEASE + HALF + ASK + EMPTY + LATE + PASSIVE + GONE,
    "queues are looked after every half minute": LEASE + "- wait 28 \n" + PASSIVE + "2 < declare-ok q",
    "a question was the last use": LEASE + "- wait 40 \n" + (PASSIVE + "2 < declare-ok q \n - wait 40 \n") * 2,
    "what has expired is swept every few seconds": COUNT + "90 < declare-ok q says=1",
    "the lease is hardly over": LEASE + "- wait 2 \n" + PASSIVE + "2 < declare-ok q",
    "quorum queues go later": LEASE.replace("classic", "quorum") + "- wait 4 \n" + PASSIVE + "2 < declare-ok q",
    "it was deleted": LEASE + "90 > delete q \n 90 < delete-ok \n" + PASSIVE + GONE,
    "its consumer went with a channel": LEASE + "@consume 3 q c1 \n @close 3 \n" + LATE + PASSIVE + GONE,
    "its consumer is about to go with a channel": LEASE + "@consume 3 q c1 \n 3 > close \n" + LATE + PASSIVE + GONE,
    "its consumer goes with a channel that fails": LEASE
    + "@consume 3 q c1 \n 3 > ack 9 \n 3 < closed 406 60 80 unknown \n"
    + LATE
    + PASSIVE
    + GONE,
    "a plus sign may be part of a number": WORD.replace("soon", "+5") + "@close 1",
}


def test_quorum_queues_before_3_10_know_no_time(play) -> None:
    quorum = PLAIN.replace("@queue q", "@queue q quorum") + OWN + LATE + ASK + GOT
    assert play(quorum, "rabbitmq-3.8").broken == []
    assert play(quorum, "rabbitmq-3.10").broken == ["TTL-001"]


def test_the_answer_to_another_question_ends_no_consumer(play) -> None:
    """TTL-012: what is asked of another queue on the same channel is answered before the cancel is."""
    asked = LEASE + "@queue r \n @consume 3 q c1 \n 3 > declare r passive \n 3 > cancel c1 \n"
    answered = "3 < declare-ok r \n 3 < cancel-ok c1 \n"
    assert play(asked + answered + LATE + PASSIVE + GONE).broken == []


def test_who_sees_a_match_otherwise_never_put_it_there(play) -> None:
    route = "@queue q \n @route x topic a.# q \n @confirming 1 \n @open 2 \n"
    publish = "1 > publish a.b m1 exchange=x expiration=60000 \n 1 < ack 1 \n"
    assert play(route + publish + HALF + ASK + EMPTY).broken == []
    direct = route.replace("topic a.# q", "fanout - q")
    assert play(direct + publish + HALF + ASK + EMPTY).broken == ["TTL-004"]
