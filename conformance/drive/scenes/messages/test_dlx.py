"""DLX: messages that a queue gives up, and where they go.

Each scene lets messages die, waits until their dead letters have certainly arrived, and looks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, large, patiently
from conformance.drive.scenes.requeueing.test_rq import ODD
from conformance.drive.stage import Stage

EXCHANGE, KEY = "x-dead-letter-exchange", "x-dead-letter-routing-key"
SHORT, LONG = 100, 60_000
"""Milliseconds."""
ARRIVED, TURN = 1.3, 0.4
"""Seconds after which a dead letter has certainly come, and after which it most likely has."""
TURNS, OCTETS, LONG_NAME, MANY = 3, 60, "." * 180, 20
RECORD = ("x-death", "S", b"of old")
"""What somebody may write where brokers write down the deaths of a message."""


def to(queue: str, **more: object) -> dict[str, object]:
    """Arguments of a queue whose dead letters go to this one."""
    named = {name.replace("_", "-"): value for name, value in more.items()}
    return {EXCHANGE: "", KEY: queue, **named}


def expires(stage: Stage) -> bool:
    return stage.profile.queue(stage.queue_type).messages_expire


def look(stage: Stage, *queues: str, gets: int = 2) -> None:
    reader = stage.channel()

    def once() -> None:
        for queue in queues:
            for _ in range(gets):
                stage.get(reader, queue, no_ack=True)

    patiently(stage, once)


def reject(stage: Stage, channel: Channel, queue: str, *, nack: bool = False) -> None:
    tag = stage.get(channel, queue)
    if tag is not None:
        (channel.nack if nack else channel.reject)(tag, requeue=False)
    stage.barrier(channel)


def sent(stage: Stage, queue: str, count: int = 1, **properties: object) -> Channel:
    channel = confirming(stage)
    channel.publish(queue, count, properties=properties)
    stage.confirmed(channel)
    return channel


@rule("DLX-001")
def test_rejected(stage: Stage) -> None:
    """By reject and by nack; the other message of the queue stays. And where it came as a dead letter, or its publisher
    has given it a header that is called like the record of deaths. And in a transaction that is committed. Bodies of
    several frames are given up, too, and none at all; several messages at once; and one that was given back before."""
    grave = stage.queue()
    queue, holder = stage.queue(to(grave)), stage.channel()
    sent(stage, queue, 4)
    reject(stage, holder, queue)
    reject(stage, holder, queue, nack=True)
    stage.fetch(holder, queue)
    holder.reject(holder.unacked[-1], requeue=True)
    stage.barrier(holder)
    reject(stage, holder, queue)
    last = stage.queue()
    second = stage.queue(to(last))
    sent(stage, stage.queue(to(second, x_max_length=1)), 2)
    wait(stage, TURN)
    reject(stage, holder, second)
    marked = stage.queue(to(grave))
    for properties in ({"headers": [RECORD]}, ODD):
        sent(stage, marked, **properties)
        reject(stage, holder, marked)
    if stage.offers("tx.select"):
        _committed(stage, stage.queue(to(grave)))
    _large(stage, stage.queue(to(grave)))
    if stage.offers("basic.nack"):
        _together(stage, stage.queue(to(grave)), stage.queue(to(last)))
    wait(stage, ARRIVED)
    look(stage, grave, gets=11 + MANY)
    look(stage, last, gets=4)


def _together(stage: Stage, queue: str, other: str) -> None:
    """Up to a tag, and all that there is, of two queues whose dead letters go different ways."""
    holder = stage.channel()
    sent(stage, queue, MANY)
    sent(stage, other, 2)
    tags = [*stage.fetch(holder, queue, 2), *stage.fetch(holder, other, 2), *stage.fetch(holder, queue, MANY - 2)]
    for tag in (*tags[1:2], 0):
        holder.nack(tag, multiple=True, requeue=False)
        stage.barrier(holder)


def _large(stage: Stage, queue: str) -> None:
    channel, holder = confirming(stage), stage.channel()
    for body in (bytes(5000), large(channel), b""):
        channel.publish(queue, body=body)
        stage.confirmed(channel)
        reject(stage, holder, queue)


def _committed(stage: Stage, queue: str) -> None:
    sent(stage, queue, 2)
    channel = stage.channel()
    channel.tx_select()
    stage.quiesce()
    for nack in (False, True):
        reject(stage, channel, queue, nack=nack)
    channel.tx_commit()
    stage.quiesce()


@rule("DLX-002")
@pytest.mark.parametrize("full", [False, True])
def test_expired(stage: Stage, full: bool) -> None:
    """By its own time, and by that of the queue; several at once, and one after the other has gone. One of each has
    properties of all kinds. And behind one that lived on until it was taken; and one that is given back too late. Some
    have no time at all, or wait in a queue with priorities. Or a consumer has no room."""
    if not expires(stage):
        return
    if full:
        _beside_a_full_consumer(stage)
        return
    _late(stage)
    graves = stage.queue(), stage.queue(), stage.queue()
    again = stage.queue(to(graves[0])), stage.queue(to(graves[1], x_message_ttl=SHORT))
    own, shared = stage.queue(to(graves[0])), stage.queue(to(graves[1], x_message_ttl=SHORT))
    mixed, taker = stage.queue(to(graves[2])), stage.channel()
    if stage.queue_type == "classic":
        _ranked(stage, graves[2])
    kinds: Sequence[tuple[int, dict[str, Any]]] = ((2, {}), (1, ODD))
    for count, properties in kinds:
        sent(stage, own, count, **properties, expiration=str(SHORT))
        sent(stage, shared, count, **properties)
    sent(stage, mixed)
    sent(stage, mixed, expiration=str(4 * SHORT))
    tag = stage.get(taker, mixed)
    if tag is not None:
        taker.ack(tag)
    stage.barrier(taker)
    for _ in "12":
        sent(stage, again[0], expiration=str(SHORT))
        sent(stage, again[1])
        wait(stage, ARRIVED + 4 * SHORT / 1000)
    look(stage, *graves, gets=6)


def _ranked(stage: Stage, grave: str) -> None:
    """All of one priority. One that nobody waits for has no time at all."""
    sent(stage, stage.queue(to(grave)), expiration="0")
    if stage.offers("x-max-priority"):
        sent(stage, stage.queue(to(grave, x_max_priority=3)), 2, expiration=str(SHORT), priority=1)


def _beside_a_full_consumer(stage: Stage) -> None:
    """It has a message that lives on, and no room for those that do not."""
    grave, busy = stage.queue(), stage.channel()
    queue = stage.queue(to(grave))
    busy.qos(1)
    busy.consume(queue)
    sent(stage, queue)
    stage.quiesce()
    sent(stage, queue, 2, expiration=str(SHORT))
    wait(stage, ARRIVED)
    look(stage, grave, gets=3)


@rule("DLX-003")
def test_pushed_out(stage: Stage) -> None:
    """Two are too many; and beyond a limit of octets, whatever counts as such, the first must go. The messages may have
    a time to live, which is not over. And a full queue gets back what it has no room for, when a channel ends."""
    grave, queues = stage.queue(), [to("", x_max_length=2)]
    if expires(stage):
        queues.append(to("", x_max_length=2, x_message_ttl=LONG))
    if stage.offers("x-max-length-bytes"):
        queues.append(to("", x_max_length_bytes=OCTETS))
    for arguments in queues:
        channel = confirming(stage)
        channel.publish(stage.queue(arguments | to(grave)), 4, body=b"d" * OCTETS)
        stage.confirmed(channel)
    if stage.queue_type == "classic":
        _no_room_for_returns(stage, stage.queue(to(grave, x_max_length=2)))
    wait(stage, ARRIVED)
    look(stage, grave, gets=14)


def _no_room_for_returns(stage: Stage, queue: str) -> None:
    sent(stage, queue, 2)
    channel = stage.channel()
    stage.fetch(channel, queue, 2)
    sent(stage, queue, 2)
    channel.close()
    stage.quiesce()
    wait(stage, ARRIVED)
    look(stage, queue, gets=4)


@rule("DLX-004", queue_types=("quorum",))
def test_returned_too_often(stage: Stage) -> None:
    """Twice, where once is allowed: it is rejected, or its channel ends, where it was got or delivered."""
    graves, holder = (stage.queue(), stage.queue()), stage.channel()
    rejected, left = (stage.queue(to(grave, x_delivery_limit=1)) for grave in graves)
    for queue in (rejected, left):
        sent(stage, queue)
    for _ in range(2):
        for tag in stage.fetch(holder, rejected):
            holder.reject(tag, requeue=True)
        stage.barrier(holder)
        leaves = stage.channel()
        leaves.consume(left)
        stage.quiesce()
        leaves.close()
        stage.quiesce()
    wait(stage, ARRIVED)
    look(stage, *graves)


@rule("DLX-005")
def test_its_address(stage: Stage) -> None:
    """With a key of the queue, which may be empty, and without; to the default exchange, and to another. Where the
    default exchange gets it without a key of the queue, it goes by the name in its own. The key may be long,
    and like another one but for its end."""
    grave, holder = stage.queue(), stage.channel()
    exchange, name = stage.exchange(grave), stage.recorder.private_name() + LONG_NAME
    twins = [stage.queue(name=name + last) for last in "ab"]
    ways: Sequence[dict[str, object]] = (
        to(grave),
        {EXCHANGE: exchange},
        {EXCHANGE: exchange, KEY: "dead"},
        {EXCHANGE: exchange, KEY: ""},
        *map(to, twins),
    )
    for arguments in ways:
        queue = stage.queue(arguments)
        sent(stage, queue)
        reject(stage, holder, queue)
    queue = stage.queue({EXCHANGE: ""})
    sender = confirming(stage)
    sender.publish(grave, exchange=stage.exchange(queue))
    stage.confirmed(sender)
    reject(stage, holder, queue)
    wait(stage, ARRIVED)
    look(stage, grave, gets=6)
    look(stage, *twins)


def _rounds(stage: Stage, turns: int, *, last: float = TURN) -> None:
    """A message that is rejected in one queue waits in another one, and comes back; several times."""
    waiting, holder = stage.recorder.private_name(), stage.channel()
    home = stage.queue(to(waiting))
    stage.queue(to(home, x_message_ttl=SHORT), name=waiting)
    sent(stage, home, 2)
    for turn in range(turns):
        tags = [tag for tag in (stage.get(holder, home), stage.get(holder, home)) if tag is not None]
        for tag in tags:
            holder.reject(tag, requeue=False)
        stage.barrier(holder)
        wait(stage, TURN if turn + 1 < turns else last)
    look(stage, home, gets=3)


@rule("DLX-006")
@pytest.mark.parametrize("how", ["by turns", "in a row", "given back", "in one queue"])
def test_death_upon_death(stage: Stage, how: str) -> None:
    """In two queues, by turns; or in nine, one after the other; or in four, in which it is given back before; or in
    one, each time for another reason."""
    if how == "in one queue":
        _each_reason(stage)
    elif how != "by turns":
        _row(stage, give_back=how == "given back")
    elif expires(stage):
        _rounds(stage, TURNS)


def _each_reason(stage: Stage) -> None:
    """It is pushed out and rejected elsewhere, so that it comes back; then it is rejected here."""
    other, holder = stage.recorder.private_name(), stage.channel()
    home = stage.queue(to(other, x_max_length=1))
    stage.queue(to(home), name=other)
    sent(stage, home, 2)
    wait(stage, ARRIVED)
    stage.get(holder, home, no_ack=True)
    for queue in (other, home):
        reject(stage, holder, queue)
        wait(stage, ARRIVED)
    look(stage, other, home)


def _row(stage: Stage, *, give_back: bool) -> None:
    holder, queues = stage.channel(), [stage.queue()]
    for _ in range(4 if give_back else 9):
        queues.append(stage.queue(to(queues[-1])))
    sent(stage, queues[-1])
    for queue in reversed(queues):
        for requeue in (True, False) if give_back else (False,):
            for tag in stage.fetch(holder, queue):
                holder.nack(tag, requeue=requeue)
            stage.barrier(holder)
        wait(stage, TURN)


@rule("DLX-008")
def test_its_first_death(stage: Stage) -> None:
    """It dies in three queues, for two reasons."""
    last, holder = stage.queue(), stage.channel()
    second = stage.queue(to(last))
    first = stage.queue(to(second, x_max_length=1))
    sent(stage, first, 2)
    wait(stage, TURN)
    reject(stage, holder, second)
    wait(stage, TURN)
    look(stage, last)


@rule("DLX-009")
def test_no_second_expiry(stage: Stage) -> None:
    """After it has expired, and after a rejection."""
    grave, holder = stage.queue(), stage.channel()
    expiring, rejecting = stage.queue(to(grave)), stage.queue(to(grave))
    sent(stage, rejecting, expiration=str(LONG))
    reject(stage, holder, rejecting)
    if expires(stage):
        sent(stage, expiring, expiration=str(SHORT))
    wait(stage, ARRIVED)
    look(stage, grave, gets=3)


@rule("DLX-011")
@pytest.mark.parametrize("full", [False, True])
def test_round_and_round(stage: Stage, full: bool) -> None:
    """In two queues that lead to each other, and in one that leads to itself; in a full one that leads to itself and to
    another."""
    if full:
        look(stage, *_pushed_out(stage))
        return
    if not expires(stage):
        return
    names = [stage.recorder.private_name() for _ in "123"]
    for name, following in zip(names, (names[1], names[0], names[2]), strict=True):
        stage.queue(to(following, x_message_ttl=SHORT), name=name)
    sent(stage, names[0])
    sent(stage, names[2])
    wait(stage, ARRIVED)
    look(stage, *names)


def _pushed_out(stage: Stage) -> tuple[str, str]:
    """A queue with room for one message that has got two, and where its dead letters may go as well."""
    heirs = stage.exchange()
    full, grave = stage.queue({EXCHANGE: heirs, "x-max-length": 1}), stage.queue()
    for queue in (full, grave):
        stage.bind(queue, heirs)
    sent(stage, full, 2)
    wait(stage, ARRIVED)
    return full, grave


@rule("DLX-012")
def test_back_after_a_rejection(stage: Stage) -> None:
    """As often as it is rejected."""
    if expires(stage):
        _rounds(stage, TURNS, last=ARRIVED + SHORT / 1000)


@rule("DLX-013")
def test_acknowledged(stage: Stage) -> None:
    """By an ack, and by a get that needs none; and where it is taken as a dead letter, after its time was over while a
    client held it, and it was given back. Others are purged, or go with their queue."""
    if expires(stage):
        _late(stage)
    grave = stage.queue()
    for remove in ("purge", "delete"):
        removed = stage.queue(to(grave))
        sent(stage, removed, 2)
        getattr(stage.backstage(removed), remove)(removed)
        stage.quiesce()
    queue, holder = stage.queue(to(grave)), stage.channel()
    sent(stage, queue, 2)
    for tag in stage.fetch(holder, queue):
        holder.ack(tag)
    stage.fetch(holder, queue, no_ack=True)
    stage.barrier(holder)
    wait(stage, ARRIVED)
    look(stage, grave)


def _late(stage: Stage) -> None:
    grave = stage.queue()
    queue, holder = stage.queue(to(grave)), stage.channel()
    sent(stage, queue, expiration=str(SHORT))
    tags = stage.fetch(holder, queue)
    wait(stage, TURN)
    for tag in tags:
        holder.reject(tag, requeue=True)
    stage.barrier(holder)
    wait(stage, ARRIVED)
    look(stage, grave, gets=3)
