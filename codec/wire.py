"""AMQP 0-9-1 on the wire, with RabbitMQ's extensions, declared with construct. The only truth about the bytes.

Nothing here is tuned: `lower` and `emit` derive the fast codec from this tree, `strategies` derives the Hypothesis
strategies, and tests hold all of them against it. It is strict: whatever is wrapped in `exactly` must end where its
length says (construct's Prefixed alone drops what is left over, and GreedyRange swallows every failure inside it).

Decisions the specification leaves to the reader:
- Long strings and table values 'S' are octets: RabbitMQ carries binary data in them. Short strings are UTF-8.
- Bits that have no meaning must be zero, in method arguments and in property flags. So the bit that announces a second
  word of property flags is refused too: class basic has no property left for it. What is accepted can be written back.
- 'D' is an octet and a *signed* long, as the text says (the grammar says unsigned). 'L' is signed, as RabbitMQ has it.
- Tables and arrays nest at most MAX_DEPTH deep.
"""

from __future__ import annotations

from typing import Any

from construct import (
    Bytes,
    Const,
    Container,
    Error,
    ExplicitError,
    Flag,
    FlagsEnum,
    Float32b,
    Float64b,
    FocusedSeq,
    GreedyBytes,
    GreedyRange,
    If,
    Int8sb,
    Int8ub,
    Int16sb,
    Int16ub,
    Int32sb,
    Int32ub,
    Int64sb,
    Int64ub,
    LazyBound,
    PascalString,
    Pass,
    Prefixed,
    Rebuild,
    Sequence,
    Struct,
    Subconstruct,
    Switch,
    Terminated,
    Validator,
    this,
)

FRAME_END = 0xCE
MAX_DEPTH = 32
METHOD, HEADER, BODY, HEARTBEAT = 1, 2, 3, 8


class Defined(Validator):  # type: ignore[misc]
    """A number in which only the bits of `mask` have a meaning; the others must be zero."""

    def __init__(self, subcon: Any, mask: int) -> None:
        super().__init__(subcon)
        self.mask = mask

    def _validate(self, obj: int, context: Any, path: str) -> bool:
        return not obj & ~self.mask


