"""PRIO: sound and broken histories of queues that serve messages by their priority."""

from __future__ import annotations

import json

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

QUEUE = "@queue q classic x-max-priority=5 \n @open 1 \n @confirming 8 \n"


def of(priority: str | int | None) -> str:
    """A message of this priority."""
    return "with={}" if priority in (None, "None") else f'with={{"priority":{priority}}}'


def stocked(*priorities: int | None) -> str:
    """A queue with a confirmed message of each priority."""
    numbered = list(enumerate(priorities, 1))
    return QUEUE + "".join(f"8 > publish q m{at} {of(one)} \n 8 < ack {at} \n" for at, one in numbered)


def got(*messages: str) -> str:
    """They come one by one: each with its priority, as in m1:3."""
    found = [one.split(":") for one in messages]
    return "".join(
        f"1 > get q no_ack \n 1 < get-ok {tag} {one} q {of(priority)} \n"
        for tag, (one, priority) in enumerate(found, 1)
    )


HELD = stocked(1, 3) + f"1 > get q \n 1 < get-ok 1 m2 q {of(3)} \n 1 > get q \n 1 < get-ok 2 m1 q {of(1)} \n"
BOTH_BACK = HELD + "1 > nack 2 requeue \n 1 > nack 1 requeue \n"
GET = "1 > get q no_ack \n 1 < get-ok 3 {} q redelivered {} \n"
LEFT_BEHIND = (
    stocked(1, 3)
    + "o:1 > open \n o:1 < open-ok \n"
    + f"o:1 > get q \n o:1 < get-ok 1 m2 q {of(3)} \n o:1 > get q \n o:1 < get-ok 2 m1 q {of(1)} \n"
    + f"o:1 > get q \n o:1 < get-empty \n 8 > publish q m3 {of(2)} \n 8 < ack 3 \n - end o aborted \n"
)
"""Two messages come back when their holder is lost, and one has come meanwhile."""
COUNTED = "1 > declare q passive \n 1 < declare-ok q {} \n"
DECLARE = "@open 1 \n 1 > declare q classic x-max-priority={} \n"
CONSUMES = stocked(1, 3) + "1 > consume q c no_ack \n 1 < consume-ok c \n"
SOUND = {
    "PRIO-001": stocked(1, 3) + got("m2:3", "m1:1"),
    "PRIO-002": stocked(3, 3) + got("m1:3", "m2:3"),
    "PRIO-003": stocked(5, 9, 5) + got("m1:5", "m2:9", "m3:5"),
    "PRIO-004": stocked(0, None) + got("m1:0", "m2:None"),
    "PRIO-005": BOTH_BACK + GET.format("m2", of(3)),
    "PRIO-006": DECLARE.format(256) + "1 < closed 406 50 10 no \n 1 > closed-ok",
    "PRIO-007": stocked(1, 3) + got("m2:3", "m1:1") + "1 > get q no_ack \n 1 < get-empty",
}
DYING = "@queue q classic x-max-priority=5 \n @queue d classic x-dead-letter-exchange= x-dead-letter-routing-key=q \n"


def died(priority: str) -> str:
    """The properties of a dead letter of this priority."""
    death = {
        "queue": ["S", "d"],
        "reason": ["S", "rejected"],
        "count": ["l", 1],
        "time": ["T", 1],
        "exchange": ["S", ""],
        "routing-keys": ["A", [["S", "d"]]],
    }
    first = {f"x-first-death-{name}": death[name] for name in ("queue", "reason", "exchange")}
    headers = {"x-death": ["A", [["F", death]]], **first}
    return f"with={json.dumps({'priority': int(priority), 'headers': headers}, separators=(',', ':'))}"


def buried(said: int | None, *priorities: int) -> str:
    """Messages of these priorities are given up in another queue, one by one; then this one says how many it has."""
    head = DYING + "@open 1 \n @open 2 \n @confirming 8 \n"
    many = [*enumerate(priorities, 1)]
    head += "".join(f"8 > publish d m{at} {of(one)} \n 8 < ack {at} \n" for at, one in many)
    head += "".join(f"2 > get d \n 2 < get-ok {at} m{at} d {of(one)} \n 2 > reject {at} \n" for at, one in many)
    head += "@barrier 2 \n"
    return head + (f"1 > declare q passive \n 1 < declare-ok q {said} \n" if said is not None else "")


