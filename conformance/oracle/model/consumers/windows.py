"""Windows: how many manual deliveries may be outstanding, to one consumer and on one channel.

A channel handles its methods in order. So a consumer's limit is, for good, the one that its channel had when consume
was sent. A channel's limit may change while deliveries are under way that the change does not count: `bound` is what
is proven all the same, and 0 if nothing is.

Two counts are kept apart. `held` counts everything that may hold a slot at the broker, also deliveries that a race may
have settled; beyond it nothing is owed. `certain` counts what surely holds a slot: each settlement was sent before the
broker could handle it, so the broker cannot count less. Only `certain` may be used to accuse the broker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.records import ClientError, Delivery, Settlement

if TYPE_CHECKING:
    from conformance.oracle.model.connections.channels import ChannelLife, Consumer
    from conformance.oracle.model.model import Model
    from conformance.oracle.model.queues.queue import Queue

TECHNICAL = 2000
"""A quorum queue sends so many to a consumer without a limit; then acknowledgements make room."""
NOT_CALM = -1


@dataclass(slots=True)
class Freed:
    """What last gave slots back, how many, and what had been outstanding just before."""

    settlement: Settlement
    slots: int = 0
    held: int = 0
    full: bool = False


@dataclass(slots=True, eq=False, repr=False)
class Window:
    """The slots of one owner, as far as they are used."""

    held: int = 0
    full_at: int = 0
    """The delivery that took the last slot; 0: there is room."""
    fills: int = 0
    got: int = 0
    latest: int = 0
    """The delivery that took a slot last."""
    freed: Freed | None = None
    ways: set[tuple[str, bool, bool]] = field(default_factory=set)
    """In how many ways slots were given back."""
    namesakes: int = 0
    """So many deliveries were settled that an earlier consumer with its tag had from its queue."""

    def take(self, limit: int, seq: int) -> None:
        self.held += 1
        self.latest = seq
        if 0 < limit <= self.held and not self.full_at:
            self.full_at = seq
            self.fills += 1

    def give(self, settlement: Settlement, limit: int) -> None:
        if self.freed is None or self.freed.settlement is not settlement:
            self.freed = Freed(settlement, held=self.held, full=self.full_at > 0)
            self.ways.add((settlement.method, settlement.multiple, settlement.requeue))
        self.freed.slots += 1
        self.held -= 1
        if self.held < limit:
            self.full_at = 0


@dataclass(slots=True, eq=False, repr=False)
class Shared(Window):
    """The limit that all consumers of a channel share."""

    count: int = 0
    since: int = 0
    """When it was sent; 0: never."""
    answered: int = 0
    former: int = 0
    """What was in force before."""
    bound: int = 0
    """This many deliveries are never exceeded; 0: nothing is proven."""
    unsure: bool = False
    """The broker's own count may be too low, until the limit is removed."""
    running: bool = False
    """Consumers had deliveries outstanding when it was set."""
    cleared: int = 0
    """When a limit for consumers was set after it."""
    gets: bool = False
    """Deliveries of basic.get were outstanding when it was set."""
    raised: int = 0
    """It was reached, and then raised or removed; nothing has been settled since."""
    calm: int = NOT_CALM
    """The last tag when it was sent, if no delivery could be under way then."""
    moved: bool = False
    """Nothing is known of it until it is set anew: the broker was seen not to obey it."""

    def full(self) -> bool:
        return 0 < self.count <= self.held and not self.moved

    def pending(self) -> bool:
        return self.count > 0 and self.bound != self.count and not self.unsure and not self.moved


def set_limit(model: Model, channel: ChannelLife, event: Event) -> None:
    """basic.qos is sent."""
    count, asked = int(event.args.get("prefetch_count", 0)), "global" in event.flags
    if asked and model.profile.choices.get("channel_limit") == "channel":
        clears = model.profile.choices.get("consumer_limit_clears_channel_limit") == "yes"
        _share(channel, count, event.seq, forgotten=clears and channel.shared.cleared > 0)
    else:
        channel.prefetch, channel.prefetch_at, channel.prefetch_global = count, event.seq, asked
        for consumer in channel.consumers.values():
            consumer.overruled = consumer.overruled or consumer.limit != count
        if channel.shared.count:
            channel.shared.cleared = event.seq


