"""Small conversations about everything that real clients lean on, played on two brokers that must answer alike.

Each is a list of things to send on channel 1 of one connection; `Other` speaks on a second connection, and `Await`
waits until so many frames of a kind have come, where a broker may take its time (deliveries, notices).
"""

from __future__ import annotations

from dataclasses import dataclass

import codec
from codec import methods as m
from codec import values

MARK = "0123456789"
"""Stands in all names for what is another each time a conversation is played, and equally long."""
NAME = f"amqp-conformance.breadth.{MARK}"
Q, R, X, Y = (f"{NAME}.{letter}" for letter in "qrxy")
NOWHERE = f"{NAME}.nowhere"
REPLY_TO = "amq.rabbitmq.reply-to"


@dataclass(frozen=True)
class Other:
    """Sent on the second connection."""

    item: object


@dataclass(frozen=True)
class Await:
    """Read the first connection until it has said this so often."""

    kind: type
    times: int = 1


def queue(name=Q, *, exclusive=True, **how):
    table = {f"x-{key.replace('_', '-')}": value for key, value in how.pop("x", {}).items()}
    return m.QueueDeclare(1, 0, name, exclusive=exclusive, arguments=values.table(table), **how)


def typed(name, letter, value):
    """A declaration whose one argument has this type on the wire."""
    return m.QueueDeclare(1, 0, Q, exclusive=True, arguments=[(name, letter, value)])


def exchange(name=X, kind="direct", **how):
    arguments = values.table(how.pop("arguments", {}))
    return m.ExchangeDeclare(1, 0, name, kind, auto_delete=how.pop("auto_delete", True), arguments=arguments, **how)


def bind(key="k", name=Q, to=X, **arguments):
    return m.QueueBind(1, 0, name, to, key, arguments=values.table(arguments))


def unbind(key="k", name=Q, to=X):
    return m.QueueUnbind(1, 0, name, to, key)


def join(source, destination, key="k"):
    """An exchange bound to another."""
    return m.ExchangeBind(1, 0, destination, source, key)


def put(*bodies, key=Q, to="", mandatory=False, **properties):
    method = m.BasicPublish(1, 0, to, key, mandatory)
    return b"".join(codec.content(method, body.encode(), **properties) for body in bodies)


def gets(times=1, name=Q):
    return m.BasicGet(1, 0, name, True).encode() * times


def consume(tag="c", name=Q, priority=None, **how):
    arguments = [] if priority is None else [("x-priority", "I", priority)]
    return m.BasicConsume(1, 0, name, tag, arguments=arguments, **how)


def headers(**fields):
    return values.table(fields)


def keys(*names):
    return [("S", name.encode()) for name in names]


DLX = {"dead_letter_exchange": "", "dead_letter_routing_key": R}

