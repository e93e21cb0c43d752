"""Wrong only where two features meet: each of them alone is as it should be."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappush

from codec import methods as m
from codec import values
from reference_broker.core.channels import topology
from reference_broker.core.channels.channel import Channel, Fate, acked, discarded
from reference_broker.core.channels.replies import ReplyTo
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.errors import precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.deadletter import DeadLetters, earlier_deaths
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.ready import Ready
from reference_broker.core.routing import Topic
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, handles, memory, replaces, take_away
from reference_broker.mutants.messages.lengths import without


@replaces("queue.die", "pairs.dies-twice", "what expires after it was given back becomes two dead letters", "DLX-013")
def dies_twice(self: Queue, entry: Entry, reason: str) -> None:
    if reason == "expired" and entry.redelivered and not self.deleted:
        self.vhost.dead(self, entry.message, reason)
    Queue.die(self, entry, reason)


@replaces("queue.put_back", "pairs.deaths-forgotten", "a dead letter that is given back forgets its deaths", "DLX-006")
def deaths_forgotten(self: Queue, entry: Entry) -> None:
    message = entry.message
    kept = [field for field in message.headers if field[0] != "x-death"]
    if len(kept) < len(message.headers):
        entry.message = message.copy(message.exchange, message.routing_key, headers=kept or None)
    Queue.put_back(self, entry)


@replaces("queue.die", "pairs.count-forgotten", "x-death begins anew after a dead letter was given back", "DLX-006")
def count_forgotten(self: Queue, entry: Entry, reason: str) -> None:
    message = entry.message
    if entry.redelivered and earlier_deaths(message):
        kept = [field for field in message.headers if field[0] != "x-death"]
        entry.message = message.copy(message.exchange, message.routing_key, headers=kept)
    Queue.die(self, entry, reason)


@replaces("queue.expire", "pairs.priorities-outlive", "messages with a priority do not expire", "TTL-001")
def priorities_outlive(self: Queue, *, overdue: bool = False) -> None:
    if not (self.settings.max_priority and self.ready and self.ready.head().message.header.priority):
        Queue.expire(self, overdue=overdue)


@replaces("queue.put_back", "pairs.priorities-age-anew", "what a queue with priorities gets back ages anew", "TTL-007")
def priorities_age_anew(self: Queue, entry: Entry) -> None:
    if self.settings.max_priority and entry.expires is not None:
        entry.expires = self.expiry(entry.message)
    Queue.put_back(self, entry)


@replaces("queue.expire", "pairs.single-outlive", "nothing expires where one consumer is served", "TTL-001")
def single_outlive(self: Queue, *, overdue: bool = False) -> None:
    if not self.settings.single_active_consumer:
        Queue.expire(self, overdue=overdue)


@replaces("queue.expire", "pairs.limited-outlive", "nothing expires in a queue with a limit", "TTL-001")
def limited_outlive(self: Queue, *, overdue: bool = False) -> None:
    if not self.limited:
        Queue.expire(self, overdue=overdue)


@replaces("queue.trim", "pairs.newest-die", "the newest make room where they become dead letters", "LEN-002")
def newest_die(self: Queue) -> None:
    if self.settings.dead_letter_exchange is None:
        Queue.trim(self)
        return
    while self.ready and self.over_limit():
        without(self, max(self.ready.entries(), key=lambda one: one.position))


@replaces("queue.purge", "pairs.purged-count", "messages that were purged count towards the limit", "LEN-003")
def purged_count(self: Queue) -> int:
    count = Queue.purge(self)
    purged: list[int] = memory(self, "purged", lambda: [0])
    purged[0] += count
    limit = self.settings.max_length
    self.over_limit = lambda more=0, octets=0: (  # type: ignore[method-assign]
        Queue.over_limit(self, more, octets)
        or (limit is not None and len(self.ready) + more + purged[0] > limit and len(self.ready) + more > 1)
    )
    return count


@replaces("queue.trim", "pairs.lowest-octets-go", "where octets are limited the lowest priority makes room", "LEN-010")
def lowest_octets_go(self: Queue) -> None:
    while self.ready and self.over_limit():
        if self.settings.max_octets is None or not self.settings.max_priority:
            self.die(self.ready.pop(), "maxlen")
            continue
        without(self, min(self.ready.entries(), key=lambda one: (one.message.header.priority or 0, one.position)))


@replaces("vhost.dead", "pairs.unanswerable", "a dead letter has lost its reply-to", "CONTENT-007")
def unanswerable(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
    if message.header.reply_to is not None:
        message = message.copy(message.exchange, message.routing_key, reply_to=None)
    VirtualHost.dead(self, queue, message, reason)


@replaces("vhost.dead", "pairs.one-reason", "a message dies again only for the reason of its first death", "DLX-001")
def one_reason(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
    first = values.lookup(message.headers, "x-first-death-reason")
    if first is None or first == reason:
        VirtualHost.dead(self, queue, message, reason)


@replaces("queue.die", "pairs.trimmed-expired", "what makes room where messages age has expired, it says", "DLX-003")
def trimmed_expired(self: Queue, entry: Entry, reason: str) -> None:
    Queue.die(self, entry, "expired" if reason == "maxlen" and self.settings.message_ttl is not None else reason)


@replaces("transaction.settle", "pairs.committed-lost", "what a transaction rejects becomes no dead letter", "DLX-001")
def committed_lost(self: Transaction, deliveries: list[Delivery], fate: Fate) -> None:
    Transaction.settle(self, deliveries, acked if fate is discarded else fate)


@replaces("queue.settle_down", "pairs.no-room-unseen", "what comes back to a full queue is lost", "DLX-003")
def no_room_unseen(self: Queue) -> None:
    while self.ready and self.over_limit() and self.ready.head().redelivered:
        self.let_go(self.ready.pop())
    Queue.settle_down(self)


# -- purges, deaths, transactions, policies, and what stands beside them


@changes("pairs.purge-keeps-octets", "a purge leaves the octets of what it removes counted", "LEN-014", "LEN-003")
def purge_keeps_octets(parts: Parts) -> None:
    below = parts.queue

    def purge(self: Queue) -> int:
        self.expire()
        octets = self.ready.octets
        count = below.purge(self)
        self.ready.octets = octets
        return count

    parts.override("queue", purge=purge)


@changes(
    "pairs.age-goes-on",
    "a message that dies of age is as old in its next queue as in the first",
    "TTL-004",
    field="https://github.com/cloudamqp/lavinmq/pull/583",
)
def age_goes_on(parts: Parts) -> None:
    below = parts.queue

    def expiry(self: Queue, message: Message) -> float | None:
        expires, now = below.expiry(self, message), self.vhost.clock.now
        born: float = memory(self.vhost, "born", dict).setdefault(message.body, now)
        died = values.lookup(message.headers, "x-death") is not None
        return expires - (now - born) if died and expires is not None else expires

    parts.override("queue", expiry=expiry)


@changes("pairs.own-key-alone", "dead letters do not go by the keys in CC and BCC", "DLX-010")
def own_key_alone(parts: Parts) -> None:
    below = parts.dead_letters

    def letter(
        self: DeadLetters, message: Message, queue: str, reason: str, now: float, exchange: str, key: str | None
    ) -> Message:
        dead = below.letter(self, message, queue, reason, now, exchange, key)
        return Message(dead.exchange, dead.routing_key, dead.header, dead.body)

    parts.override("dead_letters", letter=letter)


@changes("pairs.no-alternate-at-commit", "a commit passes over alternate exchanges", "TX-010", "CNF-025")
def no_alternate_at_commit(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        exchanges = channel.vhost.exchanges.values()
        alternates = {one: one.alternate for one in exchanges}
        for one in exchanges:
            one.alternate = ""
        accepted = below.commit(self, channel)
        for one, alternate in alternates.items():
            one.alternate = alternate
        return accepted

    parts.override("transaction", commit=commit)


@changes("pairs.exclusive-unruled", "policies do not hold for exclusive queues", "POLICY-002")
def exclusive_unruled(parts: Parts) -> None:
    below = parts.vhost

    def heed_policy(self: VirtualHost, queue: Queue) -> None:
        if queue.owner is None:
            below.heed_policy(self, queue)

    parts.override("vhost", heed_policy=heed_policy)


@handles(
    m.QueueDeclare, "pairs.policy-forgotten", "a queue that is declared again has no policy any more", "POLICY-002"
)
def policy_forgotten(channel: Channel, method: m.QueueDeclare) -> None:
    there = channel.vhost.queues.get(method.queue)
    topology.queue_declare(channel, method)
    if there is not None and not method.passive:
        there.heed({})


@handles(
    m.QueueDeclare,
    "pairs.policy-compared",
    "what a policy sets is compared with the arguments when a queue is declared again",
    "QUEUE-003",
    "POLICY-002",
)
def policy_compared(channel: Channel, method: m.QueueDeclare) -> None:
    there = channel.vhost.queues.get(method.queue)
    if there is not None and not method.passive and there.settings.max_length != there.declared.max_length:
        raise precondition(f"inequivalent arg 'x-max-length' for queue '{method.queue}' in vhost '/'")
    topology.queue_declare(channel, method)


@replaces(
    "queue.nothing", "pairs.one-priority-is-none", "a queue with an x-max-priority of 1 knows no priorities", "PRIO-001"
)
def one_priority_is_none(self: Queue) -> Ready:
    return self.vhost.parts.ready("original") if self.settings.max_priority == 1 else Queue.nothing(self)


@replaces(
    "ready.rank", "pairs.letters-unranked", "dead letters have no priority in a queue with priorities", "PRIO-001"
)
def letters_unranked(self: Ready, entry: Entry) -> float:
    unranked = self.order == "by-priority" and earlier_deaths(entry.message)
    return entry.position if unranked else Ready.rank(self, entry)


@changes("pairs.committed-live-on", "what a transaction publishes has no time of its queue", "TTL-002")
def committed_live_on(parts: Parts) -> None:
    commits, expires = parts.transaction, parts.queue

    def commit(self: Transaction, channel: Channel) -> bool:
        channel.vhost.__dict__["mutant_commits"] = True
        try:
            return commits.commit(self, channel)
        finally:
            channel.vhost.__dict__["mutant_commits"] = False

    def expiry(self: Queue, message: Message) -> float | None:
        spared = message.header.expiration is None and vars(self.vhost).get("mutant_commits")
        return None if spared else expires.expiry(self, message)

    parts.override("transaction", commit=commit)
    parts.override("queue", expiry=expiry)


@replaces(
    "vhost.route",
    "pairs.topics-by-the-old-key",
    "a topic exchange leads a dead letter by the key that it had before",
    "DLX-014",
)
def topics_by_the_old_key(self: VirtualHost, exchange: str, message: Message) -> Iterable[Queue | ReplyTo]:
    deaths = earlier_deaths(message)
    keys = values.lookup(deaths[0][1], "routing-keys") if deaths else None
    if keys and exchange and isinstance(self.exchanges[exchange], Topic):
        message = Message(message.exchange, str(keys[0]), message.header, message.body)
    return VirtualHost.route(self, exchange, message)


@replaces("queue.trim", "pairs.ranked-returns-stay", "what comes back to a full queue with priorities stays", "LEN-008")
def ranked_returns_stay(self: Queue) -> None:
    if not (self.settings.max_priority and any(entry.redelivered for _, entry in self.ready.returned)):
        Queue.trim(self)


@replaces(
    "channel.hand_over",
    "pairs.no-heir-of-a-transaction",
    "where one is served nobody takes over from a channel that ends in a transaction",
    "SAC-002",
)
def no_heir_of_a_transaction(self: Channel) -> None:
    if self.transaction is None:
        Channel.hand_over(self)
    self.left.clear()


@changes("pairs.ranked-expired-lost", "what expires in a queue with priorities makes no dead letter", "DLX-002")
def ranked_expired_lost(parts: Parts) -> None:
    below = parts.queue

    def die(self: Queue, entry: Entry, reason: str) -> None:
        if reason != "expired" or not self.settings.max_priority:
            below.die(self, entry, reason)

    parts.override("queue", die=die)


@changes("pairs.no-internal-heir", "dead letters to an internal exchange are lost", "DLX-014")
def no_internal_heir(parts: Parts) -> None:
    below = parts.vhost

    def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
        target = self.exchanges.get(queue.settings.dead_letter_exchange or "")
        if target is None or not target.internal:
            below.dead(self, queue, message, reason)

    parts.override("vhost", dead=dead)


@changes("pairs.ruled-and-consumed", "a queue goes by the expires of a policy although it has consumers", "POLICY-015")
def ruled_and_consumed(parts: Parts) -> None:
    below = parts.vhost

    def watch_expiry(self: VirtualHost, queue: Queue) -> None:
        life = queue.settings.expires
        if queue.deleted or life is None or queue.declared.expires is not None or not queue.consumers:
            below.watch_expiry(self, queue)
        elif queue.used_at + life <= self.clock.now:
            take_away(queue)
        else:
            self.clock.at(queue.used_at + life, self.watch_expiry, queue)

    parts.override("vhost", watch_expiry=watch_expiry)


@changes("pairs.second-lease", "a queue that is declared anew after it has expired stays", "TTL-010")
def second_lease(parts: Parts) -> None:
    below = parts.vhost

    def watch_expiry(self: VirtualHost, queue: Queue) -> None:
        gone: set[str] = memory(self, "gone", set)
        if queue.deleted or queue.name not in gone:
            before = queue.deleted
            below.watch_expiry(self, queue)
            if queue.deleted and not before:
                gone.add(queue.name)

    parts.override("vhost", watch_expiry=watch_expiry)


@changes(
    "pairs.too-high-comes-back-low",
    "what has a priority above the maximum comes back behind all others",
    *("PRIO-005", "PRIO-003"),
)
def too_high_comes_back_low(parts: Parts) -> None:
    below = parts.ready

    def put_back(self: Ready, entry: Entry) -> None:
        if 0 < self.max_priority < (entry.message.header.priority or 0):
            heappush(self.returned, (entry.position, entry))
            self.octets += len(entry.message.body)
        else:
            below.put_back(self, entry)

    parts.override("ready", put_back=put_back)
