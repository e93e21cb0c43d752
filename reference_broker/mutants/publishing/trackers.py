"""What the trackers of clones tell: commits over what goes nowhere, and what comes too late for a channel."""

from __future__ import annotations

import codec
from codec import methods as m
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.connections.intake import Inbound, Intake, misplaced
from reference_broker.core.errors import not_found
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message, copied
from reference_broker.mutants.kinds import changes, handles, replaces

STRANGEQ = "https://github.com/maxpert/strangeq/commit/{}"
LAVINMQ = "https://github.com/cloudamqp/lavinmq/commit/{}"


def leads_nowhere(channel: Channel) -> bool:
    """Is there, among what its transaction has published, a message for nobody?"""
    published = channel.transaction.published if channel.transaction is not None else []
    return any(not list(channel.vhost.route(exchange, message)) for exchange, message, _ in published)


@handles(
    m.TxCommit,
    "trackers.nowhere-fails-the-commit",
    "a commit fails when one of its publishes goes nowhere",
    "TX-012",
    field=STRANGEQ.format("3344b94"),
)
def nowhere_fails_the_commit(channel: Channel, method: m.TxCommit) -> None:
    if leads_nowhere(channel):
        raise not_found("route", "")
    basic.tx_commit(channel, method)


@handles(
    m.TxCommit,
    "trackers.nowhere-hangs-the-commit",
    "a commit is not answered when one of its publishes goes nowhere",
    "TX-003",
    "ERR-014",
    field="https://github.com/wso2/andes/commit/70394c4d",
)
def nowhere_hangs_the_commit(channel: Channel, method: m.TxCommit) -> None:
    if leads_nowhere(channel):
        assert channel.transaction is not None
        channel.transaction.commit(channel)
        return
    basic.tx_commit(channel, method)


@changes(
    "trackers.body-behind-a-return",
    "what a transaction publishes behind a message that is returned has the body of that one",
    "RQ-016",
    "RETURN-006",
    "TX-012",
    field=LAVINMQ.format("63ea35c7c"),
)
def body_behind_a_return(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        returned: Message | None = None
        for at, (exchange, message, mandatory) in enumerate(self.published):
            if returned is not None and len(returned.body) >= len(message.body):
                body = returned.body[: len(message.body)]
                spoilt = copied(message.exchange, message.routing_key, message.header, body, message.more_keys)
                self.published[at] = exchange, spoilt, mandatory
            nowhere = mandatory and not list(channel.vhost.route(exchange, message))
            returned = message if nowhere else None
        return below.commit(self, channel)

    parts.override("transaction", commit=commit)


@changes(
    "trackers.late-bodies-cost-all",
    "a content that comes for a channel which the broker has closed ends the connection",
    "ERR-006",
    "ERR-004",
    field=LAVINMQ.format("e9d0fbc5f"),
)
def late_bodies_cost_all(parts: Parts) -> None:
    below = parts.intake

    def on_no_channel(self: Intake, number: int, closing: Channel | None, frame: Inbound) -> None:
        if closing is not None and isinstance(frame, codec.Header | codec.Body):
            raise misplaced()
        below.on_no_channel(self, number, closing, frame)

    parts.override("intake", on_no_channel=on_no_channel)


@handles(
    m.BasicPublish,
    "trackers.mandatory-means-nothing",
    "nothing is returned that was published as mandatory",
    "CNF-009",
    "RETURN-001",
    field="https://github.com/fridujo/rabbitmq-mock/issues/91",
)
def mandatory_means_nothing(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    method.mandatory = False
    basic.publish(channel, method, header, body)


@replaces(
    "transaction.rollback",
    "trackers.rolled-back-and-committed",
    "what a rollback has undone is published with the next commit",
    "TX-005",
    "TX-006",
    field="https://github.com/fridujo/rabbitmq-mock/commit/6793a08",
)
def rolled_back_and_committed(self: Transaction, channel: Channel) -> None:
    published = list(self.published)
    Transaction.rollback(self, channel)
    self.published.extend(published)
