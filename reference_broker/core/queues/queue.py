"""A queue: ready messages, waiting consumers, and the limits set at its declaration.

`ring` holds the consumers that may be able to take a message, in turn; `pump` hands out ready
messages until one of the two runs out. A consumer found at its limit leaves the ring (see
`prefetch.py`). Of consumers with different priorities the highest in the ring comes first; of a queue
with a single active consumer only that one is ever in it.

Messages that leave other than by delivery (expired, over the length limit, rejected) go to `dead`,
which the virtual host turns into dead-lettering.

A quorum queue is one with a `quorum`, which see: it orders and counts what is returned.

Every message is at any time in exactly one place: ready, with one channel as unacked, or gone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from codec import values
from codec.values import FieldTable
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.queues.arguments import QueueArguments, with_policy
from reference_broker.core.queues.message import PERSISTENT, Entry, Message
from reference_broker.core.queues.quorum import UNLIMITED_WINDOW, Counted, Quorum
from reference_broker.core.queues.ready import Ready

if TYPE_CHECKING:
    from reference_broker.core.channels.unacked import Delivery
    from reference_broker.core.connections.connection import Connection
    from reference_broker.core.vhost import VirtualHost


class Queue:
    def __init__(
        self,
        vhost: VirtualHost,
        name: str,
        durable: bool,
        auto_delete: bool,
        owner: Connection | None,
        table: FieldTable,
        settings: QueueArguments,
    ) -> None:
        self.vhost = vhost
        self.name = name
        self.durable = durable
        self.auto_delete = auto_delete
        self.owner = owner
        self.table = table
        self.declared = self.settings = settings
        """As its arguments say, and as they and the policy that holds for it say together."""
        self.limited = settings.length_limited()
        self.quorum: Quorum | None = self.replicated() if settings.quorum else None
        self.entry: Callable[[float, Message, float | None], Entry] = Entry if self.quorum is None else self.counted()
        self.ready = self.nothing()
        self.consumers: dict[Consumer, None] = {}
        self.exclusive_consumer = False
        self.ring: deque[Consumer] = deque()
        self.ranked = False
        self.active: Consumer | None = None
        self.published = 0
        self.deleted = False
        self.expiring = settings.message_ttl is not None
        self.wake_at: float | None = None
        self.used_at = vhost.clock.now

    # -- messages in

    def publish(self, message: Message) -> bool:
        """Take a message; False if the queue is full and refuses new ones."""
        if self.refuses(message):
            if self.settings.dead_letter_refused:
                self.vhost.dead(self, message, "maxlen")
            return False
        self.published += 1
        expires = self.expiry(message) if self.expiring or message.header.expiration is not None else None
        entry = self.entry
        self.ready.push(entry(self.published, message, expires))
        if self.expiring or self.limited:
            self.settle_down()
        elif self.ring:
            self.pump()
        return True

    def refuses(self, message: Message) -> bool:
        """Is it full, and to turn away new ones?"""
        return self.limited and self.settings.reject_publish and self.over_limit(1, len(message.body))

    def put_back(self, entry: Entry) -> None:
        """Return a delivered message to where it belongs now. The caller settles the queue down."""
        entry.redelivered = True
        self.ready.put_back(entry)

    def settle_down(self) -> None:
        """After messages came in: serve consumers first, then apply time-to-live and length limits."""
        if self.ring:
            self.pump()
        if self.expiring:
            self.expire()
        if self.limited:
            self.trim()

    # -- messages out

    def let_go(self, entry: Entry) -> None:
        """It has left this queue for good. Matters to a queue whose messages are kept on disk: see `store`."""

    def exceed(self, entry: Entry, delivery: Delivery) -> None:
        """This return was one too many."""
        self.die(entry, "delivery_limit")

    def die(self, entry: Entry, reason: str) -> None:
        """Leave without having been acknowledged. Who is gone has no heir any more."""
        if not self.deleted:
            self.vhost.dead(self, entry.message, reason)
        self.let_go(entry)

    def as_delivered(self, entry: Entry) -> Message:
        """A message as it is delivered."""
        return entry.message if self.quorum is None else self.quorum.as_delivered(entry)

    def nothing(self) -> Ready:
        if self.settings.max_priority:
            return self.vhost.parts.ready("by-priority", self.settings.max_priority)
        return self.vhost.parts.ready("original" if self.quorum is None else self.quorum.order)

    def replicated(self) -> Quorum:
        parts = self.vhost.parts
        return parts.quorum(self.settings.delivery_limit, parts.edition.delivery_limit)

    def serve(self) -> None:
        if self.expiring:
            self.expire()
        if self.ring and (self.ready.fresh or self.ready.returned):
            self.pump()
            if self.expiring:
                self.expire()

    def pump(self) -> None:
        ring, ready = self.ring, self.ready
        if self.expiring:
            self.expire(overdue=True)
        while ring and (ready.fresh or ready.returned):
            consumer = self.next_in_turn()
            obstacle = consumer.obstacle()
            if obstacle is not None:
                obstacle.parked[consumer] = None
                continue
            ring.append(consumer)
            consumer.channel.deliver(consumer, ready.pop())
            if self.expiring:
                self.expire(overdue=True)

    def next_in_turn(self) -> Consumer:
        if not self.ranked:
            return self.ring.popleft()
        first = max(self.ring, key=lambda consumer: consumer.priority)
        self.ring.remove(first)
        return first

    def get(self) -> Entry | None:
        self.used_at = self.vhost.clock.now
        self.expire()
        entry = self.ready.pop() if self.ready else None
        self.expire()
        return entry

    def purge(self) -> int:
        self.expire()
        count = len(self.ready)
        self.ready = self.nothing()
        return count

    def restart(self) -> None:
        """Only what is on disk is left, in its order."""
        survivors = [entry for entry in sorted(self.ready.entries(), key=attrgetter("position")) if self.lasts(entry)]
        self.ready = self.nothing()
        for entry in survivors:
            self.read_back(entry)
            self.ready.push(entry)

    def read_back(self, entry: Entry) -> None:
        """After a restart it comes from the disk."""

    def lasts(self, entry: Entry) -> bool:
        return self.quorum is not None or entry.message.header.delivery_mode == PERSISTENT

    def count(self) -> int:
        self.expire()
        return len(self.ready)

    # -- limits

    def heed(self, definition: Mapping[str, Any]) -> None:
        """From now on this is its policy."""
        self.settings = with_policy(self.declared, definition)
        self.limited = self.settings.length_limited()
        self.expiring = self.expiring or self.settings.message_ttl is not None
        if self.quorum is not None:
            self.quorum.set_limit(self.settings.delivery_limit)

    def window(self, prefetch: int) -> int:
        """How many unsettled deliveries a consumer with this prefetch count may have; 0 for any."""
        return prefetch or (0 if self.quorum is None else UNLIMITED_WINDOW)

    def effective(self, name: str) -> Any:
        """The value of an optional argument that holds for this queue; None without one."""
        return values.lookup(self.table, name)

    def over_limit(self, more: int = 0, octets: int = 0) -> bool:
        most, most_octets = self.settings.max_length, self.settings.max_octets
        if most is not None and len(self.ready) + more > most:
            return True
        return most_octets is not None and self.ready.octets + octets > most_octets

    def trim(self) -> None:
        while self.ready and self.over_limit():
            self.die(self.ready.pop(), "maxlen")

    def counted(self) -> type[Counted]:
        """What a quorum queue keeps its messages in."""
        return Counted

    def expiry(self, message: Message) -> float | None:
        """When this message expires here: the smaller of the queue's and its own time to live."""
        own = message.header.expiration
        if own is None and self.settings.message_ttl is None:
            return None
        lives = [self.settings.message_ttl, int(own) / 1000 if own is not None else None]
        self.expiring = True
        return self.vhost.clock.now + min(life for life in lives if life is not None)

    def expire(self, *, overdue: bool = False) -> None:
        """Drop expired messages, from the head only: one that lives longer shields those behind it. `overdue`: those
        alone whose time is over since before, for whose time ends just now may still be delivered."""
        if not self.expiring:
            return
        now = self.vhost.clock.now
        while self.ready:
            entry = self.ready.head()
            if entry.expires is None:
                return
            if entry.expires > now:
                self.wake(entry.expires)
                return
            if overdue and entry.expires == now:
                return
            self.die(self.ready.pop(), "expired")

    def wake(self, when: float) -> None:
        if self.wake_at is None or when < self.wake_at:
            self.wake_at = when
            self.vhost.clock.at(when, type(self).woken, self)

    def woken(self) -> None:
        self.wake_at = None
        self.expire()

    # -- consumers

    def excludes(self, exclusive: bool) -> bool:
        """May no further consumer, or none that is exclusive, join those that are there?"""
        beside = bool(self.consumers) or self.settings.single_active_consumer
        return self.exclusive_consumer or (exclusive and beside)

    def join(self, consumer: Consumer, exclusive: bool) -> None:
        self.consumers[consumer] = None
        self.exclusive_consumer = exclusive
        self.ranked = self.ranked or consumer.priority != 0
        if self.settings.single_active_consumer:
            self.activate_one()
        else:
            self.ring.append(consumer)
        self.serve()

    def activate_one(self) -> None:
        """Of all its consumers a queue with a single active one serves that one until it leaves."""
        if self.active is None:
            staying = [consumer for consumer in self.consumers if not consumer.channel.closing]
            self.active = max(staying, key=lambda consumer: consumer.priority, default=None)
            if self.active is not None:
                self.ring.append(self.active)

    def leave(self, consumer: Consumer) -> None:
        del self.consumers[consumer]
        self.exclusive_consumer = False
        self.used_at = self.vhost.clock.now
        for limit in (consumer.own, consumer.shared, consumer.pause, consumer.channel.connection.outbox.limit):
            limit.parked.pop(consumer, None)
        if consumer in self.ring:
            self.ring.remove(consumer)
        if not self.consumers and self.auto_delete and not self.deleted:
            self.vhost.delete_queue(self)
        elif consumer is self.active:
            self.active = None
            if not consumer.channel.closing:
                self.hand_over(consumer)

    def hand_over(self, former: Consumer) -> None:
        """The next consumer is served, if one is served at a time. Where the channel of the former ends, what that held
        is back by then."""
        if self.settings.single_active_consumer and not self.deleted:
            self.activate_one()
            self.serve()
