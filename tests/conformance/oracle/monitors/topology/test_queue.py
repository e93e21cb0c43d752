"""QUEUE: sound and broken histories, and what the history leaves open."""

from __future__ import annotations

import pytest

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

Q = "@open 1 \n 1 > declare q durable \n 1 < declare-ok q \n"
FIND, AGAIN = "1 > declare q passive \n", "1 > declare q durable \n"
LENT = Q + "@stock q m1 \n @hold 2 q m1 \n 1 > delete q if_empty \n"
GONE = Q + "1 > delete q \n 1 < delete-ok \n"
NOT_FOUND, UNEQUAL = "1 < closed 404 50 10 NOT_FOUND \n", "1 < closed 406 50 10 PRECONDITION_FAILED \n"
NOT_EMPTY = "1 < closed 406 50 40 PRECONDITION_FAILED \n 1 > closed-ok \n"
LOCKED = "1 < closed 405 50 10 RESOURCE_LOCKED \n"
OTHER = "@open 1 \n d:1 > open \n d:1 < open-ok \n d:1 > declare q exclusive \n d:1 < declare-ok q \n"
TIED = "@exchange x \n" + OTHER + "d:1 > bind q x key \n d:1 < bind-ok \n"
BESIDE = OTHER + "d:2 > open \n d:2 < open-ok \n"
LEFT = OTHER + "d:0 > bye \n d:0 < bye-ok \n"
LONG_LEFT = LEFT + "- wait 2 \n" + FIND
KICKED = OTHER + "d:1 > open \n d:0 < kicked 504 20 10 CHANNEL_ERROR \n"
LONG_KICKED = KICKED + "- end d fin \n - wait 2 \n" + FIND
LIMIT = "@open 1 \n 1 > declare q x-max-length=9 \n 1 < declare-ok q \n"
USED = "@queue q \n @consume 1 q c1 \n @open 2 \n 2 > delete q if_unused \n"
FULL = "@queue q \n @stock q m1 \n @open 2 \n 2 > delete q if_empty \n"
BUSY = "@queue q \n @stock q m1 \n @consume 1 q c1 \n @open 2 \n 2 > delete q \n"
STOCKED, PURGED = "@queue q \n @stock q m1 \n", "90 > purge q \n 90 < purge-ok \n"
OUT = "@queue q \n @stock q m1 m2 \n @hold 1 q m1 \n 90 > purge q \n 90 < purge-ok \n"
OUT += "1 > reject 1 requeue \n @barrier 1 \n"
CONSUMED = "@queue q \n @consume 1 q c1 \n d:1 > open \n d:1 < open-ok \n d:1 > consume q c2 \n d:1 < consume-ok c2 \n"
ALONE, FAILED = "@queue q \n @consume 1 q c1 \n", "1 > ack 9 \n 1 < closed 406 60 80 \n 1 > closed-ok \n"
COUNT = "@open 2 \n 2 > declare q passive \n 2 < declare-ok q 0 "
WAITING = "@open 1 \n 1 > declare q auto_delete \n 1 < declare-ok q \n" + FIND
LAST = STOCKED + "@open 1 \n 1 > declare q durable passive \n 1 < declare-ok q \n 1 > get \n 1 < get-empty \n"
QUIET = STOCKED + "@open 1 \n 1 > purge q no_wait \n"
UNTOLD = "@open 1 \n 1 > declare exclusive \n 1 < declare-ok a \n"
SOUND = {
    "QUEUE-001": GONE + FIND + NOT_FOUND,
    "QUEUE-002": Q + FIND + "1 < declare-ok q",
    "QUEUE-003": Q + AGAIN + "1 < declare-ok q",
    "QUEUE-004": Q + "1 > declare q \n" + UNEQUAL,
    "QUEUE-037": Q + "1 > declare q durable auto_delete \n" + UNEQUAL,
    "QUEUE-005": LIMIT + "1 > declare q x-max-length=8 \n" + UNEQUAL,
    "QUEUE-006": Q + "1 > declare q durable exclusive \n" + LOCKED,
    "QUEUE-007": OTHER + "1 > get q \n 1 < closed 405 60 70 RESOURCE_LOCKED",
    "QUEUE-008": LONG_LEFT + NOT_FOUND,
    "QUEUE-009": "@open 1 \n 1 > declare amq.mine \n 1 < closed 403 50 10 ACCESS_REFUSED",
    "QUEUE-010": "@open 1 \n 1 > declare \n 1 < declare-ok a \n 1 > declare \n 1 < declare-ok b",
    "QUEUE-011": Q,
    "QUEUE-012": USED + "2 < closed 406 50 40 in use",
    "QUEUE-013": FULL + "2 < closed 406 50 40 not empty",
    "QUEUE-014": GONE + "1 > purge q \n 1 < closed 404 50 30 NOT_FOUND",
    "QUEUE-015": Q + "1 > purge \n 1 < purge-ok \n @open 2 \n 2 > purge \n 2 < closed 404 50 30 NOT_FOUND",
    "QUEUE-016": "@open 1 \n 1 > declare q x-max-length=-1 \n" + UNEQUAL,
    "QUEUE-017": BUSY + "2 < delete-ok",
    "QUEUE-018": GONE + "1 > delete q \n 1 < delete-ok",
    "QUEUE-019": OUT + "@drain q m1",
    "QUEUE-020": CONSUMED + COUNT + "consumers=2",
    "QUEUE-021": WAITING + "1 < declare-ok q",
}
BROKEN = [
    (
        "QUEUE-001",
        "@open 1 \n 1 > declare q passive \n 1 < closed 404 50 10 NOT_FOUND \n 1 > closed-ok \n @open 1 \n"
        + FIND
        + "1 < declare-ok q",
    ),
    ("QUEUE-003", Q + "1 > declare q durable no_wait \n" + UNEQUAL),
    ("QUEUE-018", GONE + "1 > delete q no_wait \n 1 < closed 404 50 40 NOT_FOUND"),
    ("QUEUE-018", GONE + "1 > delete q no_wait \n 0 < kicked 541 50 40 INTERNAL_ERROR"),
    ("QUEUE-015", LAST + "@drain q m1"),
    ("QUEUE-019", QUIET + "@barrier 1 \n @drain q m1"),
    ("QUEUE-015", "@open 1 \n 1 > purge \n 0 < kicked 530 50 30 NOT_ALLOWED"),
    ("QUEUE-001", GONE + FIND + "1 < declare-ok q"),
    ("QUEUE-001", GONE + FIND + "0 < kicked 404 50 10 NOT_FOUND"),
    ("QUEUE-001", LENT + "1 < delete-ok \n" + FIND + "1 < declare-ok q"),
    ("QUEUE-002", Q + FIND + UNEQUAL),
    ("QUEUE-003", Q + AGAIN + UNEQUAL),
    ("QUEUE-004", Q + "1 > declare q \n 1 < declare-ok q"),
    ("QUEUE-037", Q + "1 > declare q durable auto_delete \n 1 < declare-ok q"),
    ("QUEUE-005", LIMIT + "1 > declare q x-max-length=8 \n 1 < declare-ok q"),
    ("QUEUE-005", LIMIT + "1 > declare q \n 1 < declare-ok q"),
    ("QUEUE-006", Q + "1 > declare q durable exclusive \n 1 < declare-ok q"),
    ("QUEUE-007", OTHER + "1 > get q \n 1 < get-empty \n - deadline replies"),
    ("QUEUE-007", OTHER + FIND + "1 < closed 403 50 10 ACCESS_REFUSED"),
    ("QUEUE-007", TIED + "1 > unbind q x key \n 1 < unbind-ok"),
    ("QUEUE-007", BESIDE + "d:2 > get q \n d:2 < closed 405 60 70 RESOURCE_LOCKED"),
    ("QUEUE-007", BESIDE + "d:2 > consume q c1 \n d:2 < closed 405 60 20 RESOURCE_LOCKED"),
    ("QUEUE-008", LONG_LEFT + "1 < declare-ok q"),
    ("QUEUE-008", LONG_LEFT + LOCKED),
    ("QUEUE-008", LONG_KICKED + "1 < declare-ok q"),
    ("QUEUE-008", LONG_KICKED + LOCKED),
    ("QUEUE-009", "@open 1 \n 1 > declare amq.mine \n 1 < declare-ok amq.mine"),
    ("QUEUE-010", "@open 1 \n 1 > declare \n 1 < declare-ok"),
    ("QUEUE-010", UNTOLD + "1 > delete a \n 1 < closed 404 50 40 Not found"),
    ("QUEUE-010", UNTOLD + "1 > purge a \n 1 < closed 404 50 30 Not found"),
    ("QUEUE-010", UNTOLD + "1 > purge a \n 1 < closed 404 50 10 Not found"),
    ("QUEUE-010", "@open 1 \n 1 > declare \n 1 < declare-ok a \n 1 > declare \n 1 < declare-ok a"),
    ("QUEUE-010", "@open 1 \n 1 > declare \n 1 < declare-ok a/b"),
    ("QUEUE-011", "@open 1 \n 1 > declare Q \n 1 < declare-ok q"),
    ("QUEUE-012", USED + "2 < delete-ok"),
    ("QUEUE-013", FULL + "2 < delete-ok"),
    ("QUEUE-014", GONE + "1 > purge q \n 1 < purge-ok"),
    ("QUEUE-015", Q + "1 > purge \n 1 < closed 404 50 30 NOT_FOUND"),
    ("QUEUE-015", Q + "@open 2 \n 2 > get \n 2 < get-empty \n - deadline replies"),
    ("QUEUE-016", "@open 1 \n 1 > declare q x-expires=-1 \n 1 < declare-ok q"),
    ("QUEUE-017", BUSY + "2 < closed 406 50 40 in use"),
    ("QUEUE-018", GONE + "1 > delete q \n 1 < closed 404 50 40 NOT_FOUND"),
    ("QUEUE-019", OUT + "@drain q \n - deadline drain q"),
    ("QUEUE-019", STOCKED + PURGED + "@hold 2 q m1"),
    ("QUEUE-019", STOCKED + PURGED + "@consume 2 q c1 \n 2 < deliver c1 1 m1 q"),
    ("QUEUE-020", CONSUMED + COUNT + "consumers=1"),
    ("QUEUE-020", CONSUMED + COUNT + "consumers=3"),
    ("QUEUE-020", CONSUMED + "d:0 > bye \n d:0 < bye-ok \n - wait 3 \n" + COUNT + "consumers=2"),
    ("QUEUE-020", CONSUMED + "1 > cancel c1 \n 1 < cancel-ok c1 \n - wait 3 \n" + COUNT + "consumers=2"),
    ("QUEUE-020", ALONE + "1 > cancel c1 \n 1 < cancel-ok c1 \n - wait 3 \n" + COUNT + "consumers=1"),
    ("QUEUE-020", ALONE + FAILED + "- wait 3 \n" + COUNT + "consumers=1"),
    ("QUEUE-021", WAITING + NOT_FOUND),
]
LAWFUL = {
    "what the broker has under names of its own comes and goes": "@open 1 \n 1 > declare amq.any.reply-to passive \n "
    "1 < closed 404 50 10 NOT_FOUND \n 1 > closed-ok \n @open 1 \n 1 > declare amq.any.reply-to passive \n "
    "1 < declare-ok amq.any.reply-to",
    "a close may mean what was sent before without an answer": GONE
    + "1 > delete other if_empty no_wait \n 1 > delete q no_wait \n 1 < closed 406 50 40 PRECONDITION_FAILED",
    "a close may mean what is sent after a method without an answer": GONE
    + "1 > delete q no_wait \n @barrier 1 \n 1 > delete other if_empty \n 1 < closed 406 50 40 PRECONDITION_FAILED",
    "a queue that is spared is found": LENT + NOT_EMPTY + "@open 1 \n" + FIND + "1 < declare-ok q",
    "a queue that is deleted with if-empty is not": LENT + "1 < delete-ok \n" + FIND + NOT_FOUND,
    "somebody declares it before that is answered": LENT
    + "@open 3 \n 3 > declare q durable \n 1 < delete-ok \n 3 < declare-ok q \n"
    + FIND
    + "1 < declare-ok q",
    "another durability is refused by a code that no text names": Q + "1 > declare q \n" + LOCKED,
    "and so are other arguments": LIMIT + "1 > declare q x-max-length=8 \n" + LOCKED,
    "a consumer of a channel that is paused": "@queue q \n @consume 1 q c1 \n 1 > flow pause \n 1 < flow-ok paused \n"
    + COUNT
    + "consumers=0",
    "of single active consumers one is active": "@queue q classic x-single-active-consumer=true \n @consume 1 q c1 \n"
    + "@consume 3 q c2 \n"
    + COUNT
    + "consumers=1",
    "a consumer has only just left": CONSUMED + "d:0 > bye \n d:0 < bye-ok \n" + COUNT + "consumers=2",
    "the last consumer has only just left": ALONE + FAILED + COUNT + "consumers=1",
    "the next one comes while they are counted": ALONE
    + "1 > cancel c1 \n 1 < cancel-ok c1 \n - wait 3 \n @open 2 \n 2 > declare q passive \n 1 > consume q c2 \n"
    + "2 < declare-ok q 0 consumers=1",
    "the last is on a connection that is lost": "@queue q \n d:1 > open \n d:1 < open-ok \n d:1 > consume q c2 \n"
    "d:1 < consume-ok c2 \n - end d aborted \n - wait 3 \n" + COUNT + "consumers=1",
    "nobody knows when a lost client is missed": CONSUMED + "- end d aborted \n - wait 3 \n" + COUNT + "consumers=2",
    "what is on its way when a queue is purged": STOCKED + "@open 2 \n 2 > get q \n" + PURGED + "2 < get-ok 1 m1 q",
    "what a consumer may have had when its queue was purged": STOCKED
    + "@consume 2 q c1 \n"
    + PURGED
    + "2 < deliver c1 1 m1 q",
    "what a channel may have had unseen": STOCKED
    + "@consume 2 q c1 \n 2 > close \n"
    + PURGED
    + "2 < close-ok \n @hold 3 q m1",
    "what a channel may have had unseen, that ends meanwhile": STOCKED
    + "@consume 2 q c1 \n 2 > close \n 90 > purge q \n 2 < close-ok \n 90 < purge-ok \n @hold 3 q m1",
    "what a channel may have had unseen, that comes meanwhile": STOCKED
    + "90 > purge q \n @consume 2 q c1 \n 2 > close \n 2 < close-ok \n 90 < purge-ok \n @hold 3 q m1",
    "a purge that may come before the message": "@queue q \n @open 2 \n 2 > publish m1 q \n " + PURGED + "@hold 2 q m1",
    "a second purge, of which nothing is known": STOCKED + PURGED + "@stock q m2 \n 90 > purge q \n @hold 2 q m2",
    "a get of no queue, which no text names a code for": "@open 1 \n 1 > get \n 0 < kicked 530 60 70 NOT_ALLOWED",
    "another owner is another property": Q + "1 > declare q durable exclusive \n" + UNEQUAL,
    "its connection was closed by the broker, and the queue is gone": LONG_KICKED + NOT_FOUND,
    "and is locked for a moment longer": KICKED + "- end d fin \n - wait 1 \n" + FIND + LOCKED,
    "or the connection is still there, for all that is known": KICKED + "- wait 2 \n" + FIND + LOCKED,
    "or it was lost without a word": OTHER + "- end d fin \n - wait 2 \n" + FIND + LOCKED,
    "an exclusive queue that is locked for a moment longer": LEFT + "- wait 1 \n" + FIND + LOCKED,
    "one that is there for a moment longer": LEFT + "- wait 1 \n" + FIND + "1 < declare-ok q",
    "a consumer is being cancelled, and not counted any more": CONSUMED + "1 > cancel c1 \n" + COUNT + "consumers=1",
    "a consumer is cancelled while it is counted": CONSUMED
    + "@open 2 \n 2 > declare q passive \n 1 > cancel c1 \n 2 < declare-ok q 0 consumers=1",
    "a consumer that has just ended is still counted": CONSUMED
    + "1 > cancel c1 \n 1 < cancel-ok c1 \n"
    + COUNT
    + "consumers=2",
    "a consumer is on its way while they are counted": CONSUMED + "1 > consume q c3 \n" + COUNT + "consumers=3",
    "an exclusive queue has an exclusive consumer": BESIDE + "d:1 > consume q c1 exclusive \n d:1 < consume-ok c1 \n"
    "d:2 > consume q c2 \n d:2 < closed 403 60 20 ACCESS_REFUSED",
    "beside a consumer of the last queue an exclusive one is refused": "@queue q \n @consume 2 q c1 \n @open 1 \n"
    "1 > declare q \n 1 < declare-ok q 0 consumers=1 \n 1 > consume c2 exclusive \n"
    "1 < closed 403 60 20 ACCESS_REFUSED",
    "a deletion of the last queue, of which there is none, comes before a mistake": "@queue q \n @consume 2 q c1 \n"
    "@open 1 \n 1 > delete \n 1 > delete q if_unused \n 1 < closed 404 50 40 NOT_FOUND",
    "a message that is returned before the purge": "@queue q \n @stock q m1 \n @hold 1 q m1 \n 1 > reject 1 requeue \n"
    "@barrier 1 \n 90 > purge q \n 90 < purge-ok \n @drain q \n - deadline drain q",
    "an auto-delete queue that had a consumer": "@open 1 \n 1 > declare q auto_delete \n 1 < declare-ok q \n"
    "@consume 2 q c1 \n 2 > cancel c1 \n 2 < cancel-ok c1 \n" + FIND + NOT_FOUND,
    "somebody else deletes it meanwhile": Q + "@open 2 \n 2 > delete q \n" + FIND + NOT_FOUND,
    "nobody has declared it here": "@open 1 \n" + FIND + "1 < declare-ok q",
    "a refusal may mean the declaration without an answer before": "@open 1 \n 1 > declare q durable no_wait \n"
    + FIND
    + "1 < closed 403 50 10 ACCESS_REFUSED",
    "its connection is lost": OTHER + "- end d lost \n" + FIND + LOCKED,
    "the close of its connection is not answered yet": OTHER + "d:0 > bye \n" + FIND + "1 < declare-ok q",
    "its consumer is being cancelled": "@queue q \n @consume 1 q c1 \n @open 2 \n 1 > cancel c1 \n"
    "2 > delete q if_unused \n 2 < delete-ok",
    "its message is being taken": "@queue q \n @stock q m1 \n @open 1 \n @open 2 \n 1 > get q \n"
    "2 > delete q if_empty \n 2 < delete-ok",
    "an argument of which nothing is known": Q + "1 > declare q durable x-odd=1 \n" + UNEQUAL,
    "the right to use it was taken away": OTHER + "- rights c q \n 1 > get q \n 1 < closed 403 60 70 ACCESS_REFUSED",
}


