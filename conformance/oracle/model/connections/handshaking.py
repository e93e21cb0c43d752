"""How a connection is opened, and what a client can do wrong about it.

    client   header      start-ok      tune-ok  open
    broker         start          tune                open-ok

What the client has to send next follows from what it sent before: whatever it sends ahead, the broker reads in order.
So mistakes are read off the order of the client's own methods, and off what the broker had offered. Who is let in, and
which virtual hosts there are, no frame tells: a driver that knows it says so (KNOWN), and only then is it claimed.

Before open-ok a peer that finds an error closes the socket without a word, says the text; many say what is wrong. So
until then either is right. When the connection is open, it is closed by connection.close.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import codec
from codec import methods
from conformance.history.events import Event
from conformance.oracle.model.connections import requests
from conformance.oracle.model.connections.handshake import FRAME_MIN
from conformance.oracle.model.records import ClientError

if TYPE_CHECKING:
    from conformance.oracle.model.connections.connection import Connection

MISTAKES = ("CONN-001", "CONN-007", "CONN-009", "CONN-011", "CONN-015", "CONN-017", "CONN-018")
"""What the client may not do."""
HEADER = b"AMQP\x00\x00\x09\x01"
OLDEST = (0, 8, 0)
"""The first version that was ever published; who asks for an older one asks for what nobody speaks."""
PLAIN_TYPES = frozenset("tSF")
"""What every client says of itself is made of these."""
TELLS = "authentication_failure_close"
OPENING = ("connection.start-ok", "connection.secure-ok", "connection.tune-ok", "connection.open")
AFTER = {"connection.start-ok": "connection.tune-ok", "connection.tune-ok": "connection.open"}
"""What the client sends next."""
ANSWERS = {"connection.start-ok": "connection.tune", "connection.open": "connection.open-ok"}
"""What the broker sends then."""
AGAIN = (503, 504, 505, 530, 501, 540)
"""Codes for a method that has no place there: the text has 503, brokers also name what they looked at first."""
NO_VHOST = (402, 530, 403)
ANY = (0,)
"""Whatever code is given."""


def opened(connection: Connection) -> None:
    """Its beginning was seen."""
    connection.handshake.fresh = True


def known(connection: Connection, event: Event) -> None:
    """A driver says what it knows."""
    handshake = connection.handshake
    handshake.login, handshake.vhost = event.args.get("login"), event.args.get("vhost")


def greet(connection: Connection, event: Event) -> bool:
    """The client's first octets. False: they were not the first."""
    handshake, raw = connection.handshake, event.raw
    if not handshake.fresh or handshake.next or handshake.asked:
        return False
    handshake.fresh = False
    if raw == HEADER:
        handshake.next, handshake.awaited["connection.start"] = OPENING[0], event.seq
    elif len(raw) >= len(HEADER) and not (raw.startswith(b"AMQP") and tuple(raw[5:8]) >= OLDEST):
        _fail(connection, event, "CONN-001", f"the header {raw[:8]!r}", ANY, silent=True)
    return True


def sent(connection: Connection, event: Event) -> bool:
    """A method of the client. True: it is a mistake about the handshake, and nothing else."""
    handshake, method = connection.handshake, event.method
    if handshake.fresh and handshake.login is not None:  # who says what it knows has seen the beginning
        handshake.fresh = False
        _fail(connection, event, "CONN-001", f"{method} instead of a header", ANY, silent=True)
        return True
    handshake.fresh, handshake.talked_at = False, event.time_ns
    if handshake.kicked and not connection.closing:
        handshake.agreed = handshake.agreed or method == "connection.close-ok"
        if method == "connection.close" and not handshake.agreed:
            handshake.crossed = event.seq
    if connection.ended or connection.closing or method in ("connection.close", "connection.close-ok"):
        return False
    if not handshake.begun():
        return False
    if handshake.next:
        return _ahead(connection, event)
    if method in OPENING and not event.channel:
        _fail(connection, event, "CONN-018", f"{method} after connection.open", AGAIN, silent=not handshake.entered)
        return True
    return False


def _ahead(connection: Connection, event: Event) -> bool:
    """Before connection.open was sent."""
    handshake, method = connection.handshake, event.method
    if method == "connection.secure-ok" and handshake.next == "connection.tune-ok":
        return False
    if method != handshake.next or event.channel:
        _fail(connection, event, "CONN-017", f"{method} where {handshake.next} is due", ANY, silent=True)
        return True
    handshake.next = AFTER.get(method, "")
    if method in ANSWERS:
        handshake.awaited[ANSWERS[method]] = event.seq
    _STEPS[method](connection, event)
    return False


