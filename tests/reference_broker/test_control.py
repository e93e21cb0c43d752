"""The management interface: RabbitMQ's paths, and ours beside them."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pika
import pytest

from reference_broker import ReferenceBroker
from reference_broker.control import LARGEST

Ask = Callable[..., Any]
LOGIN = "Basic " + base64.b64encode(b"guest:guest").decode()


def asking(broker: ReferenceBroker) -> Ask:
    """Asks this broker; `ask.place` is where it is."""
    base = broker.admin_url.replace("guest:guest@", "")

    def ask(method: str, path: str, content: object = None) -> Any:
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(base + path, body, {"Authorization": LOGIN}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    ask.place = base.removeprefix("http://")
    return ask


@pytest.fixture
def ask() -> Iterator[Ask]:
    with ReferenceBroker(clock="elastic", http_port=0) as broker:
        yield asking(broker)


def test_it_says_who_it_is(ask: Ask) -> None:
    assert ask("GET", "/api/overview")["product_name"] == "amqp-conformance reference"
    assert ask("GET", "/api/queues") == []


def test_policies_come_and_go(ask: Ask) -> None:
    ask("PUT", "/api/policies/%2F/short", {"pattern": "^q", "definition": {"consumer-timeout": 500}, "priority": 2})
    (policy,) = ask("GET", "/api/policies")
    assert (policy["name"], policy["definition"], policy["priority"]) == ("short", {"consumer-timeout": 500}, 2)
    ask("DELETE", "/api/policies/%2F/short")
    assert ask("GET", "/api/policies") == []


def test_settings_and_the_clock_are_ours(ask: Ask) -> None:
    ask("PUT", "/x/settings", {"consumer_timeout": 500})
    assert ask("GET", "/x/settings") == {"consumer_timeout": 500}
    before = ask("GET", "/x/clock")["now"]
    assert ask("POST", "/x/clock", {"seconds": 1800})["now"] >= before + 1800


def test_time_passes_behind_what_clients_have_sent() -> None:
    """And without their heartbeats, unless these are to have been missing."""
    with ReferenceBroker(clock="elastic", http_port=0) as broker:
        ask = asking(broker)
        connection = pika.BlockingConnection(pika.URLParameters(f"{broker.url}?heartbeat=60"))
        channel = connection.channel()
        channel.queue_declare("q", arguments={"x-message-ttl": 3_661_000})
        for _ in range(20):
            channel.basic_publish("", "q", b"body")
            ask("POST", "/x/clock", {"seconds": 1, "minutes": 1, "hours": 1})
            assert channel.queue_declare("q", passive=True).method.message_count == 0
        ask("POST", "/x/clock", {"hours": 1, "heartbeats": True})
        with pytest.raises(pika.exceptions.AMQPConnectionError):
            connection.channel()


def test_an_alarm_is_raised_and_cleared(ask: Ask) -> None:
    for reason in ("low on memory", None):
        ask("PUT", "/x/alarm", {"reason": reason})
        assert ask("GET", "/x/alarm") == {"reason": reason}


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("GET", "/api/nothing", None, 404),
        ("GET", "/api/queues/%2F/none", None, 404),
        ("DELETE", "/api/policies/%2F/none", None, 404),
        ("PUT", "/api/policies/%2F/p", {"pattern": "x"}, 400),
        ("PUT", "/x/settings", {"consumer_timeout": "soon"}, 400),
        ("PUT", f"/api/queues/%2F/{'q' * 256}", {}, 400),
        ("PUT", f"/api/exchanges/%2F/{'x' * 256}", {"type": "direct"}, 400),
        ("PUT", "/api/queues/%2F/q", {"arguments": {"x": 1e400}}, 400),
        ("POST", "/api/definitions", {"users": [{"name": "\ud800", "password": "", "tags": ""}]}, 400),
        ("POST", "/api/users/bulk-delete", {}, 400),
        ("POST", "/x/clock", {"seconds": -1}, 400),
        ("PUT", "/api/policies/%2F/p", {"pattern": "x", "definition": {"x": 1}}, 400),
    ],
)
def test_what_it_refuses(ask: Ask, method: str, path: str, content: object, status: int) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(method, path, content)
    assert refused.value.code == status


def test_several_users_go_at_once(ask: Ask) -> None:
    for name in ("anna", "bert"):
        ask("PUT", f"/api/users/{name}", {"password": "x", "tags": ""})
    ask("POST", "/api/users/bulk-delete", {"users": ["anna", "nobody", "bert"]})
    assert [one["name"] for one in ask("GET", "/api/users")] == ["guest"]


def test_an_imitation_offers_what_the_imitated_does() -> None:
    """No paths of our own; what is in its configuration nobody can ask for."""
    with ReferenceBroker(dialect="rabbitmq-4.3", http_port=0, theirs_only=True, consumer_timeout=5000) as broker:
        ask = asking(broker)
        assert ask("GET", "/api/overview")["product_name"] == "RabbitMQ"
        for path in ("/x/settings", "/x/clock"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                ask("GET", path)
            assert refused.value.code == 404


def one_message(broker: ReferenceBroker) -> object:
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.queue_declare("q")
        channel.basic_publish("", "q", b"body", pika.BasicProperties(headers={"h": 1}))
        return channel.basic_get("q")[2]


def test_what_passes_is_kept_for_those_who_asked() -> None:
    with ReferenceBroker(http_port=0) as broker:
        ask = asking(broker)
        one_message(broker)
        assert ask("GET", "/x/events") == {"on": False, "count": 0, "events": []}
        ask("PUT", "/x/events", {"on": True})
        one_message(broker)
        found = ask("GET", "/x/events")
        publish = next(one for one in found["events"] if one.get("method") == "basic.publish")
        assert (publish["to"], publish["channel"], publish["arguments"]["routing_key"]) == ("broker", 1, "q")
        header = next(one for one in found["events"] if one["kind"] == "header")
        assert (header["body_size"], header["properties"]["headers"]) == (4, {"h": 1})
        assert [one["kind"] for one in found["events"][:2]] == ["protocol header", "method"]
        assert len(ask("GET", f"/x/events?from={found['count'] - 1}")["events"]) == 1
        ask("DELETE", "/x/events")
        assert ask("GET", "/x/events")["count"] == 0


def test_mutants_and_nondeterminism_by_http() -> None:
    with ReferenceBroker(http_port=0) as broker:
        ask = asking(broker)
        known = [one["name"] for one in ask("GET", "/x/mutants")["known"]]
        assert "errors.ack-after-nack-accepted" in known
        ask("PUT", "/x/mutants", {"on": ["errors.ack-after-nack-accepted"]})
        ask("PUT", "/x/liberties", {"taken": 7})
        assert ask("GET", "/x/mutants")["on"] == ["errors.ack-after-nack-accepted"]
        assert ask("GET", "/x/liberties")["taken"] == 7
        assert one_message(broker) in (b"body", None)
        for path, content in (("/x/mutants", {"on": ["none"]}), ("/x/liberties", {"taken": ["none"]})):
            with pytest.raises(urllib.error.HTTPError) as refused:
                ask("PUT", path, content)
            assert refused.value.code == 400
            assert "none" in json.loads(refused.value.read())["reason"]


def test_a_connection_serves_many_requests(ask: Ask) -> None:
    client = http.client.HTTPConnection(ask.place, timeout=60)
    login = {"Authorization": "Basic " + base64.b64encode(b"guest:guest").decode()}
    for _ in range(3):
        client.request("HEAD", "/api/overview", headers=login)
        answer = client.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
        client.request("GET", "/api/whoami", headers=login)
        assert json.loads(client.getresponse().read())["name"] == "guest"
    client.close()


TO_ALL = "GET /api/openapi.json HTTP/1.1\r\nHost: x"
"""What is answered without a login."""


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("nonsense", 400),
        ("GET / HTTP/2", 400),
        ("GET / HTTP/2.0\r\nHost: x", 400),
        ("GET /api/openapi.json HTTP/1.1", 400),
        (f"{TO_ALL}\r\nHost: y", 400),
        (f"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: {LARGEST + 1}", 413),
        ("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: x", 400),
        ("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip", 501),
        ("GET /api/overview HTTP/1.1\r\nHost: x", 401),
        ("GET /api/overview HTTP/1.1\r\nHost: x\r\nAuthorization: Basic !!", 401),
        ("GET /api/overview HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x", 401),
        (TO_ALL, 200),
        ("GET /api/openapi.json HTTP/1.0", 200),
    ],
)
def test_http_itself(ask: Ask, head: str, status: int) -> None:
    with connected(ask) as connection:
        connection.sendall(f"{head}\r\n\r\n".encode())
        assert connection.recv(64).startswith(f"HTTP/1.1 {status} ".encode())


def connected(ask: Ask) -> socket.socket:
    host, _, port = ask.place.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=60)


def test_a_body_may_come_in_chunks(ask: Ask) -> None:
    client = http.client.HTTPConnection(ask.place, timeout=60)
    login = {"Authorization": "Basic " + base64.b64encode(b"guest:guest").decode()}
    whole = json.dumps({"reason": "low on memory"}).encode()
    client.request("PUT", "/x/alarm", iter([whole[:5], whole[5:]]), login, encode_chunked=True)
    assert client.getresponse().status == 204
    client.close()
    assert ask("GET", "/x/alarm") == {"reason": "low on memory"}


def test_chunks_without_end_are_refused(ask: Ask) -> None:
    with connected(ask) as connection:
        connection.sendall(b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(0, LARGEST, 1 << 20):
            connection.sendall(b"100000\r\n" + bytes(1 << 20) + b"\r\n")
        connection.sendall(b"1\r\nx")
        assert connection.recv(64).startswith(b"HTTP/1.1 413 ")


def test_a_body_is_asked_for_where_the_client_waits(ask: Ask) -> None:
    with connected(ask) as connection:
        connection.sendall(b"PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert connection.recv(64).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"{}")
        assert connection.recv(64).startswith(b"HTTP/1.1 404 ")


def test_requests_that_came_at_once_are_answered_in_turn(ask: Ask) -> None:
    with connected(ask) as connection:
        head = f"{TO_ALL}\r\n\r\n".replace("GET", "HEAD")
        connection.sendall((head * 2 + f"{TO_ALL}\r\nConnection: close\r\n\r\n").encode())
        text = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert text.count(b"HTTP/1.1 200 ") == 3
    json.loads(text.split(b"\r\n\r\n")[-1])


def test_a_client_that_stays_connected_leaves_no_complaint_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with ReferenceBroker(http_port=0) as broker:
        client = http.client.HTTPConnection(asking(broker).place, timeout=60)
        client.request("GET", "/api/overview", headers={"Authorization": LOGIN})
        assert client.getresponse().read()
    client.close()
    assert not caplog.records, caplog.text