def is_set(channel: ChannelLife, event: Event) -> bool:
    """Does this basic.qos ask for the count that such a one has set already?"""
    count = int(event.args.get("prefetch_count", 0))
    return count == (channel.shared.count if "global" in event.flags else channel.prefetch)


def _share(channel: ChannelLife, count: int, seq: int, *, forgotten: bool) -> None:
    shared = channel.shared
    former = 0 if forgotten else shared.count
    reached = 0 < former <= shared.held
    calm = is_calm(channel)
    getting = bool(channel.requests.get(("basic.get", ""))) or any(one.consumer is None for one in held_by(channel))
    shared.gets = count > 0 and (shared.gets if former else getting)
    shared.unsure = count > 0 and (shared.unsure if former else False)
    shared.calm = channel.last_tag if calm else NOT_CALM
    if count == 0 or shared.unsure:
        shared.bound = 0
    elif not channel.consumers:
        shared.bound = count
    elif former and shared.bound:
        shared.bound = max(shared.bound, count)
    else:
        shared.bound = 0
    shared.former, shared.count, shared.since, shared.answered, shared.cleared = former, count, seq, 0, 0
    shared.moved = False
    shared.running = bool(channel.consumers) and shared.held > 0
    shared.raised = seq if reached and not shared.full() else 0
    shared.full_at = seq if shared.full() else 0
    fed = {consumer.source for consumer in channel.consumers.values()} | {one.copy.queue for one in held_by(channel)}
    if any(queue.kind != "classic" for queue in fed) or (channel.uncommitted and not former):
        lose(channel)


def lose(channel: ChannelLife) -> None:
    """The broker's count of the channel's deliveries may be too low from now on."""
    if channel.shared.count:
        channel.shared.unsure, channel.shared.bound = True, 0


def forget(channel: ChannelLife) -> None:
    """The broker was seen to have other limits here than it was told; which, nobody knows."""
    for consumer in channel.consumers.values():
        consumer.limit_moved = True
    channel.shared.moved, channel.shared.bound, channel.shared.raised = channel.shared.count > 0, 0, 0


def change_answered(channel: ChannelLife, sent: int, seq: int) -> None:
    """qos-ok, or any later answer: was the change made while nothing was under way?

    What is outstanding counts as in flight, too: the text lets a broker take its time with the change until something
    of it has been settled."""
    shared = channel.shared
    if not shared.answered and sent >= shared.since:
        shared.answered = seq
        quiet = shared.calm == channel.last_tag and is_calm(channel)
        if shared.pending() and not shared.bound and (not quiet or _settled(channel, shared.since)):
            lose(channel)
    handled = not shared.running or _settled(channel, shared.answered, sent)
    if shared.answered and shared.pending() and handled and is_calm(channel):
        shared.bound = shared.count


def _settled(channel: ChannelLife, after: int, before: int | None = None) -> bool:
    last = channel.last_settlement
    return last is not None and after < last.seq and (before is None or last.seq < before)


def settling(channel: ChannelLife) -> None:
    """Something outstanding is about to be settled: where the former limit was reached, nothing passed until now."""
    shared = channel.shared
    if shared.answered and shared.pending() and is_calm(channel) and 0 < shared.bound <= certain(channel):
        shared.bound = shared.count


def refuses(model: Model, channel: ChannelLife, event: Event, queue: Queue) -> ClientError | None:
    """A quorum queue knows no limit of a channel: consuming from it under one costs the connection."""
    shared = channel.shared
    if queue.kind == "classic" or not shared.count:
        return None
    clears = model.profile.choices.get("consumer_limit_clears_channel_limit") == "yes"
    what = f"basic.consume from a {queue.kind} queue under a channel's limit of {shared.count}"
    optional = bool(model.open) or (clears and shared.cleared > 0)
    return ClientError(event.seq, "QOS-025", 540, 60, 20, what, optional=optional)