def _log_in(connection: Connection, event: Event) -> None:
    handshake, mechanism = connection.handshake, str(event.args.get("mechanism"))
    properties = event.args.get("client_properties")
    handshake.asks = _capability(properties)
    if handshake.mechanisms is not None and mechanism not in handshake.mechanisms:
        _fail(connection, event, "CONN-009", f"the mechanism {mechanism}, which was not offered", ANY, silent=True)
    elif handshake.login is False:
        _fail(connection, event, "CONN-007", "a login that is not right", ANY, silent=True)
    elif handshake.login:
        start_ok = codec.decode(event.raw)
        assert isinstance(start_ok, methods.ConnectionStartOk)
        rare = any(letter not in PLAIN_TYPES or value == [] for _, letter, value in start_ok.client_properties)
        handshake.claims["connection.tune"] = ("CONN-006",) if rare else ("CONN-005",)


def _tune(connection: Connection, event: Event) -> None:
    handshake, arguments = connection.handshake, event.args
    channels, size = int(arguments.get("channel_max", 0)), int(arguments.get("frame_max", 0))
    handshake.tuned, handshake.tuned_at = event.seq, event.time_ns
    if handshake.channel_max is None or handshake.frame_max is None:
        return
    most, largest = handshake.channel_max, handshake.frame_max
    handshake.offered = largest
    if (0 < most < channels) or (0 < largest < size):
        what = f"channel-max {channels} of {most} and frame-max {size} of {largest}"
        _fail(connection, event, "CONN-011", what, ANY, silent=True)
    elif 0 < size < FRAME_MIN or (most and not channels) or (largest and not size):
        handshake.claims["connection.open-ok"] = ()
    elif channels not in (0, most) or size not in (0, largest):
        handshake.claims["connection.open-ok"] = ("CONN-012",)
    handshake.channel_max = min(filter(None, (channels, most)), default=0)
    handshake.frame_max = min(filter(None, (size, largest)), default=0)


def _enter(connection: Connection, event: Event) -> None:
    handshake = connection.handshake
    handshake.asked = True
    if handshake.vhost is False:
        _fail(connection, event, "CONN-015", "a virtual host that is not there", NO_VHOST, silent=True)
    elif not (handshake.vhost and handshake.login):
        handshake.claims.pop("connection.open-ok", None)
    else:
        handshake.claims.setdefault("connection.open-ok", ("CONN-016",))


_STEPS = {"connection.start-ok": _log_in, "connection.tune-ok": _tune, "connection.open": _enter}


def received(connection: Connection, event: Event) -> None:
    """A method of the broker on channel 0, after it was judged."""
    handshake, method, arguments = connection.handshake, event.method, event.args
    handshake.awaited.pop(method, None)
    if method == "connection.secure":
        handshake.awaited.pop("connection.tune", None)
    elif method == "connection.start":
        handshake.mechanisms = frozenset(str(arguments.get("mechanisms", "")).split())
        handshake.tells = _capability(arguments.get("server_properties"))
    elif method == "connection.tune":
        handshake.channel_max = int(arguments.get("channel_max", 0))
        handshake.frame_max = int(arguments.get("frame_max", 0))
    elif method == "connection.open-ok":
        handshake.entered = True
    elif method == "connection.close":
        handshake.kicked = event.seq
        handshake.crossed = 0 if connection.erred_after_close() else connection.closing
    elif method == "connection.close-ok":
        handshake.crossed = 0
    if passes(connection.error, event):
        connection.error = None


PASSES = {
    "CONN-001": ("connection.start",),
    "CONN-007": ("connection.tune",),
    "CONN-009": ("connection.tune",),
    "CONN-011": ("connection.open-ok",),
    "CONN-015": ("connection.open-ok",),
    "CONN-017": ("connection.open-ok", "channel.open-ok"),
}
"""What shows that the broker let the mistake pass."""


def passes(error: ClientError | None, event: Event) -> bool:
    """Does this answer show that the mistake was let pass?"""
    return error is not None and event.method in PASSES.get(error.rule, ()) and event.channel == error.channel


def _capability(properties: Any) -> bool:
    table = properties.get("capabilities") if isinstance(properties, Mapping) else None
    return isinstance(table, Mapping) and table.get(TELLS) is True


def _fail(
    connection: Connection,
    event: Event,
    rule: str,
    what: str,
    codes: tuple[int, ...],
    *,
    silent: bool = False,
) -> None:
    """It costs the connection. What was to be answered before may still be, and nothing else."""
    code, *also = codes
    error = ClientError(event.seq, rule, code, 0, 0, what, also=tuple(also), octets=True, silent=silent)
    error.channel = event.channel
    connection.handshake.awaited.clear()
    connection.handshake.claims.clear()
    if connection.usable():
        requests.fail_connection(connection, error)
