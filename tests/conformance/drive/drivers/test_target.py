from __future__ import annotations

import pytest

from conformance.drive.drivers.target import BadUrl, Target


def test_a_full_url_is_taken_apart() -> None:
    target = Target.parse("amqp://al%40ice:se%3Acret@broker.example:5673/my%2Fvhost?connection_timeout=1500")
    assert target == Target(
        "broker.example",
        5673,
        "al@ice",
        "se:cret",
        "my/vhost",
        options={"connection_timeout": "1500"},
    )
    assert target.timeout == 1.5


@pytest.mark.parametrize(
    ("url", "port", "vhost", "tls"),
    [
        ("amqp://localhost", 5672, "/", False),
        ("amqp://localhost/", 5672, "/", False),
        ("amqp://localhost/%2F", 5672, "/", False),
        ("amqp://localhost/%2f", 5672, "/", False),
        ("amqp://localhost/test", 5672, "test", False),
        ("amqps://localhost", 5671, "/", True),
        ("  amqp://localhost\n", 5672, "/", False),
    ],
)
def test_defaults(url: str, port: int, vhost: str, tls: bool) -> None:
    target = Target.parse(url)
    assert (target.port, target.vhost, target.tls) == (port, vhost, tls)
    assert (target.user, target.password) == ("guest", "guest")


def test_ipv6() -> None:
    target = Target.parse("amqp://[::1]:5672/")
    assert (target.host, target.address) == ("::1", "[::1]:5672")


def test_the_password_stays_out_of_sight() -> None:
    target = Target.parse("amqp://user:hunter2@localhost/%2F")
    assert str(target) == "amqp://user@localhost:5672/%2F"
    assert "hunter2" not in repr(target)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://localhost:15672/", "web address"),
        ("localhost:5672", "begin it with amqp://"),
        ("mqtt://localhost", "'mqtt' is not known"),
        ("amqp:///vhost", "names no host"),
        ("amqp://localhost:99999/", "from 1 to 65535"),
        ("amqp://localhost:abc/", "from 1 to 65535"),
        ("amqp://localhost:0/", "port of"),
        ("amqp://localhost/a/b", "%2F"),
        ("amqp://localhost/?heartbeet=3", "'heartbeet' is not known"),
        ("amqps://localhost/?verify=maybe", "verify_peer or verify_none"),
        ("amqp://localhost/?connection_timeout=soon", "milliseconds"),
        ("", "has no scheme"),
        ("amqp://[::1", "cannot be read"),
    ],
)
def test_a_bad_url_is_refused_with_a_remedy(url: str, says: str) -> None:
    with pytest.raises(BadUrl) as refused:
        Target.parse(url)
    assert says in str(refused.value)
    assert "amqp://guest:guest@localhost:5672/%2F" in str(refused.value)


def test_a_refusal_keeps_the_password_to_itself() -> None:
    with pytest.raises(BadUrl) as refused:
        Target.parse("amqp://user:hunter2@localhost:port/")
    assert "hunter2" not in str(refused.value)
