"""Transactions: what a channel publishes and settles takes effect when it commits, and never when it rolls back."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.connections import requests
from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.consumers import settling, windows
from conformance.oracle.model.publishing import publishes, routing
from conformance.oracle.model.records import ClientError, Publication

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model


def select(model: Model, channel: ChannelLife, event: Event) -> None:
    """tx.select"""
    if channel.confirm:
        requests.fail_channel(channel, event, "CNF-016", publishes.PRECONDITION_FAILED, "tx.select in confirm mode")
        return
    if channel.transactional:
        _leave_open(channel)
    channel.transactional = True
    requests.request(channel, event)


def _leave_open(channel: ChannelLife) -> None:
    """tx.select in the midst of a transaction: what becomes of that, no text says."""
    for publication in channel.unpublished:
        publication.routed = None
        for copy in publication.copies:
            copy.ambiguous = copy.unowed = copy.indeterminate = True
    for delivery in (one for _, covered in channel.uncommitted for one in covered):
        delivery.copy.queue.unsettle(delivery.copy, indeterminate=True)


def commit(model: Model, channel: ChannelLife, event: Event) -> None:
    """tx.commit: all that was put off happens, in order."""
    if _without_select(channel, event):
        return
    for settlement, covered in channel.uncommitted:
        settlement.committed = event.seq
        for delivery in covered:
            settling.carry_out(delivery, settlement, event.seq)
            windows.given_back(delivery, settlement, event.seq)
    for publication in channel.unpublished:
        _route_again(model, channel, publication)
        publication.committed = event.seq
        publishes.enter(channel, publication, event.seq)
    if any(copy.queue.room is not None for one in channel.unpublished for copy in one.copies):
        for delivery in (one for _, covered in channel.uncommitted for one in covered):
            delivery.copy.queue.unsettle(delivery.copy, indeterminate=True)
        requests.fail_connection(
            channel.connection,
            ClientError(
                event.seq,
                "",
                406,
                event.class_id,
                event.method_id,
                "a commit that a full queue may refuse in part",
                optional=True,
                channel=channel.number,
            ),
        )
    expected = requests.request(channel, event)
    if expected is not None:
        expected.committed = channel.unpublished
        expected.settled = [delivery for _, covered in channel.uncommitted for delivery in covered]
    channel.uncommitted, channel.unpublished = [], []


def _route_again(model: Model, channel: ChannelLife, publication: Publication) -> None:
    """Brokers route when a message is published, or when it is committed: only where both agree we know."""
    way = routing.route(model, channel, publication.exchange, publication.routing_key, publication.content)
    if not isinstance(way, list) or {*way} != {copy.queue for copy in publication.copies}:
        publication.routed = None
        for copy in publication.copies:
            copy.unowed = copy.indeterminate = True


def hurry(channel: ChannelLife, event: Event) -> None:
    """A method before the answer to a commit: some brokers close the connection over it, and no text forbids either."""
    if not channel.requests.get(("tx.commit", "")) or not channel.alive():
        return
    error = ClientError(
        event.seq,
        "",
        504,
        event.class_id,
        event.method_id,
        f"{event.method} before tx.commit-ok",
        optional=True,
        channel=channel.number,
    )
    pending = channel.connection.error
    if pending is None:
        requests.fail_connection(channel.connection, error)
    elif pending.optional and not pending.rule:
        pending.seq = event.seq


def rollback(model: Model, channel: ChannelLife, event: Event) -> None:
    """tx.rollback: deliveries are outstanding again, publishes are forgotten."""
    if _without_select(channel, event):
        return
    restored = {delivery.tag: delivery for _, covered in channel.uncommitted for delivery in covered}
    for delivery in restored.values():
        delivery.settlement, delivery.restored = None, event.seq
    channel.unacked = OrderedDict(sorted((channel.unacked | restored).items()))
    for publication in channel.unpublished:
        _forget(channel, publication)
    channel.uncommitted, channel.unpublished = [], []
    channel.rolled_back = event.seq
    requests.request(channel, event)


def _forget(channel: ChannelLife, publication: Publication) -> None:
    """What was never published is not returned; one of the same id that is published later may be."""
    alike = channel.recent.get(publication.message, [])
    if publication in alike:
        alike.remove(publication)
    if not alike:
        channel.recent.pop(publication.message, None)
        channel.undone.append(publication.message)


def _without_select(channel: ChannelLife, event: Event) -> bool:
    """An error on a channel that is not transactional; of one whose past we have not seen nobody can tell."""
    if channel.transactional or channel.adopted:
        return False
    requests.fail_channel(
        channel,
        event,
        "TX-004",
        publishes.PRECONDITION_FAILED,
        f"{event.method} on a channel that is not transactional",
    )
    return True
