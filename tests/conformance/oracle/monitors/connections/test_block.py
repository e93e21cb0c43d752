"""BLOCK: sound and broken histories, and what a broker may do about an alarm in its own time."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

WANTS = "c:0 > start-ok blocking \n @queue q \n @confirming 1 \n"
PLAIN = "d:0 > start-ok \n d:1 > open \n d:1 < open-ok \n"
READER = "r:1 > open \n r:1 < open-ok \n"
RAISED = "- alarm raising \n - alarm raised \n"
PRESS = "1 > publish q m1 \n"
BLOCKED, UNBLOCKED = "0 < blocked memory \n", "0 < unblocked \n"
OVER = "- alarm clearing \n - alarm cleared \n"
TOLD = WANTS + RAISED + PRESS + BLOCKED
MEANWHILE = TOLD + "1 > publish q m2 \n 1 > flow \n" + OVER + UNBLOCKED + "1 < ack 1 \n"
LATE = "e:0 > start-ok blocking \n e:1 > open \n e:1 < open-ok \n"
FIVE = "".join(f"1 > publish q m{number} \n" for number in range(1, 6))
ASIDE = PLAIN + TOLD + "d:1 > publish q m2 \n"
D_GOES_ON = "d:1 > flow \n d:1 < flow-ok \n"
SERVED = "r:1 > flow \n r:1 < flow-ok \n r:1 > consume q2 c1 \n r:1 < consume-ok c1 \n r:1 < deliver c1 1 s1 q2 \n"
BESIDE = "@queue q2 \n @stock q2 s1 \n" + READER + TOLD
SOUND = {
    "BLOCK-001": ASIDE + OVER + UNBLOCKED + "1 < ack 1 \n" + D_GOES_ON,
    "BLOCK-002": TOLD + OVER + UNBLOCKED,
    "BLOCK-003": TOLD,
    "BLOCK-004": TOLD + OVER + UNBLOCKED,
    "BLOCK-005": MEANWHILE + "1 < ack 2 \n 1 < flow-ok",
    "BLOCK-006": BESIDE + SERVED,
}
BROKEN = [
    ("ERR-014", WANTS + PRESS + "0 < blocked memory \n" + UNBLOCKED + "1 < ack 1 \n 1 > flow \n - deadline replies"),
    ("ERR-014", READER + WANTS + PRESS + BLOCKED + "r:1 > flow \n - deadline replies"),
    (
        "ERR-014",
        PLAIN + "d:1 > publish q m0 \n" + TOLD.replace(RAISED, "") + UNBLOCKED + "d:1 > flow \n - deadline replies",
    ),
    ("BLOCK-001", PLAIN + RAISED + "d:1 > publish q m1 \n d:0 < blocked memory"),
    ("BLOCK-001", PLAIN + "d:0 < unblocked"),
    ("BLOCK-002", TOLD + BLOCKED),
    ("BLOCK-002", TOLD + OVER + UNBLOCKED + UNBLOCKED),
    ("BLOCK-002", WANTS + UNBLOCKED),
    ("BLOCK-003", WANTS + RAISED + FIVE + "- deadline replies"),
    ("BLOCK-003", WANTS + RAISED + PRESS + "0 < blocked"),
    ("BLOCK-003", "@queue q \n" + RAISED + LATE + FIVE.replace("1 >", "e:1 >") + "- deadline replies"),
    ("BLOCK-004", TOLD + OVER + "- deadline replies"),
    ("BLOCK-005", MEANWHILE + "- deadline replies"),
    ("BLOCK-005", MEANWHILE + "1 < ack 2 \n 1 < flow-ok \n - deadline drain q"),
    ("BLOCK-006", BESIDE + "r:1 > flow \n - deadline replies"),
]
BY_ITSELF = WANTS + PRESS + BLOCKED
VAIN = " > flow \n - deadline replies"
LAWFUL = {
    "a broker may be short of something by itself": BY_ITSELF + "1" + VAIN,
    "and not tell who does not want to hear of it": PLAIN + "d:1 > publish q m0 \n" + BY_ITSELF + "d:1" + VAIN,
    "nor who comes later": BY_ITSELF + PLAIN + "d:1 > publish q m0 \n d:1" + VAIN,
    "a connection learns of the alarm late": WANTS
    + RAISED
    + FIVE.replace("1 > publish q m5 \n", "")
    + "- deadline replies",
    "nobody answers a blocked client": TOLD + "1 > flow \n - deadline replies",
    "a client that comes amid an alarm, and does not want to know, waits as well": PLAIN
    + "@queue q \n"
    + RAISED
    + LATE.replace(" blocking", "")
    + "e:1 > publish q m1 \n e:1 > flow \n - deadline replies",
    "an alarm of the broker's own": WANTS + BLOCKED + "1 > flow \n 1 < flow-ok \n" + UNBLOCKED,
    "it is told before the command ends": WANTS + "- alarm raising \n" + PRESS + BLOCKED + "- alarm raised",
    "it is told of the end before the command ends": TOLD + "- alarm clearing \n" + UNBLOCKED + "- alarm cleared",
    "a client that does not want to know waits": PLAIN
    + RAISED
    + "d:1 > publish q m1 \n d:1 > flow \n - deadline replies",
    "a connection of which the beginning is missing": "- joined j \n j:0 < unblocked",
}
