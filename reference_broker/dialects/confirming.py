"""Confirms and transactions: which publish has which number, and what a commit costs."""

from __future__ import annotations

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.confirms import Confirms
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.connections.intake import Intake
from reference_broker.core.errors import ConnectionException, precondition
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []


@does("channel", BEHAVIOURS, "confirms.begin-late", "confirms begin behind what was numbered before", until="3.8")
class BeginLate(Channel):
    numbered = 0

    def select_confirms(self) -> Confirms:
        confirms = super().select_confirms()
        confirms.published = self.numbered
        return confirms


@does(
    "intake",
    BEHAVIOURS,
    "confirms.mandatory-counts",
    "mandatory publishes before confirm.select take numbers",
    until="3.8",
)
class MandatoryCounts(Intake):
    def publish(self, channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        super().publish(channel, method, header, body)
        plain = channel.confirms is None and channel.transaction is None
        if method.mandatory and plain and isinstance(channel, BeginLate):
            channel.numbered += 1


@does(
    "transaction",
    BEHAVIOURS,
    "transactions.partial-commit-fails",
    "a commit costs the channel when a queue has no room for a part of it; the rest has happened then",
)
class PartialCommitFails(Transaction):
    def commit(self, channel: Channel) -> bool:
        if not super().commit(channel):
            raise precondition("partial tx completion")
        return True


class RoutedWhenPublished(Transaction):
    """It keeps the names of the queues that each publish leads to, and the commit looks these up."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[list[str]] = []

    def publish(self, channel: Channel, exchange: str, message: Message, mandatory: bool) -> None:
        ways = channel.vhost.route(exchange, message)
        self.names.append([one.name for one in ways if isinstance(one, Queue)])
        super().publish(channel, exchange, message, mandatory)

    def rollback(self, channel: Channel) -> None:
        self.names.clear()
        super().rollback(channel)

    def take_gone(self, channel: Channel) -> tuple[int, str] | None:
        """The first publish of which a queue is gone, and the name of that."""
        names, self.names = self.names, []
        gone = ((at, name) for at, some in enumerate(names) for name in some if name not in channel.vhost.queues)
        return next(gone, None)


@does(
    "transaction",
    BEHAVIOURS,
    "transactions.gone-queue-costs-the-channel",
    "a commit costs the channel when a queue is gone that it has published to; the rest has happened then",
    since="4.0",
    until="4.0",
)
class GoneQueueCostsTheChannel(RoutedWhenPublished):
    def commit(self, channel: Channel) -> bool:
        gone = self.take_gone(channel)
        accepted = super().commit(channel)
        if gone is not None:
            raise precondition("partial tx completion")
        return accepted


@does(
    "transaction",
    BEHAVIOURS,
    "transactions.gone-queue-costs-the-connection",
    "a commit stops at the first publish to a queue that is gone, and costs the connection; the rest has not happened",
    since="4.3",
)
class GoneQueueCostsTheConnection(RoutedWhenPublished):
    def commit(self, channel: Channel) -> bool:
        gone = self.take_gone(channel)
        if gone is None:
            return super().commit(channel)
        at, name = gone
        for exchange, message, mandatory in self.published[:at]:
            channel.publish(exchange, message, mandatory)
        self.published.clear()
        what = f'{{not_found,{{resource,<<"/">>,queue,<<"{name}">>}}}}'
        raise ConnectionException(ReplyCode.RESOURCE_ERROR, f"failed to deliver message: {what}")
