"""What users have complained of: limits that are set again, and deliveries that time out."""

from __future__ import annotations

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Limit
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.errors import ConnectionException
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.timeouts import Timeouts
from reference_broker.mutants.kinds import changes, memory

NOTES = "https://github.com/rabbitmq/rabbitmq-server/blob/main/release-notes/README-{}.txt"


@changes(
    "complaints.the-limit-of-the-former",
    "a consumer of a quorum queue has the higher limit of the cancelled one whose tag it has, while deliveries are out",
    "QOS-001",
    "QOS-020",
    field="https://github.com/rabbitmq/rabbitmq-server/pull/5609",
)
def the_limit_of_the_former(parts: Parts) -> None:
    below = parts.channel

    def limit_of(self: Channel, queue: Queue, tag: str) -> Limit:
        former, key, said = memory(self, "limits", dict), (queue.name, tag), self.prefetch
        held = [one.consumer for one in self.unacked.by_tag.values() if one.queue is queue]
        if queue.quorum is not None and any(one is not None and one.tag == tag for one in held):
            self.prefetch = max(said, former.get(key, 0))
        former[key], limit = self.prefetch, below.limit_of(self, queue, tag)
        self.prefetch = said
        return limit

    parts.override("channel", limit_of=limit_of)


@changes(
    "complaints.cancelled-too-late",
    "a cancel that crosses the close of a channel whose delivery has timed out costs the connection",
    "ERR-006",
    "TMO-008",
    field="https://github.com/hnaderi/lepus/issues/145",
)
def cancelled_too_late(parts: Parts) -> None:
    below, intake = parts.timeouts, parts.intake

    def close(self: Timeouts, timeout: int) -> None:
        memory(self.channel, "late", list).append(timeout)
        below.close(self, timeout)

    def on_no_channel(self: Intake, number: int, closing: Channel | None, frame: Inbound) -> None:
        if closing is not None and isinstance(frame, m.BasicCancel) and memory(closing, "late", list):
            raise ConnectionException(ReplyCode.CHANNEL_ERROR, "expected 'channel.open'")
        intake.on_no_channel(self, number, closing, frame)

    parts.override("timeouts", close=close)
    parts.override("intake", on_no_channel=on_no_channel)
