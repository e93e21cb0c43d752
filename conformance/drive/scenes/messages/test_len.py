"""LEN: more comes than a queue may hold. One channel fills it, gets take all that is there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, patiently
from conformance.drive.stage import Stage

MOST, OCTETS, OVERFLOW, LEVELS = "x-max-length", "x-max-length-bytes", "x-overflow", "x-max-priority"
SINGLE = "x-single-active-consumer"
REFUSE = "reject-publish"
LARGE = ((1 << 16) + 9,) * 3
WIDE = (1 << 8) + 2, (1 << 16) + 2, (1 << 32) + 2
THREE, BODY = b"abc", b"body"
SHORT, ARRIVED = "100", 1.3
"""Milliseconds of an expiration, and seconds after which that is over, and a dead letter has certainly come."""


def filled(stage: Stage, limits: dict[str, int | str], sizes: Sequence[int], held: int = 0) -> None:
    """A queue of its own gets a message of each size; after so many, all are fetched and kept. Then it is emptied."""
    queue = stage.queue(dict(limits))
    publisher, taker, keeper = confirming(stage), stage.channel(), stage.channel()
    for number, size in enumerate(sizes):
        if held and number == held:
            stage.confirmed(publisher)
            stage.fetch(keeper, queue, held)
        publisher.publish(queue, body=bytes([65 + number % 26]) * size)
    stage.confirmed(publisher)
    emptied(stage, taker, queue, len(sizes))


def emptied(stage: Stage, channel: Channel, queue: str, most: int) -> None:
    """Takes all that is there, and sees that it is all."""
    for _ in range(most + 1):
        if stage.get(channel, queue, no_ack=True) is None:
            break


@rule("LEN-001", queue_types=("classic",))
@pytest.mark.parametrize("most", [0, 1, 2, 16, 65])
def test_more_messages_than_the_limit(stage: Stage, most: int) -> None:
    """One more, and twice as many; or as many in a transaction, or as the dead letters of another queue, also where the
    queue refuses what is too much."""
    for count in (most + 1, 2 * most + 1):
        filled(stage, {MOST: most}, [3] * count)
    if stage.offers("tx.select"):
        _committed(stage, stage.queue({MOST: most}), 2 * most + 1)
    for overflow in ({}, {OVERFLOW: REFUSE}) if most == 2 else ():
        if not overflow or stage.offers(OVERFLOW):
            _handed_on(stage, stage.queue({MOST: most, **overflow}), 2 * most + 1)


def _handed_on(stage: Stage, heir: str, count: int) -> None:
    """So many are given up in another queue, and it says how many of them it has."""
    queue = stage.queue({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": heir})
    publisher, channel = confirming(stage), stage.channel()
    publisher.publish(queue, count)
    stage.confirmed(publisher)
    for tag in stage.fetch(channel, queue, count):
        channel.reject(tag, requeue=False)
    stage.barrier(channel)
    wait(stage, ARRIVED)
    channel.declare(heir, passive=True)
    stage.quiesce()
    emptied(stage, channel, heir, count)


def _committed(stage: Stage, queue: str, count: int) -> None:
    """One transaction is rolled back, the next publishes so many; all that is there is taken."""
    publisher = stage.channel()
    publisher.tx_select()
    publisher.publish(queue, 1)
    publisher.tx_rollback()
    publisher.publish(queue, count, body=THREE)
    publisher.tx_commit()
    stage.quiesce()
    emptied(stage, stage.channel(), queue, count)


@rule("LEN-002", queue_types=("classic",))
@pytest.mark.parametrize("how", [None, "drop-head", "dead letters"])
def test_the_newest_are_there(stage: Stage, how: str | None) -> None:
    """Fourteen come to a queue for four, whether it says that the oldest are to go, or where to, or says nothing."""
    limits: dict[str, int | str] = {MOST: 4} | ({OVERFLOW: how} if how == "drop-head" else {})
    if how == "dead letters":
        limits |= {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": stage.queue()}
    filled(stage, limits, [3] * 14)


@rule("LEN-003", queue_types=("classic",))
def test_a_full_queue_is_full(stage: Stage) -> None:
    """As many as it may hold, one more, and some more, in bodies of all sizes; and some, where it may hold more than a
    number of one octet can say, of two, or of four. Then one that has been purged, or whose messages have expired,
    where messages count, and where their octets do."""
    for count in (8, 9, 30):
        filled(stage, {MOST: 8}, [10 + 7 * (number % 5) for number in range(count)])
    for limit in (MOST, OCTETS):
        for wide in WIDE if stage.offers(limit) else ():
            filled(stage, {limit: wide}, [3] * 4)
    publisher, taker = confirming(stage), stage.channel()
    for limit, most in ((MOST, 4), (OCTETS, 4 * len(BODY))):
        queue = stage.queue({limit: most}) if stage.offers(limit) else ""
        for gone in ("purged", "", "expired", "") if queue else ():
            if gone == "expired" and not _expires(stage):
                break
            about = {"expiration": SHORT} if gone == "expired" else {}
            publisher.publish(queue, 5, body=BODY, properties=about)
            stage.confirmed(publisher)
            if gone == "purged":
                taker.purge(queue)
                stage.quiesce()
            elif gone == "expired":
                wait(stage, ARRIVED)
            emptied(stage, taker, queue, 5)


def _expires(stage: Stage) -> bool:
    return stage.profile.queue(stage.queue_type).messages_expire and stage.offers("expiration")


@rule("LEN-004", queue_types=("classic",))
def test_some_are_held_by_a_client(stage: Stage) -> None:
    """Three of four are fetched and kept; then four more come, and one that is too many."""
    for count in (7, 8):
        filled(stage, {MOST: 4}, [10] * count, held=3)


@rule("LEN-005", queue_types=("classic",))
@pytest.mark.parametrize("sizes", [(10,) * 21, (30, 60, 90, 10, 40), (150, 101), (50, 50, 1), (0, 0, 0, 100, 1), LARGE])
def test_more_octets_than_the_limit(stage: Stage, sizes: tuple[int, ...]) -> None:
    """A limit of 100: for small and for large bodies, for one that is too large, and for the last octet. For bodies
    that are larger than a number of two octets can say it is one of them and a half. And a limit of nought; and a
    queue that refuses what is too much."""
    filled(stage, {OCTETS: 100 if sizes is not LARGE else 3 * LARGE[0] // 2}, sizes)
    if 0 in sizes:
        filled(stage, {OCTETS: 0}, sizes)
    elif stage.offers(OVERFLOW) and sizes is not LARGE:
        filled(stage, {OCTETS: 100, OVERFLOW: REFUSE}, sizes)


@rule("LEN-006", queue_types=("classic",))
@pytest.mark.parametrize("size", [5, 50])
def test_two_limits(stage: Stage, size: int) -> None:
    """Small bodies reach the one, large bodies the other."""
    filled(stage, {MOST: 5, OCTETS: 100}, [size] * 12)


@rule("LEN-007", queue_types=("classic",))
@pytest.mark.parametrize(("limit", "most"), [(MOST, 4), (OCTETS, 40)], ids=["messages", "octets"])
def test_the_newest_is_refused(stage: Stage, limit: str, most: int) -> None:
    """Nine come to a queue for four that refuses the newest; it may have priorities, and so may they."""
    filled(stage, {limit: most, OVERFLOW: REFUSE}, [10] * 9)
    if stage.offers(LEVELS):
        filled(stage, {limit: most, OVERFLOW: REFUSE, LEVELS: 5}, [10] * 9)
        queue, publisher = stage.queue({limit: most, OVERFLOW: REFUSE, LEVELS: 5}), confirming(stage)
        for priority in (1, 0, 2, 1, 3, 5, 0, 1, 4):
            publisher.publish(queue, properties={"priority": priority}, body=bytes(10))
        stage.confirmed(publisher)
        emptied(stage, stage.channel(), queue, 9)


@rule("LEN-008", queue_types=("classic",))
@pytest.mark.parametrize(
    ("most", "limit", "levels"), [(1, MOST, 0), (4, MOST, 0), (4, OCTETS, 0), (3, MOST, 5), (3, OCTETS, 5)]
)
def test_what_comes_back_is_too_much(stage: Stage, most: int, limit: str, levels: int) -> None:
    """A full queue is fetched from, and filled again; then what was fetched is given back, one by one or together. It
    may have priorities."""
    for together in (False, True) if stage.offers("basic.nack") else (False,):
        given_back(stage, most, limit, levels, together=together)


def given_back(stage: Stage, most: int, limit: str, levels: int = 0, *, together: bool = False) -> None:
    """A queue has room for so many messages, or for their octets, and gets some back when it is full."""
    queue = stage.queue({limit: most * (len(THREE) if limit == OCTETS else 1), **({LEVELS: levels} if levels else {})})
    publisher, keeper = confirming(stage), stage.channel()
    for first in (True, False):
        for number in range(most):
            publisher.publish(queue, body=THREE, properties={"priority": number % 2} if levels else {})
        stage.confirmed(publisher)
        if first:
            stage.fetch(keeper, queue, most)
    if together:
        keeper.nack(0, multiple=True)
    for tag in () if together else keeper.unacked:
        keeper.reject(tag)
    stage.barrier(keeper)
    emptied(stage, keeper, queue, 2 * most)


@rule("LEN-009", queue_types=("classic",))
def test_room_again(stage: Stage) -> None:
    """It refuses some; all are taken, and more come than it has room for; a few are taken, and a few come. Or all are
    fetched, and kept, and as many come. Or a purge takes them, or their age."""
    queue, publisher, taker = stage.queue({MOST: 10, OVERFLOW: REFUSE}), confirming(stage), stage.channel()
    for count, taken in ((12, 10), (11, 3), (4, 0)):
        publisher.publish(queue, count)
        stage.confirmed(publisher)
        stage.fetch(taker, queue, taken, no_ack=True)
    emptied(stage, taker, queue, 11)
    for count in (12, 11):
        publisher.publish(queue, count)
        stage.confirmed(publisher)
        stage.fetch(taker, queue, 10)
    emptied(stage, taker, queue, 11)
    for limit in (MOST, OCTETS):
        for gone in ("purged", "expired") if stage.offers(limit) else ():
            _room_by(stage, gone, stage.queue({limit: 10 if limit == MOST else 10 * len(BODY), OVERFLOW: REFUSE}))


def _room_by(stage: Stage, gone: str, queue: str) -> None:
    """It is full; then nobody takes what is there, and it is gone all the same; and more come than it has room for."""
    if gone == "expired" and not _expires(stage):
        return
    publisher, taker = confirming(stage), stage.channel()
    publisher.publish(queue, 11, body=BODY, properties={"expiration": SHORT} if gone == "expired" else {})
    stage.confirmed(publisher)
    if gone == "purged":
        taker.purge(queue)
        stage.quiesce()
    else:
        wait(stage, ARRIVED)
        taker.declare(queue, passive=True)
        stage.quiesce()
    publisher.publish(queue, 11, body=BODY)
    stage.confirmed(publisher)
    emptied(stage, taker, queue, 11)


@rule("LEN-010", queue_types=("classic",))
@pytest.mark.parametrize("limit", [MOST, OCTETS], ids=["messages", "octets"])
@pytest.mark.parametrize("priorities", [(1, 5, 3, 0), (0, 0, 9, 0, 0, 9), (4, 2, 4, 2, 4)])
def test_which_priority_makes_room(stage: Stage, priorities: tuple[int, ...], limit: str) -> None:
    """A queue for three messages, or octets, gets more, the highest early or late, or several of it."""
    queue, publisher = stage.queue({limit: 3, LEVELS: 9}), confirming(stage)
    for priority in priorities:
        publisher.publish(queue, properties={"priority": priority}, body=b"b")
    stage.confirmed(publisher)
    emptied(stage, stage.channel(), queue, len(priorities))


@rule("LEN-011", queue_types=("quorum",))
@pytest.mark.parametrize("most", [1, 5, 16])
def test_the_newest_of_a_quorum_queue(stage: Stage, most: int) -> None:
    """One more than it may hold, and many more at once; and what comes back when it is full."""
    for count in (most + 1, 3 * most + 2):
        filled(stage, {MOST: most}, [3] * count)
    given_back(stage, most, MOST)


@rule("LEN-012", queue_types=("classic",))
def test_one_of_several_refuses(stage: Stage) -> None:
    """An exchange leads to a full queue and to two with room, which their publisher looks into."""
    publisher = confirming(stage)
    full, others = stage.queue({MOST: 2, OVERFLOW: REFUSE}), [stage.queue(), stage.queue()]
    exchange = stage.exchange(others[0], full, others[1])
    publisher.publish(full, 2)
    stage.confirmed(publisher)
    publisher.publish("", 3, exchange=exchange)
    stage.confirmed(publisher)
    for queue in others:
        emptied(stage, publisher, queue, 3)


@rule("LEN-013", queue_types=("classic",))
@pytest.mark.parametrize("limit", [MOST, OCTETS], ids=["messages", "octets"])
def test_the_refused_are_dead_letters(stage: Stage, limit: str) -> None:
    """Five come to a queue for two, or for the octets of two, which says where its dead letters go."""
    grave, publisher = stage.queue(), confirming(stage)
    dead: dict[str, object] = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": grave}
    queue = stage.queue({limit: 2 if limit == MOST else 2 * len(BODY), OVERFLOW: "reject-publish-dlx", **dead})
    publisher.publish(queue, 5, body=BODY)
    stage.confirmed(publisher)
    wait(stage, ARRIVED)
    patiently(stage, lambda: emptied(stage, stage.channel(), grave, 5))


@rule("LEN-015", queue_types=("classic",))
@pytest.mark.parametrize("single", [False, True])
def test_a_limit_beside_a_consumer(stage: Stage, single: bool) -> None:
    """Of nine that come to a queue for four its consumer takes one; then it is cancelled, and all are taken. Or there
    are two consumers, of which one is served, and the other one waits."""
    terms: dict[str, object] = {SINGLE: True} if single else {}
    if single and not stage.cancels:
        return
    queue, publisher, channel = stage.queue({MOST: 4, **terms}), confirming(stage), stage.channel()
    channel.qos(1)
    tags = []
    for _ in range(1 + single):
        tags.append(channel.consume(queue))
        stage.quiesce()
    publisher.publish(queue, 9)
    stage.confirmed(publisher)
    for tag in reversed(tags):
        channel.cancel(tag)
        stage.quiesce()
    emptied(stage, channel, queue, 9)


@rule("LEN-014", queue_types=("classic",))
@pytest.mark.parametrize("sizes", [(20,) * 8, (50, 50, 50), (1,) * 120, (99, 1, 1)])
def test_as_many_as_the_bodies_allow(stage: Stage, sizes: tuple[int, ...]) -> None:
    """A limit of 100, which bodies of one size or of several fill to the last octet; some are held by a client, and in
    the end some come back."""
    filled(stage, {OCTETS: 100}, sizes)
    if len(sizes) == 3:
        filled(stage, {OCTETS: 100}, [20] * 9, held=3)
        _back_to_the_last_octet(stage)


def _back_to_the_last_octet(stage: Stage) -> None:
    """Two of five are fetched, and given back: for all of them there is room."""
    queue, publisher, keeper = stage.queue({OCTETS: 100}), confirming(stage), stage.channel()
    for count, held in ((3, 2), (2, 0)):
        publisher.publish(queue, count, body=b"b" * 20)
        stage.confirmed(publisher)
        stage.fetch(keeper, queue, held)
    for tag in keeper.unacked:
        keeper.reject(tag)
    stage.barrier(keeper)
    emptied(stage, keeper, queue, 5)
