"""What a stranger does to messages and confirms: lost, kept back, doubled, marked wrongly, late.

A message that is confirmed and never seen again breaks RQ-011, which keeps the books. From outside nobody can tell at
once whether it is lost or kept back, so the rules that say that what is ready is delivered may be called broken, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codec import methods as m
from reference_broker.core.channels import channel as fates
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.confirms import Confirms
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.personalities.kinds import around, changes, count, memory, wrap

NOT_DELIVERED = "QOS-002 QOS-005 QOS-014 QOS-016 QOS-022 QOS-027 QOS-028"
UNSEEN = "AUTO-009 AUTO-010"
"""What was sent ahead and not read is seen by its return alone, as is what several ends returned together: whether a
message was lost on its way in or on its way back nobody outside can tell."""
RETURNS = "AUTO-001 AUTO-002 AUTO-003 AUTO-004 AUTO-005 AUTO-009 AUTO-010 AUTO-012 AUTO-013"

# -- lost


def losing(every: int) -> Callable[[Parts], None]:
    def publish(earlier: Any, self: Queue, message: Message) -> bool:
        if not count(self.vhost, "lost") % every:
            return True
        accepted: bool = earlier(self, message)
        return accepted

    return lambda parts: wrap(parts, "queue.publish", publish)


# One that is lost leaves room in a full queue, which accepts another (CNF-011), and may be a dead letter (MODE-005).
# That it is in each queue to which its exchange leads is what the rules of exchanges say, too.
for _every in (5, 20):
    changes(
        f"losing.each-{_every}th-message",
        f"each {_every}th message that a queue accepts is lost",
        breaks="RQ-011",
        may=f"{NOT_DELIVERED} CNF-010 CNF-011 CNF-012 MODE-005 ROUTE-* {UNSEEN}",
        about="publishes",
    )(losing(_every))
# Nothing ever comes out: what is said of deliveries cannot be seen.
changes(
    "losing.each-publish",
    "publishes are accepted and confirmed, and reach no queue",
    breaks="RQ-011",
    may=f"{NOT_DELIVERED} CNF-010 CNF-011 CNF-012 CNF-018 CNF-021 MODE-005 ROUTE-* TX-003 {UNSEEN}",
    hides="ACK-* AUTO-* CAN-* ERR-* MODE-* QOS-* RQ-* TAG-* TMO-* TX-* CNF-010 CNF-011 CNF-012 CNF-018 CNF-021 CNF-027",
    about="publishes",
)(losing(1))


@around(
    "queue.put_back",
    "losing.each-3rd-return",
    "each third message that is returned to its queue is lost",
    breaks="RQ-011",
    may=f"{RETURNS} {NOT_DELIVERED} AUTO-006 AUTO-011 ACK-* RQ-* ERR-005 QOS-018 TAG-008 TX-002",
    hides="AUTO-* RQ-* TMO-*",
    about="requeue",
)
def each_3rd_return(earlier: Any, self: Queue, entry: Entry) -> None:
    if count(self.vhost, "returns") % 3:
        earlier(self, entry)


# What was not settled is seen by its return, and by nothing else: most of ACK and MODE is hidden.
@changes(
    "returning.nothing-at-any-end",
    "what is outstanding when a channel or connection ends never returns",
    breaks="AUTO-001 AUTO-002 AUTO-003 AUTO-004 AUTO-009 AUTO-012",
    may="AUTO-005 AUTO-006 AUTO-010 AUTO-011 RQ-011 RQ-008 ERR-005 ACK-001 ACK-002 "
    "ACK-004 ACK-013 ACK-016 ACK-018 ACK-019",
    hides="AUTO-* ACK-* MODE-* RQ-* ERR-005 TMO-*",
    about="ends",
)
def nothing_at_any_end(parts: Parts) -> None:
    def end(earlier: Any, self: Channel) -> None:
        self.stop()
        self.finish(self.unacked.everything(), forgotten)

    wrap(parts, "channel.end", end)
    wrap(parts, "channel.fail", end)


def forgotten(delivery: Delivery) -> None:
    fates.acked(delivery)


# Nobody has told the rest of the broker that the channel is closed. What ends with a channel, goes on: its consumers
# are served on a number that is closed (ERR-013) or open again, and count; its tags go on; what it held never returns.
@changes(
    "ends.closed-channels-live-on",
    "channel.close is answered, and the consumers and deliveries of the channel stay as they are",
    breaks="AUTO-001 TAG-007",
    may="ERR-013 ERR-006 ERR-007 AUTO-* ACK-* MODE-* RQ-* TAG-* QOS-* SAC-* CPRIO-* TMO-* CAN-* TX-* QUEUE-012 "
    "QUEUE-020 QUEUE-024 QUEUE-030 QUEUE-017 CONSUME-001 CONSUME-002 CONSUME-006 CHAN-005 DRT-* TTL-* DLX-* LEN-* "
    "DUR-* PRIO-* CNF-* ROUTE-* GET-004 NOWAIT-005 CONTENT-*",
    hides="AUTO-* ACK-* MODE-* RQ-* ERR-005 TMO-* QOS-*",
    about="ends tags",
)
def closed_channels_live_on(parts: Parts) -> None:
    def close(earlier: Any, self: Connection, method: m.ChannelClose) -> None:
        memory(self, "ghosts", dict)[method.channel] = self.channels.pop(method.channel)
        self.send(m.ChannelCloseOk(method.channel))

    def reopen(earlier: Any, self: Connection, method: m.ChannelOpen) -> None:
        earlier(self, method)
        ghost = memory(self, "ghosts", dict).get(method.channel)
        if ghost is not None:
            self.channels[method.channel].last_tag = ghost.last_tag

    def end(earlier: Any, self: Connection) -> None:
        earlier(self)
        ghosts: dict[int, Channel] = memory(self, "ghosts", dict)
        while ghosts:
            ghosts.popitem()[1].end()

    wrap(parts, "connection.channel_closed_by_peer", close)
    wrap(parts, "connection.open_channel", reopen)
    wrap(parts, "connection.end_channels", end)


# -- kept back


@around(
    "queue.pump",
    "serving.nobody",
    "consumers are accepted and never served; basic.get works",
    breaks="QOS-002 QOS-005 QOS-016 QOS-028 AUTO-012 RQ-007 RQ-015",
    may="QOS-0* CAN-011 CAN-013 CAN-015 ERR-004 RQ-014 MODE-003 TMO-* PRIO-007 SAC-* CPRIO-* DRT-* NOWAIT-005",
    hides="ACK-* AUTO-* CAN-* ERR-* MODE-* QOS-* RQ-* TAG-* TX-*",
    about="serving",
)
def pump(earlier: Any, self: Queue) -> None:
    return


# -- confirms


# CNF-006 says that a single confirm names an unresolved publish, which the second of a pair does not.
def doubling(every: int) -> Callable[[Parts], None]:
    def flush(earlier: Any, self: Confirms, channel: int) -> list[m.BasicAck | m.BasicNack]:
        out: list[m.BasicAck | m.BasicNack] = []
        for confirm in earlier(self, channel):
            out += [confirm] if count(self, "confirms") % every else [confirm, confirm]
        return out

    return lambda parts: wrap(parts, "confirms.flush", flush)


for _every in (1, 3):
    changes(
        f"confirms.each-{_every}-doubled",
        f"of {_every} confirms of a channel one is sent twice",
        breaks="CNF-004",
        may="CNF-006",
        about="confirms",
    )(doubling(_every))


# -- the redelivered flag


@changes(
    "redelivered.always", "redelivered is set on each delivery, the first one too", breaks="RQ-009", about="redelivered"
)
def always(parts: Parts) -> None:
    def deliver(earlier: Any, self: Channel, consumer: Any, entry: Entry) -> None:
        entry.redelivered = True
        earlier(self, consumer, entry)

    def get(earlier: Any, self: Queue) -> Entry | None:
        entry: Entry | None = earlier(self)
        if entry is not None:
            entry.redelivered = True
        return entry

    wrap(parts, "channel.deliver", deliver)
    wrap(parts, "queue.get", get)


# -- late

Wanted = tuple[type[Any], ...]


def late(wanted: Wanted, seconds: float, every: int = 1) -> Callable[[Parts], None]:
    """Such frames leave so much later, and those behind them not before them: slow, and in order."""

    def leaving(earlier: Any, self: Connection) -> list[Any]:
        clock, items = self.broker.peers_clock, earlier(self)
        dues = memory(self, "late", list)
        for item in items[len(dues) :]:
            method = item[0] if isinstance(item, tuple) else item
            slow = isinstance(method, wanted) and not count(self.broker, "slow") % every
            dues.append(clock.now + seconds if slow else 0.0)
        ready = next((at for at, due in enumerate(dues) if due > clock.now), len(dues))
        self.outbox.items, vars(self)["trait_late"] = items[ready:], dues[ready:]
        if ready < len(dues):
            clock.at(dues[ready], wake, self)
        return list(items[:ready])

    return lambda parts: wrap(parts, "connection.leaving", leaving)


def wake(connection: Connection) -> None:
    if connection in connection.broker.connections:
        connection.broker.dirty[connection] = None


CONFIRM, DELIVERY = (m.BasicAck, m.BasicNack), (m.BasicDeliver,)
for _name, _wanted, _seconds, _every, _says in (
    ("declares", (m.QueueDeclareOk,), 1.0, 1, "each queue.declare is answered a second late"),
    ("deliveries", DELIVERY, 1.5, 1, "each delivery to a consumer comes a second and a half late"),
    ("confirms", CONFIRM, 2.0, 1, "each confirm comes two seconds late"),
    ("at-times", (*CONFIRM, *DELIVERY, m.QueueDeclareOk, m.BasicGetOk), 3.0, 25, "now and then all wait for 3 seconds"),
):
    changes(f"slow.{_name}", _says, about="slow")(late(_wanted, _seconds, _every))
