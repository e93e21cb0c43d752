"""DLX: histories of messages that a queue gives up, and of what they tell afterwards."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.oracle.monitors.fate import LOSING
from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

TIME, NOW = "T", 1


def entry(queue: str, reason: str, count: int, **more: Any) -> list[Any]:
    """One entry of x-death; `more`: fields beside those, or others; None: none."""
    fields: dict[str, Any] = {
        "queue": ["S", queue],
        "reason": ["S", reason],
        "count": ["l", count],
        "time": [TIME, NOW],
        "exchange": ["S", ""],
        "routing-keys": ["A", [["S", key] for key in more.pop("keys", (queue,))]],
    }
    fields |= {name.replace("_", "-"): value for name, value in more.items()}
    return ["F", {name: value for name, value in fields.items() if value is not None}]


def dead(*deaths: list[Any], first: tuple[str, str] = ("q", "rejected"), **headers: Any) -> str:
    """The properties of a dead letter."""
    told = {"queue": first[0], "reason": first[1], "exchange": ""}
    more = {f"x-first-death-{name}": ["S", value] for name, value in told.items()} if first[0] else {}
    table = {"x-death": ["A", list(deaths)], **more, **headers}
    return f"expiration=- with={json.dumps({'headers': table}, separators=(',', ':'))}"


def sent(**headers: Any) -> str:
    return f"with={json.dumps({'headers': headers}, separators=(',', ':'))}"


OF_OLD = sent(**{"x-death": ["S", "old"]})


def two(kind: str = "classic", more: str = "") -> str:
    """A queue whose dead letters go to another one."""
    return (
        f"@queue d {kind} \n @queue q {kind} x-dead-letter-exchange= x-dead-letter-routing-key=d {more} \n"
        "@confirming 1 \n @open 2 \n @open 3 \n"
    )


M1, M2 = "1 > publish q m1 \n 1 < ack 1 \n", "1 > publish q m2 \n 1 < ack 2 \n"
TAKEN = "2 > get q \n 2 < get-ok 1 m1 q \n"
REJECTED = TAKEN + "2 > reject 1 \n @barrier 2 \n"
LATER, ASK, GOT, EMPTY = "- wait 11 \n", "3 > get d no_ack \n", "3 < get-ok 1 m1 d ", "3 < get-empty \n"
ONCE = entry("q", "rejected", 1)
SIMPLE = two() + M1 + REJECTED + ASK + GOT
OWN = two() + M1.replace("m1", "m1 expiration=100") + LATER + ASK
EXPIRED = ("q", "expired")
BEHIND = two() + M1 + M2.replace("m2", "m2 expiration=100") + TAKEN
LATE = two() + M1.replace("m1", "m1 expiration=100") + TAKEN + LATER + "2 > reject 1 requeue \n @barrier 2 \n"
RANKED, LOW = two(more="x-max-priority=5"), M1.replace("m1", "m1 expiration=100 priority=1")
HIGH = M2.replace("m2", "m2 expiration=100 priority=2")
FREED = BEHIND + "2 > ack 1 \n @barrier 2 \n"
KEPT = ["S", "100"]
FULL = two(more="x-max-length=1") + M1 + M2 + LATER + ASK
LIMITED = two("quorum", "x-delivery-limit=0") + M1 + TAKEN + "2 > reject 1 requeue \n @barrier 2 \n" + LATER + ASK
WALKED_OFF = LIMITED.replace("2 > reject 1 requeue \n @barrier 2", "2 > close \n 2 < close-ok")
CC, BCC = ["A", [["S", "nobody"]]], ["A", [["S", "none"]]]
COPIED = two() + M1.replace("m1", f"m1 {sent(CC=CC, BCC=BCC)}") + TAKEN.replace("m1 q", f"m1 q {sent(CC=CC)}")
COPIED += "2 > reject 1 \n @barrier 2 \n" + ASK + GOT
BOTH_KEYS = entry("q", "rejected", 1, keys=("q", "nobody"))
HOME = (
    "@open 90 \n 90 > declare w classic x-dead-letter-exchange= x-dead-letter-routing-key=q x-message-ttl=100 \n"
    "90 < declare-ok w \n @queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=w \n"
    "@confirming 1 \n @open 2 \n"
) + M1
WAITED = entry("w", "expired", 1)
ROUND = HOME + REJECTED + LATER + "2 > get q \n"
BACK = f"2 < get-ok 2 m1 q {dead(WAITED, ONCE)} \n"
TWICE = ROUND + BACK + "2 > reject 2 \n @barrier 2 \n" + LATER + "2 > get q \n 2 < get-ok 3 m1 q "
SELF = (
    "@queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=q x-message-ttl=100 \n"
    "@confirming 1 \n @open 3 \n" + M1 + LATER + "3 > get q no_ack \n"
)
GIVEN_BACK = ROUND + BACK + "2 > reject 2 requeue \n @barrier 2 \n 2 > get q \n 2 < get-ok 3 m1 q redelivered "
TWO_COPIES = two() + "1 > publish any m1 exchange=x \n 1 < ack 1 \n"
TWO_COPIES += "3 > get d \n 3 < get-ok 1 m1 any exchange=x \n 2 > get q \n 2 < get-ok 1 m1 any exchange=x \n"
TWO_COPIES += "2 > reject 1 \n @barrier 2 \n"
DROPPED = entry("d", "maxlen", 1, keys=("d",))
CHAIN = "@queue e classic \n @queue d classic x-dead-letter-exchange= x-dead-letter-routing-key=e x-max-length=1 "
CHAIN += "x-message-ttl=60000 \n @queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=d \n"
CHAIN += "@confirming 1 \n @open 2 \n @open 3 \n" + M1 + M2 + REJECTED
CHAIN += "2 > get q \n 2 < get-ok 2 m2 q \n 2 > reject 2 \n @barrier 2 \n" + LATER + "3 > get e no_ack \n"
CUT = two(more="x-max-length=1") + M1 + "b:2 > open \n b:2 < open-ok \n b:2 > get q \n b:2 < get-ok 1 m1 q \n"
CUT += "b:2 > reject 1 \n - end b aborted \n" + M2 + LATER + ASK
HOLD = "@open 90 \n 90 > declare w classic x-dead-letter-exchange= x-dead-letter-routing-key=q \n 90 < declare-ok w \n"
HOLD += (
    "@queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=w {} \n @confirming 1 \n @open 2 \n @open 3 \n"
)
LONG_LIVED = entry("q", "maxlen", 1, original_expiration=["S", "60000"])
PUSHED = dead(LONG_LIVED, first=("q", "maxlen"))
FROM_W = LATER + "2 > get w \n 2 < get-ok 1 {} w {} \n 2 > reject 1 \n @barrier 2 \n" + LATER
KEYS = "@queue d classic \n @queue q classic x-dead-letter-exchange=x \n @route x direct nobody d \n"
KEYS += "@confirming 1 \n @open 2 \n @open 3 \n" + M1.replace("m1", f"m1 {sent(CC=CC)}")
KEYS += TAKEN.replace("m1 q", f"m1 q {sent(CC=CC)}") + "2 > reject 1 \n @barrier 2 \n"
RENAMED = KEYS.replace("exchange=x ", "exchange=x x-dead-letter-routing-key=other ", 1)
LASTING = (
    "@queue e classic \n @queue d classic x-dead-letter-exchange= x-dead-letter-routing-key=e x-message-ttl=2000 \n"
)
LASTING += "@queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=d x-message-ttl=1000 \n"
LASTING += "@confirming 1 \n @open 3 \n" + M1 + "- wait {} \n 3 > get e no_ack \n 3 < get-ok 1 m1 e "
AGED = dead(entry("d", "expired", 1), entry(*EXPIRED, 1), first=EXPIRED)
ACKED = two() + M1 + TAKEN + "2 > ack 1 \n @barrier 2 \n" + LATER + ASK
UNSEEN = "@open 4 \n 4 > get q \n 4 > nack 0 multiple \n "
PURGED = two() + M1 + "2 > purge q \n 2 < purge-ok 1 \n" + LATER + ASK
DELETED = two() + M1 + "2 > delete q \n 2 < delete-ok 1 \n" + LATER + ASK
PASSED_ON = "0 < start notify \n 0 > start-ok notify \n" + two("quorum") + M1
PASSED_ON += "2 > consume q c1 x-consumer-timeout=1000 \n 2 < consume-ok c1 \n 2 < deliver c1 1 m1 q \n - wait 1.1 \n"
PASSED_ON += "2 < cancel c1 no_wait \n @open 4 \n 4 > get q \n 4 < get-ok 1 m1 q redelivered \n"
DIES = "4 > reject 1 \n @barrier 4 \n 2 > ack 1 \n @barrier 2 \n" + LATER + ASK
LIVES_ON = "4 > ack 1 \n @barrier 4 \n 2 > reject 1 \n @barrier 2 \n" + LATER + ASK
WAITS = "@open 90 \n 90 > declare w classic x-dead-letter-exchange= x-dead-letter-routing-key=q \n 90 < declare-ok w \n"
WAITS += "@queue q classic \n @confirming 1 \n @open 2 \n"
AGAIN = "1 > publish w m1 expiration=100 \n 1 < ack 2 \n 2 > ack 1 \n @barrier 2 \n" + LATER
AGAIN_DEAD = dead(entry("w", "expired", 1, original_expiration=KEPT), first=("w", "expired")) + " \n"
AGAIN_SEEN = AGAIN + f"2 > get q \n 2 < get-ok 2 m1 q {AGAIN_DEAD}"
LED = "@queue w classic x-dead-letter-exchange=t x-message-ttl=100 \n @queue q classic x-dead-letter-exchange=x \n"
LED += "@queue p classic \n @route x direct q w \n @exchange t q \n @confirming 1 \n @open 2 \n"
LED += M1 + REJECTED + LATER + "2 > get q \n"
ON_AGAIN = "2 > reject 2 \n @barrier 2 \n" + LATER + "2 > get q \n"


def led(at: int, count: int) -> str:
    """It has died so often in both queues, and comes by two exchanges."""
    deaths = entry("w", "expired", count, exchange=["S", "x"], keys=("q",)), entry("q", "rejected", count)
    return f"2 < get-ok {at} m1 q exchange=t {dead(*deaths)} \n"


FORKED = "@queue d classic \n @queue q classic x-dead-letter-exchange=f x-message-ttl=100 \n"
FORKED += "@exchange f d \n @exchange g q \n 90 > bind-exchange g f k \n 90 < bind-exchange-ok \n"
FORKED += "@confirming 1 \n @open 2 \n @open 3 \n"
FORKED += M1 + REJECTED + f"3 > get d no_ack \n 3 < get-ok 1 m1 q exchange=f {dead(ONCE)} \n" + LATER
FORKED += "3 > get d no_ack \n 3 < get-ok 2 m1 q exchange=f "
FORKED += dead(entry("q", "expired", 1, exchange=["S", "f"]), ONCE)


ONWARD = "@queue d classic \n @queue e classic \n @queue q classic x-dead-letter-exchange=f \n @exchange f d \n"
ONWARD += "@exchange g e \n 90 > bind-exchange g f k \n 90 < bind-exchange-ok \n @confirming 1 \n @open 2 \n @open 3 \n"
ONWARD += M1 + REJECTED
HOME = "@queue d classic \n @queue q classic x-dead-letter-exchange=f \n @exchange f d q \n"
HOME += "@confirming 1 \n @open 2 \n @open 3 \n" + M1 + REJECTED
LOOSE = "90 > unbind-exchange g f k \n 90 < unbind-exchange-ok \n"
ASK_E, IN_E = "3 > get e no_ack \n", f"3 < get-ok 1 m1 q exchange=f {dead(ONCE)}"
OTHERWISE = "@queue e classic \n @queue q classic x-dead-letter-exchange=f \n @route f direct other e \n"
OTHERWISE += "@confirming 1 \n @open 2 \n @open 3 \n" + M1 + REJECTED + LATER + ASK_E
BOUND_LATER = "@queue d classic \n @queue q classic x-dead-letter-exchange=f \n @exchange f \n"
BOUND_LATER += "@confirming 1 \n @open 2 \n @open 3 \n" + M1 + REJECTED + "90 > bind d f k \n 90 < bind-ok \n" + LATER
BOUND_LATER += ASK + EMPTY


def restarted(exchange: str) -> str:
    """After a restart a message expires, whose queue sends its dead to this exchange."""
    return (
        "@queue d classic durable \n @queue q classic durable x-dead-letter-exchange=x x-message-ttl=100 \n @open 1 \n"
        f"1 > exchange x fanout {exchange} \n 1 < exchange-ok \n 1 > bind d x \n 1 < bind-ok \n"
        "- restarted stopping \n - restarted started \n"
        "d:1 > open \n d:1 < open-ok \n d:1 > confirm \n d:1 < confirm-ok \n"
        "d:1 > publish q m1 persistent \n d:1 < ack 1 \n" + LATER + "d:1 > get d no_ack \n d:1 < get-empty"
    )


YOUNG = two(more="x-max-length=1 x-message-ttl=60000") + M1 + M2 + LATER + ASK + GOT
OF_AGE = dead(entry(*EXPIRED, 1), first=EXPIRED)
CLOSED = "2 > close \n 2 < close-ok \n"
BACK_AGAIN = two(more="x-max-length=1") + M1 + TAKEN + M2 + CLOSED + LATER
LEFT = "3 > get q no_ack \n 3 < get-ok 1 m2 q \n 3 > get q no_ack \n" + EMPTY
NO_ROOM = BACK_AGAIN + LEFT + LATER + ASK
UNREAD = two(more="x-max-length-bytes=1000") + M1 + M2 + "@consume 2 q c1 \n 2 < deliver c1 1 m1 q \n SETTLE \n"
UNREAD += "2 < deliver c1 2 m2 q \n @barrier 2 \n" + LATER + ASK + GOT + dead(ONCE)
UNREAD += " \n" + ASK + GOT.replace("ok 1 m1", "ok 2 m2") + dead(ONCE)
SELECTED = two() + M1 + "2 > select \n 2 < select-ok \n" + TAKEN + "2 > reject 1 \n"
COMMITTED = SELECTED + "2 > commit \n 2 < commit-ok \n"
ROLLED_BACK = SELECTED + "2 > rollback \n 2 < rollback-ok \n"
SOUND = {
    "DLX-001": SIMPLE + dead(ONCE),
    "DLX-002": OWN + GOT + dead(entry(*EXPIRED, 1, original_expiration=KEPT), first=EXPIRED),
    "DLX-003": FULL + GOT + dead(entry("q", "maxlen", 1), first=("q", "maxlen")),
    "DLX-004": LIMITED + GOT + dead(entry("q", "delivery_limit", 1), first=("q", "delivery_limit")),
    "DLX-005": SIMPLE + dead(ONCE),
    "DLX-006": TWICE + dead(entry("w", "expired", 2), entry("q", "rejected", 2)),
    "DLX-007": SIMPLE + dead(ONCE),
    "DLX-008": SIMPLE + dead(ONCE),
    "DLX-009": OWN + GOT + dead(entry(*EXPIRED, 1, original_expiration=KEPT), first=EXPIRED),
    "DLX-010": COPIED + dead(BOTH_KEYS),
    "DLX-011": SELF + EMPTY,
    "DLX-012": ROUND + BACK,
    "DLX-013": ACKED + EMPTY,
    "DLX-014": ONWARD + LATER + ASK_E + IN_E,
}
BROKEN = [
    ("DLX-002", restarted("durable")),
    ("DLX-001", two() + M1 + REJECTED + LATER + ASK + EMPTY),
    ("DLX-001", SIMPLE + dead(entry("q", "expired", 1))),
    ("DLX-001", SIMPLE),
    ("DLX-002", OWN + GOT + "expiration=-"),
    ("DLX-003", FULL + GOT),
    ("DLX-004", LIMITED + GOT),
    ("DLX-002", OWN + EMPTY),
    ("DLX-002", FREED + LATER + ASK + EMPTY),
    ("DLX-002", RANKED + LOW + HIGH + LATER + ASK + EMPTY),
    ("DLX-002", BEHIND + LATER + ASK + EMPTY),
    ("DLX-002", LATE + LATER + ASK + EMPTY),
    ("DLX-002", two(more="x-message-ttl=100") + M1 + LATER + ASK + EMPTY),
    ("DLX-001", COMMITTED + LATER + ASK + EMPTY),
    ("DLX-001", COMMITTED + ASK + GOT + dead(entry("q", "expired", 1))),
    ("DLX-013", COMMITTED.replace("reject", "ack") + LATER + ASK + GOT + dead(ONCE)),
    ("TX-009", SELECTED + "@barrier 2 \n" + ASK + GOT + dead(ONCE)),
    ("DLX-003", FULL + EMPTY),
    ("DLX-003", YOUNG + OF_AGE),
    ("DLX-003", NO_ROOM + EMPTY),
    ("DLX-003", NO_ROOM + GOT.replace("ok 1", "ok 2") + dead(ONCE)),
    ("DLX-004", LIMITED + EMPTY),
    ("DLX-004", WALKED_OFF + EMPTY),
    ("DLX-004", LIMITED + GOT + dead(ONCE)),
    ("DLX-005", SIMPLE.replace("m1 d", "m1 q") + dead(ONCE)),
    ("DLX-006", TWICE + dead(WAITED, ONCE)),
    ("DLX-006", TWICE + dead(entry("q", "rejected", 2), entry("w", "expired", 2))),
    ("DLX-006", TWICE + dead(WAITED, ONCE, WAITED, ONCE)),
    ("DLX-006", LED + led(2, 1) + ON_AGAIN + led(3, 1)),
    ("DLX-006", GIVEN_BACK),
    ("DLX-006", GIVEN_BACK + dead(entry("q", "rejected", 1))),
    ("DLX-007", SIMPLE + dead(entry("q", "rejected", 1, exchange=["S", "x"]))),
    ("DLX-007", SIMPLE + dead(entry("q", "rejected", 1, keys=("d",)))),
    ("DLX-007", SIMPLE + dead(entry("q", "rejected", 1, time=None))),
    ("DLX-007", SIMPLE + dead(entry("q", "rejected", 1, time=["l", NOW]))),
    ("DLX-007", OWN + GOT + dead(entry(*EXPIRED, 1), first=EXPIRED)),
    ("DLX-008", SIMPLE + dead(ONCE, first=("d", "rejected"))),
    ("DLX-008", SIMPLE + dead(ONCE, first=("", ""))),
    ("DLX-009", OWN + GOT + dead(entry(*EXPIRED, 1, original_expiration=KEPT), first=EXPIRED).replace("=-", "=100")),
    ("DLX-010", COPIED + dead(BOTH_KEYS, BCC=BCC)),
    ("DLX-010", COPIED + dead(BOTH_KEYS, CC=CC)),
    ("DLX-010", KEYS + LATER + ASK + EMPTY),
    ("TTL-004", LASTING.format(2.2) + AGED),
    ("TTL-004", LASTING.format(2.9) + AGED),
    ("DLX-011", SELF + EMPTY + "\n 3 > get q \n 3 < get-ok 1 m1 q " + dead(entry(*EXPIRED, 3), first=EXPIRED)),
    ("DLX-011", SELF + "3 < get-ok 1 m1 q " + dead(entry(*EXPIRED, 3), first=EXPIRED)),
    ("DLX-012", ROUND + BACK + "2 > reject 2 \n @barrier 2 \n" + LATER + "2 > get q \n 2 < get-empty"),
    ("DLX-013", ACKED + GOT + dead(ONCE)),
    ("DLX-013", PASSED_ON + LIVES_ON + GOT + dead(ONCE)),
    ("DLX-013", PURGED + GOT + dead(entry(*EXPIRED, 1), first=EXPIRED)),
    ("DLX-013", DELETED + GOT),
    ("DLX-014", ONWARD + LATER + ASK_E + EMPTY),
    ("DLX-014", OTHERWISE + IN_E),
    ("DLX-014", HOME + LATER + "3 > get q no_ack \n" + EMPTY),
    ("MODE-004", WAITS + M1 + TAKEN + AGAIN_SEEN.replace("1 > publish w m1 expiration=100 \n 1 < ack 2 \n", "")),
    ("DLX-013", SIMPLE + dead(ONCE) + " \n " + ASK + GOT.replace("ok 1", "ok 2") + dead(ONCE)),
]
LAWFUL = {
    "who let its time pass acknowledges what another one has rejected": PASSED_ON + DIES + GOT + dead(ONCE),
    "who had it before, on the same channel, acknowledges it": (PASSED_ON + DIES)
    .replace("@open 4 \n 4 ", "2 ")
    .replace("4 ", "2 ")
    .replace("2 < get-ok 1", "2 < get-ok 2")
    .replace("2 > reject 1", "2 > reject 2")
    + GOT
    + dead(ONCE),
    "its time may have been over before the purge": PURGED.replace("m1", "m1 expiration=100", 1) + GOT,
    "its queue may have had no room before the deletion": DELETED.replace("key=d", "key=d x-max-length=1", 1) + GOT,
    "somebody may have given it up before the purge, unseen": PURGED.replace("2 > purge", UNSEEN + "2 > purge", 1)
    + GOT
    + dead(ONCE),
    "somebody may have given it up after all, unseen": PURGED.replace("2 < purge", UNSEEN + "2 < purge", 1)
    + GOT
    + dead(ONCE),
    "it goes by a key in CC": KEYS + ASK + f"3 < get-ok 1 m1 q exchange=x {dead(BOTH_KEYS, CC=CC)}",
    "it may still be on its way there": KEYS + ASK + EMPTY,
    "it may be so for a while": KEYS + "- wait 3 \n" + ASK + EMPTY,
    "a get may have had it unseen where exchanges lead": ONWARD
    + LATER
    + "@open 4 \n 4 > get e \n 4 > close \n 4 < close-ok \n"
    + ASK_E
    + EMPTY,
    "another key takes the place of those in CC": RENAMED + LATER + ASK + EMPTY,
    "it has lived in two queues": LASTING.format(3.1) + AGED,
    "clocks differ by a moment": LASTING.format(2.99) + AGED,
    "another stands before it": BEHIND.removesuffix(TAKEN) + LATER + ASK + EMPTY,
    "another may stand before it again, which its client recovers": BEHIND
    + "2 > recover requeue \n 2 < recover-ok \n"
    + LATER
    + ASK
    + EMPTY,
    "another may stand before it again, since its channel fails": BEHIND + "2 > ack 7 \n" + LATER + ASK + EMPTY,
    "it is given back just now": LATE.replace("@barrier 2 \n", "") + LATER + ASK + EMPTY,
    "it was given back a moment ago": LATE + ASK + EMPTY,
    "it was given back behind one that lives on": two()
    + "1 > publish q m0 \n 1 < ack 1 \n 1 > publish q m1 expiration=100 \n 1 < ack 2 \n 2 > get q \n"
    + "2 < get-ok 1 m0 q \n 2 > get q \n 2 < get-ok 2 m1 q \n"
    + LATER
    + "2 > nack 2 multiple requeue \n @barrier 2 \n"
    + LATER
    + ASK
    + EMPTY,
    "one that came later may stand before it after both have come back": two()
    + M1.replace("m1", "m1 expiration=20000")
    + "- wait 15 \n"
    + M2.replace("m2", "m2 expiration=20000")
    + TAKEN
    + "2 > get q \n 2 < get-ok 2 m2 q \n 2 > nack 2 multiple requeue \n @barrier 2 \n - wait 17 \n"
    + ASK
    + EMPTY,
    "another stood before it a moment ago": FREED + ASK + EMPTY,
    "its channel was closed, once as is allowed": WALKED_OFF.replace("limit=0", "limit=1") + EMPTY,
    "its channel was closed too often": WALKED_OFF
    + GOT
    + dead(entry("q", "delivery_limit", 1), first=("q", "delivery_limit")),
    "its channel closes just now": WALKED_OFF.replace("2 < close-ok", "@open 5") + EMPTY,
    "its rejection is being committed": SELECTED + "2 > commit \n" + ASK + GOT + dead(ONCE),
    "its rejection was rolled back, and is committed": SELECTED
    + "2 > rollback \n 2 < rollback-ok \n 2 > reject 1 \n 2 > commit \n 2 < commit-ok \n"
    + ASK
    + GOT
    + dead(ONCE),
    "its transaction ends with its channel": SELECTED + "2 > close \n" + ASK + GOT + dead(ONCE),
    "it was rejected with the commit": COMMITTED + ASK + GOT + dead(ONCE),
    "a broker that buries its dead every few seconds": two()
    + M1
    + REJECTED
    + "- wait 5 \n"
    + ASK
    + EMPTY
    + LATER
    + ASK
    + GOT
    + dead(ONCE),
    "its transaction is not committed": SELECTED + LATER + ASK + EMPTY,
    "its transaction was rolled back": ROLLED_BACK + LATER + ASK + EMPTY,
    "a commit that is not answered": SELECTED + "2 > commit \n" + LATER + ASK + EMPTY,
    "its commit was a moment ago": COMMITTED + ASK + EMPTY,
    "it came back, and there was no room": NO_ROOM
    + GOT.replace("ok 1", "ok 2")
    + dead(entry("q", "maxlen", 1), first=("q", "maxlen")),
    "it was rejected before it was read": UNREAD.replace("SETTLE", "2 > nack 2 multiple"),
    "it was rejected with all that there was before it was read": UNREAD.replace("SETTLE", "2 > nack 0 multiple"),
    "what came back may be on its way to its grave": BACK_AGAIN + LEFT + ASK + EMPTY,
    "it may come back a moment later": BACK_AGAIN.removesuffix(LATER) + LEFT + LATER + ASK + EMPTY,
    "it came back, and somebody else may have it": BACK_AGAIN
    + "@consume 4 q c1 no_ack \n"
    + LEFT
    + LATER
    + ASK
    + EMPTY,
    "it came back where gets may find nothing": NO_ROOM.replace("length=1", "length=1 x-single-active-consumer=true")
    + EMPTY,
    "there was room for what came back": NO_ROOM.replace("length=1", "length=2") + EMPTY,
    "it was pushed out while it was young": YOUNG + dead(entry("q", "maxlen", 1), first=("q", "maxlen")),
    "it may have expired where there was no room": YOUNG.replace("60000", "1000") + OF_AGE,
    "there was room, and another rule speaks of its time": YOUNG.replace("length=1", "length=2") + OF_AGE,
    "it may be on its way over a second exchange": ONWARD + ASK_E + EMPTY,
    "nobody knows that the way over a second exchange was taken": ONWARD.replace("@barrier 2 \n", "", 1)
    + LATER
    + ASK_E
    + EMPTY,
    "the second exchange was unbound meanwhile": ONWARD + LOOSE + LATER + ASK_E + EMPTY,
    "somebody else has it behind the second exchange": ONWARD.replace("@open 3", "@consume 4 e c1 no_ack \n @open 3")
    + LATER
    + ASK_E
    + EMPTY,
    "what it was to come to was emptied": ONWARD + LATER + "90 > purge e \n 90 < purge-ok 1 \n" + ASK_E + EMPTY,
    "it was no key of the second exchange": OTHERWISE + EMPTY,
    "it expired where it had come to, and went on from there": OTHERWISE.replace(
        "@confirming 1",
        "@queue d classic x-message-ttl=1 x-dead-letter-exchange= x-dead-letter-routing-key=e \n "
        "90 > bind d f q \n 90 < bind-ok \n @confirming 1",
    )
    + f"3 < get-ok 1 m1 e {dead(entry('d', 'expired', 1, exchange=['S', 'f'], keys=('q',)), ONCE)}",
    "it was bound after that had died": BOUND_LATER,
    "a restart took the exchange": restarted(""),
    "it goes round by two exchanges": LED + led(2, 1) + ON_AGAIN + led(3, 2),
    "its client has published it anew, for somebody else": LED
    + led(2, 1)
    + "1 > publish p m1 \n 1 < ack 2 \n 2 > ack 2 \n @barrier 2 \n 2 > get p \n 2 < get-ok 3 m1 p \n",
    "its exchange leads to another one, too": FORKED,
    "its client has published it anew, to wait": WAITS + M1 + TAKEN + AGAIN_SEEN,
    "its client has published it anew, again and again": WAITS
    + M1
    + TAKEN
    + AGAIN_SEEN
    + AGAIN.replace("ack 2", "ack 3").replace("ack 1", "ack 2")
    + f"2 > get q \n 2 < get-ok 3 m1 q {AGAIN_DEAD}",
    "it may still be under way": two() + M1 + REJECTED + ASK + EMPTY,
    "nobody knows that it was taken": two() + M1 + TAKEN + "2 > reject 1 \n" + LATER + ASK + EMPTY,
    "somebody else has it": two() + "@consume 4 d c1 no_ack \n" + M1 + REJECTED + LATER + ASK + EMPTY,
    "one that lives on is before it": two()
    + "1 > publish q m0 \n 1 < ack 1 \n 1 > publish q m1 expiration=100 \n 1 < ack 2 \n"
    + LATER
    + ASK
    + EMPTY,
    "its queue is not full": two(more="x-max-length=2") + M1 + M2 + LATER + ASK + EMPTY,
    "there is no such exchange": two().replace("exchange=", "exchange=x") + M1 + REJECTED + LATER + ASK + EMPTY,
    "one that is given back tells the same again": GIVEN_BACK + dead(WAITED, ONCE),
    "another copy of it is held where it comes as a dead letter": TWO_COPIES
    + ASK
    + GOT.replace("ok 1", "ok 2")
    + dead(entry("q", "rejected", 1, keys=("any",), exchange=["S", "x"])),
    "a copy that has not died comes where a dead letter is expected": TWO_COPIES.replace(
        "3 > get d", "3 > get d no_ack"
    )
    + ASK
    + GOT.replace("ok 1", "ok 2")
    + dead(entry("q", "rejected", 1, keys=("any",), exchange=["S", "x"])),
    "it was dropped on its way": CHAIN + "3 < get-ok 1 m1 e " + dead(DROPPED, ONCE),
    "its rejection was lost, and there was no room for it": CUT
    + GOT
    + dead(entry("q", "maxlen", 1), first=("q", "maxlen")),
    "it comes back from where it was dropped": HOLD.format("x-max-length=1")
    + M1.replace("m1", "m1 expiration=60000")
    + M2
    + FROM_W.format("m1", PUSHED)
    + "3 > get q no_ack \n 3 < get-ok 1 m1 q "
    + dead(entry("w", "rejected", 1), LONG_LIVED, first=("q", "maxlen")),
    "it comes back from where it went when it was refused": HOLD.format("x-max-length=1 x-overflow=reject-publish-dlx")
    + M1
    + "1 > publish q m2 \n 1 < nack 2 \n 3 > get q no_ack \n 3 < get-ok 1 m1 q \n"
    + FROM_W.format("m2", dead(entry("q", "maxlen", 1), first=("q", "maxlen")))
    + "3 > get q no_ack \n 3 < get-ok 2 m2 q "
    + dead(entry("w", "rejected", 1), entry("q", "maxlen", 1), first=("q", "maxlen")),
    "what was dropped is counted elsewhere": two(more="x-max-length=1")
    + ASK
    + EMPTY
    + M1
    + M2
    + LATER
    + "3 > delete d \n 3 < delete-ok says=1",
    "an heir is declared anew": two()
    + "3 > delete d \n 3 < delete-ok \n 3 > declare d classic \n 3 < declare-ok d \n"
    + ASK
    + EMPTY
    + M1
    + REJECTED
    + LATER
    + "3 > delete d \n 3 < delete-ok says=1",
    "it has gone round by itself since it was rejected": ROUND.replace(
        "routing-key=w \n", "routing-key=w x-message-ttl=100 \n"
    )
    + f"2 < get-ok 2 m1 q {dead(entry('w', 'expired', 2), entry('q', 'expired', 1), ONCE)}",
    "nobody tells of deaths beside what the publisher calls so": (two() + M1 + TAKEN)
    .replace("q m1", f"q m1 {OF_OLD}")
    .replace("m1 q", f"m1 q {OF_OLD}")
    + "2 > reject 1 \n @barrier 2 \n"
    + ASK
    + GOT
    + OF_OLD,
    "a copy that came by another way has not died": TWO_COPIES + "3 > get d \n 3 < get-ok 2 m1 any exchange=x",
    "its publisher has sent it there as well": SIMPLE.replace(M1, M1 + "1 > publish d m1 \n 1 < ack 2 \n"),
    "it comes back rejected again": TWICE + dead(entry("w", "expired", 2), entry("q", "rejected", 2)),
}


def test_where_nothing_expires_nobody_dies_of_it(play) -> None:
    """DLX-002: quorum queues of RabbitMQ 3.8 pass over times to live."""
    quorum = OWN.replace("@queue q classic", "@queue q quorum") + EMPTY
    assert play(quorum, "rabbitmq-3.8").broken == []
    assert play(quorum, "rabbitmq-3.10").broken == ["DLX-002"]


def test_what_was_to_be_given_back_may_have_died_of_it(play) -> None:
    """DLX-002, and not DLX-008 as well: a broker that never requeues breaks ACK-012."""
    book = play(LATE + ASK + GOT + dead(ONCE))
    assert [(one.rule, one.unless) for one in book.judge.judgement.findings] == [("DLX-002", ("ACK-012", "RQ-013"))]


@pytest.mark.parametrize(
    ("settled", "others"),
    [
        ("reject 1", ("MODE-005", "ACK-012")),
        ("nack 1 multiple", ("ACK-006", "ACK-011")),
    ],
)
def test_what_was_not_rejected_is_no_dead_letter(play, settled: str, others: tuple[str, ...]) -> None:
    """DLX-001: a broker that settles nothing by this has broken the rule about that."""
    book = play(two() + M1 + REJECTED.replace("reject 1", settled) + LATER + ASK + EMPTY)
    assert [(one.rule, one.unless) for one in book.judge.judgement.findings] == [("DLX-001", (*LOSING, *others))]
