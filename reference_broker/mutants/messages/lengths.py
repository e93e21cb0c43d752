"""Queues that hold more than their limit, or less, or the wrong ones."""

from __future__ import annotations

from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.replies import ReplyTo
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.ready import Ready
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory, replaces

LAVINMQ = "https://github.com/cloudamqp/lavinmq/{}"


def over(queue: Queue, count: int, octets: int) -> bool:
    """Would so much be more than the queue may hold?"""
    most, most_octets = queue.settings.max_length, queue.settings.max_octets
    return (most is not None and count > most) or (most_octets is not None and octets > most_octets)


@replaces("queue.over_limit", "lengths.one-more", "a queue holds one message more than its limit", "LEN-001", "LEN-006")
def one_more(self: Queue, more: int = 0, octets: int = 0) -> bool:
    return over(self, len(self.ready) + more - 1, self.ready.octets + octets)


@replaces("queue.over_limit", "lengths.unlimited", "x-max-length is passed over", "LEN-001", "LEN-006")
def unlimited(self: Queue, more: int = 0, octets: int = 0) -> bool:
    return over(self, 0, self.ready.octets + octets)


@replaces("queue.over_limit", "lengths.octets-unlimited", "x-max-length-bytes is passed over", "LEN-005", "LEN-006")
def octets_unlimited(self: Queue, more: int = 0, octets: int = 0) -> bool:
    return over(self, len(self.ready) + more, 0)


@replaces("queue.over_limit", "lengths.octets-alone", "of two limits that of octets alone counts", "LEN-006")
def octets_alone(self: Queue, more: int = 0, octets: int = 0) -> bool:
    counts = self.settings.max_octets is None
    return over(self, len(self.ready) + more if counts else 0, self.ready.octets + octets)


@replaces("queue.over_limit", "lengths.at-the-limit", "a queue that holds all it may is taken for too full", "LEN-003")
def at_the_limit(self: Queue, more: int = 0, octets: int = 0) -> bool:
    return over(self, len(self.ready) + more + 1, self.ready.octets + octets + 1)


@replaces(
    "queue.over_limit",
    "lengths.too-large-for-one",
    "a message that is larger than all room is kept",
    "LEN-005",
    "LEN-001",
)
def too_large_for_one(self: Queue, more: int = 0, octets: int = 0) -> bool:
    count = len(self.ready) + more
    return count > 1 and over(self, count, self.ready.octets + octets)


@replaces("queue.trim", "lengths.newest-go", "the newest messages make room", "LEN-002")
def newest_go(self: Queue) -> None:
    entries = self.ready.entries()
    while entries and over(self, len(entries), sum(len(entry.message.body) for entry in entries)):
        self.die(entries.pop(), "maxlen")
    self.ready = self.nothing()
    for entry in entries:
        self.ready.push(entry)


@replaces("queue.trim", "lengths.all-go", "one message too many empties the queue", "LEN-003")
def all_go(self: Queue) -> None:
    if self.over_limit():
        while self.ready:
            self.die(self.ready.pop(), "maxlen")


def fetched(queue: Queue) -> list[int]:
    """How many messages gets have brought, and how many octets."""
    found: list[int] = memory(queue, "fetched", lambda: [0, 0])
    return found


@replaces("queue.get", "lengths.fetched-counts", "messages that a client holds count towards the limit", "LEN-004")
def fetched_counts(self: Queue) -> Entry | None:
    entry = self.ready.pop() if self.ready else None
    if entry is not None:
        count = fetched(self)
        count[0] += 1
        count[1] += len(entry.message.body)
        self.over_limit = lambda more=0, octets=0: over(  # type: ignore[method-assign]
            self, len(self.ready) + more + count[0], self.ready.octets + octets + count[1]
        )
    return entry


@replaces("queue.publish", "lengths.refused-and-taken", "a refused message takes the place of the oldest", "LEN-007")
def refused_and_taken(self: Queue, message: Message) -> bool:
    refused = self.limited and self.settings.reject_publish and self.over_limit(1, len(message.body))
    self.published += 1
    self.ready.push(self.entry(self.published, message, None))
    self.settle_down()
    return not refused


