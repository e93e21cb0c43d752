"""Numbers that are kept in too few bits, and such as somebody thought would do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from codec.values import FieldTable
from reference_broker.core.channels.channel import Channel, Fate, acked, discarded
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.core.queues.arguments import Arguments, QueueArguments
from reference_broker.core.queues.deadletter import DeadLetters
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.quorum import Quorum
from reference_broker.core.queues.ready import BEFORE_ALL_POSITIONS, Ready
from reference_broker.mutants.kinds import changes, memory, replaces

NINE, DEATHS = 9, 5
MANY = 256
TWO_OCTETS, FOUR_OCTETS = 0xFFFF, 0xFFFFFFFF


@replaces("queue.expiry", "widths.time", "of a time to live the lowest sixteen bits count", "TTL-004")
def time(self: Queue, message: Message) -> float | None:
    end, now = Queue.expiry(self, message), self.vhost.clock.now
    return None if end is None else now + (round((end - now) * 1000) & TWO_OCTETS) / 1000


@replaces("ready.rank", "widths.priorities", "priorities above nine count as nine", "PRIO-001")
def priorities(self: Ready, entry: Entry) -> float:
    if self.order == "by-priority":
        return entry.position + min(entry.message.header.priority or 0, self.max_priority, NINE) * BEFORE_ALL_POSITIONS
    return Ready.rank(self, entry)


@changes("widths.octets", "of the octets of a body the lowest sixteen bits count towards a limit", "LEN-005")
def octets(parts: Parts) -> None:
    def push(self: Ready, entry: Entry) -> None:
        Ready.push(self, entry)
        self.octets -= len(entry.message.body) & ~TWO_OCTETS

    def put_back(self: Ready, entry: Entry) -> None:
        Ready.put_back(self, entry)
        self.octets -= len(entry.message.body) & ~TWO_OCTETS

    def pop(self: Ready) -> Entry:
        entry = Ready.pop(self)
        self.octets += len(entry.message.body) & ~TWO_OCTETS
        return entry

    parts.override("ready", push=push, put_back=put_back, pop=pop)


@replaces("dead_letters.letter", "widths.dates", "a dead letter keeps four octets of its timestamp", "CONTENT-007")
def dates(self: DeadLetters, *about: Any) -> Message:
    dead = DeadLetters.letter(self, *about)
    date = dead.header.timestamp
    return dead if date is None else dead.copy(dead.exchange, dead.routing_key, timestamp=date & FOUR_OCTETS)


@replaces("channel.collect", "widths.settlements", f"a settlement settles {MANY} deliveries at most", "ACK-002")
def settlements(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    found = Channel.collect(self, tag, multiple)
    self.unacked.restore(found[MANY:])
    return found[:MANY]


def parsed(parts: Parts, name: str, wrong: Callable[[Any], Any]) -> None:
    """This argument of a queue is read in another way, where it is given."""
    below = parts.arguments

    def parse(self: Arguments, table: FieldTable, queue: str) -> QueueArguments:
        settings = below.parse(self, table, queue)
        given = getattr(settings, name)
        return settings if given is None else replace(settings, **{name: wrong(given)})

    parts.override("arguments", parse=parse)


@changes("widths.time-of-a-queue", "an x-message-ttl that takes 32 bits is over at once", "TTL-004")
def time_of_a_queue(parts: Parts) -> None:
    parsed(parts, "message_ttl", lambda seconds: 0.001 if seconds * 1000 > FOUR_OCTETS // 2 else seconds)


@changes("widths.length", "of x-max-length the lowest sixteen bits count", "LEN-003", "RQ-011")
def length(parts: Parts) -> None:
    parsed(parts, "max_length", lambda most: int(most) & TWO_OCTETS)


@changes("widths.no-octets", "an x-max-length-bytes of nought is none", "LEN-005")
def no_octets(parts: Parts) -> None:
    parsed(parts, "max_octets", lambda most: most or None)


@changes("widths.dead-together", "of what is given up together eight at most make dead letters", "DLX-001")
def dead_together(parts: Parts) -> None:
    below = parts.channel

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        some = 8 if fate is discarded else len(deliveries)
        below.finish(self, deliveries[:some], fate)
        if deliveries[some:]:
            below.finish(self, deliveries[some:], acked)

    parts.override("channel", finish=finish)


@changes("widths.no-returns-at-all", "an x-delivery-limit of nought is none", "RQ-013", "DLX-004")
def no_returns_at_all(parts: Parts) -> None:
    below = parts.quorum

    def limit_meant(self: Quorum, limit: int | None) -> int | None:
        return below.limit_meant(self, limit) or None

    parts.override("quorum", limit_meant=limit_meant)


@changes("lengths.one-for-many", "of several that come back to a full queue together one makes room", "LEN-008")
def one_for_many(parts: Parts) -> None:
    below = parts.queue

    def put_back(self: Queue, entry: Entry) -> None:
        memory(self, "back", list).append(entry)
        below.put_back(self, entry)

    def trim(self: Queue) -> None:
        back = memory(self, "back", list)
        several = len(back) > 1
        back.clear()
        if several and self.ready and self.over_limit():
            self.die(self.ready.pop(), "maxlen")
        elif not several:
            below.trim(self)

    parts.override("queue", put_back=put_back, trim=trim)


@changes("lengths.single-unlimited", "a queue is not limited while a consumer waits for its turn", "LEN-015")
def single_unlimited(parts: Parts) -> None:
    below = parts.queue

    def over_limit(self: Queue, more: int = 0, octets: int = 0) -> bool:
        waits = self.settings.single_active_consumer and len(self.consumers) > 1
        return not waits and below.over_limit(self, more, octets)

    parts.override("queue", over_limit=over_limit)


@changes("lengths.large-refused-are-lost", "what is refused for its octets makes no dead letter", "LEN-013")
def large_refused_are_lost(parts: Parts) -> None:
    below = parts.queue

    def publish(self: Queue, message: Message) -> bool:
        most = self.settings.max_length
        room = most is None or len(self.ready) < most
        if self.settings.dead_letter_refused and room and self.refuses(message):
            return False
        return below.publish(self, message)

    parts.override("queue", publish=publish)


@replaces("dead_letters.letter", "widths.five-deaths", f"x-death has {DEATHS} entries at most", "DLX-006")
def five_deaths(
    self: DeadLetters, message: Message, queue: str, reason: str, now: float, exchange: str, key: str | None
) -> Message:
    dead = DeadLetters.letter(self, message, queue, reason, now, exchange, key)
    headers = [(name, letter, value[:DEATHS] if name == "x-death" else value) for name, letter, value in dead.headers]
    return dead.copy(dead.exchange, dead.routing_key, headers=headers)
