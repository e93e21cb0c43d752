"""The values that frames become: Method, Header, Body, Heartbeat, and the protocol header that precedes all frames.

Plain slotted objects. Their classes, decoders and encoders come from the declaration: one class per method (see
`methods`), and one class per word of property flags, made when such a word is first seen, so that a header is read
without a question per property. Absent properties are class attributes that say None. The words come from a peer, so
only MOST_WORDS of these classes are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from codec import emit, items, wire
from codec.errors import MalformedFrame
from codec.lower import lower

MOST_WORDS = 512


class _Value:
    """Equal when of one kind with equal fields."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[str, ...]] = ()
    encode: ClassVar[Callable[[Any], bytes]]  # gives the octets of the whole frame; emitted

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__getstate__() == other.__getstate__()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{n}={getattr(self, n)!r}" for n in ("channel", *self.FIELDS))
        return f"{type(self).__name__}({fields})"

    def __getstate__(self) -> dict[str, Any]:
        return {n: getattr(self, n) for n in ("channel", *self.FIELDS)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


class Method(_Value):
    """Base of the 66 methods."""

    __slots__ = ("channel",)
    NAME: ClassVar[str]
    CLASS_ID: ClassVar[int]
    METHOD_ID: ClassVar[int]
    INDEX: ClassVar[int]
    BITS: ClassVar[tuple[str, ...]]
    HAS_CONTENT: ClassVar[bool]
    channel: int


class Body(_Value):
    """A piece of a message's body."""

    __slots__ = ("channel", "payload")
    FIELDS = ("payload",)

    def __init__(self, channel: int, payload: bytes) -> None:
        self.channel, self.payload = channel, payload


class Heartbeat(_Value):
    """Nothing but a sign of life."""

    __slots__ = ("channel",)

    def __init__(self, channel: int = 0) -> None:
        self.channel = channel


class Header(_Value):
    """Announces a message's body and carries its properties. Make one with `header`."""

    __slots__ = ("body_size", "channel")
    class_id: ClassVar[int] = wire.BASIC
    weight: ClassVar[int] = 0
    flags: ClassVar[int] = 0
    channel: int
    body_size: int
    content_type: str | None
    content_encoding: str | None
    headers: list[tuple[str, str, Any]] | None
    delivery_mode: int | None
    priority: int | None
    correlation_id: str | None
    reply_to: str | None
    expiration: str | None
    message_id: str | None
    timestamp: int | None
    type: str | None
    user_id: str | None
    app_id: str | None
    cluster_id: str | None
    PRESENT: ClassVar[tuple[str, ...]] = ()

    def properties(self) -> dict[str, Any]:
        """Those that are present, in the order of the wire."""
        return {name: getattr(self, name) for name in self.PRESENT}

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Header)
            and self.channel == other.channel
            and self.body_size == other.body_size
            and self.properties() == other.properties()
        )

    __hash__ = None

    def __repr__(self) -> str:
        properties = "".join(f", {n}={v!r}" for n, v in self.properties().items())
        return f"header({self.channel}, {self.body_size}{properties})"

    def __reduce__(self) -> Any:
        return _restore, (self.channel, self.body_size, self.properties())


@dataclass(slots=True)
class ProtocolHeader:
    """The octets with which a client begins, and with which a server says which version it would speak."""

    major: int = 0
    minor: int = 9
    revision: int = 1

    def encode(self) -> bytes:
        return bytes(wire.ProtocolHeader.build({"major": self.major, "minor": self.minor, "revision": self.revision}))

    @classmethod
    def decode(cls, raw: bytes) -> ProtocolHeader:
        """From exactly 8 octets."""
        if len(raw) != 8 or raw[:5] != b"AMQP\0":
            raise MalformedFrame(0, "a protocol header: AMQP, 0 and three numbers", repr(raw[:16]), raw)
        return cls(*raw[5:])


for _name in wire.PROPERTIES:
    setattr(Header, _name, None)

Decode = Callable[..., Header]
HEADER_DECODERS: dict[int, Decode] = {}
_WORDS: dict[int, tuple[type[Header], Decode]] = {}


def _word(flags: int) -> tuple[type[Header], Decode]:
    """The class of headers with exactly these properties, and its decoder; made on first sight."""
    known = _WORDS.get(flags)
    if known is not None:
        return known
    if flags & ~sum(wire.FLAGS.values()):
        raise emit.Refused
    if len(_WORDS) >= MOST_WORDS:
        _forget(next(iter(_WORDS)))
    made = _WORDS[flags] = _make_word(flags)
    HEADER_DECODERS[flags] = made[1]
    return made


def _make_word(flags: int) -> tuple[type[Header], Decode]:
    present = tuple(name for name, bit in wire.FLAGS.items() if flags & bit)
    ops = lower(wire.Frame, {"type": wire.HEADER, "flags": {name: name in present for name in wire.FLAGS}})
    after = 1 + next(i for i, op in enumerate(ops) if op.name == "flags")
    own = {"__slots__": present, "flags": flags, "PRESENT": present, "__module__": __name__}
    cls: Any = type("Header", (Header,), own)
    decode = emit.decoder("decode_header", cls, ops[after:-1], ("channel", "body_size"))
    encode = emit.encoder("encode_header", ops)
    made = emit.define((decode, encode), _where(flags), items.FUNCTIONS)
    cls.encode = made[encode.name]
    return cls, made[decode.name]


def _where(flags: int) -> str:
    return f"<codec header {flags:04x}>"


def _forget(flags: int) -> None:
    _WORDS.pop(flags, None)
    HEADER_DECODERS.pop(flags, None)
    emit.forget(_where(flags))


def header_decoder(flags: int) -> Decode:
    """The decoder for this word of property flags."""
    return _word(flags)[1]


def header(channel: int, body_size: int, **properties: Any) -> Header:
    """A content header; properties that are None are absent."""
    present = {name: value for name, value in properties.items() if value is not None}
    unknown = present.keys() - wire.FLAGS.keys()
    if unknown:
        raise TypeError(f"no such property: {', '.join(sorted(unknown))}")
    made = object.__new__(_word(sum(wire.FLAGS[name] for name in present))[0])
    made.channel, made.body_size = channel, body_size
    for name, value in present.items():
        setattr(made, name, value)
    return made


def _restore(channel: int, body_size: int, properties: dict[str, Any]) -> Header:
    return header(channel, body_size, **properties)


def _frame_encoder(cls: Any, facts: dict[str, Any]) -> None:
    function = emit.encoder(f"encode_{cls.__name__.lower()}", lower(wire.Frame, facts))
    cls.encode = emit.define((function,), f"<codec {cls.__name__}>")[function.name]


_frame_encoder(Body, {"type": wire.BODY})
_frame_encoder(Heartbeat, {"type": wire.HEARTBEAT})
