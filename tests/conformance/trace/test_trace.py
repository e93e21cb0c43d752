"""The recording proxy: every octet passes as it is, everything that passed is recorded, and nobody waits for that."""

from __future__ import annotations

import select
import signal
import socket
import ssl
import statistics
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pika
import pytest

from codec import methods as m
from conformance.catalogue import profiles
from conformance.cli import main
from conformance.drive.drivers.raw import open_connection
from conformance.drive.drivers.target import Target
from conformance.history.recorder import Recorder
from conformance.history.recording import Recording
from conformance.oracle.monitors import judge
from reference_broker import ReferenceBroker
from tests.support.tracer import Tracer


@pytest.fixture
def tracer(tmp_path: Path) -> Iterator[Callable[[str], Tracer]]:
    started: list[Tracer] = []

    def start(url: str) -> Tracer:
        started.append(Tracer(url, tmp_path / f"recording{len(started)}"))
        return started[-1]

    yield start
    for one in started:
        one.kill()


def through(tracer: Tracer) -> pika.URLParameters:
    return pika.URLParameters(f"amqp://guest:guest@127.0.0.1:{tracer.port}/%2F")


def program(parameters: pika.URLParameters, count: int = 30, factor: int = 100) -> None:
    with pika.BlockingConnection(parameters) as connection:
        channel = connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.confirm_delivery()
        for n in range(count):
            channel.basic_publish("", queue, b"b" * n * n * factor, pika.BasicProperties(message_id=str(n)))
        for method, _, _ in channel.consume(queue):
            channel.basic_ack(method.delivery_tag)
            if method.delivery_tag == count:
                break
        channel.cancel()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_passed_is_recorded_and_can_be_judged(tracer: Callable[[str], Tracer], number: int) -> None:
    with ReferenceBroker() as broker:
        tracing = tracer(broker.url)
        program(through(tracing))
        tracing.ended()
        code, out = tracing.stop(number)
    assert code == 0
    events = tracing.events()
    assert out == f"{len(events)} events of 1 connections in {tracing.out / 'events-proxy.jsonl'}\n"
    assert [event.kind for event in events[:3]] == ["observed", "open", "protocol"]
    assert events[0].args == {"by": "proxy", "others": True, "ordered": True}
    assert events[-1].kind == "end"
    assert sum(event.method == "basic.publish" for event in events) == 30
    assert [event.body_size for event in events if event.method == "basic.deliver"] == [n * n * 100 for n in range(30)]
    header = Recording(tracing.out).headers[0]
    assert header["broker"].startswith("amqp-conformance reference")
    assert not judge(events, profiles.load(header["profile"])).findings


def test_an_open_connection_is_cut_when_recording_stops(tracer: Callable[[str], Tracer]) -> None:
    with ReferenceBroker() as broker:
        tracing = tracer(broker.url)
        connection = pika.BlockingConnection(through(tracing))
        connection.channel()
        assert tracing.stop()[0] == 0
        with suppress(Exception):
            connection.close()
    assert tracing.events()[-1].kind == "cut"
    assert tracing.events()[-2].method == "channel.open-ok"


def test_a_proxy_that_is_killed_has_recorded_what_its_keeper_was_told(tracer: Callable[[str], Tracer]) -> None:
    with ReferenceBroker() as broker:
        tracing = tracer(broker.url)
        program(through(tracing), factor=0)
        assert tracing.process.stdout is not None
        tracing.process.kill()
        out = tracing.process.stdout.read()
    assert "events of 1 connections" in out
    acks = [event for event in tracing.events() if event.method == "basic.ack" and event.direction == ">"]
    assert len(acks) == 30


Secure = Callable[[socket.socket], socket.socket]


@contextmanager
def server(secure: Secure = lambda sock: sock) -> Iterator[tuple[str, socket.socket]]:
    """A broker of a kind: says who it is to the first, and accepts the second."""
    start = m.ConnectionStart(0, 0, 9, [("product", "S", b"Odd")], b"PLAIN", b"en_US").encode()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def introduce() -> None:
            with secure(listener.accept()[0]) as first, suppress(ConnectionResetError):
                first.recv(8)
                first.sendall(start)
                first.recv(1)

        thread = threading.Thread(target=introduce)
        thread.start()
        yield f"amqp://127.0.0.1:{listener.getsockname()[1]}", listener
        thread.join()


def received(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            break
        data += more
    return data


def test_malformed_octets_pass_as_they_are(tracer: Callable[[str], Tracer]) -> None:
    noise = bytes(range(256)) * 5000
    with server() as (url, listener):
        tracing = tracer(url)
        with socket.create_connection(("127.0.0.1", tracing.port)) as client:
            broker = listener.accept()[0]
            with broker:
                client.sendall(b"AMQP\0\0\x09\x01GET / HTTP/1.1")
                assert received(broker, 22) == b"AMQP\0\0\x09\x01GET / HTTP/1.1"
                client.setblocking(True)
                broker.sendall(noise[:100_000])
                assert received(client, 100_000) == noise[:100_000]
                client.sendall(noise[:50_000])
                assert received(broker, 50_000) == noise[:50_000]
                client.shutdown(socket.SHUT_WR)
                assert broker.recv(1) == b""
                broker.sendall(b"and more")
                assert received(client, 8) == b"and more"
            assert client.recv(1) == b""
        assert tracing.stop()[0] == 0
    kinds = [event.direction + event.kind for event in tracing.events()]
    assert kinds == ["-observed", "-open", ">protocol", ">malformed", "<malformed", "-end"]


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Secure]:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
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
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            str(key),
            "-out",
            str(cert),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return cert, lambda sock: context.wrap_socket(sock, server_side=True)