@replaces("queue.trim", "lengths.returned-stay", "what is given back to a full queue stays", "LEN-008")
def returned_stay(self: Queue) -> None:
    while self.ready.fresh and self.over_limit():
        entry = self.ready.head()
        if entry.redelivered:
            return
        self.die(self.ready.pop(), "maxlen")


@replaces("queue.publish", "lengths.refuses-for-ever", "a queue that was full once refuses for ever", "LEN-009")
def refuses_for_ever(self: Queue, message: Message) -> bool:
    if self.settings.reject_publish and memory(self, "was_full", list):
        return False
    accepted = Queue.publish(self, message)
    if not accepted:
        memory(self, "was_full", list).append(True)
    return accepted


def without(queue: Queue, entry: Entry) -> None:
    """This one is dropped, wherever it stands."""
    entries = queue.ready.entries()
    queue.ready = queue.nothing()
    for one in entries:
        if one is not entry:
            queue.ready.push(one)
    queue.die(entry, "maxlen")


@replaces("queue.trim", "lengths.lowest-go", "in a queue with priorities the lowest make room", "LEN-010")
def lowest_go(self: Queue) -> None:
    while self.ready and self.over_limit():
        by_rank = self.ready.entries()
        lowest = min(one.message.header.priority or 0 for one in by_rank)
        without(self, next(one for one in by_rank if (one.message.header.priority or 0) == lowest))


@replaces("queue.trim", "lengths.oldest-go", "in a queue with priorities the oldest make room", "LEN-010")
def oldest_go(self: Queue) -> None:
    while self.ready and self.over_limit():
        without(self, min(self.ready.entries(), key=lambda one: one.position))


@replaces("queue.over_limit", "lengths.quorum-unlimited", "x-max-length means nothing to quorum queues", "LEN-011")
def quorum_unlimited(self: Queue, more: int = 0, octets: int = 0) -> bool:
    return self.quorum is None and Queue.over_limit(self, more, octets)


@replaces("queue.trim", "lengths.quorum-newest-go", "in a quorum queue the newest make room", "LEN-011")
def quorum_newest_go(self: Queue) -> None:
    while self.ready and self.over_limit():
        if self.quorum is None:
            self.die(self.ready.pop(), "maxlen")
        else:
            without(self, self.ready.entries()[-1])


