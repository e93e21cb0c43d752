"""What a transaction, or a return, leaves behind for what comes after it."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels.channel import Channel, discarded, failed
from reference_broker.core.channels.confirms import Confirms
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.quorum import Counted
from reference_broker.mutants.kinds import changes, memory

STRANGEQ = "https://github.com/maxpert/strangeq/commit/{}"
BEHIND = 33


@changes(
    "undone.next-life-publishes",
    "what a transaction had published when its channel ended comes with the next one on that channel number",
    "TX-008",
    field=STRANGEQ.format("f58715b9"),
)
def next_life_publishes(parts: Parts) -> None:
    below, select = parts.channel, parts.handlers[m.TxSelect]

    def end(self: Channel) -> None:
        if self.transaction is not None:
            memory(self.connection, "left", dict[int, list[tuple[str, Message, bool]]])[self.number] = (
                self.transaction.published
            )
        below.end(self)

    def tx_select(channel: Channel, method: m.TxSelect) -> None:
        select(channel, method)
        left = memory(channel.connection, "left", dict[int, list[tuple[str, Message, bool]]])
        if channel.transaction is not None:
            channel.transaction.published += left.pop(channel.number, [])

    parts.override("channel", end=end)
    parts.handlers[m.TxSelect] = tx_select


@changes(
    "undone.committed-live-on",
    "after a restart what a transaction has published has no time to live any more",
    "TTL-001",
    "DUR-013",
    field=STRANGEQ.format("50636d39"),
)
def committed_live_on(parts: Parts) -> None:
    below, queue = parts.transaction, parts.queue

    def publish(self: Transaction, channel: Channel, exchange: str, message: Message, mandatory: bool) -> None:
        memory(channel.vhost, "committed", list[Message]).append(message)
        below.publish(self, channel, exchange, message, mandatory)

    def restart(self: Queue) -> None:
        committed = memory(self.vhost, "committed", list[Message])
        for entry in self.ready.entries():
            if any(entry.message is one for one in committed):
                entry.expires = None
        queue.restart(self)

    parts.override("transaction", publish=publish)
    parts.override("queue", restart=restart)


@changes(
    "undone.returns-count-twice",
    "what a transaction rejects counts twice towards the delivery limit",
    "RQ-012",
    "RQ-013",
)
def returns_count_twice(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        for deliveries, fate in self.settled:
            for delivery in deliveries if fate is failed else ():
                if isinstance(delivery.entry, Counted):
                    delivery.entry.failures += 1
        return below.commit(self, channel)

    parts.override("transaction", commit=commit)


@changes("undone.late-echo", f"publish {BEHIND} behind one that is returned is confirmed twice", "CNF-004", "CNF-009")
def late_echo(parts: Parts) -> None:
    below, channel = parts.confirms, parts.channel

    def give_back(self: Channel, exchange: str, message: Message) -> None:
        channel.give_back(self, exchange, message)
        if self.confirms is not None:
            memory(self.confirms, "returned", list[int]).append(self.confirms.published)

    def flush(self: Confirms, number: int) -> list[m.BasicAck | m.BasicNack]:
        returned = memory(self, "returned", list[int])
        echoes = [one for one in self.accepted if one - BEHIND in returned]
        return [*below.flush(self, number), *(m.BasicAck(number, one, False) for one in echoes)]

    parts.override("channel", give_back=give_back)
    parts.override("confirms", flush=flush)


@changes("undone.returns-stay", "what a rollback has undone is returned with the next commit", "TX-012")
def returns_stay(parts: Parts) -> None:
    below = parts.transaction

    def rollback(self: Transaction, channel: Channel) -> None:
        memory(self, "undone", list).extend(
            (exchange, message)
            for exchange, message, mandatory in self.published
            if mandatory and not list(channel.vhost.route(exchange, message))
        )
        below.rollback(self, channel)

    def commit(self: Transaction, channel: Channel) -> bool:
        undone: list[tuple[str, Message]] = memory(self, "undone", list)
        while undone:
            channel.give_back(*undone.pop(0))
        return below.commit(self, channel)

    parts.override("transaction", rollback=rollback, commit=commit)


@changes("undone.rejected-all-the-same", "what is rejected, and not committed, dies with the channel", "AUTO-006")
def rejected_all_the_same(parts: Parts) -> None:
    below = parts.channel

    def stop(self: Channel) -> None:
        for deliveries, fate in self.transaction.settled if self.transaction is not None else ():
            for delivery in deliveries if fate is discarded else ():
                delivery.lost = True
        below.stop(self)

    parts.override("channel", stop=stop)


@changes(
    "undone.forgotten-with-the-consumer",
    "a rollback puts back into the queue what a consumer got that was cancelled meanwhile",
    "TX-002",
)
def forgotten_with_the_consumer(parts: Parts) -> None:
    below = parts.transaction

    def rollback(self: Transaction, channel: Channel) -> None:
        settled = {delivery.tag for deliveries, _ in self.settled for delivery in deliveries}
        below.rollback(self, channel)
        here = channel.consumers.values()
        lost = channel.unacked.those(lambda one: one.tag in settled and one.consumer not in (None, *here))
        channel.requeue(lost)

    parts.override("transaction", rollback=rollback)