def test_tls_towards_the_broker(tracer: Callable[[str], Tracer], certificate: tuple[Path, Secure]) -> None:
    cert, secure = certificate
    answer = m.BasicAck(1, 1, False).encode() * 10_000
    with server(secure) as (url, listener):
        tracing = tracer(f"amqps{url[4:]}?cacertfile={cert}")
        with socket.create_connection(("127.0.0.1", tracing.port)) as client, secure(listener.accept()[0]) as broker:
            client.sendall(b"AMQP\0\0\x09\x01")
            assert received(broker, 8) == b"AMQP\0\0\x09\x01"
            broker.sendall(answer)
            assert received(client, len(answer)) == answer
            with suppress(ssl.SSLError, OSError):
                broker.unwrap()
        tracing.ended()
        assert tracing.stop()[0] == 0
    events = tracing.events()
    assert sum(event.method == "basic.ack" for event in events) == 10_000
    assert events[1].kind == "open"
    assert events[-1].kind == "end"


@pytest.mark.parametrize(("side", "cause"), [("client", "aborted"), ("broker", "reset")])
def test_a_reset_is_passed_on_as_a_reset(tracer: Callable[[str], Tracer], side: str, cause: str) -> None:
    with server() as (url, listener):
        tracing = tracer(url)
        client = socket.create_connection(("127.0.0.1", tracing.port))
        broker = listener.accept()[0]
        client.sendall(b"AMQP\0\0\x09\x01")
        assert received(broker, 8) == b"AMQP\0\0\x09\x01"
        first, other = (client, broker) if side == "client" else (broker, client)
        first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        first.close()
        with pytest.raises(ConnectionResetError):
            other.recv(1)
        other.close()
        assert tracing.stop()[0] == 0
    assert tracing.events()[-1].args == {"cause": cause}


def test_a_side_that_takes_nothing_slows_the_other_and_loses_nothing(tracer: Callable[[str], Tracer]) -> None:
    with server() as (url, listener):
        tracing = tracer(url)
        client = socket.create_connection(("127.0.0.1", tracing.port))
        broker = listener.accept()[0]
        client.setblocking(False)
        sent = 0
        while select.select([], [client], [], 1.0)[1]:
            with suppress(BlockingIOError):
                sent += client.send(bytes(1 << 16))
            assert sent < 1 << 28, "nothing ever slows the client down"
        assert received(broker, sent) == bytes(sent)
        client.close()
        broker.close()
        assert tracing.stop()[0] == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--listen", "0", "http://x"], 2, "scheme of a web address"),
        (["--listen", "here", "amqp://127.0.0.1"], 2, "is no port"),
        (["--listen", "0", "amqp://127.0.0.1:1"], 3, "refuses the connection"),
    ],
)
def test_what_cannot_begin_is_refused_in_words(
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    says: str,
) -> None:
    assert main(["trace", "record", *words]) == code
    assert says in " ".join(capsys.readouterr().err.split())


def test_a_port_that_is_taken_is_refused_in_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with ReferenceBroker() as broker, socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["trace", "record", "--listen", port, "--out", str(tmp_path / "r"), broker.url]) == 2
    assert f"Nobody can listen on {port}" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_refused_in_words(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with ReferenceBroker() as broker:
        assert main(["trace", "record", "--listen", "0", "--out", str(tmp_path / "file" / "x"), broker.url]) == 2
    said = " ".join(capfd.readouterr().err.split())
    assert "Not a directory" in said
    assert "Cannot record into" in said


def round_trips(url: str, count: int = 150) -> list[float]:
    connection = open_connection(Target.parse(url), Recorder("r", "b"), "c")
    taken: list[float] = []
    for _ in range(count):
        begin = time.perf_counter()
        connection.send(m.ChannelOpen(1), m.ChannelClose(1, 200, "", 0, 0))
        while not any(event.method == "channel.close-ok" for event in connection.receive(10.0)):
            pass
        taken.append(time.perf_counter() - begin)
    connection.close()
    return taken


def test_no_visible_latency(tracer: Callable[[str], Tracer]) -> None:
    """Far below what a network adds: what a tenth of all round trips takes at most through the proxy, against the same
    without it. Others wait for a crowded machine; as soon as it is calm for a moment, this is shown.
    """
    pairs: list[list[float]] = []
    with ReferenceBroker() as broker:
        tracing = tracer(broker.url)
        proxied = f"amqp://guest:guest@127.0.0.1:{tracing.port}/%2F"
        for _ in range(10):
            pairs.append([statistics.quantiles(round_trips(url), n=10)[0] for url in (broker.url, proxied)])
            if pairs[-1][1] - pairs[-1][0] < 0.002:
                break
        tracing.stop()
    assert min(after - before for before, after in pairs) < 0.002, pairs
