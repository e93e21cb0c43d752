from __future__ import annotations

import select
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codec import methods as m
from codec import values
from conformance.drive.drivers.raw import Target, Unreachable, open_connection
from conformance.drive.drivers.wire import Wire
from conformance.history import events
from conformance.history.events import Event
from conformance.history.recorder import Recorder

Serve = Callable[[Callable[[Any], None]], Target]


def refusal(target: Target, recorder: Recorder) -> Unreachable:
    with pytest.raises(Unreachable) as refused:
        open_connection(target, recorder, "c1")
    return refused.value


def impatient(target: Target, milliseconds: int) -> Target:
    """Where something is waited for in vain."""
    return Target(target.host, target.port, options={**target.options, "connection_timeout": str(milliseconds)})


def test_a_handshake_is_part_of_the_history(serve: Serve, recorder: Recorder, log: list[Event]) -> None:
    target = serve(lambda peer: (peer.welcome(), peer.sock.recv(1)))
    connection = open_connection(target, recorder, "c1")
    assert [event.method or event.kind for event in log] == [
        events.OPEN,
        events.PROTOCOL,
        "connection.start",
        "connection.start-ok",
        "connection.tune",
        "connection.tune-ok",
        "connection.open",
        "connection.open-ok",
    ]
    assert [event.seq for event in log] == list(range(1, 9))
    assert connection.server_properties == {"product": "Scripted", "version": "1.2"}
    assert connection.tuned == (7, 8192, 0)
    connection.abort()
    assert (log[-1].kind, log[-1].args["cause"]) == (events.END, "aborted")


def test_a_segment_that_begins_amid_amqplain_is_no_protocol_header(serve: Serve, recorder: Recorder) -> None:
    """Mechanisms come in connection.start, and TCP may cut that anywhere."""

    def script(peer: Any) -> None:
        peer.header()
        about = values.table({"product": "Cut", "version": "1"})
        start = m.ConnectionStart(0, 0, 9, about, b"PLAIN AMQPLAIN", b"en_US").encode()
        for octet in start:
            peer.sock.sendall(bytes([octet]))
        peer.expect(m.ConnectionStartOk)
        peer.send(m.ConnectionTune(0, 7, 8192, 60))
        peer.expect(m.ConnectionOpen)
        peer.send(m.ConnectionOpenOk(0))
        peer.sock.recv(1)

    target = serve(script)
    for number in range(5):
        connection = open_connection(target, recorder, f"c{number}")
        assert connection.server_properties == {"product": "Cut", "version": "1"}
        connection.abort()


def test_login_and_capabilities_are_those_asked_for(serve: Serve, recorder: Recorder) -> None:
    seen: list[m.ConnectionStartOk] = []

    def script(peer: Any) -> None:
        seen.append(peer.login())
        peer.send(m.ConnectionTune(0, 0, 0, 0))
        peer.expect(m.ConnectionOpen)
        peer.send(m.ConnectionOpenOk(0))
        peer.sock.recv(1)

    connection = open_connection(serve(script), recorder, "c1", capabilities={"basic.nack": False})
    assert seen[0].response == b"\0guest\0guest"
    assert values.plain(seen[0].client_properties)["capabilities"] == {"basic.nack": False}
    assert connection.tuned == (65535, 131072, 0), "no limits are turned into the largest there are"
    connection.abort()


