"""Other decisions of strangers: windows, notices, immediate, hard errors, crashes, limits of a connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import AmqpException, ConnectionException
from reference_broker.core.parts import Handler, Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.personalities.kinds import around, around_handler, changes, wrap, wrap_handler


# A count set without global changes what running consumers may have (QOS-004), also beyond what they were started with
# (QOS-001, QOS-005), and replaces one set with global (QOS-006 to QOS-008). One consumer takes the slots of another.
@around_handler(
    m.BasicQos,
    "prefetch.one-window",
    "all consumers of a channel share one window, whichever basic.qos sets it",
    breaks="QOS-003 QOS-004 QOS-007 QOS-008 QOS-020",
    may="QOS-001 QOS-002 QOS-005 QOS-006 QOS-011 QOS-013 QOS-015 QOS-022 QOS-027 CAN-011",
    about="prefetch slots",
)
def one_window(earlier: Handler, channel: Channel, method: m.BasicQos) -> None:
    method.global_ = True
    earlier(channel, method)


# -- immediate, which a broker may honour


@changes("immediate.honoured", "an immediate publish that no consumer can take is returned with 313", about="immediate")
def honoured(parts: Parts) -> None:
    earlier = parts.publish

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        immediate, method.immediate = method.immediate, False
        if immediate and unserved(channel, method):
            give_back(channel, method, header, body)
        else:
            earlier(channel, method, header, body)

    parts.publish = publish


def unserved(channel: Channel, method: m.BasicPublish) -> bool:
    """It would reach queues, and not at once a consumer on each of them."""
    message = Message(method.exchange, method.routing_key, codec.header(60, 0), b"")
    if method.exchange and method.exchange not in channel.vhost.exchanges:
        return False
    found = [queue for queue in channel.vhost.route(method.exchange, message) if isinstance(queue, Queue)]
    return any(not any(one.obstacle() is None for one in queue.consumers) for queue in found)


def give_back(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    message = Message(method.exchange, method.routing_key, header, body)
    returned = m.BasicReturn(channel.number, 313, "NO_CONSUMERS", method.exchange, method.routing_key)
    channel.connection.send_content(returned, message)
    if channel.confirms is not None:
        channel.confirms.accept(channel.confirms.next())
        channel.connection.confirm(channel)


# -- errors


REFUSED_BY_CHANNEL = (
    "CONTENT-006 GET-001 GET-002 NOWAIT-006 CONSUME-001 CONSUME-002 CONSUME-003 CHAN-007 CPRIO-004 DRT-001 DRT-002 "
    "DRT-003 DRT-008 DRT-009 DRT-010 DRT-011 QUEUE-001 QUEUE-004 QUEUE-005 QUEUE-006 QUEUE-007 QUEUE-008 QUEUE-009 "
    "QUEUE-012 QUEUE-013 QUEUE-014 QUEUE-015 QUEUE-016 QUEUE-024 QUEUE-026 QUEUE-028 QUEUE-035 QUEUE-037 EXCH-001 "
    "EXCH-002 EXCH-003 EXCH-004 EXCH-008 EXCH-009 EXCH-010 EXCH-011 EXCH-012 EXCH-013 BIND-001 BIND-002 BIND-003 "
    "BIND-006 BIND-010 BIND-015 TTL-009 AUTH-00* AUTH-010 AUTH-011 AUTH-012 AUTH-013 AUTH-017 AUTH-020 AUTH-021 "
    "AUTH-022 AUTH-031"
)
"""Rules of names, routes, contents and rights that say the same of one mistake each."""
CLOSED_IN_WORDS = (
    "CHAN-001 CHAN-004 CHAN-009 CONN-008 CONN-018 FRAME-003 FRAME-004 FRAME-005 FRAME-006 FRAME-007 FRAME-008 "
    "FRAME-009 FRAME-011 FRAME-012 FRAME-013 FRAME-014 FRAME-015 FRAME-016"
)
"""Rules of octets, handshakes and numbers of channels that say by which code a mistake costs the connection."""


# By the words of each of these rules a channel is closed, with 406 or 404, and the connection lives on.
@around(
    "connection.close_channel",
    "errors.all-hard",
    "each channel error is reported by connection.close, with the same code",
    breaks="ERR-001 ERR-002 ERR-004 ACK-010 MODE-006 TX-001 TX-004 CNF-016 CNF-019 TAG-009",
    may=f"ERR-003 ERR-005 ERR-006 ERR-007 ERR-008 ERR-011 ACK-009 ACK-011 AUTO-004 TAG-007 TMO-* {REFUSED_BY_CHANNEL}",
    hides="ERR-* AUTO-004 ACK-* MODE-006 TX-* TAG-*",
    about="errors",
)
def all_hard(earlier: Any, self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
    self.close(error, offender)


# These rules say that the mistake brings connection.close, by name and code.
@around(
    "connection.close",
    "errors.hard-without-a-word",
    "where the connection is to be closed for a mistake, it is cut off without connection.close",
    breaks="ERR-009 ERR-010 CAN-018",
    may=f"QOS-023 QOS-025 CAN-017 TMO-014 {CLOSED_IN_WORDS}",
    hides="ERR-009 ERR-010",
    about="close",
)
def close(earlier: Any, self: Connection, error: AmqpException, offender: tuple[int, int]) -> None:
    self.end_channels()
    self.finish()


# ERR-012 forbids 541 for lawful use, and leaves a close that another rule speaks about to that rule: either word.
def crash() -> ConnectionException:
    return ConnectionException(ReplyCode.INTERNAL_ERROR)


def crashing(*methods: type[codec.Method], when: Callable[[Channel, Any], bool]) -> Callable[[Parts], None]:
    """Such a method closes the connection with 541."""

    def handle(earlier: Handler, channel: Channel, method: Any) -> None:
        if when(channel, method):
            raise crash()
        earlier(channel, method)

    def apply(parts: Parts) -> None:
        for method in methods:
            wrap_handler(parts, method, handle)

    return apply


def everything(channel: Channel, method: m.BasicAck | m.BasicNack) -> bool:
    return method.multiple and not method.delivery_tag


changes(
    "crash.settle-everything",
    "to settle everything (tag 0, multiple) closes the connection with 541",
    breaks="ACK-006 ACK-007 ACK-008",
    may="ACK-004 ACK-011 ACK-014 ERR-012",
    hides="ACK-004 ACK-011 ACK-014",
    about="crash nack",
)(crashing(m.BasicAck, m.BasicNack, when=everything))
# ACK-006 to ACK-008 say "never an error", and not on which channels; who does not try transactions has missed little.
changes(
    "crash.settle-everything-in-transaction",
    "to settle everything in a transaction is answered with 541",
    may="ACK-006 ACK-007 ACK-008 ACK-011 TX-001 TX-002 TX-003 ERR-012",
    hides="TX-* QOS-026 AUTO-006",
    about="crash transactions",
)(
    crashing(
        m.BasicAck,
        m.BasicNack,
        when=lambda channel, method: channel.transaction is not None and everything(channel, method),
    )
)
# A reject is to have the effect of a nack (ACK-012), to settle one delivery (ACK-019) and to remove or return it. What
# settling unknown tags brings is said of each method that settles.
changes(
    "crash.reject",
    "basic.reject closes the connection with 541",
    breaks="ACK-012 ACK-019",
    may="ACK-009 ACK-013 ACK-017 MODE-005 MODE-006 ERR-001 ERR-002 ERR-003 ERR-004 RQ-* QOS-010 QOS-018 QOS-019 "
    "TAG-009 TMO-* ERR-012",
    hides="RQ-* MODE-005 QOS-018 ACK-009",
    about="crash",
)(crashing(m.BasicReject, when=lambda channel, method: True))


# -- what a connection may have, and how it ends


def tuning(**limits: int) -> Callable[[Parts], None]:
    """Less than usual is offered."""

    def send(earlier: Any, self: Connection, item: Any) -> None:
        if isinstance(item, m.ConnectionTune):
            for name, value in limits.items():
                setattr(item, name, value)
            self.channel_max, self.outbox.frame_max = item.channel_max, item.frame_max
        earlier(self, item)

    return lambda parts: wrap(parts, "connection.send", send)


changes("tune.small-frames", "no frame may be larger than 4096 octets", about="frames")(tuning(frame_max=4096))
changes("tune.few-channels", "a connection may have eight channels", about="channels")(tuning(channel_max=8))


# AUTO-005 speaks of heartbeats that were negotiated.
@changes("tune.no-heartbeat", "no heartbeats are offered, sent or expected", hides="AUTO-005", about="silence")
def no_heartbeat(parts: Parts) -> None:
    def beat(earlier: Any, self: Connection) -> None:
        return

    tuning(heartbeat=0)(parts)
    wrap(parts, "connection.beat", beat)


@around(
    "queue.leave",
    "queues.never-deleted-by-themselves",
    "auto-delete is accepted, and nothing comes of it",
    breaks="QUEUE-024",
    about="auto-delete",
)
def leave(earlier: Any, self: Queue, consumer: Any) -> None:
    asked, self.auto_delete = self.auto_delete, False
    earlier(self, consumer)
    self.auto_delete = asked
