"""DRT: requests, and replies that need no queue."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.scenes.consumers.test_consume import QUIET_TRIPS
from conformance.drive.scenes.contents.test_content import every_property
from conformance.drive.scenes.marks import QueueType, rule
from conformance.drive.scenes.props import BAD_TAG, REPLIES, confirming, large, patiently, reopen
from conformance.drive.scenes.topology.test_queue import leave
from conformance.drive.stage import Stage

ASKING = {"reply_to": REPLIES}
CLASSIC: tuple[QueueType, ...] = ("classic",)
WAYS = "", "exchange", "large", "all properties", "mandatory", "transaction"
LONGEST = 255
"""Octets of the tag of a consumer at most."""
LONG = "t" * LONGEST


def requester(stage: Stage, connection: RawConnection | None = None, tag: str | None = None) -> tuple[Channel, str]:
    """A channel that takes replies, and the tag of its consumer."""
    stage.require("direct reply-to")
    channel = stage.channel(connection=connection)
    tag = channel.consume(REPLIES, no_ack=True, tag=tag)
    stage.quiesce()
    return channel, tag


def address_of(stage: Stage, channel: Channel, way: str = "") -> str:
    """Lets it ask for something, in this way; the address that its request carries. Older messages of the queue are
    taken too."""
    queue, server = stage.queue(), stage.channel()
    exchange, key = (stage.exchange(queue), "any") if way == "exchange" else ("", queue)
    if way == "transaction":
        channel.tx_select()
    body = large(channel) if way == "large" else None
    about = {**every_property(stage.target.user), **ASKING} if way == "all properties" else ASKING
    (request,) = channel.publish(key, exchange=exchange, properties=about, mandatory=way == "mandatory", body=body)
    if way == "transaction":
        channel.tx_commit()
    stage.barrier(channel)
    seen = len(stage.events)
    while not (taken := [one for one in stage.events[seen:] if one.message == request]):
        stage.fetch(server, queue, no_ack=True)
    return str(json.loads(taken[-1].arguments)["properties"].get("reply_to") or "")


def reply(stage: Stage, by: Channel, address: str, to: Channel, *, commit: bool = False, **about: Any) -> None:
    """Publishes to the address, and waits until that has come, or has not."""
    seen = len(stage.events)
    by.publish(address, **about)
    if commit:
        by.tx_commit()
    stage.confirmed(by)
    stage.waiter.settles(lambda: any(event.method == "basic.deliver" for event in stage.events[seen:]))
    if to.state == "open":
        stage.barrier(to)


def gone(stage: Stage, channel: Channel, tag: str, how: str) -> None:
    """The requester ends; where its channel fails, that is opened again."""
    if "cancel" in how:
        channel.cancel(tag, no_wait=how == "quiet cancel")
        for _ in range(QUIET_TRIPS):
            stage.barrier(channel)
    elif how == "failure":
        channel.ack(BAD_TAG)
        reopen(stage, channel)
    elif how == "connection":
        leave(stage, channel.connection)
    else:
        channel.close()
    stage.quiesce()


@rule("DRT-001", queue_types=CLASSIC)
def test_replies_with_acknowledgements(stage: Stage) -> None:
    """A consumer of replies that wants to acknowledge them."""
    stage.require("direct reply-to")
    stage.channel().consume(REPLIES)
    stage.quiesce()


@rule("DRT-002", queue_types=CLASSIC)
def test_two_requesters_on_a_channel(stage: Stage) -> None:
    """Under another tag. One on another channel is fine, and so are several that have one channel in turn."""
    channel, tag = requester(stage)
    requester(stage)
    for how in ("cancel", "quiet cancel", "cancel"):
        gone(stage, channel, tag, how)
        tag = channel.consume(REPLIES, no_ack=True)
        stage.quiesce()
    channel.consume(REPLIES, no_ack=True)
    stage.quiesce()


@rule("DRT-003", queue_types=CLASSIC)
@pytest.mark.parametrize("beside", [False, True])
def test_a_request_without_requester(stage: Stage, beside: bool) -> None:
    """There is none at all, or one on another channel."""
    stage.require("direct reply-to")
    if beside:
        requester(stage)
    channel = stage.channel()
    channel.publish(stage.queue(), properties=ASKING)
    stage.quiesce()


@rule("DRT-004", queue_types=CLASSIC)
@pytest.mark.parametrize("tag", [None, "alike", LONG], ids=["own", "alike", "long"])
def test_addresses(stage: Stage, tag: str | None) -> None:
    """Two requesters of two connections, with tags of their own, or both with the same one. They ask by name and by an
    exchange, with much to say, so that it may come back, and in a transaction."""
    for connection in (None, stage.connect("other")):
        channel, _ = requester(stage, connection, tag)
        for way in WAYS if tag is None else ("",):
            if way != "transaction" or stage.offers("tx.select"):
                address_of(stage, channel, way)


@rule("DRT-005", queue_types=CLASSIC)
@pytest.mark.parametrize("committed", [False, True], ids=["at once", "committed"])
def test_replies_come(stage: Stage, committed: bool) -> None:
    """From the same channel, from another one, and from another connection; of all sizes, with all properties, and in a
    transaction. Each twice: one may be lost. And several for a requester that came with nowait, and has a limit; and
    for one that has left the choice of its tag to the broker."""
    channel, _ = requester(stage)
    address = address_of(stage, channel)
    if committed:
        _committed(stage, channel, address)
        return
    for by in (channel, confirming(stage), stage.channel(connection=stage.connect("other"))):
        for _ in range(2):
            reply(stage, by, address, channel)
            stage.barrier(by)
            stage.barrier(channel)
    by = confirming(stage)
    every = every_property(stage.target.user)
    for about in ({"body": b""}, {"body": large(by)}, {"persistent": True}, {"properties": every}):
        for _ in range(2):
            reply(stage, by, address, channel, **about)
            stage.barrier(channel)
    _limited(stage, by)
    nameless, _ = requester(stage, tag="")
    address = address_of(stage, nameless)
    for _ in range(2):
        reply(stage, by, address, nameless)
        stage.barrier(nameless)


def _limited(stage: Stage, by: Channel) -> None:
    channel = stage.channel()
    channel.qos(1)
    channel.consume(REPLIES, no_ack=True, no_wait=stage.offers("nowait"))
    stage.barrier(channel)
    address = address_of(stage, channel)
    for _ in "1234":
        reply(stage, by, address, channel)
        stage.barrier(channel)


def _committed(stage: Stage, channel: Channel, address: str) -> None:
    """On a connection of its own, and without a body: over one LavinMQ ends the connection of the requester, and with
    it the scene (docs/findings/reply_in_transaction.py)."""
    stage.require("tx.select")
    transacting = stage.channel(connection=stage.connect("transacting"))
    transacting.tx_select()
    stage.quiesce()
    for _ in range(2):
        reply(stage, transacting, address, channel, commit=True, body=b"")
        stage.barrier(channel)


@rule("DRT-006", queue_types=CLASSIC)
def test_replies_beside_other_requesters(stage: Stage) -> None:
    """Three requesters, two of one connection; each gets two replies."""
    there = [requester(stage, one, tag)[0] for one, tag in ((None, "a"), (None, "b"), (stage.connect("other"), "c"))]
    addresses = [address_of(stage, one) for one in there]
    by = confirming(stage)
    for _ in range(2):
        for channel, address in zip(there, addresses, strict=True):
            reply(stage, by, address, channel)
    for channel in there:
        stage.barrier(channel)


@rule("DRT-007", queue_types=CLASSIC)
@pytest.mark.parametrize("how", ["cancel", "quiet cancel", "close", "failure"])
def test_replies_that_are_late(stage: Stage, how: str) -> None:
    """The requester has ended. Then there is a new one on its channel, and one with the same tag."""
    channel, tag = requester(stage)
    address, by = address_of(stage, channel), confirming(stage)
    gone(stage, channel, tag, how)
    late = stage.channel() if how == "close" else channel
    for new in ("", f"another.{tag}"[:LONGEST], tag):
        if new:
            late.consume(REPLIES, no_ack=True, tag=new)
            stage.quiesce()
        by.publish(address)
        stage.confirmed(by)
        stage.barrier(by)
        stage.barrier(late)
        if new:
            late.cancel(new)


@rule("DRT-008", queue_types=CLASSIC)
@pytest.mark.parametrize("how", ["cancel", "quiet cancel", "close", "failure", "connection"])
def test_looking_for_a_requester(stage: Stage, how: str) -> None:
    """While it is there, and when it has gone."""
    channel, tag = requester(stage, stage.connect("asking") if how == "connection" else None)
    address = address_of(stage, channel)
    stage.channel().declare(address, passive=True)
    stage.quiesce()
    gone(stage, channel, tag, how)

    def look() -> None:
        stage.channel().declare(address, passive=True)
        stage.quiesce()

    patiently(stage, look)


@rule("DRT-009", queue_types=CLASSIC)
def test_looking_for_a_made_up_address(stage: Stage) -> None:
    """A name that only begins like an address."""
    requester(stage)
    stage.channel(connection=stage.connect("other")).declare(f"{REPLIES}.made up", passive=True)
    stage.quiesce()


@rule("DRT-010", queue_types=CLASSIC)
@pytest.mark.parametrize("what", ["pseudo-queue", "address"])
def test_binding_replies(stage: Stage, what: str) -> None:
    """To an exchange of our own, while a requester is there."""
    channel, _ = requester(stage)
    name = address_of(stage, channel) if what == "address" else REPLIES
    stage.channel().bind(name, stage.exchange(kind="direct"), "key")
    stage.quiesce()


@rule("DRT-011", queue_types=CLASSIC)
@pytest.mark.parametrize("how", ["purge", "get"])
def test_looking_into_the_pseudo_queue(stage: Stage, how: str) -> None:
    """By a purge or a get, on the channel of a requester, and on another one."""
    channel, _ = requester(stage)
    for one in (stage.channel(), channel):
        if how == "purge":
            one.purge(REPLIES)
        else:
            one.get(REPLIES, no_ack=True)
        stage.quiesce()


@rule("DRT-012", queue_types=CLASSIC)
def test_mandatory_replies(stage: Stage) -> None:
    """From another connection, to a requester that is there."""
    channel, _ = requester(stage)
    address, by = address_of(stage, channel), stage.channel(connection=stage.connect("other"))
    by.confirm()
    stage.quiesce()
    for _ in range(2):
        reply(stage, by, address, channel, mandatory=True)
