"""DRT: sound and broken histories of replies that need no queue."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

REPLIES = "amq.rabbitmq.reply-to"
A1, A2 = f"{REPLIES}.a1", f"{REPLIES}.a2"


def to(address: str) -> str:
    """A message with this reply-to."""
    return f'with={{"reply_to":"{address}"}}'


ASKS = to(REPLIES)
LISTENS = f"@consume 1 {REPLIES} r no_ack \n"
BESIDE = f"@consume 2 {REPLIES} r no_ack \n"
REQUEST = f"@queue q \n 1 > publish q m1 {ASKS} \n @open 9 \n 9 > get q no_ack \n"
ASKED = LISTENS + REQUEST + f"9 < get-ok 1 m1 q {to(A1)} \n"
BOTH = ASKED + BESIDE + f"2 > publish q m2 {ASKS} \n 9 > get q no_ack \n"
SENT = f"@confirming 8 \n 8 > publish {A1} r1 \n 8 < ack 1 \n"
MANDATORY = SENT.replace("r1", "r1 mandatory")
CAME, CAME_TO_2 = f"1 < deliver r 1 r1 {A1} \n", f"2 < deliver r 1 r1 {A1} \n"
CANCELLED = "1 > cancel r \n 1 < cancel-ok r \n"
REFUSED = "1 < closed 406 60 20 no \n 1 > closed-ok"
LOOK = f"@open 7 \n 7 > declare {A1} passive \n"
THERE = f"7 < declare-ok {A1} 0 consumers=1 \n"
AND_AGAIN = (LOOK + THERE).replace("7", "6")
NOT_THERE = "7 < closed 404 50 10 no queue \n 7 > closed-ok \n"
GONE = ASKED + CANCELLED
REFUSES = LISTENS + f"@queue q \n 1 > publish q m1 {ASKS} \n"
LISTENS_TO_D = f"d:1 > open \n d:1 < open-ok \n d:1 > consume {REPLIES} r no_ack \n d:1 < consume-ok r \n"
LEFT = ASKED.replace(LISTENS, LISTENS_TO_D).replace("1 > publish", "d:1 > publish") + "d:0 > bye \n d:0 < bye-ok \n"
MADE_UP = f"@open 7 \n 7 > declare {REPLIES}.x passive \n"
BIND = "@open 7 \n 7 > bind {} amq.direct k \n"
SECOND = LISTENS + f"1 > consume {REPLIES} s no_ack \n"
AGAIN = f"1 > consume {REPLIES} s no_ack \n"
SOUND = {
    "DRT-001": f"@open 1 \n 1 > consume {REPLIES} r \n {REFUSED}",
    "DRT-002": SECOND + REFUSED,
    "DRT-003": f"@queue q \n {BESIDE} @open 1 \n 1 > publish q m1 {ASKS} \n 1 < closed 406 60 40 no \n 1 > closed-ok",
    "DRT-004": BOTH + f"9 < get-ok 2 m2 q {to(A2)} \n",
    "DRT-005": ASKED + SENT + CAME,
    "DRT-006": ASKED + SENT + CAME + "@barrier 1",
    "DRT-007": GONE + SENT,
    "DRT-008": ASKED + LOOK + THERE + CANCELLED + LOOK.replace("7", "6") + NOT_THERE.replace("7", "6"),
    "DRT-009": MADE_UP + NOT_THERE,
    "DRT-010": BIND.format(REPLIES) + "7 < closed 404 50 20 no \n 7 > closed-ok",
    "DRT-011": f"@open 7 \n 7 > purge {REPLIES} \n 7 < closed 404 50 30 no \n 7 > closed-ok",
    "DRT-012": ASKED + MANDATORY + CAME,
}
BROKEN = [
    ("DRT-001", f"@open 1 \n 1 > consume {REPLIES} r \n 1 < consume-ok r"),
    ("DRT-001", f"@open 1 \n 1 > consume {REPLIES} r \n 1 < closed 541 60 20 no"),
    ("DRT-001", f"@open 1 \n 1 > consume {REPLIES} r \n 0 < kicked 541 60 20 no"),
    ("DRT-002", SECOND + "1 < consume-ok s"),
    ("DRT-002", GONE + AGAIN + REFUSED),
    ("DRT-002", GONE + AGAIN + "1 > flow \n" + REFUSED),
    ("DRT-003", f"@queue q \n @open 1 \n 1 > publish q m1 {ASKS} \n @barrier 1 \n - deadline replies"),
    ("DRT-003", f"@queue q \n {BESIDE} @open 1 \n 1 > publish q m1 {ASKS} \n @barrier 1 \n - deadline replies"),
    ("DRT-004", LISTENS + REQUEST + f"9 < get-ok 1 m1 q {ASKS}"),
    ("DRT-004", LISTENS + REQUEST + "9 < get-ok 1 m1 q with={}"),
    ("DRT-004", BOTH + f"9 < get-ok 2 m2 q {to(A1)}"),
    ("DRT-004", REFUSES + "1 < closed 406 60 40 no"),
    ("RQ-009", ASKED + SENT + CAME.replace(f"r1 {A1}", f"r1 {A1} redelivered")),
    ("DRT-005", ASKED + SENT + f"8 > publish {A1} r2 \n 8 < ack 2 \n" + "@barrier 1"),
    ("DRT-005", ASKED + f"@open 8 \n 8 > publish {A1} r1 \n 8 > publish {A1} r2 \n @barrier 8 \n @barrier 1"),
    (
        "DRT-005",
        ASKED + f"@open 8 \n 8 > select \n 8 < select-ok \n 8 > publish {A1} r1 \n 8 > publish {A1} r2 \n"
        "8 > commit \n 8 < commit-ok \n @barrier 1",
    ),
    ("DRT-006", ASKED + SENT + CAME + CAME),
    ("DRT-006", ASKED + BESIDE + SENT + CAME + CAME_TO_2),
    ("DRT-005", ASKED + SENT + CAME.replace("deliver r", "deliver s")),
    ("DRT-007", GONE + SENT + BESIDE + CAME_TO_2),
    ("DRT-007", GONE + SENT + CAME),
    ("DRT-007", GONE + SENT.replace("8 < ack 1", "8 < closed 404 60 40 no queue \n 8 > closed-ok")),
    ("DRT-008", ASKED + LOOK + NOT_THERE),
    ("DRT-008", ASKED + LOOK + THERE.replace("consumers=1", "")),
    ("DRT-008", GONE + LOOK + THERE + "- wait 3 \n" + AND_AGAIN),
    ("DRT-008", LEFT + LOOK + THERE + "- wait 3 \n" + AND_AGAIN),
    ("DRT-008", GONE + LOOK + NOT_THERE.replace("404", "405")),
    ("DRT-009", MADE_UP + "0 < kicked 541 50 10 INTERNAL_ERROR"),
    ("DRT-009", MADE_UP + NOT_THERE.replace("404", "406")),
    ("DRT-010", BIND.format(REPLIES) + "7 < bind-ok"),
    ("DRT-010", BIND.format(A1) + "7 < bind-ok"),
    ("DRT-011", f"@open 7 \n 7 > purge {REPLIES} \n 7 < purge-ok"),
    ("DRT-011", f"@open 7 \n 7 > get {REPLIES} no_ack \n 7 < get-empty"),
    ("DRT-012", ASKED + MANDATORY.replace("8 < ack", f"8 < return {A1} r1 \n 8 < ack") + CAME),
]
LAWFUL = {
    "an address that another client may have": MADE_UP + f"7 < declare-ok {REPLIES}.x 0 consumers=1 \n",
    "an address that is forgotten late": LEFT + LOOK + THERE + "- wait 1 \n" + AND_AGAIN,
    "a request that is refused over something else": REFUSES + "1 < closed 403 60 40 no",
    "a request behind a publish that may be refused": LISTENS
    + f"@queue q \n 1 > publish q m0 expiration=x \n 1 > publish q m1 {ASKS} \n 1 < closed 406 60 40 no",
    "a request behind the end of its requester": LISTENS
    + f"@queue q \n 1 > cancel r \n 1 > publish q m1 {ASKS} \n 1 < closed 406 60 40 no",
    "one reply that is lost: they are sent at most once": ASKED + SENT + "@barrier 1",
    "replies of a transaction that is not committed": ASKED
    + f"@open 8 \n 8 > select \n 8 < select-ok \n 8 > publish {A1} r1 \n 8 > publish {A1} r2 \n"
    + "@barrier 8 \n @barrier 1",
    "a refusal with another code: none is named": f"@open 1 \n 1 > consume {REPLIES} r \n 1 < closed 403 60 20 no",
    "one that costs the connection": f"@open 1 \n 1 > consume {REPLIES} r \n 0 < kicked 530 60 20 no",
    "a reply that is on its way while its requester ends": ASKED + SENT + CANCELLED + "@barrier 1",
    "a reply that meets the end of its requester": ASKED + "1 > cancel r \n" + SENT + "1 < cancel-ok r \n @barrier 1",
    "a reply that is not confirmed yet": ASKED + f"@confirming 8 \n 8 > publish {A1} r1 \n @barrier 1",
    "a reply that is refused by the broker": ASKED + SENT.replace("8 < ack", "8 < nack") + "@barrier 1",
    "an answer to what was asked before": ASKED + "1 > flow \n" + SENT + "1 < flow-ok",
    "a second requester, while the first is being cancelled": ASKED + "1 > cancel r \n" + AGAIN + REFUSED,
    "a second requester, where the first was cancelled without an answer": ASKED
    + "1 > cancel r no_wait \n"
    + AGAIN
    + REFUSED,
    "a second requester, where the first has no tag yet": "@open 1 \n"
    + f"1 > consume {REPLIES} no_ack no_wait \n"
    + AGAIN
    + REFUSED,
    "another consumer that may be refused": GONE + AGAIN + "1 > consume q t exclusive \n" + REFUSED,
    "a requester to whom access is refused": GONE + AGAIN + REFUSED.replace("406", "403"),
    "a requester whose channel is closed over something else": GONE + AGAIN + REFUSED.replace("60 20", "60 80"),
    "a requester that wants all of it for itself": GONE + AGAIN.replace("no_ack", "no_ack exclusive") + REFUSED,
    "a look that meets the end": ASKED + "1 > cancel r \n" + LOOK + THERE,
    "a look that meets the end, and comes late": ASKED + "1 > cancel r \n" + LOOK + NOT_THERE,
    "a requester that has been cancelled, and another": GONE + f"1 > consume {REPLIES} s no_ack \n 1 < consume-ok s",
    "an exclusive consumer of replies, and another": LISTENS.replace("no_ack", "no_ack exclusive") + BESIDE,
    "an address to which access is refused": BIND.format(A1) + "7 < closed 403 50 20 no \n 7 > closed-ok",
    "many requesters": "".join(f"@consume {one} {REPLIES} r{one} no_ack \n" for one in range(1, 19)),
    "a mandatory reply that is delivered, and comes back, where that is so": (
        ASKED + MANDATORY.replace("8 < ack", f"8 < return {A1} r1 \n 8 < ack") + CAME,
        "rabbitmq-4.0",
    ),
    "a late mandatory reply that comes back": GONE + MANDATORY.replace("8 < ack", f"8 < return {A1} r1 \n 8 < ack"),
}


@pytest.mark.parametrize("replies", [SENT + CAME_TO_2, SENT + CAME + CAME_TO_2, SENT + "@barrier 1", LOOK + NOT_THERE])
def test_of_an_address_that_two_have_nothing_more_is_claimed(play: Any, replies: str) -> None:
    assert play(BOTH + f"9 < get-ok 2 m2 q {to(A1)} \n" + replies).broken == ["DRT-004"]
