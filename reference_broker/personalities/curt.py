"""Brokers that lack a method and do not say so: they cut the line, or say nothing, where 540 would be a word.

A broker of the plain text cannot know RabbitMQ's methods, and may drop the connection over them (FRAME-010). The
methods of the text itself it has to answer: by their replies, or by a refusal. What else such brokers are short of is
here, too: words in the handshake, and segments on the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import codec
from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections import sasl
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import ConnectionException
from reference_broker.core.parts import Handler, Parts
from reference_broker.personalities.kinds import around, changes, memory, wrap, wrap_handler
from reference_broker.personalities.minding import tuning
from reference_broker.personalities.refusing import (
    OF_CONFIRMS,
    OF_NACK,
    OF_TRANSACTIONS,
    UNDER_CHANNEL_LIMIT,
    announcing,
)

When = Callable[[Channel, Any], bool]


def always(channel: Channel, method: Any) -> bool:
    return True


def cut(connection: Connection) -> None:
    """The line is dead, as if the process that served it had failed."""
    connection.end_channels()
    connection.finish()


def without(
    methods: tuple[type[codec.Method], ...], *, loud: bool, capability: str = "", when: When = always
) -> Callable[[Parts], None]:
    """These are not there: the line is cut where that is `loud`, and else nothing happens at all."""

    def lacked(earlier: Handler, channel: Channel, method: codec.Method) -> None:
        if not when(channel, method):
            earlier(channel, method)
        elif loud:
            cut(channel.connection)

    def apply(parts: Parts) -> None:
        for method in methods:
            wrap_handler(parts, method, lacked)
        if capability:
            announcing(parts, **{capability: None})

    return apply


def lacks(
    name: str,
    methods: tuple[type[codec.Method], ...],
    *,
    capability: str = "",
    when: When = always,
    breaks: str = "",
    may: str = "",
    may_cut: str = "",
    may_mute: str = "",
    hides: str = "",
    about: str = "",
) -> None:
    """Two traits: the connection ends without a word, and nothing comes."""
    for kind, loud, says, more in (
        ("cut", True, "ends the connection without a word", may_cut),
        ("muted", False, "is passed over and not answered", may_mute),
    ):
        changes(
            f"{kind}.{name}",
            f"{name} {says}",
            breaks=breaks,
            may=f"{may} {more}",
            hides=hides,
            about=about or f"method:{name}",
        )(without(methods, loud=loud, capability=capability, when=when))


# What is not announced, and is no method of the text, nobody has to answer. Silence is no answer to anything, though:
# ERR-014 says so of each synchronous method, and leaves it to the rule that is nearer.
lacks(
    "basic.nack",
    (m.BasicNack,),
    capability="basic.nack",
    may_mute="ACK-008 ACK-012 ACK-001 ACK-006 ACK-011 MODE-005 RQ-011",
    hides=OF_NACK,
    about="nack crash",
)
lacks(
    "confirm.select",
    (m.ConfirmSelect,),
    capability="publisher_confirms",
    may_mute="CNF-001 CNF-003 CNF-022 ERR-014",
    hides=f"{OF_CONFIRMS} RQ-011",
    about="confirms",
)
lacks(
    "exchange.bind",
    (m.ExchangeBind, m.ExchangeUnbind),
    capability="exchange_exchange_bindings",
    may_mute="ERR-014 NOWAIT-003",
    hides="ROUTE-010 ROUTE-011 BIND-003 BIND-013 BIND-008",
)
# ERR-012 forbids to end the connection without a word over a method that settles, cancels, purges, limits or recovers.
# Transactions are a class of the text that may be missing.
lacks(
    "tx.select",
    (m.TxSelect, m.TxCommit, m.TxRollback),
    may="ERR-014 ERR-012 TX-007 TX-004",
    may_mute="CNF-016 CHAN-008",
    hides=OF_TRANSACTIONS,
    about="transactions",
)
lacks(
    "basic.recover",
    (m.BasicRecover, m.BasicRecoverAsync),
    breaks="RQ-014",
    may="ERR-009",
    may_cut="ERR-012",
    hides="TAG-008 RQ-002",
    about="recover",
)
lacks(
    "global-qos",
    (m.BasicQos,),
    when=lambda channel, method: bool(method.global_),
    may="QOS-009 QOS-024",
    may_cut="ERR-012",
    may_mute="ERR-014",
    hides=UNDER_CHANNEL_LIMIT,
    about="prefetch",
)
lacks("channel.flow", (m.ChannelFlow,), may="CHAN-006 ERR-014", may_cut="ERR-012")
# Without it nothing can be drained, and a client that only consumes would not miss it.
lacks("basic.get", (m.BasicGet,), may="GET-* ERR-014", hides="*")

# -- words that are not said


# ERR-014 takes the end of the connection for an answer; CONN-021 asks for close-ok where closes cross.
@around(
    "connection.closed_by_peer",
    "cut.connection-close",
    "the connection ends at the client's connection.close, without close-ok",
    may="ERR-014 ERR-013 CONN-020 CONN-021",
    about="method:connection.close",
)
def connection_close(earlier: Any, self: Connection, method: m.ConnectionClose) -> None:
    cut(self)


@around(
    "connection.send",
    "greets.with-nothing",
    "the server properties are empty, and nothing is announced",
    breaks="CONN-004",
    may="CAN-002",
    about="greeting cancel",
)
def with_nothing(earlier: Any, self: Connection, item: Any) -> None:
    if isinstance(item, m.ConnectionStart):
        item.server_properties, item.mechanisms = [], b"PLAIN"
    earlier(self, item)


# CONN-010 has 4096 octets in every frame-max; until then both sides read that much.
changes(
    "tune.frames-of-1024",
    "frames of 1024 octets are offered, and larger ones are read",
    breaks="CONN-010",
    may="CONN-012 CONN-013",
    hides="FRAME-003",
    about="frames",
)(tuning(frame_max=1024))
changes("tune.heartbeat-1", "a heartbeat every second is offered", about="silence")(tuning(heartbeat=1))


FORGOTTEN = "forgotten"
FORGOTTEN_HERE = f"trait_{FORGOTTEN}"


# A wrong login ends the connection: CONN-007 and CONN-009 ask for no more, CONN-008 for a word where both can have one.
@around(
    "connection.log_in",
    "login.refused-in-silence",
    "who logs in wrongly hears nothing, and stays connected",
    breaks="CONN-007",
    may="CONN-008 CONN-009 AUTH-02*",
    about="logins",
)
def refused_in_silence(earlier: Any, self: Connection, method: m.ConnectionStartOk) -> None:
    try:
        sasl.log_in(method.mechanism, method.response, self.broker.access, self.origin)
    except ConnectionException:
        self.broker.newcomers.left(self)
        memory(self, FORGOTTEN, list)
    else:
        earlier(self, method)


# CONN-005 and CONN-016 have a client let in while others are there. Others that are there, and have not come in yet?
@changes(
    "login.one-after-the-other",
    "while a client is on its way in, no other is greeted",
    may="CONN-*",
    about="login",
)
def one_after_the_other(parts: Parts) -> None:
    hear = parts.connection.feed

    def go_on(broker: Any) -> None:
        """The first of them is heard; who is in, or gone, makes room for the next."""
        line: dict[Connection, bytes] = memory(broker, "line", dict)
        while line:
            first = next(iter(line))
            said, line[first] = line[first], b""
            if said:
                hear(first, said)
            if not (first.entered or first.finished or FORGOTTEN_HERE in vars(first)):
                return
            line.pop(first, None)

    def join(earlier: Any, self: Connection, broker: Any) -> None:
        earlier(self, broker)
        memory(broker, "line", dict)[self] = b""

    def feed(earlier: Any, self: Connection, data: bytes) -> None:
        line: dict[Connection, bytes] = memory(self.broker, "line", dict)
        if self in line:
            line[self] += data
            go_on(self.broker)
        else:
            earlier(self, data)

    def lost(earlier: Any, self: Connection) -> None:
        earlier(self)
        memory(self.broker, "line", dict).pop(self, None)
        go_on(self.broker)

    wrap(parts, "connection.__init__", join)
    wrap(parts, "connection.feed", feed)
    wrap(parts, "connection.lost", lost)


# -- segments

FEW, SHARE = 40, 8
"""Of so many octets each is written alone; of more, one in so many at a time."""
GULP = 0.02
"""Seconds that everything waits for company."""


@around(
    "connection.take",
    "wire.trickles",
    "what is said leaves octet by octet, each a write of its own",
    about="wire",
)
def trickles(earlier: Any, self: Connection) -> bytes:
    held: list[bytes] = memory(self, "trickle", lambda: [b""])
    said: bytes = held[0] + earlier(self)
    size = len(said) if self.finished else 1 if len(said) <= FEW else len(said) // SHARE
    held[0] = said[size:]
    if held[0]:
        rouse(self)
    return said[:size]


@around("connection.leaving", "wire.gulps", "what is said waits for 20 ms, and leaves in one write", about="wire slow")
def gulps(earlier: Any, self: Connection) -> list[Any]:
    clock = self.broker.peers_clock
    waits: list[float] = memory(self, "gulp", list)
    if not waits:
        waits.append(clock.now + GULP)
        clock.at(waits[0], rouse, self)
    if clock.now < waits[0] and not self.finished:
        return []
    waits.clear()
    return list(earlier(self))


def rouse(connection: Connection) -> None:
    if connection in connection.broker.connections:
        connection.broker.dirty[connection] = None
