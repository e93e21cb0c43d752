"""GET: sound and broken histories, and what races allow."""

from __future__ import annotations

from tests.support.tables import Play, test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

GONE = "@queue q \n 90 > delete q \n 90 < delete-ok \n @open 1 \n 1 > get q \n"
RACE = "@queue q \n @open 1 \n d:1 > open \n d:1 < open-ok \n d:1 > delete q \n 1 > get q \n"
TWO = "@queue q \n @queue r \n @stock q m1 \n @stock r m2 \n @open 1 \n 1 > get q no_ack \n 1 > get r no_ack \n"
LENT = "@queue q \n @stock q m1 \n @hold 1 q m1 \n 1 > delete q if_unused \n"
BY_NAME = "@queue q \n @queue r \n @route x direct q q \n 90 > bind r x r \n 90 < bind-ok \n @confirming 2 \n"
BY_EXCHANGE = BY_NAME + "2 > publish q m1 exchange=x \n 2 > publish r m2 exchange=x \n 2 < ack 2 multiple \n @open 1 \n"
BY_EXCHANGE += "1 > get q no_ack \n 1 > get r no_ack \n"
ASTRAY = TWO.replace("@stock q m1", "@stock q m1 m3") + "1 > get q no_ack \n 1 < get-ok 1 m1 q \n 1 < get-ok 2 m3 q \n"
ASTRAY += "1 < get-empty \n"
BARE = "@queue q \n @open 1 \n 1 > get q \n"
SOUND = {
    "GET-001": GONE + "1 < closed 404 60 70 NOT_FOUND",
    "GET-002": RACE + "1 < get-empty \n d:1 < delete-ok",
    "GET-003": TWO + "1 < get-ok 1 m1 q \n 1 < get-ok 2 m2 r",
    "GET-004": LENT + "1 < delete-ok",
    "GET-005": BARE + "1 < get-empty",
}
BROKEN = [
    ("GET-001", GONE + "1 < get-empty \n - deadline replies"),
    ("GET-001", GONE + "1 < closed 406 60 70 no"),
    ("GET-001", GONE + "0 < kicked 404 60 70 NOT_FOUND"),
    ("GET-002", RACE + "d:1 < delete-ok \n 0 < kicked 541 60 70 INTERNAL_ERROR"),
    ("GET-002", RACE + "d:1 < delete-ok \n 1 < closed 504 60 70 no process"),
    ("GET-004", LENT + "1 < closed 406 50 40 in use"),
    ("GET-004", LENT + "0 < kicked 406 50 40 in use"),
    ("GET-005", BARE + "- deadline replies"),
    ("GET-005", "@queue q \n @stock q m1 \n @hold 2 q m1 \n @open 1 \n 1 > get q \n - deadline replies"),
    ("GET-003", TWO + "1 < get-ok 1 m2 r \n 1 < get-ok 2 m1 q"),
    ("GET-003", BY_EXCHANGE + "1 < get-ok 1 m2 r \n 1 < get-ok 2 m1 q"),
]
LAWFUL = {
    "the queue is deleted first": RACE + "1 < closed 404 60 70 NOT_FOUND \n d:1 < delete-ok",
    "the deletion may still be refused": "@queue q \n @open 1 \n @open 2 \n 2 > delete q \n 1 > get q \n 1 < get-empty",
    "a queue that nobody has declared here": "@open 1 \n 1 > get q \n 1 < get-empty",
    "a queue that is declared anew": RACE + "d:1 > declare q \n d:1 < delete-ok \n d:1 < declare-ok q \n 1 < get-empty",
}


def test_who_counts_bindings_as_use_says_nothing_of_gets(play: Play) -> None:
    """As MetalMQ: it is the deletion alone that is refused."""
    bound = LENT.replace("1 > delete", "@route x direct a q \n 1 > delete")
    assert play(bound + "1 < closed 406 50 40 Exchanges are bound to this queue").broken == ["QUEUE-030"]


def test_after_an_answer_from_another_queue_the_channel_may_ask_any(play: Play) -> None:
    """As on MetalMQ: all gets of a channel are of the queue of its first one. What is not found was taken so."""
    assert play(ASTRAY + "1 > get r no_ack \n 1 < get-empty \n @drain q").broken == ["GET-003"]