def taken(channel: ChannelLife, consumer: Consumer, seq: int) -> None:
    """A delivery was read."""
    consumer.window.got += 1
    if not consumer.no_ack:
        consumer.window.take(consumer.limit, seq)
        channel.shared.take(channel.shared.count, seq)


def given_back(delivery: Delivery, settlement: Settlement, seq: int) -> None:
    """This settlement takes effect with what was just sent: what it covers may be replaced."""
    consumer, shared = delivery.consumer, delivery.channel.shared
    shared.raised = 0
    if consumer is None:
        return
    acked = settlement.method == "basic.ack"
    if consumer.full():
        consumer.since, consumer.by_ack = seq, acked
    consumer.by_ack = consumer.by_ack or acked
    consumer.window.give(settlement, consumer.limit)
    shared.give(settlement, shared.count)
    heir = delivery.channel.consumers.get(consumer.tag)
    if heir is not None and heir is not consumer and heir.source is consumer.source:
        heir.window.namesakes += 1


def held_by(channel: ChannelLife) -> Iterable[Delivery]:
    """All deliveries that hold a slot or may hold one, those of uncommitted settlements included."""
    yield from channel.unacked.values()
    for _, covered in channel.uncommitted:
        yield from covered


def may_bind_gets(channel: ChannelLife) -> bool:
    """Are so many deliveries outstanding, those of basic.get too, that a broker whose limits bind gets finds nothing?
    No limit may do so (QOS-014)."""
    out = len(channel.unacked)
    limits = [channel.shared.count, channel.prefetch, *(consumer.limit for consumer in channel.consumers.values())]
    return any(0 < limit <= out for limit in limits)


def certain(channel: ChannelLife, consumer: Consumer | None = None) -> int:
    """How many slots the broker must count as taken, of one consumer or of all."""
    return sum(
        not (one.indeterminate or one.stale)
        and (one.consumer is consumer if consumer is not None else one.consumer is not None)
        for one in held_by(channel)
    )


def surely_full(channel: ChannelLife, consumer: Consumer) -> bool:
    """Can the broker send this consumer nothing, whatever races have settled of what it holds? What has timed out
    keeps it from getting more like what it holds. A wider limit that was set since is none of its business, unless the
    broker is wrong about that: then it must not seem to be wrong about a settlement."""
    if channel.prefetch_at > consumer.receiver.start and not 0 < channel.prefetch <= consumer.limit:
        return False
    held = sum(one.consumer is consumer and not one.indeterminate for one in held_by(channel))
    return consumer.full() and held >= consumer.limit


def has_room(channel: ChannelLife, consumer: Consumer) -> bool:
    """Must the broker send this consumer a message if there is one?"""
    shared = channel.shared
    if shared.moved or (shared.count and (shared.full() or not shared.answered)):
        return False
    if consumer.no_ack:
        return True
    if channel.octets and (any(True for _ in held_by(channel)) or _too_large(channel, consumer)):
        return False  # a message may be larger than what is left of the size, or than all of it
    if consumer.limit:
        return consumer.window.held < consumer.limit
    return consumer.source.kind == "classic" or consumer.window.held < TECHNICAL


def _too_large(channel: ChannelLife, consumer: Consumer) -> bool:
    """Is any message of the queue larger than the size that the channel takes in advance?"""
    queue = consumer.source
    return any(
        copy.publication is None or copy.publication.size > channel.octets
        for copy in (*queue.fresh.values(), *queue.returned.values())
    )


def is_calm(channel: ChannelLife) -> bool:
    """Can no delivery be under way to the channel?"""
    if channel.indeterminate or channel.race is not None or channel.requests.get(("basic.get", "")):
        return False
    if any(delivery.indeterminate for delivery in channel.unacked.values()):
        return False
    shared = channel.shared
    stopped = bool(shared.bound) and certain(channel) >= shared.bound
    return not any(
        consumer.may_receive() and (consumer.no_ack or not stopped) for consumer in channel.consumers.values()
    )
