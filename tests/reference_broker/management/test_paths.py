"""Paths that tools ask for, and what RabbitMQ takes beside what it describes: on our broker, and on a real one."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reference_broker import ReferenceBroker
from reference_broker.tls import Tls, expires

CHECKS = "/api/health/checks"


def offers(both: Any, path: str) -> None:
    if both.do("GET", path)[0] == 404:
        pytest.skip("this RabbitMQ has no such path")


@pytest.mark.parametrize(
    ("protocol", "known"),
    [
        ("amqp", True),
        ("amqp091", True),
        ("http", True),
        ("mqtt", False),
        ("none", False),
    ],
)
def test_protocols_that_are_listened_for(both: Any, protocol: str, known: bool) -> None:
    offers(both, f"{CHECKS}/protocol-listener/amqp")
    status, told = both.do("GET", f"{CHECKS}/protocol-listener/{protocol}")
    assert (status, told["status"]) == ((200, "ok") if known else (503, "failed"))
    if not known:
        assert told["reason"] == "No active listener"
        assert protocol in told["missing"]
        assert {"amqp", "http"} <= set(told["protocols"])


def test_ports_that_are_listened_on(both: Any) -> None:
    offers(both, f"{CHECKS}/port-listener/{both.port}")
    assert both.do("GET", f"{CHECKS}/port-listener/{both.port}") == (200, {"status": "ok", "port": both.port})
    status, told = both.do("GET", f"{CHECKS}/port-listener/1")
    assert (status, told["status"], told["reason"], told["missing"]) == (503, "failed", "No active listener", 1)
    assert both.port in told["ports"]
    refused = {"error": "bad_request", "reason": "Invalid port"}
    assert both.do("GET", f"{CHECKS}/port-listener/x") == (400, refused)


@pytest.mark.parametrize(
    ("within", "status"),
    [
        ("1/weeks", 200),
        ("0/days", 200),
        ("3/months", 200),
        ("1/years", 200),
        ("x/weeks", 400),
        ("1/eons", 400),
    ],
)
def test_how_long_certificates_are_good(both: Any, within: str, status: int) -> None:
    offers(both, f"{CHECKS}/certificate-expiration/1/weeks")
    found, told = both.do("GET", f"{CHECKS}/certificate-expiration/{within}")
    assert found == status
    assert told == {"status": "ok"} or told["reason"] in (
        "Invalid expiration value.",
        "Time unit not recognised. Supported units: days, weeks, months, years.",
    )


def test_a_certificate_that_ends_soon_is_told(tmp_path: Path, manager_of: Any) -> None:
    pem = tmp_path / "pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "10",
            "-subj",
            "/CN=localhost",
            "-keyout",
            pem,
            "-out",
            tmp_path / "crt",
        ],
        check=True,
        capture_output=True,
    )
    pem.write_text(pem.read_text() + (tmp_path / "crt").read_text())
    end = subprocess.run(
        ["openssl", "x509", "-noout", "-enddate", "-in", tmp_path / "crt"], check=True, capture_output=True, text=True
    ).stdout
    assert expires(pem.read_text()) == ssl.cert_time_to_seconds(end.strip().removeprefix("notAfter="))
    with ReferenceBroker(http_port=0, tls=Tls(str(pem))) as broker:
        manager = manager_of(broker.admin_url)
        assert manager.do("GET", f"{CHECKS}/certificate-expiration/1/weeks") == (200, {"status": "ok"})
        status, told = manager.do("GET", f"{CHECKS}/certificate-expiration/2/weeks")
        assert (status, told["reason"]) == (503, "Certificates expiring")
        assert [(one["protocol"], one["port"]) for one in told["expired"]] == [("amqp/ssl", broker.tls_port)]
        assert manager.do("GET", f"{CHECKS}/protocol-listener/amqps")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/api/extensions",
        "/api/feature-flags",
        "/api/parameters",
        "/api/global-parameters",
        "/api/vhost-limits",
        "/api/users/without-permissions",
        "/api/parameters/vhost-limits",
        "/api/parameters/operator_policy/{v}",
    ],
)
def test_lists_that_are_asked_for(both: Any, path: str) -> None:
    status, found = both.do("GET", path)
    assert status == 200
    assert isinstance(found, list)


def test_users_without_permissions(both: Any) -> None:
    assert both.user not in [one["name"] for one in both.do("GET", "/api/users/without-permissions")[1]]
    both.do("DELETE", "/api/permissions/{v}/{u}")
    assert both.user in [one["name"] for one in both.do("GET", "/api/users/without-permissions")[1]]


def test_parameters_of_components(both: Any) -> None:
    operators = {"pattern": "^q", "definition": {"max-length": 6}, "priority": 3, "apply-to": "queues"}
    path = "/api/parameters/operator_policy/{v}/op"
    assert both.do("PUT", path, {"value": operators}) == (201, None)
    assert both.do("PUT", path, {"value": operators}) == (204, None)
    told = {"component": "operator_policy", "vhost": both.vhost, "name": "op", "value": operators}
    assert both.do("GET", path) == (200, told)
    assert both.do("PUT", "/api/vhost-limits/{v}/max-queues", {"value": 3}) == (204, None)
    limits = {"component": "vhost-limits", "vhost": both.vhost, "name": "limits", "value": {"max-queues": 3}}
    assert both.do("GET", "/api/parameters/vhost-limits/{v}/limits") == (200, limits)
    assert both.do("GET", "/api/parameters/vhost-limits/{v}") == (200, [limits])
    assert [one for one in both.do("GET", "/api/parameters")[1] if one["vhost"] == both.vhost] == [limits, told]
    assert both.do("PUT", "/api/parameters/vhost-limits/{v}/limits", {"value": {"max-queues": 4}}) == (204, None)
    assert both.do("GET", "/api/vhost-limits/{v}")[1][0]["value"] == {"max-queues": 4}
    for component, reason in (
        ("none", "Validation failed\n\ncomponent none not found\n"),
        ("policy", "policies may not be set using this method"),
    ):
        refused = both.do("PUT", f"/api/parameters/{component}/{{v}}/x", {"value": {}})
        assert refused == (400, {"error": "bad_request", "reason": reason})
    for one in ("vhost-limits/{v}/limits", "operator_policy/{v}/op"):
        assert both.do("DELETE", f"/api/parameters/{one}") == (204, None)
        assert both.do("DELETE", f"/api/parameters/{one}")[0] == 404
    assert both.do("GET", "/api/operator-policies/{v}") == (200, [])


def test_global_parameters(both: Any) -> None:
    path = f"/api/global-parameters/{both.vhost}"
    try:
        assert both.do("GET", path)[0] == 404
        for value, status in (({"a": 1}, 201), ([1, "x", None, True], 204)):
            assert both.do("PUT", path, {"name": both.vhost, "value": value}) == (status, None)
            assert both.do("GET", path) == (200, {"name": both.vhost, "value": value})
            assert {"name": both.vhost, "value": value} in both.do("GET", "/api/global-parameters")[1]
        assert both.do("PUT", path, {})[0] == 400
        assert {"name": both.vhost, "value": value} in both.do("GET", "/api/definitions")[1]["global_parameters"]
    finally:
        assert both.do("DELETE", path) == (204, None)
    assert both.do("DELETE", path)[0] == 404


def test_booleans_and_some_numbers_may_be_texts(both: Any) -> None:
    assert both.do("PUT", "/api/queues/{v}/q", {"durable": "true", "auto_delete": "false"}) == (201, None)
    assert both.do("PUT", "/api/exchanges/{v}/ex", {"durable": "false", "internal": "true"}) == (201, None)
    assert both.do("GET", "/api/exchanges/{v}/ex?columns=internal,durable") == (
        200,
        {"internal": True, "durable": False},
    )
    get = {"ackmode": "ack_requeue_true", "encoding": "auto"}
    assert both.do("POST", "/api/queues/{v}/q/get", {**get, "count": "1", "truncate": "50000"}) == (200, [])
    for wrong in ("True", "yes", "", 1):
        assert both.do("PUT", "/api/queues/{v}/other", {"durable": wrong})[0] == 400
    assert both.do("POST", "/api/queues/{v}/q/get", {**get, "count": "x"})[0] == 400
    policy = {"pattern": "^q", "definition": {"max-length": 6}, "priority": "3"}
    assert both.do("PUT", "/api/policies/{v}/p", policy)[0] == 400


def test_some_members_of_one_thing(both: Any) -> None:
    both.do("PUT", "/api/queues/{v}/q", {"durable": True, "arguments": {"x-max-length": 5}})
    _, found = both.do("GET", "/api/queues/{v}/q?columns=name,durable,arguments.x-max-length")
    assert (found.pop("arguments")["x-max-length"], found) == (5, {"name": "q", "durable": True})
    assert both.do("GET", "/api/whoami?columns=name") == (200, {"name": "guest"})
    assert both.do("GET", "/api/vhosts/{v}?columns=name,tracing") == (200, {"name": both.vhost, "tracing": False})
    assert set(both.do("GET", "/api/overview?columns=product_name,none")[1]) == {"product_name"}
    assert both.do("GET", "/api/queues/{v}/none?columns=name")[1] == {
        "error": "Object Not Found",
        "reason": "Not Found",
    }


def test_a_virtual_host_says_what_it_is_for(both: Any) -> None:
    told = {"description": "mine", "tags": "a, b", "tracing": "false"}
    assert both.do("PUT", "/api/vhosts/{v}", told) == (204, None)
    shown = both.do("GET", "/api/vhosts/{v}")[1]
    if "description" in shown:  # RabbitMQ 3.8 does not tell
        assert (shown["description"], [tag.strip() for tag in shown["tags"]]) == ("mine", ["a", "b"])
    assert shown["tracing"] is False


def test_definitions_carry_limits_and_parameters_to_another_broker(both: Any, manager_of: Any) -> None:
    both.do("PUT", "/api/vhost-limits/{v}/max-queues", {"value": 3})
    both.do("PUT", "/api/user-limits/{u}/max-channels", {"value": 4})
    both.do("PUT", "/api/queues/{v}/q", {"durable": True})
    both.do("PUT", "/api/operator-policies/{v}/op", {"pattern": "^q", "definition": {"max-length": 6}, "priority": 3})
    definitions = both.do("GET", "/api/definitions")[1]
    with ReferenceBroker(http_port=0, users={"boss": "b"}) as other:
        manager = manager_of(other.admin_url)
        assert manager.do("POST", "/api/definitions", definitions) == (204, None)
        for path in (f"/api/vhost-limits/{both.vhost}", f"/api/operator-policies/{both.vhost}"):
            assert manager.do("GET", path) == both.do("GET", path)
        if both.do("GET", "/api/user-limits")[0] == 200:
            path = f"/api/user-limits/{both.user}"
            assert manager.do("GET", path) == both.do("GET", path)
        named = [one["name"] for one in manager.do("GET", f"/api/queues/{both.vhost}?columns=name")[1]]
        assert named == ["q"]
