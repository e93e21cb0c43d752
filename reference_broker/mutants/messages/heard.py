"""What else users have complained of: dead letters that should not be, come in another order, or never; and limits."""

from __future__ import annotations

from codec.values import FieldTable
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.parts import Parts
from reference_broker.core.queues.deadletter import DeadLetters, goes_in_circles
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory

LAVINMQ = "https://github.com/cloudamqp/lavinmq/{}"
RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/{}"


@changes(
    "heard.nought-keeps-one",
    "an x-max-length of nought keeps one message",
    "LEN-001",
    "QUEUE-027",
    field=LAVINMQ.format("commit/d5d2275e4"),
)
def nought_keeps_one(parts: Parts) -> None:
    below = parts.queue

    def over_limit(self: Queue, more: int = 0, octets: int = 0) -> bool:
        return below.over_limit(self, more, octets) and not (self.settings.max_length == 0 and len(self.ready) <= 1)

    parts.override("queue", over_limit=over_limit)


@changes(
    "heard.policy-drops-one-more",
    "a policy that makes a queue shorter leaves it one message less than it may have",
    "LEN-003",
    "POLICY-008",
    field=LAVINMQ.format("commit/10fed30c9"),
)
def policy_drops_one_more(parts: Parts) -> None:
    below = parts.vhost

    def heed_policies(self: VirtualHost) -> None:
        before = {queue: len(queue.ready) for queue in self.queues.values()}
        below.heed_policies(self)
        for queue, count in before.items():
            if len(queue.ready) < count and len(queue.ready) == queue.settings.max_length:
                queue.die(queue.ready.pop(), "maxlen")

    parts.override("vhost", heed_policies=heed_policies)


@changes(
    "heard.died-before",
    "a publish that tells of a death in a queue, and not of a rejection, is dropped there",
    "RQ-011",
    field=LAVINMQ.format("commit/97d08f06b"),
)
def died_before(parts: Parts) -> None:
    below = parts.queue

    def publish(self: Queue, message: Message) -> bool:
        return True if goes_in_circles(message, self.name) else below.publish(self, message)

    parts.override("queue", publish=publish)


@changes(
    "heard.purged-buried",
    "what is purged becomes dead letters",
    "DLX-013",
    "RQ-011",
    field=RABBITMQ.format("commit/03b335f12f"),
)
def purged_buried(parts: Parts) -> None:
    below = parts.queue

    def purge(self: Queue) -> int:
        gone = self.ready.entries()
        count = below.purge(self)
        for entry in gone:
            self.vhost.dead(self, entry.message, "expired")
        return count

    parts.override("queue", purge=purge)


@changes(
    "heard.deleted-buried",
    "what is in a queue that is deleted becomes dead letters",
    "DLX-013",
    "RQ-011",
    field=RABBITMQ.format("commit/477c6f6655"),
)
def deleted_buried(parts: Parts) -> None:
    below = parts.vhost

    def delete_queue(self: VirtualHost, queue: Queue) -> tuple[int, list[Consumer]]:
        gone = queue.ready.entries()
        answer = below.delete_queue(self, queue)
        for entry in gone:
            self.dead(queue, entry.message, "expired")
        return answer

    parts.override("vhost", delete_queue=delete_queue)


@changes(
    "heard.copies-untold",
    "x-death does not tell the keys in CC",
    "DLX-007",
    field=RABBITMQ.format("pull/8670"),
)
def copies_untold(parts: Parts) -> None:
    below = parts.dead_letters

    def record(self: DeadLetters, message: Message, queue: str, reason: str, now: float, count: int) -> FieldTable:
        told = below.record(self, message, queue, reason, now, count)
        return [(name, kind, value[:1] if name == "routing-keys" else value) for name, kind, value in told]

    parts.override("dead_letters", record=record)


@changes(
    "heard.exchange-came-too-late",
    "where the exchange for dead letters was not there once, none are made any more",
    "DLX-014",
    field=RABBITMQ.format("commit/264461b43e"),
)
def exchange_came_too_late(parts: Parts) -> None:
    below = parts.vhost

    def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
        target = queue.settings.dead_letter_exchange
        if target and target not in self.exchanges:
            memory(queue, "failed", list).append(target)
        if not memory(queue, "failed", list):
            below.dead(self, queue, message, reason)

    parts.override("vhost", dead=dead)


@changes(
    "heard.death-that-is-no-list",
    "a message that was published with an x-death that is no list is lost when it dies",
    "DLX-001",
    "MODE-005",
    field=RABBITMQ.format("commit/8cdaef0b44"),
)
def death_that_is_no_list(parts: Parts) -> None:
    below = parts.vhost

    def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
        if not any(name == "x-death" and kind != "A" for name, kind, _ in message.headers):
            below.dead(self, queue, message, reason)

    parts.override("vhost", dead=dead)


@changes(
    "heard.full-and-restarted",
    "a full queue that refuses has lost its newest message after a restart",
    "DUR-013",
    field="https://issues.apache.org/jira/browse/QPID-7815",
)
def full_and_restarted(parts: Parts) -> None:
    below = parts.queue

    def restart(self: Queue) -> None:
        below.restart(self)
        if self.limited and self.settings.reject_publish and self.over_limit(1):
            kept = self.ready.entries()[:-1]
            self.ready = self.nothing()
            for entry in kept:
                self.ready.push(entry)

    parts.override("queue", restart=restart)
