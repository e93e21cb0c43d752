"""What else users have complained of: multiples that reach too far, and what a get brings."""

from __future__ import annotations

from collections.abc import Sequence

from codec.methods import BasicGetOk
from reference_broker.core.channels import channel as fates
from reference_broker.core.channels.channel import Channel, Fate
from reference_broker.core.channels.unacked import Delivery, Unacked
from reference_broker.core.connections.outbox import Outbound, Outbox
from reference_broker.core.parts import Parts
from reference_broker.core.queues.quorum import Counted
from reference_broker.mutants.kinds import changes, fails, replaces

LAVINMQ = "https://github.com/cloudamqp/lavinmq/commit/{}"


@replaces(
    "unacked.up_to",
    "heard.next-one-forgotten",
    "a multiple forgets the delivery behind the last that it settles",
    "ACK-002",
    "RQ-011",
    field=LAVINMQ.format("88ee3b12e"),
)
def next_one_forgotten(self: Unacked, tag: int) -> list[Delivery] | None:
    taken = Unacked.up_to(self, tag)
    if taken is not None and self.by_tag:
        self.by_tag.popitem(last=False)
    return taken


@replaces(
    "outbox.pieces",
    "heard.got-in-one-frame",
    "what a get brings comes in one frame, however large",
    "CONTENT-001",
    "ERR-013",
    field=LAVINMQ.format("23c018f04"),
)
def got_in_one_frame(self: Outbox, item: Outbound) -> Sequence[bytes]:
    if isinstance(item, tuple) and isinstance(item[0], BasicGetOk):
        method, message = item
        return method.encode(), *message.frames(method.channel, 2**31)
    return Outbox.pieces(self, item)


def exhausted(delivery: Delivery) -> bool:
    """Is its next return one too many?"""
    entry, quorum = delivery.entry, delivery.queue.quorum
    if quorum is None or quorum.limit is None or not isinstance(entry, Counted):
        return False
    return entry.failures >= quorum.limit


@changes(
    "heard.got-too-often",
    "it is an internal error if what a get has brought comes back to a quorum queue once too often",
    "ACK-019",
    "RQ-013",
    field="https://github.com/rabbitmq/rabbitmq-server/pull/2330",
)
def got_too_often(parts: Parts) -> None:
    below = parts.channel

    def carry_out(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        if fate is fates.failed and any(one.consumer is None and exhausted(one) for one in deliveries):
            raise fails()
        below.carry_out(self, deliveries, fate)

    parts.override("channel", carry_out=carry_out)
