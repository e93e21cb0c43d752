"""Wrong ends of channels and connections: what is not returned, returned twice, or returned to nobody."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels.channel import Channel, Fate, failed
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import AmqpException
from reference_broker.core.parts import Parts
from reference_broker.mutants.deliveries.modes import Twin, put_copy
from reference_broker.mutants.kinds import changes, memory, replaces
from reference_broker.mutants.requeueing.requeue import renumber_to_front
from reference_broker.mutants.requeueing.returning import serve_nobody

AHEAD = 16


def forget(channel: Channel) -> None:
    """Nothing of what is outstanding goes back."""
    channel.unacked.everything()


@replaces(
    "connection.channel_closed_by_peer",
    "ends.close-returns-live-only",
    "closing a channel returns the deliveries of live consumers only",
    "AUTO-001",
)
def close_returns_live_only(self: Connection, method: m.ChannelClose) -> None:
    channel = self.channels[method.channel]
    for delivery in list(channel.unacked.by_tag.values()):
        consumer = delivery.consumer
        if consumer is None or channel.consumers.get(consumer.tag) is not consumer:
            del channel.unacked.by_tag[delivery.tag]
    Connection.channel_closed_by_peer(self, method)


@replaces(
    "connection.channel_closed_by_peer",
    "ends.close-drops-youngest",
    "closing a channel returns all but the youngest delivery",
    "AUTO-001",
)
def close_drops_youngest(self: Connection, method: m.ChannelClose) -> None:
    unacked = self.channels[method.channel].unacked
    if len(unacked) > 1:
        unacked.by_tag.popitem()
    Connection.channel_closed_by_peer(self, method)


@replaces(
    "connection.channel_closed_by_peer",
    "ends.close-returns-nothing",
    "close-ok is sent, and the deliveries of the channel never come back",
    "AUTO-001",
    "AUTO-011",
)
def close_returns_nothing(self: Connection, method: m.ChannelClose) -> None:
    forget(self.channels[method.channel])
    Connection.channel_closed_by_peer(self, method)


@changes(
    "ends.gets-come-back-reversed",
    "a quorum queue gets back what a channel had got, the youngest first",
    "AUTO-001",
)
def gets_come_back_reversed(parts: Parts) -> None:
    below = parts.channel

    def leaving(self: Channel, deliveries: list[Delivery]) -> list[Delivery]:
        return below.leaving(self, deliveries)[::-1]

    parts.override("channel", leaving=leaving)


@replaces(
    "connection.closed_by_peer",
    "ends.one-channel-only",
    "connection.close returns the deliveries of one channel only",
    "AUTO-002",
)
def one_channel_only(self: Connection, method: m.ConnectionClose) -> None:
    for number, channel in self.channels.items():
        if number > min(self.channels):
            forget(channel)
    Connection.closed_by_peer(self, method)


@replaces(
    "connection.lost",
    "ends.loss-returns-nothing",
    "deliveries go back after an orderly close, but not when the TCP connection is lost",
    "AUTO-003",
)
def loss_returns_nothing(self: Connection) -> None:
    for channel in self.channels.values():
        forget(channel)
    Connection.lost(self)


@replaces(
    "connection.lost",
    "ends.loss-reverses",
    "what a lost connection held comes back before everything else, the youngest first",
    "AUTO-013",
)
def loss_reverses(self: Connection) -> None:
    for channel in self.channels.values():
        held = channel.unacked.by_tag
        for delivery in held.values():
            renumber_to_front(delivery)
        for tag in reversed(list(held)):
            held[tag] = held.pop(tag)
    Connection.lost(self)


@replaces(
    "connection.lost",
    "ends.loss-goes-to-the-head",
    "what a lost connection held comes back in order, before older messages that are ready",
    "AUTO-013",
)
def loss_goes_to_the_head(self: Connection) -> None:
    for channel in self.channels.values():
        for delivery in reversed(channel.unacked.by_tag.values()):
            renumber_to_front(delivery)
    Connection.lost(self)


@replaces(
    "connection.lost",
    "ends.unread-is-lost",
    "when a connection is lost, what was delivered far ahead of the client's settlements is lost too",
    "AUTO-009",
)
def unread_is_lost(self: Connection) -> None:
    for channel in self.channels.values():
        while len(channel.unacked) > AHEAD:
            channel.unacked.by_tag.popitem()
    Connection.lost(self)


@replaces(
    "connection.close_channel",
    "ends.error-returns-nothing",
    "a channel that the broker closes over an error keeps its deliveries for ever",
    "AUTO-004",
)
def error_returns_nothing(self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
    forget(channel)
    Connection.close_channel(self, channel, error, offender)


@replaces(
    "connection.close_channel",
    "ends.error-forgets-gets",
    "a channel that the broker closes over an error returns what its consumers hold, and not what it got",
    "AUTO-004",
)
def error_forgets_gets(self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
    got = [tag for tag, delivery in channel.unacked.by_tag.items() if delivery.consumer is None]
    for tag in got:
        del channel.unacked.by_tag[tag]
    Connection.close_channel(self, channel, error, offender)


@replaces(
    "connection.beat",
    "ends.silence-unnoticed",
    "a client that sends no heartbeats keeps its connection for ever",
    "AUTO-005",
)
def silence_unnoticed(self: Connection) -> None:
    self.heard_at = self.broker.peers_clock.now
    Connection.beat(self)


@replaces(
    "connection.beat",
    "ends.impatient",
    "a client loses its connection before one heartbeat interval has passed in silence",
    "AUTO-005",
)
def impatient(self: Connection) -> None:
    if self.broker.peers_clock.now - self.heard_at >= self.heartbeat / 2:
        self.heard_at -= 2 * self.heartbeat
    Connection.beat(self)


@replaces(
    "transaction.take_settled",
    "ends.provisional-is-final",
    "acknowledgements in a transaction are final when the channel ends before the commit",
    "AUTO-006",
)
def provisional_is_final(self: Transaction) -> list[Delivery]:
    Transaction.take_settled(self)
    return []


@changes(
    "ends.returned-twice",
    "what a lost connection held comes back twice",
    "AUTO-010",
    field="https://github.com/cloudamqp/lavinmq/issues/1237",
)
def returned_twice(parts: Parts) -> None:
    def lost(self: Connection) -> None:
        memory(self, "losing", list).append(True)
        Connection.lost(self)

    def end(self: Channel) -> None:
        held = list(self.unacked.by_tag.values()) if memory(self.connection, "losing", list) else []
        Channel.end(self)
        for delivery in held:
            if not delivery.queue.deleted and not isinstance(delivery.entry, Twin):
                put_copy(delivery.queue, delivery.entry, Twin)

    parts.override("connection", lost=lost)
    parts.override("channel", end=end)


@replaces(
    "channel.end",
    "ends.cancelled-return-twice",
    "what a cancelled consumer still held comes back twice when its channel ends",
    "AUTO-010",
)
def cancelled_return_twice(self: Channel) -> None:
    held = [one for one in self.unacked.by_tag.values() if one.consumer not in (None, *self.consumers.values())]
    Channel.end(self)
    for delivery in held:
        if not delivery.queue.deleted and not isinstance(delivery.entry, Twin):
            put_copy(delivery.queue, delivery.entry, Twin)


@replaces(
    "channel.finish",
    "ends.nobody-is-woken",
    "what a channel leaves behind waits until something else wakes the queue",
    "AUTO-012",
)
def nobody_is_woken(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    if fate is failed and self.closing:
        serve_nobody(self, deliveries, fate)
    else:
        Channel.finish(self, deliveries, fate)


@changes("ends.of-many", "the end of a channel returns 256 deliveries at most", "AUTO-001", "AUTO-010", "AUTO-011")
def of_many(parts: Parts) -> None:
    below = parts.channel

    def leaving(self: Channel, deliveries: list[Delivery]) -> list[Delivery]:
        return below.leaving(self, deliveries)[:256]

    parts.override("channel", leaving=leaving)
