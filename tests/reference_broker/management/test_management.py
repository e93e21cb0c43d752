"""The same calls of a client to our broker and, where there is one, to a real RabbitMQ: same statuses, same shapes."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pika
import pytest

SHAPES = {
    "/api/overview": {
        "product_name": str,
        "product_version": str,
        "rabbitmq_version": str,
        "object_totals": dict,
        "queue_totals": dict,
        "node": str,
    },
    "/api/whoami": {"name": str, "tags": list},
    "/api/users/{u}": {"name": str, "password_hash": str, "hashing_algorithm": str, "tags": list},
    "/api/permissions/{v}/{u}": {"user": str, "vhost": str, "configure": str, "write": str, "read": str},
    "/api/vhosts/{v}": {"name": str, "tracing": bool},
    "/api/queues/{v}/q": {
        "name": str,
        "vhost": str,
        "type": str,
        "durable": bool,
        "auto_delete": bool,
        "exclusive": bool,
        "arguments": dict,
        "node": str,
    },
    "/api/exchanges/{v}/ex": {
        "name": str,
        "vhost": str,
        "type": str,
        "durable": bool,
        "auto_delete": bool,
        "internal": bool,
        "arguments": dict,
    },
    "/api/policies/{v}/p": {
        "vhost": str,
        "name": str,
        "pattern": str,
        "apply-to": str,
        "definition": dict,
        "priority": int,
    },
}


def test_what_is_set_up_is_shown(both: Any) -> None:
    assert both.do("PUT", "/api/queues/{v}/q", {"durable": True, "arguments": {"x-max-length": 5}}) == (201, None)
    assert both.do("PUT", "/api/queues/{v}/q", {"durable": True, "arguments": {"x-max-length": 5}}) == (204, None)
    assert both.do("PUT", "/api/exchanges/{v}/ex", {"type": "topic"}) == (201, None)
    policy = {"pattern": "^q", "definition": {"max-length": 7}, "priority": 3, "apply-to": "queues"}
    assert both.do("PUT", "/api/policies/{v}/p", policy) == (201, None)
    assert both.do("PUT", "/api/policies/{v}/p", policy) == (204, None)
    for path, members in SHAPES.items():
        status, content = both.do("GET", path)
        assert status == 200, path
        for name, kind in members.items():
            assert isinstance(content[name], kind), (path, name, content.get(name))
    assert both.do("GET", "/api/queues/{v}/q")[1]["arguments"]["x-max-length"] == 5
    assert both.do("GET", "/api/policies/{v}/p")[1] == {"vhost": both.vhost, "name": "p", **policy}


def test_operators_have_policies_beside_those_of_users(both: Any) -> None:
    both.do("PUT", "/api/queues/{v}/q", {"durable": True})
    for kind, most in (("policies", 7), ("operator-policies", 3)):
        policy = {"pattern": "^q", "definition": {"max-length": most}, "priority": 3, "apply-to": "queues"}
        assert both.do("PUT", f"/api/{kind}/{{v}}/p", policy) == (201, None)
        assert both.do("PUT", f"/api/{kind}/{{v}}/p", policy) == (204, None)
        assert both.do("GET", f"/api/{kind}/{{v}}/p") == (200, {"vhost": both.vhost, "name": "p", **policy})
        assert [one["name"] for one in both.do("GET", f"/api/{kind}/{{v}}")[1]] == ["p"]
        refused = both.do("PUT", f"/api/{kind}/{{v}}/p", {**policy, "definition": {"max-length": -1}})
        assert refused == (
            400,
            {"error": "bad_request", "reason": "Validation failed\n\n-1 is not a valid maximum length\n"},
        )
    for _ in range(5):
        both.do(
            "POST",
            "/api/exchanges/{v}/amq.default/publish",
            {"properties": {}, "routing_key": "q", "payload": "x", "payload_encoding": "string"},
        )
    wanted = {"count": 9, "ackmode": "ack_requeue_true", "encoding": "auto"}
    assert len(both.do("POST", "/api/queues/{v}/q/get", wanted)[1]) == 3
    assert both.do("GET", "/api/definitions/{v}")[1]["parameters"][0]["component"] == "operator_policy"
    assert both.do("DELETE", "/api/operator-policies/{v}/p") == (204, None)
    assert both.do("DELETE", "/api/operator-policies/{v}/p")[0] == 404


def test_topics_need_permissions_where_a_user_has_some(both: Any) -> None:
    both.do("PUT", "/api/exchanges/{v}/ex", {"type": "topic"})
    permission = {"exchange": "ex", "write": "^a", "read": "^b"}
    assert both.do("GET", "/api/topic-permissions/{v}/{u}")[0] == 404
    assert both.do("PUT", "/api/topic-permissions/{v}/{u}", permission) == (201, None)
    assert both.do("PUT", "/api/topic-permissions/{v}/{u}", permission) == (204, None)
    told = {"user": both.user, "vhost": both.vhost, **permission}
    for path in (
        "/api/topic-permissions/{v}/{u}",
        "/api/users/{u}/topic-permissions",
        "/api/vhosts/{v}/topic-permissions",
    ):
        assert both.do("GET", path) == (200, [told])
    with both.connect() as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.basic_publish("ex", "a.b", b"")
        with pytest.raises(pika.exceptions.ChannelClosedByBroker, match=r"topic 'b' in exchange 'ex'"):
            channel.basic_publish("ex", "b", b"")
    assert both.do("PUT", "/api/topic-permissions/{v}/{u}", {**permission, "read": "("})[0] == 400
    assert both.do("PUT", "/api/topic-permissions/{v}/nobody", permission)[0] == 400
    assert both.do("DELETE", "/api/topic-permissions/{v}/{u}/ex") == (204, None)
    assert both.do("DELETE", "/api/topic-permissions/{v}/{u}")[0] == 404


def test_bindings_have_paths_of_their_own(both: Any) -> None:
    both.do("PUT", "/api/queues/{v}/q", {})
    both.do("PUT", "/api/exchanges/{v}/ex", {"type": "topic"})
    assert both.do("POST", "/api/bindings/{v}/e/ex/q/q", {"routing_key": "a.#"})[0] == 201
    assert both.do("POST", "/api/bindings/{v}/e/ex/q/q", {"routing_key": "k", "arguments": {"x": 1}})[0] == 201
    found = both.do("GET", "/api/bindings/{v}/e/ex/q/q")[1]
    assert sorted((one["routing_key"], str(one["arguments"])) for one in found) == [("a.#", "{}"), ("k", "{'x': 1}")]
    for one in found:
        path = f"/api/bindings/{{v}}/e/ex/q/q/{quote(one['properties_key'], safe='~%')}"
        assert both.do("DELETE", path) == (204, None)
    assert both.do("GET", "/api/bindings/{v}/e/ex/q/q")[1] == []
    (default,) = both.do("GET", "/api/queues/{v}/q/bindings")[1]
    assert (default["source"], default["routing_key"], default["destination_type"]) == ("", "q", "queue")


def test_messages_go_in_and_come_out(both: Any) -> None:
    both.do("PUT", "/api/queues/{v}/q", {})
    properties = {"headers": {"h": 1}}
    message = {"properties": properties, "routing_key": "q", "payload": "hello", "payload_encoding": "string"}
    assert both.do("POST", "/api/exchanges/{v}/amq.default/publish", message) == (200, {"routed": True})
    message["routing_key"] = "nowhere"
    assert both.do("POST", "/api/exchanges/{v}/amq.default/publish", message) == (200, {"routed": False})
    wanted = {"count": 5, "ackmode": "ack_requeue_true", "encoding": "auto"}
    status, (one,) = both.do("POST", "/api/queues/{v}/q/get", wanted)
    assert status == 200
    assert (one["payload"], one["payload_bytes"], one["redelivered"]) == ("hello", 5, False)
    assert one["properties"]["headers"] == {"h": 1}
    (again,) = both.do("POST", "/api/queues/{v}/q/get", {**wanted, "ackmode": "ack_requeue_false"})[1]
    assert again["redelivered"] is True
    assert both.do("POST", "/api/queues/{v}/q/get", wanted) == (200, [])
    assert both.do("DELETE", "/api/queues/{v}/q/contents") == (204, None)
    assert both.do("DELETE", "/api/queues/{v}/q") == (204, None)


def test_a_connection_is_seen_and_closed(both: Any) -> None:
    connection = both.connect()
    channel = connection.channel()
    channel.queue_declare("q")
    channel.basic_qos(prefetch_count=7)
    channel.basic_consume("q", lambda *_: None, consumer_tag="c")
    (consumer,) = both.eventually("/api/consumers/{v}")
    assert (consumer["consumer_tag"], consumer["ack_required"], consumer["prefetch_count"]) == ("c", True, 7)
    assert consumer["queue"] == {"name": "q", "vhost": both.vhost}
    (shown,) = both.eventually("/api/vhosts/{v}/connections", "state")
    assert (shown["user"], shown["vhost"], shown["protocol"], shown["state"]) == (
        both.user,
        both.vhost,
        "AMQP 0-9-1",
        "running",
    )
    assert shown["client_properties"]["product"].startswith("Pika")
    (number,) = both.eventually("/api/vhosts/{v}/channels", "number", "user", "confirm")
    assert (number["number"], number["user"], number["confirm"]) == (1, both.user, False)
    headers = {"X-Reason": "enough"}
    assert both.do("DELETE", f"/api/connections/{quote(shown['name'], safe='')}", **headers) == (204, None)
    with pytest.raises(pika.exceptions.ConnectionClosedByBroker, match="enough"):
        connection.process_data_events(time_limit=60)


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("GET", "/api/vhosts/none", None, 404),
        ("GET", "/api/users/none", None, 404),
        ("DELETE", "/api/users/none", None, 404),
        ("GET", "/api/queues/{v}/none", None, 404),
        ("DELETE", "/api/queues/{v}/none", None, 404),
        ("GET", "/api/exchanges/{v}/none", None, 404),
        ("GET", "/api/policies/{v}/none", None, 404),
        ("GET", "/api/permissions/{v}/none", None, 404),
        ("GET", "/api/connections/none", None, 404),
        ("DELETE", "/api/exchanges/{v}/amq.topic", None, 401),
        ("PUT", "/api/permissions/{v}/none", {"configure": "", "write": "", "read": ""}, 400),
        ("PUT", "/api/permissions/{v}/{u}", {"configure": ""}, 400),
        ("PUT", "/api/permissions/{v}/{u}", {"configure": "(", "write": "", "read": ""}, 400),
        ("PUT", "/api/users/{u}", {"password": "x"}, 400),
        ("PUT", "/api/users/{u}", {"password_hash": "!!!", "tags": ""}, 400),
        ("PUT", "/api/policies/{v}/p", {"pattern": "^a"}, 400),
        ("PUT", "/api/policies/{v}/p", {"pattern": "(", "definition": {"max-length": 1}}, 400),
        ("PUT", "/api/policies/{v}/p", {"pattern": "a", "definition": {}}, 400),
        ("PUT", "/api/policies/{v}/p", {"pattern": "a", "definition": {"max-length": 1}, "apply-to": "x"}, 400),
        ("PUT", "/api/queues/{v}/q", {"durable": "x"}, 400),
        ("PUT", "/api/queues/{v}/q", {"arguments": {"x-max-length": -1}}, 400),
        ("PUT", "/api/queues/{v}/amq.q", {}, 401),
        ("PUT", "/api/exchanges/{v}/ex", {"type": "none"}, 400),
        ("POST", "/api/bindings/{v}/e/none/q/none", {}, 404),
        ("POST", "/api/exchanges/{v}/amq.default/publish", {"routing_key": "q"}, 400),
    ],
)
def test_refusals_have_the_same_status(both: Any, method: str, path: str, content: object, status: int) -> None:
    assert both.do(method, path, content)[0] == status


def test_who_may_ask(both: Any) -> None:
    mine = f"{both.user}:pw"
    assert both.do("GET", "/api/whoami", login=mine)[1]["tags"] == ["management"]
    assert both.do("GET", "/api/whoami", login=f"{both.user}:wrong")[0] == 401
    assert both.do("GET", "/api/users", login=mine)[0] == 401
    assert [one["name"] for one in both.do("GET", "/api/vhosts", login=mine)[1]] == [both.vhost]
    assert both.do("PUT", "/api/users/{u}", {"password": "pw", "tags": ""}) == (204, None)
    assert both.do("GET", "/api/whoami", login=mine)[0] == 401


def test_a_permission_holds_for_both_doors(both: Any) -> None:
    both.do("PUT", "/api/permissions/{v}/{u}", {"configure": "^mine", "write": ".*", "read": ".*"})
    with both.connect() as connection:
        connection.channel().queue_declare("mine")
        with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="access to queue 'other'"):
            connection.channel().queue_declare("other")
    assert both.do("PUT", "/api/queues/{v}/other", {}, login=f"{both.user}:pw")[0] == 401
    assert both.do("DELETE", "/api/permissions/{v}/{u}") == (204, None)
    with pytest.raises(pika.exceptions.ProbableAccessDeniedError, match="530"):
        both.connect()


def test_definitions_go_out_and_come_in(both: Any) -> None:
    both.do("PUT", "/api/queues/{v}/q", {"durable": True, "arguments": {"x-max-length": 5}})
    both.do("PUT", "/api/exchanges/{v}/ex", {"type": "topic"})
    both.do("POST", "/api/bindings/{v}/e/ex/q/q", {"routing_key": "a.#"})
    both.do("PUT", "/api/policies/{v}/p", {"pattern": "^q", "definition": {"max-length": 7}})
    status, found = both.do("GET", "/api/definitions/{v}")
    assert status == 200
    assert [one["name"] for one in found["queues"]] == ["q"]
    assert both.do("DELETE", "/api/vhosts/{v}") == (204, None)
    assert both.do("PUT", "/api/vhosts/{v}") == (201, None)
    assert both.do("POST", "/api/definitions/{v}", found) == (204, None)
    again = both.do("GET", "/api/definitions/{v}")[1]
    for kind in ("queues", "exchanges", "bindings", "policies"):
        assert again[kind] == found[kind]
    assert any(one["name"] == both.user for one in both.do("GET", "/api/definitions")[1]["users"])


def test_a_wrong_definition_is_refused(both: Any) -> None:
    wrong = {"queues": [{"name": "q", "durable": True, "auto_delete": False, "arguments": {"x-max-length": -1}}]}
    assert both.do("POST", "/api/definitions/{v}", wrong)[0] == 400