def risen(*messages: str) -> str:
    """They come as dead letters."""
    found = [one.split(":") for one in messages]
    return "".join(
        f"1 > get q no_ack \n 1 < get-ok {tag} {one} q {died(priority)} \n"
        for tag, (one, priority) in enumerate(found, 1)
    )


BROKEN = [
    ("PRIO-001", buried(2, 1, 3) + risen("m1:1", "m2:3")),
    ("PRIO-001", stocked(1, 3) + got("m1:1")),
    ("PRIO-001", stocked(None, 1) + got("m1:None")),
    ("PRIO-001", CONSUMES + "1 < deliver c 1 m1 q"),
    ("PRIO-002", stocked(3, 3) + got("m2:3")),
    ("PRIO-003", stocked(5, 9, 5) + got("m2:9")),
    ("PRIO-003", stocked(5, 9, 5) + got("m1:5", "m3:5")),
    ("PRIO-004", stocked(0, None) + got("m2:None")),
    ("PRIO-004", stocked(None, 0) + got("m2:0")),
    ("PRIO-005", BOTH_BACK + GET.format("m1", of(1))),
    ("PRIO-005", LEFT_BEHIND + COUNTED.format(3) + got("m3:2")),
    ("PRIO-006", DECLARE.format(256) + "1 < declare-ok q"),
    ("PRIO-006", DECLARE.format(-1) + "1 < declare-ok q"),
    ("PRIO-006", DECLARE.format("many") + "1 < declare-ok q"),
    ("PRIO-007", CONSUMES + "- deadline replies"),
]
LATE = '8 > publish q m3 with={"priority":5} \n 8 < ack 3 \n'
LAWFUL = {
    "dead letters by their priority": buried(2, 1, 3) + risen("m2:3", "m1:1"),
    "the other dead letter had not come": buried(1, 1, 3) + risen("m1:1", "m2:3"),
    "nobody has asked whether it had come": buried(None, 1, 3) + risen("m1:1", "m2:3"),
    "it says more than may be there": buried(3, 1, 3) + risen("m1:1", "m2:3"),
    "dead letters are in no order": buried(2, 3, 3) + risen("m2:3", "m1:3"),
    "what was left behind may not be back yet": LEFT_BEHIND + got("m3:2"),
    "it says that not all is back": LEFT_BEHIND + COUNTED.format(2) + got("m3:2"),
    "what was left behind is back": LEFT_BEHIND + COUNTED.format(3) + GET.format("m2", of(3)).replace("3 m", "1 m"),
    "a refusal with another code: none is named": DECLARE.format(256) + "1 < closed 405 50 10 no",
    "a higher one that came while others were taken": (
        stocked(1, 1) + got("m1:1") + LATE + "1 > get q no_ack \n 1 < get-ok 2 m2 q " + of(1)
    ),
    "a higher one that came after a consumer": (
        QUEUE
        + "1 > consume q c no_ack \n 1 < consume-ok c \n"
        + stocked(1, 5).removeprefix(QUEUE)
        + f"1 < deliver c 1 m1 q {of(1)} \n 1 < deliver c 2 m2 q {of(5)}"
    ),
    "another one has taken it": stocked(1, 3) + "@consume 2 q c no_ack \n" + got("m1:1"),
    "a quorum queue": stocked(1, 3).replace("classic x-max-priority=5", "quorum") + got("m1:1", "m2:3"),
    "a queue without priorities": stocked(1, 3).replace("x-max-priority=5", "") + got("m1:1", "m2:3"),
    "a queue with a maximum of 0": stocked(1, 3).replace("priority=5", "priority=0") + got("m1:1", "m2:3"),
    "the largest maximum": DECLARE.format(255) + "1 < declare-ok q",
    "a maximum of a quorum queue": DECLARE.replace("classic", "quorum").format(7)
    + "1 < closed 406 50 10 no \n 1 > closed-ok",
}
