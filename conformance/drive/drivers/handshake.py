"""Opens a connection, and says precisely why it did not open.

Each step sends something and expects one method. If something else comes, or nothing, this becomes the layer that
failed and a sentence that tells the user what to do.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Mapping
from typing import TypeVar

import codec
from codec import methods as m
from codec import values
from conformance.drive.drivers.errors import Unreachable
from conformance.drive.drivers.link import RawConnection, Tuned
from conformance.drive.drivers.sniff import what_listens
from conformance.drive.drivers.target import Target
from conformance.drive.drivers.wire import Wire
from conformance.history import events

CAPABILITIES: Mapping[str, bool] = {
    "publisher_confirms": True,
    "exchange_exchange_bindings": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "connection.blocked": True,
    "authentication_failure_close": True,
}
_M = TypeVar("_M", bound=codec.Method)


def shake_hands(link: RawConnection, properties: Mapping[str, object], heartbeat: int, channel_max: int = 0) -> None:
    """Protocol header, login, tuning, vhost. `properties` is what the client says of itself."""
    _login(link, properties)
    _enter(link, heartbeat, channel_max)


def introduce(link: RawConnection) -> Mapping[str, object]:
    """What the broker says of itself, without a login; the connection is at its end then."""
    link.send(codec.ProtocolHeader().encode())
    start = _expect(link, m.ConnectionStart, "header")
    link.abort()
    return values.plain(start.server_properties)


def reach(target: Target) -> Wire:
    """A TCP or TLS connection to the target."""
    try:
        return Wire.connect(target)
    except ssl.SSLCertVerificationError as error:
        raise Unreachable(
            "tls",
            (
                f"{target.address} shows a certificate that does not verify: {error.verify_message}. Name its "
                "authority with ?cacertfile=FILE, or accept any with ?verify=verify_none."
            ),
        ) from error
    except ssl.SSLError as error:
        raise Unreachable("tls", _no_tls(target, error)) from error
    except socket.gaierror as error:
        raise Unreachable(
            "tcp", (f"The name {target.host!r} does not resolve ({error.strerror}). Check the host in the URL.")
        ) from error
    except TimeoutError as error:
        if target.tls and what_listens(target) != "nothing":
            raise Unreachable("tls", _no_tls(target, error)) from error
        raise Unreachable(
            "tcp",
            (
                f"{target.address} does not answer within {target.timeout:g} s. Check host and port, and whether a "
                "firewall drops the packets."
            ),
        ) from error
    except ConnectionRefusedError as error:
        raise Unreachable(
            "tcp",
            (
                f"{target.address} refuses the connection: nothing listens there. Start the broker, or check host and "
                "port in the URL."
            ),
        ) from error
    except FileNotFoundError as error:
        raise Unreachable("tls", f"A file named in the URL cannot be read: {error}. Check its path.") from error
    except OSError as error:
        layer = "tls" if target.tls and isinstance(error, ConnectionResetError) else "tcp"
        raise Unreachable(
            layer, (f"{target.address} cannot be reached: {error.strerror or error}. Check host, port and network.")
        ) from error


def _no_tls(target: Target, error: Exception) -> str:
    if what_listens(target) == "amqp":
        return f"{target.address} speaks plain AMQP, without TLS. Use amqp:// instead of amqps://."
    return f"TLS with {target.address} fails: {error}. Check that the port is the broker's TLS port."


def _refused_by_tls(target: Target, alert: str) -> str:
    shown = target.options.get("certfile")
    if shown is None:
        return (
            f"{target.address} ends TLS after the handshake: {alert}. It may want a client certificate; name one with "
            "?certfile=FILE&keyfile=FILE."
        )
    return (
        f"{target.address} ends TLS after the handshake: {alert}. Check that an authority which the broker knows has "
        f"signed the certificate in {shown}."
    )


def _login(link: RawConnection, properties: Mapping[str, object]) -> None:
    target = link.target
    link.send(codec.ProtocolHeader().encode())
    start = _expect(link, m.ConnectionStart, "header")
    link.server_properties = values.plain(start.server_properties)
    if target.mechanism.encode() not in start.mechanisms.split():
        raise Unreachable(
            "login",
            (
                f"{target.address} offers the login mechanisms {start.mechanisms.decode('utf-8', 'replace')!r}; "
                f"{target.mechanism} is not among them. Enable it in the broker's configuration, or choose another "
                "with ?auth_mechanism=plain or external, the two that are spoken here."
            ),
        )
    about = values.table({"product": "amqp-conformance", "platform": "Python", **properties})
    response = f"\0{target.user}\0{target.password}".encode() if target.mechanism == "PLAIN" else b""
    link.send(m.ConnectionStartOk(0, about, target.mechanism, response, "en_US"))


def _enter(link: RawConnection, heartbeat: int, channel_max: int) -> None:
    tune = _expect(link, m.ConnectionTune, "login")
    most = tune.channel_max or 65535
    tuned = Tuned(min(channel_max or most, most), tune.frame_max or 131072, min(heartbeat, tune.heartbeat or heartbeat))
    link.tune(tuned)
    link.send(
        m.ConnectionTuneOk(0, tuned.channel_max, tuned.frame_max, tuned.heartbeat),
        m.ConnectionOpen(0, link.target.vhost),
    )
    _expect(link, m.ConnectionOpenOk, "vhost")


def _expect(link: RawConnection, wanted: type[_M], layer: str) -> _M:
    """The one method that may come now; anything else is the failure of this layer."""
    target, until = link.target, time.monotonic() + link.target.timeout
    while link.alive and time.monotonic() < until:
        for event in link.receive(max(until - time.monotonic(), 0)):
            if event.method == wanted.NAME:
                method = codec.decode(event.raw)
                assert isinstance(method, wanted)
                return method
            if event.method == "connection.close":
                raise _refused(target, event, layer)
            if event.kind == events.PROTOCOL and event.raw == codec.ProtocolHeader().encode():
                raise Unreachable(
                    "header",
                    (
                        f"{target.address} sends back what it is sent, so it is not a broker. Check the port; a "
                        "broker's own port is usually 5672."
                    ),
                )
            if event.kind == events.PROTOCOL:
                raise Unreachable(
                    "header",
                    (
                        f"{target.address} answers the header of AMQP 0-9-1 with {event.raw!r}: it speaks another "
                        "version of the protocol. Enable AMQP 0-9-1 on the broker, or use the port where it is spoken."
                    ),
                )
            if event.kind == events.MALFORMED:
                raise Unreachable("header", _stranger(target, event.raw))
            if event.kind == events.METHOD:
                raise Unreachable(
                    layer,
                    (
                        f"{target.address} sends {event.method} where {wanted.NAME} must come. No AMQP 0-9-1 "
                        "client could use this broker."
                    ),
                )
    if link.alive:
        raise _silent(target, wanted.NAME, layer)
    if link.wire.alert:
        raise Unreachable("tls", _refused_by_tls(target, link.wire.alert))
    raise _hung_up(target, layer)


def _refused(target: Target, event: events.Event, layer: str) -> Unreachable:
    code, text = event.args.get("reply_code"), event.args.get("reply_text", "")
    said = f"{target.address} says {code} {text!r}"
    if layer == "login":
        return Unreachable(
            "login",
            (
                f"{said}: the login as {target.user!r} is refused. Check user and password in the URL; RabbitMQ lets "
                "the user guest in from localhost only."
            ),
        )
    if layer == "vhost" and ("access" in text or code == 403):
        return Unreachable(
            "rights",
            (
                f"{said}: the user {target.user!r} may not enter the vhost {target.vhost!r}. Grant it permissions "
                "there, or name another vhost in the URL."
            ),
        )
    if layer == "vhost":
        return Unreachable(
            "vhost",
            (
                f"{said}: the vhost {target.vhost!r} does not open. Create it, or name another one as the path of the "
                "URL; the default vhost / is written %2F."
            ),
        )
    return Unreachable(layer, f"{said} before the login. See the broker's log for the reason.")


def _hung_up(target: Target, layer: str) -> Unreachable:
    if layer == "login":
        return Unreachable(
            "login",
            (
                f"{target.address} closes the connection after the login as {target.user!r} without giving a reason. "
                "Many brokers refuse a login in this way. Check user and password in the URL."
            ),
        )
    if layer == "vhost":
        return Unreachable(
            "vhost",
            (
                f"{target.address} closes the connection when the vhost {target.vhost!r} is to be opened. Check that "
                "it exists and that the user may enter it."
            ),
        )
    if target.tls and "certfile" not in target.options:
        return Unreachable(
            "tls",
            (
                f"{target.address} closes the connection right after the TLS handshake. A broker that wants a client "
                "certificate does that; name one with ?certfile=FILE&keyfile=FILE. If it wants none, "
                "this is hardly an AMQP broker: check the port."
            ),
        )
    return Unreachable("header", _by_sniffing(target, "closes the connection at once"))


def _silent(target: Target, wanted: str, layer: str) -> Unreachable:
    if layer == "header":
        seen = f"accepts the connection but says nothing for {target.timeout:g} s"
        return Unreachable("header", _by_sniffing(target, seen))
    return Unreachable(
        layer,
        (
            f"{target.address} does not send {wanted} within {target.timeout:g} s. Check whether the broker is "
            "overloaded or still starting."
        ),
    )


def _by_sniffing(target: Target, seen: str) -> str:
    """Nothing came that names the protocol: ask the port in other tongues."""
    found = what_listens(target)
    if found == "tls" and not target.tls:
        return f"{target.address} speaks TLS. Use amqps:// instead of amqp://."
    if found == "http":
        return _stranger(target, b"HTTP/")
    return (
        f"{target.address} {seen} after the AMQP header, so it is hardly an AMQP broker. Check the port; a broker's "
        "own port is usually 5672, or 5671 with TLS."
    )


def _stranger(target: Target, raw: bytes) -> str:
    if raw.startswith(b"HTTP/"):
        return (
            f"{target.address} speaks HTTP, so it may be the broker's management port. Use the AMQP port, usually 5672."
        )
    if raw[:1] == b"\x15" and raw[1:2] == b"\x03":
        return f"{target.address} speaks TLS. Use amqps:// instead of amqp://."
    return (
        f"{target.address} answers the AMQP header with {raw[:24]!r}, which is not an AMQP frame. Check the port; a "
        "broker's own port is usually 5672."
    )
