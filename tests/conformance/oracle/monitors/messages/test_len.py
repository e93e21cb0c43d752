"""LEN: sound and broken histories of queues that are full. Each body is one octet."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

COUNT, OCTETS, BOTH = "x-max-length=2", "x-max-length-bytes=2", "x-max-length=2 x-max-length-bytes=3"
REFUSES = f"{COUNT} x-overflow=reject-publish"


def filled(limit: str, count: int, refused: str = "") -> str:
    """A queue with this limit, and so many messages that were published to it."""
    head = f"@queue q classic {limit} \n @open 1 \n @open 2 \n @confirming 8 \n"
    said = ["nack" if str(at) in refused.split() else "ack" for at in range(1, count + 1)]
    return head + "".join(f"8 > publish q m{at} \n 8 < {how} {at} \n" for at, how in enumerate(said, 1))


def got(*messages: str) -> str:
    """These are all that is there; as in `m1 redelivered`."""
    found = [(tag, *one.split(" ")) for tag, one in enumerate(messages, 1)]
    brought = "".join(f"1 > get q no_ack \n 1 < get-ok {tag} {one} q {' '.join(how)} \n" for tag, one, *how in found)
    return brought + "1 > get q no_ack \n 1 < get-empty \n"


KEPT = filled(COUNT, 1) + "2 > get q \n 2 < get-ok 1 m1 q \n" + "8 > publish q m2 \n 8 < ack 2 \n"
CROWDED = KEPT + "8 > publish q m3 \n 8 < ack 3 \n"
SOUND = {
    "LEN-001": filled(COUNT, 3) + got("m2", "m3"),
    "LEN-002": filled(COUNT, 5) + got("m4", "m5"),
    "LEN-003": filled(COUNT, 4) + got("m3", "m4"),
    "LEN-004": CROWDED + got("m2", "m3"),
    "LEN-005": filled(OCTETS, 3) + got("m2", "m3"),
    "LEN-006": filled(BOTH, 4) + got("m3", "m4"),
    "LEN-007": filled(REFUSES, 4, refused="3 4") + got("m1", "m2"),
}
BROKEN = [
    ("LEN-001", filled(COUNT, 3) + got("m1", "m2", "m3")),
    ("LEN-001", filled("x-max-length=0", 1) + got("m1")),
    ("LEN-002", filled(COUNT, 3) + got("m1", "m2")),
    ("LEN-003", filled(COUNT, 3) + got("m3")),
    ("LEN-003", filled(COUNT, 3) + got()),
    ("LEN-004", CROWDED + got("m3")),
    ("LEN-005", filled(OCTETS, 3) + got("m1", "m2", "m3")),
    ("LEN-006", filled(BOTH, 3) + got("m1", "m2", "m3")),
    ("LEN-007", filled(REFUSES, 3, refused="3") + got("m2", "m3")),
]
DEAD = "@queue d classic x-dead-letter-exchange= x-dead-letter-routing-key=q \n"
LAWFUL = {
    "another consumes": filled(COUNT, 3) + "@consume 2 q c no_ack \n" + got("m3"),
    "another connection has taken one": filled(COUNT, 3)
    + "d:1 > open \n d:1 < open-ok \n d:1 > get q no_ack \n"
    + got("m3"),
    "one comes back": CROWDED + "2 > nack 1 requeue \n" + got("m1 redelivered", "m3"),
    "its holder closes": CROWDED + "2 > close \n 2 < close-ok \n" + got("m1 redelivered", "m3"),
    "it is emptied": filled(COUNT, 3) + "1 > purge q \n 1 < purge-ok 2 \n" + got(),
    "dead letters come": DEAD + filled(COUNT, 3) + got("m3"),
    "an exchange leads to it": filled(COUNT, 3) + "@exchange x q \n" + got("m3"),
    "one is under way": filled(COUNT, 3) + "8 > publish q m4 \n" + got("m3"),
    "messages expire": filled(COUNT + " x-message-ttl=5", 3) + got(),
    "a quorum queue": (filled(COUNT, 3) + got("m1", "m2", "m3")).replace("classic", "quorum"),
    "octets of properties count": filled(OCTETS, 3) + got("m3"),
    "it refuses although there is room": filled(REFUSES, 2, refused="2") + got("m1"),
}
