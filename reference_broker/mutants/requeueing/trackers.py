"""What the trackers of clones tell: recovering nothing, and what is settled late."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import RETURNS, Channel, Fate, discarded, failed
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, fails, handles, memory, replaces

ANDES = "https://github.com/wso2/andes/commit/{}"
RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/commit/{}"


@replaces(
    "connection.end_channels",
    "trackers.got-and-lost",
    "what a connection had got, and not acknowledged, does not come back when it ends",
    "AUTO-002",
    "AUTO-003",
    field="https://github.com/maxpert/strangeq/commit/8594273",
)
def got_and_lost(self: Connection) -> None:
    for channel in self.channels.values():
        channel.unacked.those(lambda delivery: delivery.consumer is None)
    Connection.end_channels(self)


@handles(
    m.BasicRecover,
    "trackers.no-recover-ok",
    "basic.recover is not answered on a channel that has no consumers",
    "ERR-014",
    "RQ-014",
    field=ANDES.format("660a2648"),
)
def no_recover_ok(channel: Channel, method: m.BasicRecover) -> None:
    if channel.consumers or not method.requeue:
        basic.recover(channel, method)
    else:
        channel.requeue(channel.unacked.everything())


@handles(
    m.BasicRecover,
    "trackers.recovering-nothing",
    "basic.recover is an internal error on a channel that was never sent anything",
    "RQ-014",
    "ERR-012",
    field=ANDES.format("7d6fff7d"),
)
def recovering_nothing(channel: Channel, method: m.BasicRecover) -> None:
    if not channel.last_tag and not channel.consumers:
        raise fails()
    basic.recover(channel, method)


@changes(
    "trackers.recovered-fill-their-consumers",
    "what basic.recover returns still counts in the limits of its consumers",
    "QOS-018",
    "QOS-019",
    field="https://github.com/cloudamqp/lavinmq/commit/2cf53b4d4",
)
def recovered_fill_their_consumers(parts: Parts) -> None:
    below = parts.channel

    def requeue(self: Channel, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if delivery.consumer is not None:
                delivery.consumer.own.held += 1
        below.requeue(self, deliveries)

    parts.override("channel", requeue=requeue)


@changes(
    "trackers.idle-queue-is-missed",
    "it is an internal error to give back what came from an auto-delete queue that has gone by itself",
    "ACK-017",
    "ACK-013",
    field="https://github.com/wso2-attic/ballerina-message-broker/commit/5f54f654",
)
def idle_queue_is_missed(parts: Parts) -> None:
    below = parts.channel

    def carry_out(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        if fate in RETURNS and any(one.queue.deleted and one.queue.auto_delete for one in deliveries):
            raise fails()
        below.carry_out(self, deliveries, fate)

    parts.override("channel", carry_out=carry_out)


@replaces(
    "queue.die",
    "trackers.given-back-and-buried",
    "what was given back to a quorum queue without a delivery limit makes no dead letter any more",
    "DLX-001",
    "MODE-005",
    field="https://github.com/rabbitmq/rabbitmq-server/issues/4940",
)
def given_back_and_buried(self: Queue, entry: Entry, reason: str) -> None:
    if self.quorum is not None and entry.redelivered and self.settings.delivery_limit is None:
        self.let_go(entry)
        return
    Queue.die(self, entry, reason)


@changes(
    "trackers.late-rejections-unheard",
    "what a cancelled consumer of a quorum queue rejects stays out until its channel ends",
    "ACK-016",
    "DLX-001",
    field=RABBITMQ.format("2339401abe"),
)
def late_rejections_unheard(parts: Parts) -> None:
    below = parts.channel

    def is_late(self: Channel, delivery: Delivery) -> bool:
        consumer = delivery.consumer
        return delivery.queue.quorum is not None and consumer is not None and consumer.tag not in self.consumers

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        late = [one for one in deliveries if is_late(self, one)] if fate is discarded and not self.closing else []
        memory(self, "late", list).extend(late)
        below.finish(self, [one for one in deliveries if one not in late], fate)

    def end(self: Channel) -> None:
        below.end(self)
        late = memory(self, "late", list)
        below.finish(self, late, failed)
        late.clear()

    parts.override("channel", finish=finish, end=end)