EXCHANGES = {
    "passive exchange": [m.ExchangeDeclare(1, 0, "amq.topic", "", passive=True)],
    "passive exchange, missing": [m.ExchangeDeclare(1, 0, X, "direct", passive=True)],
    "passive exchange, another type": [m.ExchangeDeclare(1, 0, "amq.topic", "fanout", passive=True)],
    "reserved exchange": [exchange("amq.mine")],
    "reserved exchange of a bad type": [exchange("amq.mine", "odd")],
    "declare the default exchange": [exchange("", "direct")],
    "passive default exchange": [m.ExchangeDeclare(1, 0, "", "direct", passive=True)],
    "delete the default exchange": [m.ExchangeDelete(1, 0, "")],
    "delete a reserved exchange": [m.ExchangeDelete(1, 0, "amq.mine")],
    "delete a missing exchange": [m.ExchangeDelete(1, 0, X), m.ExchangeDelete(1, 0, X, if_unused=True)],
    "exchange in use": [exchange(), queue(), bind(), m.ExchangeDelete(1, 0, X, if_unused=True)],
    "exchange, another durability": [exchange(), exchange(durable=True)],
    "exchange, another auto-delete": [exchange(), exchange(auto_delete=False)],
    "exchange, another internal": [exchange(), exchange(internal=True)],
    "exchange, another type": [exchange(), exchange(kind="topic")],
    "exchange, another alternate": [exchange(), exchange(arguments={"alternate-exchange": "amq.fanout"})],
    "alternate of a bad type": [exchange(arguments={"alternate-exchange": 5})],
    "exchange with unknown arguments": [exchange(arguments={"x-odd": 5}), exchange(arguments={"x-odd": 6})],
    "internal exchange": [exchange(internal=True), put("1", to=X)],
    "internal exchange by way of another": [
        exchange(),
        exchange(Y, internal=True),
        queue(),
        join(X, Y),
        bind(to=Y),
        put("1", to=X, key="k"),
        gets(2),
    ],
    "no such source": [exchange(), join(Y, X)],
    "no such destination": [exchange(), join(X, Y)],
    "bind the default exchange": [exchange(), join("", X)],
    "bind to the default exchange": [exchange(), join(X, "")],
    "unbind what is not there": [exchange(), m.ExchangeUnbind(1, 0, Y, X, "k"), m.ExchangeUnbind(1, 0, X, Y, "k")],
    "exchanges in a circle": [
        exchange(kind="fanout"),
        exchange(Y, "fanout"),
        queue(),
        join(X, Y),
        join(Y, X),
        bind(to=Y),
        put("1", to=X),
        gets(2),
    ],
    "unbound exchanges": [
        exchange(auto_delete=False),
        exchange(Y),
        queue(),
        join(X, Y),
        bind(to=Y),
        m.ExchangeUnbind(1, 0, Y, X, "k"),
        put("1", to=X, key="k"),
        gets(),
        m.ExchangeDelete(1, 0, X),
    ],
    "auto-delete after unbind": [exchange(), queue(), bind(), unbind(), m.ExchangeDeclare(1, 0, X, "", passive=True)],
    "auto-delete after the queue": [
        exchange(),
        queue(),
        bind(),
        m.QueueDelete(1, 0, Q),
        m.ExchangeDeclare(1, 0, X, "", passive=True),
    ],
    "auto-delete of an exchange bound to": [
        exchange(auto_delete=False),
        exchange(Y),
        join(X, Y),
        m.ExchangeUnbind(1, 0, Y, X, "k"),
        m.ExchangeDelete(1, 0, X),
        m.ExchangeDeclare(1, 0, Y, "", passive=True),
        m.ExchangeDelete(1, 0, Y),
    ],
    "alternate exchange": [
        exchange(Y, "fanout"),
        exchange(arguments={"alternate-exchange": Y}),
        queue(),
        bind(to=Y),
        put("1", to=X, key="none", mandatory=True),
        gets(2),
    ],
    "alternate exchange, missing": [
        exchange(arguments={"alternate-exchange": Y}),
        put("1", to=X, key="none", mandatory=True),
        m.ExchangeDelete(1, 0, X),
    ],
    "alternates in a circle": [
        exchange(Y, arguments={"alternate-exchange": X}),
        exchange(arguments={"alternate-exchange": Y}),
        put("1", to=X, key="none", mandatory=True),
        m.ExchangeDelete(1, 0, X),
        m.ExchangeDelete(1, 0, Y),
    ],
    "direct": [exchange(), queue(), bind("a"), bind("b"), put("1", to=X, key="a"), put("2", to=X, key="c"), gets(2)],
    "fanout": [exchange(kind="fanout"), queue(), bind("a"), bind("b"), put("1", to=X, key="z"), gets(2)],
    "topic words": [
        exchange(kind="topic"),
        queue(),
        bind("#.b.*"),
        put("1", to=X, key="b.c"),
        put("2", to=X, key="a.b.b"),
        put("3", to=X, key="a.b"),
        put("4", to=X, key="b."),
        put("5", to=X, key=".b.c"),
        gets(5),
    ],
    "topic, empty key": [
        exchange(kind="topic"),
        queue(),
        bind("*"),
        queue(R),
        bind("#", R),
        put("1", to=X, key=""),
        gets(),
        gets(1, R),
    ],
    "headers all": [
        exchange(kind="headers"),
        queue(),
        bind(a=1, b="x"),
        put("1", to=X, headers=headers(a=1, b="x", c=2)),
        put("2", to=X, headers=headers(a=1)),
        put("3", to=X, headers=headers(a="1", b="x")),
        put("4", to=X),
        gets(2),
    ],
    "headers any": [
        exchange(kind="headers"),
        queue(),
        m.QueueBind(1, 0, Q, X, "", arguments=headers(**{"x-match": "any"}, a=1, b=2)),
        put("1", to=X, headers=headers(b=2)),
        put("2", to=X, headers=headers(b=3)),
        gets(2),
    ],
    "headers, nothing wanted": [exchange(kind="headers"), queue(), bind(), put("1", to=X), gets()],
    "headers, any of nothing": [
        exchange(kind="headers"),
        queue(),
        m.QueueBind(1, 0, Q, X, "", arguments=headers(**{"x-match": "any"})),
        put("1", to=X),
        gets(),
    ],
    "headers, x- fields": [
        exchange(kind="headers"),
        queue(),
        m.QueueBind(1, 0, Q, X, "", arguments=headers(**{"x-a": 1, "b": 2})),
        put("1", to=X, headers=headers(b=2)),
        gets(),
    ],
    "headers, bad x-match": [
        exchange(kind="headers"),
        queue(),
        m.QueueBind(1, 0, Q, X, "", arguments=headers(**{"x-match": "odd"})),
    ],
    "headers, x-match of a bad type": [
        exchange(kind="headers"),
        queue(),
        m.QueueBind(1, 0, Q, X, "", arguments=headers(**{"x-match": 5})),
    ],
    "headers, presence": [
        exchange(kind="headers"),
        queue(),
        bind(a=None),
        put("1", to=X, headers=headers(a=7)),
        put("2", to=X),
        gets(2),
    ],
}