class Nested(Subconstruct):  # type: ignore[misc]
    """One level further down; refuses to go deeper than MAX_DEPTH."""

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        return self.subcon._parsereport(stream, self._deeper(context, path), path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return self.subcon._build(obj, stream, self._deeper(context, path), path)

    @staticmethod
    def _deeper(context: Any, path: str) -> Any:
        above = context
        while above is not None and "level" not in above:
            above = above.get("_")
        level = above.level + 1 if above is not None else 1
        if level > MAX_DEPTH:
            raise ExplicitError(f"nested more than {MAX_DEPTH} deep", path=path)
        return Container(context, _=context, level=level)


def exactly(con: Any) -> Any:
    """`con`, and then nothing."""
    return FocusedSeq("it", "it" / con, Terminated)


def bits(*names: str) -> Any:
    """Consecutive bit arguments share an octet, lowest bit first."""
    return "bits" / FlagsEnum(Defined(Octet, (1 << len(names)) - 1), **{n: 1 << i for i, n in enumerate(names)})


# Elementary types
Octet, Short, Long, LongLong = Int8ub, Int16ub, Int32ub, Int64ub
ShortStr = PascalString(Octet, "utf8")
LongStr = Prefixed(Long, GreedyBytes)

# Field tables and arrays: every letter RabbitMQ speaks, the common ones first
LETTERS: dict[bytes, Any] = {
    b"S": LongStr,
    b"I": Int32sb,
    b"t": Flag,
    b"l": Int64sb,
    b"T": LongLong,
    b"F": LazyBound(lambda: FieldTable),
    b"A": LazyBound(lambda: FieldArray),
    b"x": LongStr,
    b"d": Float64b,
    b"V": Pass,
    b"b": Int8sb,
    b"B": Int8ub,
    b"s": Int16sb,
    b"u": Int16ub,
    b"i": Int32ub,
    b"L": Int64sb,
    b"f": Float32b,
    b"D": Sequence(Octet, Int32sb),
}
Letter, Value = "letter" / Bytes(1), "value" / Switch(this.letter, LETTERS, default=Error)
FieldTable: Any = Nested(Prefixed(Long, exactly(GreedyRange(Sequence("name" / ShortStr, Letter, Value)))))
FieldArray: Any = Nested(Prefixed(Long, exactly(GreedyRange(Sequence(Letter, Value)))))

# Methods: (class, method) -> name, arguments
_ticket = "reserved_1" / Short
_close = Struct("reply_code" / Short, "reply_text" / ShortStr, "class_id" / Short, "method_id" / Short)
_tune = Struct("channel_max" / Short, "frame_max" / Long, "heartbeat" / Short)
_bind_exchange = Struct(
    _ticket,
    "destination" / ShortStr,
    "source" / ShortStr,
    "routing_key" / ShortStr,
    bits("no_wait"),
    "arguments" / FieldTable,
)
_nothing = Struct()
METHODS: dict[tuple[int, int], tuple[str, Any]] = {
    (10, 10): (
        "connection.start",
        Struct(
            "version_major" / Octet,
            "version_minor" / Octet,
            "server_properties" / FieldTable,
            "mechanisms" / LongStr,
            "locales" / LongStr,
        ),
    ),
    (10, 11): (
        "connection.start-ok",
        Struct("client_properties" / FieldTable, "mechanism" / ShortStr, "response" / LongStr, "locale" / ShortStr),
    ),
    (10, 20): ("connection.secure", Struct("challenge" / LongStr)),
    (10, 21): ("connection.secure-ok", Struct("response" / LongStr)),
    (10, 30): ("connection.tune", _tune),
    (10, 31): ("connection.tune-ok", _tune),
    (10, 40): ("connection.open", Struct("virtual_host" / ShortStr, "reserved_1" / ShortStr, bits("reserved_2"))),
    (10, 41): ("connection.open-ok", Struct("reserved_1" / ShortStr)),
    (10, 50): ("connection.close", _close),
    (10, 51): ("connection.close-ok", _nothing),
    (10, 60): ("connection.blocked", Struct("reason" / ShortStr)),
    (10, 61): ("connection.unblocked", _nothing),
    (10, 70): ("connection.update-secret", Struct("new_secret" / LongStr, "reason" / ShortStr)),
    (10, 71): ("connection.update-secret-ok", _nothing),
    (20, 10): ("channel.open", Struct("reserved_1" / ShortStr)),
    (20, 11): ("channel.open-ok", Struct("reserved_1" / LongStr)),
    (20, 20): ("channel.flow", Struct(bits("active"))),
    (20, 21): ("channel.flow-ok", Struct(bits("active"))),
    (20, 40): ("channel.close", _close),
    (20, 41): ("channel.close-ok", _nothing),
    (30, 10): ("access.request", Struct("realm" / ShortStr, bits("exclusive", "passive", "active", "write", "read"))),
    (30, 11): ("access.request-ok", Struct(_ticket)),
    (40, 10): (
        "exchange.declare",
        Struct(
            _ticket,
            "exchange" / ShortStr,
            "type" / ShortStr,
            bits("passive", "durable", "auto_delete", "internal", "no_wait"),
            "arguments" / FieldTable,
        ),
    ),
    (40, 11): ("exchange.declare-ok", _nothing),
    (40, 20): ("exchange.delete", Struct(_ticket, "exchange" / ShortStr, bits("if_unused", "no_wait"))),
    (40, 21): ("exchange.delete-ok", _nothing),
    (40, 30): ("exchange.bind", _bind_exchange),
    (40, 31): ("exchange.bind-ok", _nothing),
    (40, 40): ("exchange.unbind", _bind_exchange),
    (40, 51): ("exchange.unbind-ok", _nothing),
    (50, 10): (
        "queue.declare",
        Struct(
            _ticket,
            "queue" / ShortStr,
            bits("passive", "durable", "exclusive", "auto_delete", "no_wait"),
            "arguments" / FieldTable,
        ),
    ),
    (50, 11): ("queue.declare-ok", Struct("queue" / ShortStr, "message_count" / Long, "consumer_count" / Long)),
    (50, 20): (
        "queue.bind",
        Struct(
            _ticket,
            "queue" / ShortStr,
            "exchange" / ShortStr,
            "routing_key" / ShortStr,
            bits("no_wait"),
            "arguments" / FieldTable,
        ),
    ),
    (50, 21): ("queue.bind-ok", _nothing),
    (50, 30): ("queue.purge", Struct(_ticket, "queue" / ShortStr, bits("no_wait"))),
    (50, 31): ("queue.purge-ok", Struct("message_count" / Long)),
    (50, 40): ("queue.delete", Struct(_ticket, "queue" / ShortStr, bits("if_unused", "if_empty", "no_wait"))),
    (50, 41): ("queue.delete-ok", Struct("message_count" / Long)),
    (50, 50): (
        "queue.unbind",
        Struct(_ticket, "queue" / ShortStr, "exchange" / ShortStr, "routing_key" / ShortStr, "arguments" / FieldTable),
    ),
    (50, 51): ("queue.unbind-ok", _nothing),
    (60, 10): ("basic.qos", Struct("prefetch_size" / Long, "prefetch_count" / Short, bits("global_"))),
    (60, 11): ("basic.qos-ok", _nothing),
    (60, 20): (
        "basic.consume",
        Struct(
            _ticket,
            "queue" / ShortStr,
            "consumer_tag" / ShortStr,
            bits("no_local", "no_ack", "exclusive", "no_wait"),
            "arguments" / FieldTable,
        ),
    ),
    (60, 21): ("basic.consume-ok", Struct("consumer_tag" / ShortStr)),
    (60, 30): ("basic.cancel", Struct("consumer_tag" / ShortStr, bits("no_wait"))),
    (60, 31): ("basic.cancel-ok", Struct("consumer_tag" / ShortStr)),
    (60, 40): (
        "basic.publish",
        Struct(_ticket, "exchange" / ShortStr, "routing_key" / ShortStr, bits("mandatory", "immediate")),
    ),
    (60, 50): (
        "basic.return",
        Struct("reply_code" / Short, "reply_text" / ShortStr, "exchange" / ShortStr, "routing_key" / ShortStr),
    ),
    (60, 60): (
        "basic.deliver",
        Struct(
            "consumer_tag" / ShortStr,
            "delivery_tag" / LongLong,
            bits("redelivered"),
            "exchange" / ShortStr,
            "routing_key" / ShortStr,
        ),
    ),
    (60, 70): ("basic.get", Struct(_ticket, "queue" / ShortStr, bits("no_ack"))),
    (60, 71): (
        "basic.get-ok",
        Struct(
            "delivery_tag" / LongLong,
            bits("redelivered"),
            "exchange" / ShortStr,
            "routing_key" / ShortStr,
            "message_count" / Long,
        ),
    ),
    (60, 72): ("basic.get-empty", Struct("reserved_1" / ShortStr)),
    (60, 80): ("basic.ack", Struct("delivery_tag" / LongLong, bits("multiple"))),
    (60, 90): ("basic.reject", Struct("delivery_tag" / LongLong, bits("requeue"))),
    (60, 100): ("basic.recover-async", Struct(bits("requeue"))),
    (60, 110): ("basic.recover", Struct(bits("requeue"))),
    (60, 111): ("basic.recover-ok", _nothing),
    (60, 120): ("basic.nack", Struct("delivery_tag" / LongLong, bits("multiple", "requeue"))),
    (85, 10): ("confirm.select", Struct(bits("no_wait"))),
    (85, 11): ("confirm.select-ok", _nothing),
    (90, 10): ("tx.select", _nothing),
    (90, 11): ("tx.select-ok", _nothing),
    (90, 20): ("tx.commit", _nothing),
    (90, 21): ("tx.commit-ok", _nothing),
    (90, 30): ("tx.rollback", _nothing),
    (90, 31): ("tx.rollback-ok", _nothing),
}
CARRIES_CONTENT = frozenset({"basic.publish", "basic.return", "basic.deliver", "basic.get-ok"})

# Content header: a present property is announced by its flag, highest bit first
BASIC = 60
PROPERTIES = {
    "content_type": ShortStr,
    "content_encoding": ShortStr,
    "headers": FieldTable,
    "delivery_mode": Octet,
    "priority": Octet,
    "correlation_id": ShortStr,
    "reply_to": ShortStr,
    "expiration": ShortStr,
    "message_id": ShortStr,
    "timestamp": LongLong,
    "type": ShortStr,
    "user_id": ShortStr,
    "app_id": ShortStr,
    "cluster_id": ShortStr,
}
FLAGS = {name: 0x8000 >> i for i, name in enumerate(PROPERTIES)}
PropertyFlags = FlagsEnum(Defined(Short, sum(FLAGS.values())), **FLAGS)

# Frames
Method = Struct(
    "index" / Int32ub,
    "arguments" / Switch(this.index, {c << 16 | m: args for (c, m), (_, args) in METHODS.items()}, default=Error),
)
Header = Struct(
    "class_id" / Const(BASIC, Short),
    "weight" / Const(0, Short),
    "body_size" / LongLong,
    "flags" / Rebuild(PropertyFlags, lambda this: {name: this.get(name) is not None for name in FLAGS}),
    *(name / If(this.flags[name], con) for name, con in PROPERTIES.items()),
)
PAYLOADS = {METHOD: exactly(Method), HEADER: exactly(Header), BODY: GreedyBytes, HEARTBEAT: Terminated}
Frame = Struct(
    "type" / Octet,
    "channel" / Short,
    "payload" / Prefixed(Long, Switch(this.type, PAYLOADS, default=Error)),
    "end" / Const(FRAME_END, Octet),
)
OneFrame = exactly(Frame)
ProtocolHeader = Struct(
    "magic" / Const(b"AMQP"), "zero" / Const(0, Octet), "major" / Octet, "minor" / Octet, "revision" / Octet
)
