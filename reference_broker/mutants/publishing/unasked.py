"""What a transaction, or a publish, does to what nobody has asked it about: other channels, older deliveries, slots."""

from __future__ import annotations

import codec
from codec import methods as m
from reference_broker.core.channels.channel import RETURNS, Channel, Fate, acked
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes, memory


@changes(
    "unasked.rolled-back-beside", "a rollback undoes what all channels of its connection publish", "TX-013", "TX-010"
)
def rolled_back_beside(parts: Parts) -> None:
    below = parts.transaction

    def rollback(self: Transaction, channel: Channel) -> None:
        for other in channel.connection.channels.values():
            if other is not channel and other.transaction is not None:
                other.transaction.published.clear()
        below.rollback(self, channel)

    parts.override("transaction", rollback=rollback)


@changes(
    "unasked.older-deliveries",
    "what was delivered before tx.select is settled at once, and no rollback undoes that",
    "TX-002",
    "TX-009",
)
def older_deliveries(parts: Parts) -> None:
    below, selects = parts.channel, parts.handlers[m.TxSelect]

    def select(channel: Channel, method: m.TxSelect) -> None:
        memory(channel, "began", list).append(channel.last_tag)
        selects(channel, method)

    def settle(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        began = next(iter(memory(self, "began", list)), 0)
        self.finish([one for one in deliveries if one.tag <= began], fate)
        below.settle(self, [one for one in deliveries if one.tag > began], fate)

    parts.override("channel", settle=settle)
    parts.handlers[m.TxSelect] = select


@changes("unasked.nacked-frees", "a reject or nack frees its slot before it is committed", "QOS-026")
def nacked_frees(parts: Parts) -> None:
    below = parts.channel

    def settle(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        below.settle(self, deliveries, fate)
        for one in deliveries if self.transaction is not None and fate is not acked else ():
            if one.consumer is not None and not one.stale:
                memory(self, "freed", set).add(one.tag)
                one.consumer.release()
                one.consumer.wake()

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        freed: set[int] = memory(self, "freed", set)
        for one in deliveries:
            if one.tag in freed and one.consumer is not None:
                freed.discard(one.tag)
                one.consumer.hold()
        below.finish(self, deliveries, fate)

    parts.override("channel", settle=settle, finish=finish)


@changes("unasked.committed-is-unmarked", "what a commit gives back is not marked as redelivered", "RQ-008")
def committed_is_unmarked(parts: Parts) -> None:
    below, channels = parts.transaction, parts.channel

    def commit(self: Transaction, channel: Channel) -> bool:
        given = [one for deliveries, fate in self.settled if fate in RETURNS for one in deliveries]
        memory(channel, "given", dict).update({one.tag: one.entry.redelivered for one in given})
        return below.commit(self, channel)

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        given: dict[int, bool] = memory(self, "given", dict)

        def unmarked(delivery: Delivery) -> None:
            fate(delivery)
            delivery.entry.redelivered = given.pop(delivery.tag, delivery.entry.redelivered)

        channels.finish(self, deliveries, unmarked if given and fate in RETURNS else fate)

    parts.override("channel", finish=finish)
    parts.override("transaction", commit=commit)


@changes("unasked.gone-at-once", "a publish that expires at once is never confirmed", "CNF-004", "CNF-017")
def gone_at_once(parts: Parts) -> None:
    below = parts.publish

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        below(channel, method, header, body)
        confirms = channel.confirms
        if header.expiration == "0" and confirms is not None and confirms.published in confirms.accepted:
            confirms.accepted.remove(confirms.published)

    parts.publish = publish
