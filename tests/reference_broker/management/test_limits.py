"""What virtual hosts and users may have at most: set, shown, refused as RabbitMQ does, and held to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pika
import pytest
from pika.exceptions import ChannelClosedByBroker, ConnectionClosedByBroker, ProbableAccessDeniedError

from reference_broker import ReferenceBroker

LATE = 20
"""RabbitMQ counts a user's channels a moment after it has opened them: one of so many more is refused."""


def reasons(both: Any, path: str, *values: object) -> list[Any]:
    return [both.do("PUT", path, {"value": value})[1]["reason"] for value in values]


def test_a_virtual_host_takes_so_many_connections_and_queues(both: Any) -> None:
    for limit, value in (("max-connections", 1), ("max-queues", 1)):
        assert both.do("PUT", f"/api/vhost-limits/{{v}}/{limit}", {"value": value}) == (204, None)
    limits = {"max-connections": 1, "max-queues": 1}
    assert both.do("GET", "/api/vhost-limits/{v}") == (200, [{"vhost": both.vhost, "value": limits}])
    assert {"vhost": both.vhost, "value": limits} in both.do("GET", "/api/vhost-limits")[1]
    with both.connect() as connection:
        with pytest.raises(ProbableAccessDeniedError, match=r"530.*connection limit \(1\) is reached"):
            both.connect()
        connection.channel().queue_declare("a", durable=True)
        connection.channel().queue_declare("a", durable=True)
        with pytest.raises(ChannelClosedByBroker, match=r"406.*queue 'b': queue limit in vhost .* \(1\) is reached"):
            connection.channel().queue_declare("b")
        assert both.do("PUT", "/api/queues/{v}/b", {})[0] == 400
        both.do("PUT", "/api/vhost-limits/{v}/max-queues", {"value": -1})
        connection.channel().queue_declare("b", exclusive=True)
    for _ in range(2):
        assert both.do("DELETE", "/api/vhost-limits/{v}/max-connections") == (204, None)
    assert both.do("DELETE", "/api/vhost-limits/{v}/max-queues") == (204, None)
    assert both.do("GET", "/api/vhost-limits/{v}") == (200, [])


def test_a_user_opens_so_many_connections_and_channels(both: Any, request: pytest.FixtureRequest) -> None:
    if both.do("GET", "/api/user-limits")[0] == 404:
        pytest.skip("this RabbitMQ knows no limits of users")
    both.do("PUT", "/api/user-limits/{u}/max-connections", {"value": 1})
    both.do("PUT", "/api/user-limits/{u}/max-channels", {"value": 2})
    limits = {"max-connections": 1, "max-channels": 2}
    assert both.do("GET", "/api/user-limits/{u}") == (200, [{"user": both.user, "value": limits}])
    assert both.do("GET", "/api/users/{u}?columns=limits") == (200, {"limits": limits})
    connection = both.connect()
    with pytest.raises(ProbableAccessDeniedError, match=r"530.*user connection limit \(1\) is reached"):
        both.connect()
    connection.channel()
    connection.channel()
    with pytest.raises(ConnectionClosedByBroker, match=r"530.*has reached the maximum allowed user limit"):
        for _ in range(1 if "ours" in request.node.name else LATE):
            connection.channel()
    for limit in limits:
        assert both.do("DELETE", f"/api/user-limits/{{u}}/{limit}") == (204, None)
    assert both.do("GET", "/api/user-limits/{u}") == (200, [])
    both.connect().close()


def test_what_is_no_limit(both: Any) -> None:
    failed = "Validation failed\n\n{}\n"
    assert reasons(both, "/api/vhost-limits/{v}/max-queues", "5") == [
        failed.format('max-queues should be a number, actually was <<"5">>'),
    ]
    assert reasons(both, "/api/vhost-limits/{v}/wishes", 5) == [
        failed.format('Unrecognised terms [{<<"wishes">>,5}] in limits'),
    ]
    assert both.do("PUT", "/api/vhost-limits/none/max-queues", {"value": 1})[0] == 404
    assert both.do("GET", "/api/vhost-limits/none")[0] == 404
    assert both.do("PUT", "/api/vhost-limits/{v}/max-queues", {}) == (
        400,
        {"error": "bad_request", "reason": "[{key_missing,value}]"},
    )
    if both.do("GET", "/api/user-limits")[0] == 404:
        return
    assert reasons(both, "/api/user-limits/{u}/max-channels", "6") == [
        'max-channels should be a number, actually was <<"6">>',
    ]
    assert reasons(both, "/api/user-limits/{u}/wishes", 6) == ['Unrecognised terms [{<<"wishes">>,6}] in user-limits']
    assert reasons(both, "/api/user-limits/none/max-channels", 6) == [["no_such_user", "none"]]


def test_they_outlive_the_broker_and_so_do_global_parameters(tmp_path: Path, manager_of: Any) -> None:
    for begun in (True, False):
        with ReferenceBroker(http_port=0, data=tmp_path) as broker:
            manager = manager_of(broker.admin_url)
            if begun:
                about = {"description": "mine", "tags": "a,b", "default_queue_type": "quorum"}
                manager.do("PUT", "/api/vhosts/v", about)
                manager.do("PUT", "/api/vhost-limits/v/max-queues", {"value": 3})
                manager.do("PUT", "/api/user-limits/guest/max-channels", {"value": 4})
                manager.do("PUT", "/api/global-parameters/g", {"value": [1, {"a": None}]})
            shown = manager.do("GET", "/api/vhosts/v")[1]
            assert (shown["description"], shown["tags"], shown["default_queue_type"]) == ("mine", ["a", "b"], "quorum")
            assert manager.do("GET", "/api/vhost-limits")[1] == [{"vhost": "v", "value": {"max-queues": 3}}]
            assert manager.do("GET", "/api/user-limits")[1] == [{"user": "guest", "value": {"max-channels": 4}}]
            assert manager.do("GET", "/api/global-parameters")[1] == [{"name": "g", "value": [1, {"a": None}]}]


def test_a_virtual_host_may_prefer_quorum_queues(broker: ReferenceBroker, manager: Any) -> None:
    manager.do("PUT", "/api/vhosts/v", {"default_queue_type": "quorum"})
    with pika.BlockingConnection(pika.URLParameters(broker.url.replace("%2F", "v"))) as connection:
        channel = connection.channel()
        for _ in range(2):
            channel.queue_declare("kept", durable=True)
        channel.queue_declare("gone", exclusive=True)
        channel.queue_declare("named", durable=True, arguments={"x-queue-type": "classic"})
        kinds = {one["name"]: one["type"] for one in manager.do("GET", "/api/queues/v")[1]}
    assert kinds == {"kept": "quorum", "gone": "classic", "named": "classic"}
