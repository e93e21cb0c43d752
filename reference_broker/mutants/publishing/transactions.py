"""Wrong transactions: what happens before the commit, what a rollback brings back, what is no transaction at all."""

from __future__ import annotations

from collections.abc import Callable

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic, topology
from reference_broker.core.channels.channel import Channel, Fate, failed, requeued, settle_down
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.errors import AmqpException, ChannelException, ConnectionException, precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message, addressed
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import Mutant, changes, enter, handles, memory, replaces, take_away

Spoil = Callable[[Transaction, Channel], None]


@changes("transactions.wrong-ack-at-commit", "a wrong acknowledgement is reported with the commit", "TX-001")
def wrong_ack_at_commit(parts: Parts) -> None:
    def collect(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
        try:
            return Channel.collect(self, tag, multiple)
        except ChannelException as error:
            if self.transaction is None:
                raise
            memory(self, "errors", list).append(error)
            return []

    def commit(channel: Channel, method: m.TxCommit) -> None:
        for error in memory(channel, "errors", list):
            raise error
        basic.tx_commit(channel, method)

    parts.override("channel", collect=collect)
    parts.handlers[m.TxCommit] = commit


@replaces(
    "transaction.rollback",
    "transactions.rollback-requeues",
    "a rollback returns what was acknowledged to its queue",
    "TX-002",
)
def rollback_requeues(self: Transaction, channel: Channel) -> None:
    self.published.clear()
    channel.requeue(self.take_settled())


@replaces(
    "transaction.rollback",
    "transactions.rollback-forgets-tags",
    "after a rollback the acknowledged tags are unknown",
    "TX-002",
)
def rollback_forgets_tags(self: Transaction, channel: Channel) -> None:
    self.published.clear()
    memory(self, "forgotten", list).extend(self.take_settled())


@replaces(
    "transaction.rollback", "transactions.rollback-keeps-publishes", "a rollback undoes settlements alone", "TX-005"
)
def rollback_keeps_publishes(self: Transaction, channel: Channel) -> None:
    channel.unacked.restore(self.take_settled())


@replaces("transaction.rollback", "transactions.rollback-publishes", "a rollback carries publishes out", "TX-005")
def rollback_publishes(self: Transaction, channel: Channel) -> None:
    published, self.published = self.published, []
    for exchange, message, mandatory in published:
        channel.publish(exchange, message, mandatory)
    Transaction.rollback(self, channel)


@handles(m.TxCommit, "transactions.commit-ends-the-mode", "a commit ends the transactional mode", "TX-006")
def commit_ends_the_mode(channel: Channel, method: m.TxCommit) -> None:
    basic.tx_commit(channel, method)
    channel.transaction = None


@handles(m.TxRollback, "transactions.rollback-ends-the-mode", "a rollback ends the transactional mode", "TX-006")
def rollback_ends_the_mode(channel: Channel, method: m.TxRollback) -> None:
    basic.tx_rollback(channel, method)
    channel.transaction = None


@handles(m.TxSelect, "transactions.one-select-only", "tx.select on a transactional channel is refused", "TX-007")
def one_select_only(channel: Channel, method: m.TxSelect) -> None:
    if channel.transaction is not None:
        raise precondition("channel is transactional")
    basic.tx_select(channel, method)


@replaces("channel.end", "transactions.commits-at-the-end", "the end of a channel commits its publishes", "TX-008")
def commits_at_the_end(self: Channel) -> None:
    published = self.transaction.published if self.transaction is not None else []
    for exchange, message, mandatory in published:
        self.publish(exchange, message, mandatory)
    published.clear()
    Channel.end(self)


@handles(m.BasicPublish, "transactions.publishes-early", "a publish in a transaction is routed at once", "TX-003")
def publishes_early(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    opened, channel.transaction = channel.transaction, None
    try:
        basic.publish(channel, method, header, body)
    finally:
        channel.transaction = opened


@handles(m.TxCommit, "transactions.commit-ok-before-returns", "tx.commit-ok comes before the returns", "TX-003")
def commit_ok_before_returns(channel: Channel, method: m.TxCommit) -> None:
    if channel.transaction is None:
        basic.tx_commit(channel, method)
    else:
        channel.connection.send(m.TxCommitOk(channel.number))
        channel.transaction.commit(channel)


@changes("transactions.ends-without-begin", "tx.commit and tx.rollback are answered on any channel", "TX-004")
def ends_without_begin(parts: Parts) -> None:
    def commit(channel: Channel, method: m.TxCommit) -> None:
        if channel.transaction is not None:
            channel.transaction.commit(channel)
        channel.connection.send(m.TxCommitOk(channel.number))

    def rollback(channel: Channel, method: m.TxRollback) -> None:
        if channel.transaction is not None:
            channel.transaction.rollback(channel)
        channel.connection.send(m.TxRollbackOk(channel.number))

    parts.handlers[m.TxCommit] = commit
    parts.handlers[m.TxRollback] = rollback


# -- what waits for the commit, and what comes with it


@replaces("transaction.settle", "transactions.returns-early", "a return in a transaction is made at once", "TX-009")
def returns_early(self: Transaction, deliveries: list[Delivery], fate: Fate) -> None:
    if fate in (requeued, failed) and deliveries:
        for delivery in deliveries:
            fate(delivery)
        settle_down(deliveries)
    else:
        Transaction.settle(self, deliveries, fate)


def before_commit(name: str, says: str, *rules: str) -> Callable[[Spoil], Spoil]:
    """The decorated function spoils a transaction; then it is committed as ever."""

    def add(spoil: Spoil) -> Spoil:
        def apply(parts: Parts) -> None:
            below = parts.transaction

            def commit(self: Transaction, channel: Channel) -> bool:
                spoil(self, channel)
                return below.commit(self, channel)

            parts.override("transaction", commit=commit)

        enter(spoil, Mutant(name, says, rules, apply))
        return spoil

    return add


@before_commit("transactions.first-alone", "a commit carries out the first publish alone", "TX-010")
def first_alone(self: Transaction, channel: Channel) -> None:
    del self.published[1:]


@before_commit("transactions.commit-ok-too-soon", "publishes come after tx.commit-ok", "TX-010")
def commit_ok_too_soon(self: Transaction, channel: Channel) -> None:
    published, self.published = self.published, []
    clock = channel.vhost.clock

    def later() -> None:
        for one in published:
            channel.publish(*one)

    clock.at(clock.now + 0.3, later)


@before_commit("transactions.backwards", "a commit publishes the last message first", "TX-011")
def backwards(self: Transaction, channel: Channel) -> None:
    self.published.reverse()


def wants_its_queues(name: str, says: str, error: AmqpException) -> None:
    """A transaction that fails with this error when a queue is gone to which it has published."""

    def apply(parts: Parts) -> None:
        below = parts.transaction

        def publish(self: Transaction, channel: Channel, exchange: str, message: Message, mandatory: bool) -> None:
            memory(self, "wanted", list).extend(channel.vhost.route(exchange, message))
            below.publish(self, channel, exchange, message, mandatory)

        def commit(self: Transaction, channel: Channel) -> bool:
            wanted = memory(self, "wanted", list)
            gone = any(isinstance(one, Queue) and one.deleted for one in wanted)
            wanted.clear()
            if gone:
                raise error
            return below.commit(self, channel)

        parts.override("transaction", publish=publish, commit=commit)

    enter(apply, Mutant(name, says, ("TX-017",), apply))


wants_its_queues(
    "transactions.gone-queue-is-not-found",
    "a commit costs the channel when a queue is gone to which it has published",
    ChannelException(ReplyCode.NOT_FOUND, "a queue of this transaction is gone"),
)
wants_its_queues(
    "transactions.gone-queue-costs-all",
    "a commit costs the connection when a queue is gone to which it has published",
    ConnectionException(ReplyCode.RESOURCE_ERROR, "a queue of this transaction is gone"),
)


@handles(m.BasicPublish, "transactions.returned-early", "a publish in a transaction is returned at once", "TX-012")
def returned_early(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    message = addressed(method.exchange, method.routing_key, header, body)
    lost = method.mandatory and not any(True for _ in channel.vhost.route(method.exchange, message))
    if channel.transaction is not None and lost:
        channel.give_back(method.exchange, message)
        method.mandatory = False
    basic.publish(channel, method, header, body)


@replaces("transaction.rollback", "transactions.returned-after-rollback", "what is rolled back is returned", "TX-012")
def returned_after_rollback(self: Transaction, channel: Channel) -> None:
    for exchange, message, mandatory in self.published:
        if mandatory and not any(True for _ in channel.vhost.route(exchange, message)):
            channel.give_back(exchange, message)
    Transaction.rollback(self, channel)


@handles(m.TxCommit, "transactions.one-for-all", "a commit commits all channels of its connection", "TX-013")
def one_for_all(channel: Channel, method: m.TxCommit) -> None:
    for other in channel.connection.channels.values():
        if other is not channel and other.transaction is not None and not other.closing:
            other.transaction.commit(other)
    basic.tx_commit(channel, method)


@handles(
    m.TxCommit,
    "transactions.by-number",
    "a commit commits the channels of the same number on all connections",
    "TX-013",
)
def by_number(channel: Channel, method: m.TxCommit) -> None:
    for connection in channel.connection.broker.connections:
        other = connection.channels.get(channel.number)
        if other is not None and other is not channel and other.transaction is not None and not other.closing:
            other.transaction.commit(other)
    basic.tx_commit(channel, method)


@changes("transactions.declarations-undone", "a rollback removes the queues that were declared", "TX-014")
def declarations_undone(parts: Parts) -> None:
    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        anew = method.queue not in channel.vhost.queues
        topology.queue_declare(channel, method)
        if anew and channel.transaction is not None:
            memory(channel.transaction, "declared", list).append(method.queue)

    def rollback(self: Transaction, channel: Channel) -> None:
        for name in memory(self, "declared", list):
            queue = channel.vhost.queues.get(name)
            if queue is not None:
                take_away(queue)
        Transaction.rollback(self, channel)

    parts.handlers[m.QueueDeclare] = declare
    parts.override("transaction", rollback=rollback)


@changes("transactions.mistakes-at-commit", "a mistaken publish fails with the commit", "TX-015")
def mistakes_at_commit(parts: Parts) -> None:
    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        try:
            basic.publish(channel, method, header, body)
        except ChannelException as error:
            if channel.transaction is None:
                raise
            memory(channel, "mistakes", list).append(error)

    def commit(channel: Channel, method: m.TxCommit) -> None:
        for error in memory(channel, "mistakes", list):
            raise error
        basic.tx_commit(channel, method)

    parts.publish = publish
    parts.handlers[m.TxCommit] = commit


@replaces(
    "transaction.rollback", "transactions.rollback-returns-all", "a rollback returns what is outstanding", "TX-016"
)
def rollback_returns_all(self: Transaction, channel: Channel) -> None:
    outstanding = channel.unacked.everything()
    Transaction.rollback(self, channel)
    channel.requeue(outstanding)


@replaces(
    "transaction.rollback", "transactions.rollback-forgets-all", "a rollback forgets what is outstanding", "TX-016"
)
def rollback_forgets_all(self: Transaction, channel: Channel) -> None:
    memory(self, "forgotten", list).extend(channel.unacked.everything())
    Transaction.rollback(self, channel)


@handles(m.TxCommit, "transactions.commit-confirms", "a commit also confirms the publishes it carries out", "CNF-024")
def commit_confirms(channel: Channel, method: m.TxCommit) -> None:
    count = len(channel.transaction.published) if channel.transaction is not None else 0
    if count:
        channel.connection.send(m.BasicAck(channel.number, count, count > 1))
    basic.tx_commit(channel, method)


@handles(
    m.BasicRecover,
    "transactions.recover-forgets",
    "basic.recover forgets what a transaction has acknowledged and not committed",
    "TX-002",
)
def recover_forgets(channel: Channel, method: m.BasicRecover) -> None:
    basic.recover(channel, method)
    if channel.transaction is not None:
        channel.transaction.take_settled()


@replaces("transaction.publish", "transactions.nothing-is-nothing", "a commit publishes no empty message", "TX-010")
def nothing_is_nothing(self: Transaction, channel: Channel, exchange: str, message: Message, mandatory: bool) -> None:
    if message.body:
        Transaction.publish(self, channel, exchange, message, mandatory)


@changes("transactions.bindings-undone", "a rollback removes the bindings that were made", "TX-014")
def bindings_undone(parts: Parts) -> None:
    binds, rolls_back = parts.handlers[m.QueueBind], parts.handlers[m.TxRollback]

    def bind(channel: Channel, method: m.QueueBind) -> None:
        binds(channel, method)
        if channel.transaction is not None:
            memory(channel, "bound", list).append(method)

    def rollback(channel: Channel, method: m.TxRollback) -> None:
        rolls_back(channel, method)
        for one in vars(channel).pop("mutant_bound", []):
            queue, exchange = channel.vhost.queues.get(one.queue), channel.vhost.exchanges.get(one.exchange)
            if queue is not None and exchange is not None:
                channel.vhost.unbind(exchange, queue, one.routing_key, one.arguments)

    parts.handlers[m.QueueBind], parts.handlers[m.TxRollback] = bind, rollback