QUEUES = {
    "passive queue": [queue(), put(*"12"), m.QueueDeclare(1, 0, Q, passive=True)],
    "passive queue, missing": [m.QueueDeclare(1, 0, Q, passive=True)],
    "passive queue, reserved": [m.QueueDeclare(1, 0, "amq.none", passive=True)],
    "passive queue, no name": [queue(), m.QueueDeclare(1, 0, "", passive=True)],
    "the last queue": [
        queue(),
        put("1"),
        m.BasicGet(1, 0, "", True),
        m.QueuePurge(1),
        m.QueueBind(1, 0, "", "amq.direct", ""),
        put("2", to="amq.direct", key=Q),
        gets(),
        m.QueueDelete(1, 0, ""),
        m.BasicGet(1, 0, ""),
    ],
    "bind the last queue by a key": [
        queue(),
        m.QueueBind(1, 0, "", "amq.direct", NOWHERE),
        put("2", to="amq.direct", key=NOWHERE),
        gets(),
        m.QueueUnbind(1, 0, "", "amq.direct", NOWHERE),
        put("2", to="amq.direct", key=NOWHERE),
        gets(),
    ],
    "no last queue to consume": [m.BasicConsume(1, 0, "", "c")],
    "no last queue to purge": [m.QueuePurge(1)],
    "no last queue to delete": [m.QueueDelete(1)],
    "no last queue to bind": [m.QueueBind(1, 0, "", "amq.direct", "k")],
    "reserved queue": [m.QueueDeclare(1, 0, "amq.gen-mine", exclusive=True)],
    "queue, another durability": [
        queue(R, exclusive=False, durable=True, x={"expires": 2000}),
        queue(R, exclusive=False, durable=False, x={"expires": 2000}),
    ],
    "exclusive queue, another durability": [queue(), queue(durable=True)],
    "queue, another auto-delete": [queue(), queue(auto_delete=True)],
    "queue, more arguments": [queue(), queue(x={"expires": 1000})],
    "queue, fewer arguments": [queue(x={"expires": 1000}), queue()],
    "queue, another argument": [queue(x={"dead_letter_exchange": "a"}), queue(x={"dead_letter_exchange": "b"})],
    "queue, an argument of another type": [typed("x-expires", "I", 9000), typed("x-expires", "l", 9000)],
    "queue, another unknown argument": [queue(x={"odd": 1}), queue(x={"odd": 2}), queue()],
    "delete what is in use": [queue(), consume(), m.QueueDelete(1, 0, Q, if_unused=True)],
    "delete what is neither": [queue(), consume(), put("1"), Await(m.BasicDeliver), m.QueueDelete(1, 0, Q, True, True)],
    "delete what is idle": [queue(), m.QueueDelete(1, 0, Q, True, True)],
    "delete a missing queue": [m.QueueDelete(1, 0, Q, True, True)],
    "purge a missing queue": [m.QueuePurge(1, 0, Q)],
    "consume a missing queue": [consume()],
    "bind a missing queue": [bind(to="amq.direct")],
    "bind to a missing exchange": [queue(), bind()],
    "unbind a missing queue": [unbind(to="amq.direct")],
    "unbind a missing exchange": [queue(), unbind()],
    "unbind a missing binding": [queue(), unbind("none", to="amq.direct")],
    "unbind from the default exchange": [queue(), unbind(Q, to="")],
    "auto-delete queue": [
        queue(auto_delete=True),
        consume(),
        m.BasicCancel(1, "c"),
        m.QueueDeclare(1, 0, Q, passive=True),
    ],
    "no-wait": [
        queue(no_wait=True),
        exchange(no_wait=True),
        m.QueueBind(1, 0, Q, X, "k", True),
        put("1", to=X, key="k"),
        consume(no_wait=True, no_ack=True),
        Await(m.BasicDeliver),
        m.BasicCancel(1, "c", True),
        put("2"),
        m.QueuePurge(1, 0, Q, True),
        m.ConfirmSelect(1, True),
        m.ExchangeDelete(1, 0, X, False, True),
        m.QueueDelete(1, 0, Q, False, False, True),
        m.QueueDeclare(1, 0, Q, passive=True),
    ],
    "no-wait that fails": [m.QueueDeclare(1, 0, "amq.mine", no_wait=True)],
    "expires zero": [queue(x={"expires": 0})],
    "expires as text": [queue(x={"expires": "5"})],
    "ttl too large": [queue(x={"message_ttl": 2**33})],
    "max length negative": [queue(x={"max_length": -1})],
    "max length as text": [queue(x={"max_length": "5"})],
    "max octets negative": [queue(x={"max_length_bytes": -1})],
    "too many priorities": [queue(x={"max_priority": 256})],
    "negative priorities": [queue(x={"max_priority": -1})],
    "another number of priorities": [queue(x={"max_priority": 2}), queue(x={"max_priority": 3})],
    "dead letter exchange as a number": [queue(x={"dead_letter_exchange": 5})],
    "dead letter key as a number": [queue(x={"dead_letter_exchange": "", "dead_letter_routing_key": 5})],
    "overflow as a number": [queue(x={"overflow": 5})],
    "unknown queue type": [queue(x={"queue_type": "odd"})],
    "queue type as a number": [queue(x={"queue_type": 5})],
    "classic by name": [queue(x={"queue_type": "classic"}), queue(), queue(x={"queue_type": "quorum"})],
    "exclusive quorum": [queue(durable=True, x={"queue_type": "quorum"})],
    "transient quorum": [queue(exclusive=False, x={"queue_type": "quorum"})],
    "single active as text": [queue(x={"single_active_consumer": "yes"})],
    "queue mode": [queue(x={"queue_mode": "odd"})],
    "queue mode lazy": [queue(x={"queue_mode": "lazy"}), queue(x={"queue_mode": "default"})],
    "queue version": [queue(x={"queue_version": 3})],
    "queue version as text": [queue(x={"queue_version": "2"})],
    "delivery limit on classic": [queue(x={"delivery_limit": 5})],
    "leader locator": [queue(x={"queue_leader_locator": "odd"})],
    "stream's arguments": [queue(x={"max_age": "5m"})],
    "dead letter strategy": [queue(x={"dead_letter_strategy": "at-least-once"})],
}