@pytest.mark.parametrize("answer", ["unbind-ok", "closed 405 50 50 RESOURCE_LOCKED"])
def test_who_unbinds_what_is_not_bound_may_find_the_queue_locked_or_not(play, answer: str) -> None:
    assert play(TIED + f"1 > unbind q x other \n 1 < {answer}").broken == []


def test_who_unbinds_an_exclusive_queue_of_another_is_refused(play) -> None:
    result = play(TIED + "1 > unbind q x key \n 1 < closed 405 50 50 RESOURCE_LOCKED")
    assert not result.broken
    assert result.exercised["QUEUE-007"] == 1


@pytest.mark.parametrize("rest", ["@drain q \n - deadline drain q", "1 > get \n 1 < get-empty \n"])
def test_what_is_lost_says_nothing_of_the_empty_name(play, rest: str) -> None:
    assert "QUEUE-015" not in play(LAST + rest).broken


def test_a_purge_by_the_empty_name_may_be_that_of_another_queue(play) -> None:
    purged = LAST.replace("get-empty", "purge-ok").replace("1 > get", "1 > purge")
    (found,) = (one for one in play(purged + "@drain q m1").judge.judgement.findings if one.rule == "QUEUE-019")
    assert found.unless == ("QUEUE-015", "NOWAIT-004")


def test_a_purge_without_an_answer_may_come_late(play) -> None:
    assert play(QUIET + "@drain q m1 \n @barrier 1").broken == []


def test_who_lets_the_owner_use_an_exclusive_queue_has_refused_nobody(play) -> None:
    """QUEUE-007: it was held where nobody else had tried, as on StrangeQ, which is not asked for queues."""
    used = play(BESIDE + "d:2 > purge q \n d:2 < purge-ok says=0")
    assert (used.broken, used.exercised.get("QUEUE-007", 0)) == ([], 0)


def test_who_does_not_know_the_last_queue_has_not_refused_a_binding(play) -> None:
    """BIND-008 speaks of a queue that is named."""
    refused = "1 < closed 404 50 20 NOT_FOUND"
    assert play(Q + f"@exchange x \n 1 > bind - x key \n {refused}").broken == ["QUEUE-015"]
    assert play(Q + f"@exchange x \n 1 > bind q x key \n {refused}").broken == ["BIND-008"]
