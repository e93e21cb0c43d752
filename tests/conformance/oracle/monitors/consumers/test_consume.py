"""CONSUME: sound and broken histories, and consumers that may be gone."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

BESIDE = "@queue q \n @consume 1 q c1 \n @open 2 \n 2 > consume q c2 exclusive \n"
ALONE = "@queue q \n @consume 1 q c1 exclusive \n @open 2 \n 2 > consume q c2 \n"
GONE = "@queue q \n 90 > delete q \n 90 < delete-ok \n @open 1 \n 1 > consume q c1 \n"
CHOSEN = "@queue q \n @open 1 \n 1 > consume q \n 1 < consume-ok amq.1 \n 1 > consume q \n"
CROWD = "@queue q \n" + " \n".join(f"@consume 1 q c{number}" for number in range(15)) + " \n 1 > consume q c15 \n"
SAME = "@queue q \n @consume 1 q c1 \n @open 2 \n 2 > consume q c1 \n"
LEFT, LATER = "@queue q \n @consume 1 q c1 exclusive \n @close 1 \n", "- wait 3 \n"
MINE = "@open 2 \n 2 > consume q c2 exclusive \n"
ENDED = LEFT + LATER + MINE
FAILED = "@queue q \n @consume 1 q c1 exclusive \n 1 > ack 99 \n 1 < closed 406 60 80 unknown \n 1 > closed-ok \n"
AFTER_FAILURE = FAILED + "@open 1 \n" + LATER + MINE
REFUSED = "2 < closed 403 60 20 ACCESS_REFUSED"
CANCELLED = "@queue q \n @consume 1 q c1 \n 1 > cancel c1 \n"
TAKEN = "@queue p \n @consume 1 p c1 \n" + GONE.replace("@open 1 \n", "")
SOUND = {
    "CONSUME-001": BESIDE + REFUSED,
    "CONSUME-002": ALONE + REFUSED,
    "CONSUME-003": GONE + "1 < closed 404 60 20 NOT_FOUND",
    "CONSUME-004": CHOSEN + "1 < consume-ok amq.2",
    "CONSUME-005": CROWD + "1 < consume-ok c15",
    "CONSUME-006": ENDED + "2 < consume-ok c2",
    "CONSUME-007": CANCELLED + "1 < cancel-ok c1",
}
BROKEN = [
    ("CONSUME-001", BESIDE + "2 < consume-ok c2"),
    ("CONSUME-001", BESIDE + "2 < closed 406 60 20 no"),
    ("CONSUME-001", BESIDE + "0 < kicked 403 60 20 ACCESS_REFUSED"),
    ("CONSUME-002", ALONE + "2 < consume-ok c2"),
    ("CONSUME-003", GONE + "1 < consume-ok c1 \n @barrier 1"),
    ("CONSUME-003", GONE + "0 < kicked 404 60 20 NOT_FOUND"),
    ("CONSUME-003", GONE + "0 < kicked 530 60 20 NOT_ALLOWED"),
    ("CONSUME-003", TAKEN.replace("1 > consume q c1", "1 > consume q c2") + "0 < kicked 530 60 20 NOT_ALLOWED"),
    ("CONSUME-004", CHOSEN + "1 < consume-ok amq.1"),
    ("CONSUME-005", CROWD + "1 < closed 403 60 20 too many"),
    ("CONSUME-006", ENDED + REFUSED),
    ("CONSUME-006", AFTER_FAILURE + REFUSED),
    ("CONSUME-006", LEFT + MINE + REFUSED + " \n 2 > closed-ok \n - wait 2 \n" + MINE + REFUSED),
    ("CONSUME-007", "@queue q \n @open 1 \n 1 > consume q c1 \n 1 < consume-ok C1"),
    ("CONSUME-007", CANCELLED + "1 < cancel-ok C1"),
]
LAWFUL = {
    "its tag is in use as well": TAKEN + "0 < kicked 530 60 20 NOT_ALLOWED",
    "its tag is in use as well, and the queue is looked for first": TAKEN + "1 < closed 404 60 20 NOT_FOUND",
    "its queue has not heard yet that it has ended": LEFT + MINE + REFUSED,
    "nor that its channel has failed": FAILED + "@open 1 \n" + MINE + REFUSED,
    "nor that it was cancelled, and its channel is used again": FAILED
    + "@open 1 \n 1 > consume q c2 exclusive \n 1 < closed 403 60 20 ACCESS_REFUSED",
    "the other may be cancelled already": "@queue q \n @consume 1 q c1 exclusive \n 1 > cancel c1 \n @open 2 \n"
    "2 > consume q c2 exclusive \n 2 < consume-ok c2 \n 1 < cancel-ok c1",
    "or may not be": "@queue q \n @consume 1 q c1 exclusive \n 1 > cancel c1 \n @open 2 \n 2 > consume q c2 \n "
    + REFUSED,
    "the channel of the other is about to close": "@queue q \n @consume 1 q c1 exclusive \n @open 2 \n 1 > close \n"
    "2 > consume q c2 exclusive \n " + REFUSED,
    "the channel of the other has failed, and nothing shows that this is over": FAILED
    + "@open 2 \n 2 > consume q c2 exclusive \n"
    + REFUSED,
    "nor where its number is still being opened": FAILED
    + "@open 2 \n 1 > open \n 2 > consume q c2 exclusive \n"
    + REFUSED,
    "the other has not been answered": "@queue q \n @open 1 \n @open 2 \n 1 > consume q c1 exclusive \n"
    "2 > consume q c2 \n 2 < consume-ok c2 \n 1 < closed 403 60 20 ACCESS_REFUSED",
    "whoever asks for what no broker knows": SAME.replace("2 > consume q c1", "2 > consume q c1 x-odd=1")
    + "2 < closed 406 60 20 no",
}