LOCKED = {
    f"locked, {what}": [queue(), bind(Q, to="amq.fanout"), Other(item)]
    for what, item in {
        "declare": queue(), "declare shared": queue(exclusive=False), "passive": m.QueueDeclare(1, 0, Q, passive=True),
        "get": gets(), "consume": consume(), "purge": m.QueuePurge(1, 0, Q), "delete": m.QueueDelete(1, 0, Q),
        "bind": bind(to="amq.direct"), "unbind": unbind(to="amq.direct"),
        "unbind what is bound": unbind(Q, to="amq.fanout"), "publish": put("1", mandatory=True),
    }.items()
}  # fmt: skip

MESSAGES = {
    "expiration zero": [queue(), put("1", expiration="0"), gets()],
    "expiration with blanks": [queue(), put("1", expiration=" 5")],
    "expiration negative": [queue(), put("1", expiration="-5")],
    "expiration too large": [queue(), put("1", expiration="99999999999")],
    "expiration empty": [queue(), put("1", expiration="")],
    "expired to another queue": [
        queue(R), queue(x=DLX), put("1", expiration="0"), consume("r", R, no_ack=True),
        Await(m.BasicDeliver),
    ],
    "queue ttl to another queue": [
        queue(R), queue(x={**DLX, "message_ttl": 0}), put("1"), consume("r", R, no_ack=True), Await(m.BasicDeliver),
    ],
    "over the limit to another queue": [
        queue(R), queue(x={**DLX, "max_length": 1}), put(*"123"), consume("r", R, no_ack=True),
        Await(m.BasicDeliver, 2),
    ],
    "over the octets": [queue(x={"max_length_bytes": 5}), put("123", "456", "78"), gets(3)],
    "limit zero": [queue(x={"max_length": 0}), put("1", mandatory=True), gets()],
    "reject publish": [
        queue(x={"max_length": 1, "overflow": "reject-publish"}), m.ConfirmSelect(1), put("1"), Await(m.BasicAck),
        put("2"), Await(m.BasicNack), gets(2),
    ],
    "reject publish, to another queue": [
        queue(R), queue(x={**DLX, "max_length": 1, "overflow": "reject-publish-dlx"}), m.ConfirmSelect(1), put("1"),
        Await(m.BasicAck), put("2"), Await(m.BasicNack), consume("r", R, no_ack=True), Await(m.BasicDeliver), gets(2),
    ],
    "rejected to an exchange": [
        exchange(kind="fanout"), queue(R), bind("", R), queue(x={"dead_letter_exchange": X}),
        put("1", expiration="9999"), m.BasicGet(1, 0, Q), m.BasicReject(1, 1), consume("r", R, no_ack=True),
        Await(m.BasicDeliver),
    ],
    "rejected to a missing exchange": [
        queue(x={"dead_letter_exchange": X}), put("1"), m.BasicGet(1, 0, Q), m.BasicReject(1, 1), gets(),
    ],
    "rejected twice": [
        queue(R, x={"dead_letter_exchange": "", "dead_letter_routing_key": Q}), queue(x=DLX), put("1"),
        m.BasicGet(1, 0, Q), m.BasicReject(1, 1), consume("r", R), Await(m.BasicDeliver), m.BasicReject(1, 2),
        consume("q", Q), Await(m.BasicDeliver, 2),
    ],
    "priorities": [
        queue(x={"max_priority": 3}), put("1"), put("2", priority=1), put("3", priority=3), put("4", priority=9),
        put("5", priority=1), gets(5),
    ],
    "copies": [
        queue(), queue(R), put("1", headers=[("CC", "A", keys(R)), ("BCC", "A", keys(Q, NOWHERE))], key=NOWHERE),
        gets(), gets(1, R),
    ],
    "a copy to no list": [queue(), put("1", headers=[("CC", "S", Q.encode())])],
    "a blind copy to a number": [queue(), put("1", headers=[("BCC", "I", 5)])],
    "own user id": [queue(), put("1", user_id="guest"), gets()],
    "no route": [put("1", key=NOWHERE, mandatory=True, headers=headers(a=1), delivery_mode=2)],
    "no route, no queue bound": [exchange(), put("1", to=X, mandatory=True), m.ExchangeDelete(1, 0, X)],
    "all properties": [
        queue(), put("1", content_type="a", content_encoding="b", headers=headers(k="v"), delivery_mode=2, priority=4,
                     correlation_id="c", reply_to="d", expiration="9999", message_id="e", timestamp=5, type="f",
                     app_id="g", cluster_id="h"), gets(),
    ],
    "publish to nothing, with confirms": [m.ConfirmSelect(1), put("1", to=X), m.ConfirmSelect(1)],
    "immediate": [queue(), codec.content(m.BasicPublish(1, 0, "", Q, False, True), b"1")],
    "publish and return by alternate": [
        exchange(arguments={"alternate-exchange": "amq.fanout"}), put("1", to=X, key=NOWHERE, mandatory=True),
        m.ExchangeDelete(1, 0, X),
    ],
}  # fmt: skip

