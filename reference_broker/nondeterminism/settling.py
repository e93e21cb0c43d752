"""Lawful variations of what a client sends: when its settlements, publishes and closes take effect in the queues.

A channel has a *mailbox* of effects that are under way to their queues. They keep their order, and a later method
waits for all of them, unless the text lets it overtake: so the client sees nothing that one queue process and one
channel process with a line of messages in between could not do. A channel that ends empties its mailbox first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import codec
from codec import methods as m
from reference_broker.core.channels import basic
from reference_broker.core.channels import channel as fates
from reference_broker.nondeterminism.kinds import SHARES, TICKS, Free, variation

if TYPE_CHECKING:
    from reference_broker.core.channels.channel import Channel, Fate
    from reference_broker.core.channels.unacked import Delivery
    from reference_broker.core.parts import Handler
    from reference_broker.core.queues.message import Entry
    from reference_broker.core.queues.queue import Queue
    from reference_broker.core.queues.ready import Ready

GUIDE = "guide: Consumer Acknowledgements and Publisher Confirms"

Effect = Callable[[], None]
Methods = frozenset[type[codec.Method]]

SETTLEMENTS: Methods = frozenset({m.BasicAck, m.BasicNack, m.BasicReject})
MAY_OVERTAKE_SETTLEMENTS: Methods = SETTLEMENTS | {m.ChannelFlow}
MAY_OVERTAKE_PUBLISHES: Methods = SETTLEMENTS | {m.ChannelFlow, m.BasicGet, m.BasicPublish}


class Mailbox:
    """Effects on their way, oldest first, each with the methods that need not wait for it."""

    def __init__(self, free: Free) -> None:
        self.free = free
        self.effects: deque[tuple[Methods, Effect]] = deque()

    def put(self, passing: Methods, effect: Effect) -> None:
        self.effects.append((passing, effect))
        if len(self.effects) == 1:
            self.free.put_off(self.deliver)

    def deliver(self) -> None:
        """Some of them arrive."""
        for _ in range(self.free.chance.randint(1, len(self.effects)) if self.effects else 0):
            self.effects.popleft()[1]()
        if self.effects:
            self.free.put_off(self.deliver)

    def wait(self, method: type[codec.Method] | None = None) -> None:
        """All arrive, if there is one that the method may not overtake."""
        if any(method not in passing for passing, _ in self.effects):
            while self.effects:
                self.effects.popleft()[1]()


def mailbox(channel: Channel, free: Free) -> Mailbox:
    box: Mailbox = vars(channel).setdefault("mailbox", Mailbox(free))
    return box


def waits(free: Free) -> None:
    """Every method, and the end, of a channel waits for what it may not overtake."""
    if hasattr(free.parts.channel, "patient"):
        return
    honest = free.parts.channel

    def stop(self: Channel) -> None:
        mailbox(self, free).wait()
        honest.stop(self)

    def patient(kind: type[codec.Method], handler: Handler) -> Handler:
        def handle(channel: Channel, method: Any) -> None:
            mailbox(channel, free).wait(kind)
            handler(channel, method)

        return handle

    free.parts.override("channel", stop=stop, patient=True)
    for kind, handler in free.parts.handlers.items():
        free.parts.handlers[kind] = patient(kind, handler)


@variation(
    "quorum.publish-late",
    "let a publish reach its quorum queue late, its confirm later still",
    f'{GUIDE}, "Publisher Confirms": only the confirm says that a message has reached its queues; until then a later '
    "get or settlement may come first",
    share=SHARES,
    ticks=TICKS,
)
def publish_late(free: Free) -> None:
    honest = free.parts.publish
    waits(free)

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        box = mailbox(channel, free)
        if slow(channel, method, header) and (box.effects or free.luck()):
            basic.check_publish(channel, method, header)
            box.put(MAY_OVERTAKE_PUBLISHES, lambda: honest(channel, method, header, body))
        else:
            box.wait()
            honest(channel, method, header, body)

    free.parts.publish = publish


def slow(channel: Channel, method: m.BasicPublish, header: codec.Header) -> bool:
    """Is it on its way to one quorum queue without limits, and nowhere else?"""
    queue = channel.vhost.queues.get(method.routing_key) if not method.exchange and not header.headers else None
    if queue is None or queue.quorum is None or channel.transaction is not None:
        return False
    return not queue.settings.length_limited() and header.expiration is None and not method.immediate


@variation(
    "settle.late",
    "let a settlement take effect late: slots, requeues and dead letters follow later",
    f'{GUIDE}, "Channel Prefetch Setting (QoS)": acknowledgements are "inherently asynchronous in nature"',
    share=SHARES,
    ticks=TICKS,
)
def settle_late(free: Free) -> None:
    waits(free)
    honest = free.parts.channel

    def settle(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        box = mailbox(self, free)
        if self.transaction is None and (box.effects or free.luck()):
            box.put(MAY_OVERTAKE_SETTLEMENTS, lambda: honest.settle(self, deliveries, fate))
        else:
            honest.settle(self, deliveries, fate)

    publish = free.parts.publish

    def patient_publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        mailbox(channel, free).wait(m.BasicPublish)
        publish(channel, method, header, body)

    free.parts.override("channel", settle=settle)
    free.parts.publish = patient_publish


@variation(
    "close.returns-late",
    "return what a closed channel held only after close-ok, where nothing ties them",
    f'{GUIDE}, "When Consumers Fail or Lose Connection: Automatic Requeueing": what was not acknowledged is requeued '
    "when its channel is closed; whether before or after the reply is not said",
    ticks=TICKS,
)
def returns_late(free: Free) -> None:
    def end(self: Channel) -> None:
        served = {consumer.queue for consumer in self.consumers.values()}
        self.stop()
        held = self.leaving(self.unacked.everything())
        late = [one for one in held if one.queue.quorum is not None or one.queue not in served]
        self.finish([one for one in held if one not in late], fates.failed)
        if late:
            free.put_off(lambda: self.finish(late, fates.failed))

    free.parts.override("channel", end=end)


@variation(
    "requeue.closer-to-head",
    "put what comes back to a queue of several consumers closer to its head than it stood",
    f'{GUIDE}, "Negative Acknowledgement and Requeuing of Deliveries": a message is requeued "to its original position '
    "in its queue, if possible. If not (due to concurrent deliveries and acknowledgements from other consumers when "
    'multiple consumers share a queue), the message will be requeued to a position closer to queue head"',
    share=SHARES,
    places=(3, 30),
)
def closer_to_head(free: Free) -> None:
    parts = free.parts
    channel, queue, ready = parts.channel, parts.queue, parts.ready
    nearer: list[float] = []
    """By how many places all that one settlement returns is moved: it stays in order."""
    moved: set[Entry] = set()

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        nearer.append(free.chance.random() * free.given["places"] if free.luck() else 0)
        channel.finish(self, deliveries, fate)
        nearer.pop()

    def put_back(self: Queue, entry: Entry) -> None:
        if len(self.consumers) > 1:
            moved.add(entry)
        queue.put_back(self, entry)
        moved.discard(entry)

    def rank(self: Ready, entry: Entry) -> float:
        """Smaller is sooner."""
        shifted = nearer and self.order == "original" and entry in moved
        return ready.rank(self, entry) - (nearer[-1] if shifted else 0)

    parts.override("channel", finish=finish)
    parts.override("queue", put_back=put_back)
    parts.override("ready", rank=rank)