@replaces("vhost.publish", "lengths.all-or-none", "a message that one queue refuses goes to none", "LEN-012")
def all_or_none(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    queues = list(self.route(exchange, message))
    if any(refuses(queue, message) for queue in queues):
        return True, False
    answers = [queue.publish(message) for queue in queues]
    return bool(queues), all(answers)


def refuses(queue: Queue | ReplyTo, message: Message) -> bool:
    """Is it full, and does it refuse?"""
    rejects = isinstance(queue, Queue) and queue.limited and queue.settings.reject_publish
    return rejects and isinstance(queue, Queue) and queue.over_limit(1, len(message.body))


@replaces("queue.publish", "lengths.refused-are-lost", "with reject-publish-dlx the refused are dropped", "LEN-013")
def refused_are_lost(self: Queue, message: Message) -> bool:
    return not refuses(self, message) and Queue.publish(self, message)


@replaces("queue.publish", "lengths.refused-are-taken", "reject-publish-dlx drops the oldest message", "LEN-013")
def refused_are_taken(self: Queue, message: Message) -> bool:
    if not (refuses(self, message) and self.settings.dead_letter_refused):
        return Queue.publish(self, message)
    self.published += 1
    self.ready.push(self.entry(self.published, message, None))
    self.settle_down()
    return True


@replaces("queue.publish", "lengths.refused-are-rejected", "a refused message has died as rejected", "LEN-013")
def refused_are_rejected(self: Queue, message: Message) -> bool:
    if not refuses(self, message):
        return Queue.publish(self, message)
    if self.settings.dead_letter_refused:
        self.vhost.dead(self, message, "rejected")
    return False


@replaces("queue.over_limit", "lengths.properties-count", "more than bodies counts as octets", "LEN-014")
def properties_count(self: Queue, more: int = 0, octets: int = 0) -> bool:
    count = len(self.ready) + more
    return over(self, count, self.ready.octets + octets + 40 * count)


@replaces(
    "queue.trim",
    "lengths.beside-consumers",
    "a queue is not limited while it has a consumer",
    "LEN-015",
    field="https://github.com/cloudamqp/lavinmq/pull/167",
)
def beside_consumers(self: Queue) -> None:
    if not self.consumers:
        Queue.trim(self)


@replaces(
    "ready.put_back", "lengths.returned-weigh-nothing", "the octets of what comes back are not counted", "LEN-008"
)
def returned_weigh_nothing(self: Ready, entry: Entry) -> None:
    octets = self.octets
    Ready.put_back(self, entry)
    self.octets = octets


@replaces(
    "queue.trim",
    "lengths.returned-to-quorum",
    "a quorum queue is not limited while it holds something that came back",
    "LEN-011",
)
def returned_to_quorum(self: Queue) -> None:
    if self.quorum is None or not self.ready.returned:
        Queue.trim(self)


@changes("lengths.committed-unlimited", "a commit passes over limits", "LEN-001")
def committed_unlimited(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        limited = [queue for queue in channel.vhost.queues.values() if queue.limited]
        for queue in limited:
            queue.limited = False
        accepted = below.commit(self, channel)
        for queue in limited:
            queue.limited = True
        return accepted

    parts.override("transaction", commit=commit)


@replaces("queue.put_back", "lengths.returned-weigh-twice", "the octets of what comes back count twice", "LEN-014")
def returned_weigh_twice(self: Queue, entry: Entry) -> None:
    Queue.put_back(self, entry)
    self.ready.octets += len(entry.message.body)


@replaces("queue.refuses", "lengths.ranked-take-all", "a queue with priorities refuses nothing", "LEN-007", "CNF-011")
def ranked_take_all(self: Queue, message: Message) -> bool:
    return not self.settings.max_priority and Queue.refuses(self, message)


@changes("lengths.letters-crowd", "dead letters come into a queue whether it has room for them or not", "LEN-001")
def letters_crowd(parts: Parts) -> None:
    below = parts.queue

    def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
        vars(self)["burying"] = True
        VirtualHost.dead(self, queue, message, reason)
        vars(self)["burying"] = False

    def over_limit(self: Queue, more: int = 0, octets: int = 0) -> bool:
        return below.over_limit(self, more, octets) and not vars(self.vhost).get("burying")

    parts.override("vhost", dead=dead)
    parts.override("queue", over_limit=over_limit)


@replaces(
    "queue.refuses",
    "lengths.drop-head-refuses",
    "a full queue whose x-overflow is drop-head refuses what comes",
    "LEN-002",
)
def drop_head_refuses(self: Queue, message: Message) -> bool:
    return self.limited and self.settings.overflow is not None and self.over_limit(1, len(message.body))


@changes(
    "lengths.letters-beyond",
    "a dead letter finds room in a full queue that refuses",
    "LEN-001",
    field="https://github.com/maxpert/strangeq/commit/ae83655b",
)
def letters_beyond(parts: Parts) -> None:
    below, vhost = parts.queue, parts.vhost

    def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
        burying: list[Queue] = memory(self, "burying", list)
        burying.append(queue)
        vhost.dead(self, queue, message, reason)
        burying.pop()

    def refuses(self: Queue, message: Message) -> bool:
        return not memory(self.vhost, "burying", list) and below.refuses(self, message)

    def trim(self: Queue) -> None:
        if not self.settings.reject_publish:
            below.trim(self)

    parts.override("vhost", dead=dead)
    parts.override("queue", refuses=refuses, trim=trim)


@changes(
    "lengths.nought-keeps-one",
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
    "lengths.policy-drops-one-more",
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
    "lengths.full-and-restarted",
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