CONSUMERS = {
    "exclusive consumer": [queue(), consume("a", exclusive=True), consume("b")],
    "exclusive beside another": [queue(), consume("a"), consume("b", exclusive=True)],
    "exclusive again": [queue(), consume("a", exclusive=True), m.BasicCancel(1, "a"), consume("b", exclusive=True)],
    "no-local": [queue(), consume(no_local=True, no_ack=True), put("1"), Await(m.BasicDeliver)],
    "consumer priority as text": [queue(), m.BasicConsume(1, 0, Q, "c", arguments=[("x-priority", "S", b"5")])],
    "consumer priorities": [
        queue(),
        consume("low", priority=-1),
        consume("high", priority=5),
        m.BasicQos(1, 0, 0),
        put("1"),
        Await(m.BasicDeliver),
        put("2"),
        Await(m.BasicDeliver, 2),
    ],
    "single active consumer": [
        queue(x={"single_active_consumer": True}),
        consume("a", no_ack=True),
        consume("b", no_ack=True),
        put("1"),
        Await(m.BasicDeliver),
        put("2"),
        Await(m.BasicDeliver, 2),
        m.BasicCancel(1, "a"),
        put("3"),
        Await(m.BasicDeliver, 3),
    ],
    "exclusive on a single active one": [
        queue(x={"single_active_consumer": True}),
        consume("a"),
        consume("b", exclusive=True),
    ],
    "cancelled by a deletion": [queue(), consume(), m.QueueDelete(1, 0, Q), Await(m.BasicCancel)],
    "prefetch": [
        queue(),
        m.BasicQos(1, 0, 1),
        consume(),
        put(*"12"),
        Await(m.BasicDeliver),
        m.BasicAck(1, 1),
        Await(m.BasicDeliver, 2),
    ],
    "reply-to with acks": [consume(name=REPLY_TO)],
    "reply-to twice": [consume("a", REPLY_TO, no_ack=True), consume("b", REPLY_TO, no_ack=True)],
    "reply-to, passive": [m.QueueDeclare(1, 0, REPLY_TO, passive=True)],
    "reply-to without a consumer": [queue(), put("1", reply_to=REPLY_TO)],
    "reply-to, get": [gets(1, REPLY_TO)],
    "reply-to, declared": [m.QueueDeclare(1, 0, REPLY_TO)],
    "reply-to, purged": [consume("a", REPLY_TO, no_ack=True), m.QueuePurge(1, 0, REPLY_TO)],
    "reply-to, deleted": [consume("a", REPLY_TO, no_ack=True), m.QueueDelete(1, 0, REPLY_TO)],
    "reply-to, bound": [bind("k", REPLY_TO, to="amq.direct")],
    "reply-to, cancelled": [
        consume("a", REPLY_TO, no_ack=True),
        m.BasicCancel(1, "a"),
        consume("b", REPLY_TO, no_ack=True),
    ],
    "reply to nobody": [put("1", key=f"{REPLY_TO}.nobody", mandatory=True)],
    "cancel twice": [queue(), consume(), m.BasicCancel(1, "c"), m.BasicCancel(1, "c")],
}

