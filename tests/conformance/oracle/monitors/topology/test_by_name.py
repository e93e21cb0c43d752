"""ROUTE-020: a close that misses the exchange of a publish, on channels that have published to the default exchange."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

SENT = "@queue q \n @open 1 \n 1 > publish q m1 \n "
MISSED = "1 < closed 404 60 40 NOT_FOUND \n"
SOUND = {"ROUTE-020": SENT + "@open 2 \n 2 > get q no_ack \n 2 < get-ok 1 m1 q \n"}
BROKEN = {"ROUTE-020": SENT + MISSED}
LAWFUL = {
    "another exchange may be meant": "@exchange x q \n" + SENT + "1 > publish q m2 exchange=x \n" + MISSED,
    "it is no publish that is blamed": SENT + MISSED.replace("60 40", "60 70"),
    "it is another reason": SENT + MISSED.replace("404", "406"),
}