def test_refused_port(recorder: Recorder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    refused = refusal(Target("127.0.0.1", port), recorder)
    assert refused.layer == "tcp"
    assert f"127.0.0.1:{port} refuses the connection" in refused.message


def test_unknown_host(recorder: Recorder) -> None:
    refused = refusal(Target("no-such-host.invalid"), recorder)
    assert refused.layer == "tcp"
    assert "does not resolve" in refused.message


def test_http_that_answers_the_header(serve: Serve, recorder: Recorder, log: list[Event]) -> None:
    refused = refusal(serve(lambda peer: peer.sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")), recorder)
    assert refused.layer == "header"
    assert "speaks HTTP" in refused.message
    assert [event.kind for event in log[-2:]] == [events.MALFORMED, events.END]


def test_http_that_waits_for_more(serve: Serve, recorder: Recorder) -> None:
    def script(peer: Any) -> None:
        if peer.sock.recv(3) == b"GET":
            peer.sock.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
        peer.sock.recv(65536)
        peer.sock.recv(1)

    refused = refusal(impatient(serve(script), 2000), recorder)
    assert refused.layer == "header"
    assert "speaks HTTP" in refused.message


def test_another_protocol_version(serve: Serve, recorder: Recorder) -> None:
    refused = refusal(serve(lambda peer: peer.sock.sendall(b"AMQP\x00\x01\x00\x00")), recorder)
    assert refused.layer == "header"
    assert "another version" in refused.message


def test_a_port_that_says_nothing(serve: Serve, recorder: Recorder) -> None:
    mute = serve(lambda peer: (peer.sock.recv(65536), peer.sock.recv(65536)))
    refused = refusal(impatient(mute, 400), recorder)
    assert refused.layer == "header"
    assert "says nothing" in refused.message


def test_a_port_that_hangs_up(serve: Serve, recorder: Recorder) -> None:
    refused = refusal(serve(lambda peer: peer.header()), recorder)
    assert refused.layer == "header"
    assert "closes the connection at once" in refused.message


def test_a_port_that_hangs_up_while_the_header_is_sent(
    serve: Serve,
    recorder: Recorder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The end is noticed by the write; nothing is waited for after it."""
    connect, connected = Wire.connect, threading.Event()

    def when_it_is_gone(target: Target) -> Wire:
        wire = connect(target)
        connected.set()
        gone = select.poll()
        gone.register(wire, select.POLLHUP)
        assert gone.poll(60_000)
        return wire

    monkeypatch.setattr(Wire, "connect", when_it_is_gone)

    def script(peer: Any) -> None:
        connected.wait(60)
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    refused = refusal(serve(script), recorder)
    assert refused.layer == "header"
    assert "closes the connection at once" in refused.message


def test_no_plain_login(serve: Serve, recorder: Recorder) -> None:
    refused = refusal(serve(lambda peer: (peer.start(b"EXTERNAL"), peer.sock.recv(1))), recorder)
    assert refused.layer == "login"
    assert "EXTERNAL" in refused.message


def test_a_refused_login_that_is_explained(serve: Serve, recorder: Recorder, log: list[Event]) -> None:
    def script(peer: Any) -> None:
        peer.login()
        peer.send(m.ConnectionClose(0, 403, "ACCESS_REFUSED - Login was refused", 0, 0))
        peer.expect(m.ConnectionCloseOk)

    refused = refusal(serve(script), recorder)
    assert refused.layer == "login"
    assert "Check user and password" in refused.message
    assert "Login was refused" in refused.message
    assert "connection.close-ok" in [event.method for event in log]


def test_a_refused_login_without_a_word(serve: Serve, recorder: Recorder) -> None:
    refused = refusal(serve(lambda peer: peer.login()), recorder)
    assert refused.layer == "login"
    assert "without giving a reason" in refused.message


@pytest.mark.parametrize(
    ("text", "layer"),
    [
        ("NOT_ALLOWED - vhost x not found", "vhost"),
        ("NOT_ALLOWED - access to vhost 'x' refused for user 'guest'", "rights"),
    ],
)
def test_a_vhost_that_does_not_open(serve: Serve, recorder: Recorder, text: str, layer: str) -> None:
    def script(peer: Any) -> None:
        peer.tune()
        peer.send(m.ConnectionClose(0, 530, text, 10, 40))
        peer.expect(m.ConnectionCloseOk)

    refused = refusal(serve(script), recorder)
    assert refused.layer == layer
    assert text in refused.message


def test_a_broker_that_stops_half_way(serve: Serve, recorder: Recorder) -> None:
    refused = refusal(impatient(serve(lambda peer: (peer.tune(), peer.sock.recv(1))), 2000), recorder)
    assert refused.layer == "vhost"
    assert "connection.open-ok" in refused.message


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout",
            str(key),
            "-out",
            str(cert),
        ],
        check=True,
        capture_output=True,
    )
    return cert, key


def over_tls(certificate: tuple[Path, Path], script: Callable[[Any], None]) -> Callable[[Any], None]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)

    def wrapped(peer: Any) -> None:
        with context.wrap_socket(peer.sock, server_side=True) as sock:
            peer.sock = sock
            script(peer)

    return wrapped


def secured(target: Target, **options: str) -> Target:
    return Target(target.host, target.port, tls=True, options={**target.options, **options})


def test_tls(serve: Serve, recorder: Recorder, certificate: tuple[Path, Path]) -> None:
    target = serve(over_tls(certificate, lambda peer: (peer.welcome(), peer.sock.recv(1))))
    connection = open_connection(secured(target, cacertfile=str(certificate[0])), recorder, "c1")
    assert connection.server_properties["product"] == "Scripted"
    connection.abort()


def test_tls_where_plain_amqp_is_asked_for(
    serve: Serve,
    recorder: Recorder,
    certificate: tuple[Path, Path],
) -> None:
    refused = refusal(serve(over_tls(certificate, lambda peer: peer.welcome())), recorder)
    assert refused.layer == "header"
    assert "Use amqps://" in refused.message


def test_plain_amqp_where_tls_is_asked_for(serve: Serve, recorder: Recorder) -> None:
    refused = refusal(secured(serve(lambda peer: (peer.start(), peer.sock.recv(1)))), recorder)
    assert refused.layer == "tls"
    assert "Use amqp://" in refused.message


def test_an_untrusted_certificate(serve: Serve, recorder: Recorder, certificate: tuple[Path, Path]) -> None:
    target = serve(over_tls(certificate, lambda peer: peer.welcome()))
    refused = refusal(secured(target), recorder)
    assert refused.layer == "tls"
    assert "cacertfile" in refused.message
    open_connection(secured(target, verify="verify_none"), recorder, "c2").abort()


def test_a_missing_certificate_file(serve: Serve, recorder: Recorder) -> None:
    refused = refusal(secured(serve(lambda peer: None), cacertfile="/nowhere/ca.pem"), recorder)
    assert refused.layer == "tls"
    assert "/nowhere/ca.pem" in refused.message or "cannot be read" in refused.message


@pytest.mark.parametrize("polite", [True, False], ids=["with an alert", "without a word"])
def test_a_broker_that_wants_a_client_certificate(
    serve: Serve,
    recorder: Recorder,
    certificate: tuple[Path, Path],
    polite: bool,
) -> None:
    """With TLS 1.3 the client's handshake is over before the server finds that there is no certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    if polite:
        context.load_verify_locations(certificate[0])
        context.verify_mode = ssl.CERT_REQUIRED

    def script(peer: Any) -> None:
        try:
            with context.wrap_socket(peer.sock, server_side=True) as sock:
                sock.recv(8)
        except ssl.SSLError:
            peer.sock.close()

    refused = refusal(secured(serve(script), cacertfile=str(certificate[0])), recorder)
    assert refused.layer == "tls"
    assert "?certfile=FILE&keyfile=FILE" in refused.message