CONNECTIONS = {
    "a ticket": [m.AccessRequest(1, "/data")],
    "a channel far out": [m.ChannelOpen(2000), m.ChannelClose(2000, 200), Await(m.ChannelCloseOk)],
    "a secret": [m.ConnectionUpdateSecret(0, b"guest", "test")],
    "qos of everybody": [m.BasicQos(1, 0, 5, True)],
    "recover": [m.BasicRecover(1, True)],
    "recover without an answer": [m.BasicRecoverAsync(1, True)],
    "open again": [m.ConnectionOpen(0, "/")],
    "an oversized name": [codec.content(m.BasicPublish(1, 0, "", "k" * 255, True), b"")],
    "confirm, then a commit": [m.ConfirmSelect(1), m.TxCommit(1)],
}

METHOD, HEADER = m.BasicPublish(1, 0, "", Q).encode(), codec.header(1, 1).encode()
"""A header frame of class 60 has its class in octets 7 and 8."""
FROM_JAVA = {
    "line breaks in a queue's name": [queue(f"{Q}\r\n"), queue(Q, passive=True), m.QueueDelete(1, 0, f"\n{Q}")],
    "line breaks in an exchange's name": [exchange(f"{X}\n\r"), exchange(X, passive=True), queue(), bind(to=f"{X}\n")],
    "line breaks in names that are bound": [queue(), exchange(), bind(name=f"{Q}\n"), put("1", to=X, key="k"), gets()],
    "a header in place of a method": [b"\x02" + METHOD[1:]],
    "a header of another class": [METHOD + HEADER[:7] + b"\x0c\x22" + HEADER[9:]],
    "a method in place of a header": [METHOD + METHOD],
    "requeued when its time is over": [
        queue(x={"message_ttl": 0}),
        consume(),
        put("1"),
        Await(m.BasicDeliver),
        m.BasicReject(1, 1, True),
        queue(x={"message_ttl": 0}),
        gets(),
    ],
    "dead with copies": [
        queue(R),
        queue(x={"message_ttl": 0, "dead_letter_exchange": "", "dead_letter_routing_key": R}),
        put("1", headers=values.table({"CC": ["nowhere"], "BCC": ["nobody"]})),
        consume("c", R, no_ack=True),
        Await(m.BasicDeliver),
    ],
}

CASES = {**EXCHANGES, **QUEUES, **LOCKED, **MESSAGES, **CONSUMERS, **CONNECTIONS, **FROM_JAVA}
